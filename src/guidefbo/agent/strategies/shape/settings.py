"""Settings of the shape strategy's agents."""

from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.shape.agent import CHOICES, TRUSTS, ShapeAgent
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import part


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeSettings:
    """What an agent makes of the others' trends."""

    trust: str = part(
        "evidence",
        "use of the others' prior: by evidence, always, or never",
        MappingProxyType(dict.fromkeys(TRUSTS)),
    )
    choice: str = part("likeliest", "model to decide on", CHOICES)

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> ShapeAgent:
        """Return the strategy's agent side."""
        del model, search
        return ShapeAgent(
            features=ShapeFeatures.of(domain),
            trust=self.trust,
            choose=CHOICES[self.choice],
        )
