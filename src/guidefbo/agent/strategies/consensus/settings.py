"""Settings of the consensus strategy's agents."""

from dataclasses import dataclass

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.guidance.schedule import SCHEDULES
from guidefbo.agent.guidance.settings import INTERVENTIONS
from guidefbo.agent.strategies.consensus.agent import PLACES, ConsensusAgent
from guidefbo.agent.strategies.consensus.aim import AIMS
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import part, real


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusSettings:
    """How an agent places its optimum and what it makes of the others' place."""

    place: str = part("trend", "model that places the optimum", PLACES)
    aim: str = part("blend", "whose place is aimed at", AIMS)
    min_spread: float = real(
        0.15, "smallest standard deviation of the place aimed at", high=1.0
    )
    intervention: str = part("local", "where the uncertainty grows", INTERVENTIONS)
    consensus_schedule: str = part("constant", "strength over the rounds", SCHEDULES)
    max_strength: float = real(1.0, "largest strength of the intervention, lambda_max")
    lcb_coefficient: float = real(1.0, "kappa of the value score mean - kappa std")

    def build(
        self, domain: Domain, model: Model, search: SearchSettings
    ) -> ConsensusAgent:
        """Return the strategy's agent side."""
        del model, search
        return ConsensusAgent(
            intervention=INTERVENTIONS[self.intervention],
            schedule=SCHEDULES[self.consensus_schedule],
            domain=domain,
            model=PLACES[self.place],
            aim=AIMS[self.aim],
            min_spread=self.min_spread,
            max_strength=self.max_strength,
            lcb_coefficient=self.lcb_coefficient,
        )
