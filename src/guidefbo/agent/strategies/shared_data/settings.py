"""Settings of the agents of shared-data: there are none."""

from dataclasses import dataclass

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.shared_data.agent import SharedDataAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDataSettings:
    """No settings."""

    def build(
        self, domain: Domain, model: Model, search: SearchSettings
    ) -> SharedDataAgent:
        """Return the strategy's agent side."""
        del domain, search
        return SharedDataAgent(model=model)
