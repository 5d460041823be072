"""Settings of CGP's agents."""

from dataclasses import dataclass

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.cgp.agent import CgpAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import count


@dataclass(frozen=True, slots=True, kw_only=True)
class CgpSettings:
    """How received designs constrain the posterior."""

    max_models: int = count(20, "constrained models averaged over")
    num_draws: int = count(100_000, "posterior draws behind the constraint")

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> CgpAgent:
        """Return CGP's agent side."""
        del model
        return CgpAgent(
            domain=domain,
            search=search,
            num_draws=self.num_draws,
            max_models=self.max_models,
        )
