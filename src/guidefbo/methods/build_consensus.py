"""Build the parts of the consensus strategy from its settings."""

from guidefbo.agent.catalog import AIMS, INTERVENTIONS, SCHEDULES
from guidefbo.agent.strategies.consensus.agent import ConsensusAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError
from guidefbo.methods.settings import Settings
from guidefbo.server.catalog import FUSIONS
from guidefbo.server.strategies.consensus.server import ConsensusServer

MAX_SPREAD = 1.0
"""Largest standard deviation of a place that may be asked for: the whole box."""


def consensus_agent(settings: Settings, domain: Domain, model: Model) -> ConsensusAgent:
    """Return the strategy's private half."""
    del model
    _check(settings)
    return ConsensusAgent(
        intervention=INTERVENTIONS[settings.intervention],
        schedule=SCHEDULES[settings.consensus_schedule],
        domain=domain,
        has_trend=settings.place == "trend",
        aim=AIMS[settings.aim],
        min_spread=settings.min_spread,
        max_strength=settings.max_strength,
        lcb_coefficient=settings.lcb_coefficient,
    )


def consensus_server(settings: Settings) -> ConsensusServer:
    """Return the strategy's shared half."""
    _check(settings)
    return ConsensusServer(
        fusion=FUSIONS[settings.fusion], has_groups=settings.groups == "found"
    )


def _check(settings: Settings) -> None:
    if settings.min_spread > MAX_SPREAD:
        raise SettingsError(
            f"Setting min_spread must be a finite number from 0 to {MAX_SPREAD:g}, got "
            f"{settings.min_spread:g}."
        )
