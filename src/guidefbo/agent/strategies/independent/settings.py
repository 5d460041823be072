"""Settings of agents that work alone: there are none."""

from dataclasses import dataclass

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.independent.agent import IndependentAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentSettings:
    """No settings."""

    def build(
        self, domain: Domain, model: Model, search: SearchSettings
    ) -> IndependentAgent:
        """Return an agent side that exchanges nothing."""
        del domain, model, search
        return IndependentAgent()
