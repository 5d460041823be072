"""Build the two halves of FTS and FTS-DE from their settings.

Servers are built from the settings alone: a coordinator need not know the space.
"""

from collections.abc import Callable
from types import MappingProxyType

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.side import AgentSide
from guidefbo.agent.strategies.fts.agent import FtsAgent
from guidefbo.agent.strategies.fts.as_run import FtsPointAgent
from guidefbo.agent.strategies.fts_de.agent import FtsDeAgent
from guidefbo.agent.strategies.fts_de.as_run import FtsDeAsRunAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.methods.settings import Settings
from guidefbo.server.side import ServerSide
from guidefbo.server.strategies.fts.as_run import FtsPointServer
from guidefbo.server.strategies.fts.server import FtsServer
from guidefbo.server.strategies.fts_de.as_run import by_region_index
from guidefbo.server.strategies.fts_de.privacy import PrivateAverage
from guidefbo.server.strategies.fts_de.server import (
    Averaging,
    FtsDeServer,
    fading,
    plain_average,
)
from guidefbo.wire.regions import Order, as_run, check_regions, lexicographic

NUM_CANDIDATES = 1000
"""Sobol points of FTS as run, and of FTS-DE's choice of a region."""


def fts_agent(settings: Settings, domain: Domain, model: Model) -> AgentSide:
    """Return the private half of FTS."""
    del model
    if settings.mode == "as-run":
        return FtsPointAgent(domain=domain, num_candidates=NUM_CANDIDATES)
    return FtsAgent(num_shared=settings.num_shared)


def fts_server(settings: Settings) -> ServerSide:
    """Return the shared half of FTS."""
    return FtsPointServer() if settings.mode == "as-run" else FtsServer()


def fts_de_agent(settings: Settings, domain: Domain, model: Model) -> AgentSide:
    """Return the private half of FTS-DE."""
    del model
    check_regions(settings.num_regions, domain.dim)
    if settings.mode == "as-run":
        return FtsDeAsRunAgent(
            num_shared=settings.num_shared,
            num_regions=settings.num_regions,
            domain=domain,
            search=SearchSettings(
                num_raw=settings.num_raw,
                num_starts=settings.num_starts,
                max_iterations=settings.num_iterations,
            ),
        )
    return FtsDeAgent(
        num_shared=settings.num_shared,
        num_regions=settings.num_regions,
        domain=domain,
        num_candidates=NUM_CANDIDATES,
    )


def fts_de_server(settings: Settings) -> ServerSide:
    """Return the shared half of FTS-DE, with privacy where it is asked for."""
    check_regions(settings.num_regions)
    return FtsDeServer(
        num_regions=settings.num_regions,
        weighting=by_region_index if settings.mode == "as-run" else fading,
        averaging=_AVERAGINGS[settings.privacy](settings),
    )


def fts_de_order(settings: Settings) -> Order:
    """Return which region is which, for the initial design."""
    return as_run if settings.mode == "as-run" else lexicographic


def _private_average(settings: Settings) -> Averaging:
    return PrivateAverage(
        clip=settings.privacy_clip,
        rate=settings.privacy_rate,
        noise=settings.privacy_noise,
    )


_AVERAGINGS: MappingProxyType[str, Callable[[Settings], Averaging]] = MappingProxyType(
    {"none": lambda settings: plain_average, "gaussian": _private_average}
)
