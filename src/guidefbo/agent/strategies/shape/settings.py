"""Settings of the shape strategy's agents."""

from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.shape.agent import (
    CHOICES,
    FOCUSES,
    TRUSTS,
    ShapeAgent,
)
from guidefbo.agent.strategies.shape.alone import TrendAgent
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import count, part
from guidefbo.wire.shape import HIGHEST_DEGREE, LOWEST_DEGREE


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSettings:
    """What an agent makes of its own trend and place; it hears from nobody."""

    choice: str = part("likeliest", "model to decide on", CHOICES)
    focus: str = part("place", "where the uncertainty grows", FOCUSES)

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> TrendAgent:
        """Return an agent side that exchanges nothing."""
        del search
        return TrendAgent(
            domain=domain,
            features=ShapeFeatures.of(domain),
            model=model,
            trust="own",
            choose=CHOICES[self.choice],
            focus=FOCUSES[self.focus],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeSettings:
    """What an agent makes of the others' trends."""

    trust: str = part(
        "evidence",
        "use of the others' prior: by evidence, always, or never",
        MappingProxyType(dict.fromkeys(TRUSTS)),
    )
    choice: str = part("likeliest", "model to decide on", CHOICES)
    focus: str = part("place", "where the uncertainty grows", FOCUSES)
    degree: int = count(
        LOWEST_DEGREE,
        "highest degree of the trend that is exchanged",
        LOWEST_DEGREE,
        HIGHEST_DEGREE,
    )

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> ShapeAgent:
        """Return the strategy's agent side."""
        del search
        return ShapeAgent(
            domain=domain,
            features=ShapeFeatures.of(domain, self.degree),
            model=model,
            trust=self.trust,
            choose=CHOICES[self.choice],
            focus=FOCUSES[self.focus],
        )
