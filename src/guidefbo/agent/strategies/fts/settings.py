"""Settings of FTS's agents, the method's own and those behind the paper's tables."""

from dataclasses import dataclass

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.fts.agent import FtsAgent
from guidefbo.agent.strategies.fts.as_run import FtsPointAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import count

NUM_CANDIDATES = 1000
"""Sobol points on which a draw is maximised, as presumed behind the paper's tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsSettings:
    """The features all agents share."""

    num_shared: int = count(500, "features of the shared map")

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> FtsAgent:
        """Return FTS's agent side."""
        del domain, model, search
        return FtsAgent(num_shared=self.num_shared)


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsAsRunSettings:
    """No settings."""

    def build(
        self, domain: Domain, model: Model, search: SearchSettings
    ) -> FtsPointAgent:
        """Return the agent side behind the paper's tables."""
        del model, search
        return FtsPointAgent(domain=domain, num_candidates=NUM_CANDIDATES)
