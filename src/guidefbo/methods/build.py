"""Build a method's parts from its settings."""

from collections.abc import Callable
from types import MappingProxyType

from guidefbo.agent.catalog import BELIEFS, INTERVENTIONS, SAMPLERS, SCHEDULES
from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.decision.repeats import OnRepeat, ask_again, ask_anywhere
from guidefbo.agent.decision.rule import Rule
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.decision.ts import GridThompsonSampling, ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.policy import Policy
from guidefbo.agent.side import AgentSide
from guidefbo.agent.strategies.guide.agent import GuideAgent
from guidefbo.agent.strategies.independent.agent import IndependentAgent
from guidefbo.agent.strategies.placebo.agent import PlaceboAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.methods.build_cgp import cgp_agent, cgp_server
from guidefbo.methods.build_consensus import consensus_agent, consensus_server
from guidefbo.methods.build_fmtbo import ei_rule, fmtbo_agent, fmtbo_server
from guidefbo.methods.build_fts import (
    fts_agent,
    fts_de_agent,
    fts_de_server,
    fts_server,
)
from guidefbo.methods.catalog import Method
from guidefbo.methods.settings import Settings
from guidefbo.server.catalog import DISPATCHES, MERGINGS, REWEIGHTINGS
from guidefbo.server.side import ServerSide
from guidefbo.server.strategies.guide.server import GuideServer

GRID_POINTS = 1000
"""Sobol points of Thompson sampling as the paper ran it."""


def _guide_agent(settings: Settings, domain: Domain, model: Model) -> GuideAgent:
    del model
    truncation = settings.max_components or min(domain.dim, settings.num_paths)
    return GuideAgent(
        sampler=SAMPLERS[settings.sampler](settings.num_paths, settings.num_features),
        belief=BELIEFS[settings.belief](truncation, settings.covariance == "full"),
        intervention=INTERVENTIONS[settings.intervention],
        schedule=SCHEDULES[settings.schedule],
        domain=domain,
        num_candidates=settings.num_candidates,
        max_strength=settings.max_strength,
        lcb_coefficient=settings.lcb_coefficient,
    )


def _placebo_agent(settings: Settings, domain: Domain, model: Model) -> PlaceboAgent:
    del domain, model
    return PlaceboAgent(
        intervention=INTERVENTIONS[settings.intervention],
        schedule=SCHEDULES[settings.schedule],
        max_strength=settings.max_strength,
    )


def _guide_server(settings: Settings) -> GuideServer:
    return GuideServer(
        merging=MERGINGS[settings.merging],
        reweighting=REWEIGHTINGS[settings.reweighting],
        dispatch=DISPATCHES[settings.dispatch],
        merge_threshold=settings.merge_threshold,
        packet_size=settings.packet_size,
    )


_AGENT_SIDES: MappingProxyType[str, Callable[[Settings, Domain, Model], AgentSide]] = (
    MappingProxyType(
        {
            "independent": lambda settings, domain, model: IndependentAgent(),
            "fts": fts_agent,
            "fts-de": fts_de_agent,
            "fmtbo": fmtbo_agent,
            "cgp": cgp_agent,
            "guide": _guide_agent,
            "consensus": consensus_agent,
            "placebo": _placebo_agent,
        }
    )
)
_SERVER_SIDES: MappingProxyType[str, Callable[[Settings], ServerSide]] = (
    MappingProxyType(
        {
            "fts": fts_server,
            "fts-de": fts_de_server,
            "fmtbo": fmtbo_server,
            "cgp": cgp_server,
            "guide": _guide_server,
            "consensus": consensus_server,
        }
    )
)


def _thompson(settings: Settings) -> Rule:
    if settings.mode == "as-run":
        return GridThompsonSampling(num_points=GRID_POINTS)
    return ThompsonSampling(num_features=settings.num_features)


_RULES: MappingProxyType[str, Callable[[Settings], Rule]] = MappingProxyType(
    {
        "ucb": lambda s: UpperConfidenceBound(beta=s.beta),
        "nei": lambda s: NoisyExpectedImprovement(num_fantasies=s.num_fantasies),
        "ts": _thompson,
        "ei": ei_rule,
    }
)

_ON_REPEAT: MappingProxyType[str, OnRepeat] = MappingProxyType(
    {"fts": ask_anywhere, "fmtbo": ask_anywhere}
)
"""Strategies whose authors do not ask the same point twice."""


def build_agent_side(
    method: Method, settings: Settings, domain: Domain, model: Model
) -> AgentSide:
    """Return the method's private half."""
    return _AGENT_SIDES[method.strategy](settings, domain, model)


def build_policy(
    method: Method,
    settings: Settings,
    domain: Domain,
    model: Model,
) -> Policy:
    """Return what an agent does with its data.

    Args:
        method: Strategy and rule.
        settings: Their settings.
        domain: Where queries may lie.
        model: How agents model their objectives.
    """
    return Policy(
        domain=domain,
        model=model,
        side=build_agent_side(method, settings, domain, model),
        rule=build_rule(method, settings),
        search=build_search(settings),
        on_repeat=_ON_REPEAT.get(method.strategy, ask_again),
    )


def build_server_side(method: Method, settings: Settings) -> ServerSide | None:
    """Return the method's shared half, None where nothing is exchanged."""
    build = _SERVER_SIDES.get(method.strategy)
    return None if build is None else build(settings)


def build_rule(method: Method, settings: Settings) -> Rule:
    """Return the method's decision rule."""
    return _RULES[method.rule](settings)


def build_search(settings: Settings) -> SearchSettings:
    """Return the effort of the search."""
    return SearchSettings(
        num_raw=settings.num_raw,
        num_starts=settings.num_starts,
        max_iterations=settings.num_iterations,
    )
