"""Settings of the control's agents."""

from dataclasses import dataclass

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.guidance.schedule import SCHEDULES
from guidefbo.agent.guidance.settings import INTERVENTIONS, STARTS
from guidefbo.agent.strategies.placebo.agent import CENTER, PlaceboAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import part, real


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceboSettings:
    """How the fixed component intervenes."""

    intervention: str = part("local", "where the uncertainty grows", INTERVENTIONS)
    schedule: str = part("decaying", "strength over the rounds", SCHEDULES)
    max_strength: float = real(1.0, "largest strength of the intervention, lambda_max")
    starts: str = part("none", "where the search starts as well", STARTS)

    def build(
        self, domain: Domain, model: Model, search: SearchSettings
    ) -> PlaceboAgent:
        """Return the control's agent side."""
        del model, search
        return PlaceboAgent(
            intervention=INTERVENTIONS[self.intervention],
            schedule=SCHEDULES[self.schedule],
            start=(CENTER,) * domain.dim if STARTS[self.starts] else None,
            max_strength=self.max_strength,
        )
