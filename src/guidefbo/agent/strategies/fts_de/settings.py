"""Settings of FTS-DE's agents, the method's own and those behind the paper's tables."""

from dataclasses import dataclass

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.fts_de.agent import FtsDeAgent
from guidefbo.agent.strategies.fts_de.as_run import FtsDeAsRunAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import count
from guidefbo.wire.regions import REGION_COUNTS, check_regions

NUM_CANDIDATES = 1000
"""Sobol points among which the best region is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeSettings:
    """The features all agents share, and the regions of the box."""

    num_shared: int = count(500, "features of the shared map")
    num_regions: int = count(4, "regions of the box: 1, 2 or 4", high=REGION_COUNTS[-1])

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> FtsDeAgent:
        """Return FTS-DE's agent side."""
        del model, search
        check_regions(self.num_regions, domain.dim)
        return FtsDeAgent(
            num_shared=self.num_shared,
            num_regions=self.num_regions,
            domain=domain,
            num_candidates=NUM_CANDIDATES,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeAsRunSettings:
    """The features all agents share, and the regions of the box."""

    num_shared: int = count(500, "frequencies of the shared map")
    num_regions: int = count(4, "regions of the box: 1, 2 or 4", high=REGION_COUNTS[-1])

    def build(
        self, domain: Domain, model: Model, search: SearchSettings
    ) -> FtsDeAsRunAgent:
        """Return the agent side behind the paper's tables."""
        del model
        check_regions(self.num_regions, domain.dim)
        return FtsDeAsRunAgent(
            num_shared=self.num_shared,
            num_regions=self.num_regions,
            domain=domain,
            search=search,
        )
