"""Build FMTBO's parts and the rule that goes with it.

The mode `method` is the configuration we recommend: short global fits, geometric means,
a Latin hypercube of 5 d probes. `as-run` is what is presumed behind the paper's tables:
fits to the end, raw averages of all hyperparameters, the first agent's in the first
round, 30 d uniform probes; it ignores `share` and `global_iterations`.
"""

from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.agent.strategies.fmtbo.agent import (
    FmtboAgent,
    begin_ard,
    begin_iso,
    fits_ard,
    fits_iso,
    latin_probes,
    tell_all,
    tell_ard,
    tell_iso,
    uniform_probes,
)
from guidefbo.agent.surrogate.fit import MAX_ITERATIONS
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError
from guidefbo.methods.settings import Settings
from guidefbo.server.strategies.fmtbo.server import (
    FmtboServer,
    first_then_nearest,
    geometric,
    nearest,
    raw,
)
from guidefbo.wire.fmtbo import MAX_PROBES

PROBES_PER_DIM = 5
AS_RUN_PROBES_PER_DIM = 30
SHARINGS = {
    "ard": (tell_ard, fits_ard, begin_ard),
    "iso2": (tell_iso, fits_iso, begin_iso),
}
"""What is told, what may be received and what is made of it."""
AS_RUN_SHARING = (tell_all, fits_ard, begin_ard)


def fmtbo_agent(settings: Settings, domain: Domain, model: Model) -> FmtboAgent:
    """Return FMTBO's private half."""
    is_as_run = settings.mode == "as-run"
    per_dim = AS_RUN_PROBES_PER_DIM if is_as_run else PROBES_PER_DIM
    tell, fits, begin = AS_RUN_SHARING if is_as_run else SHARINGS[settings.share]
    return FmtboAgent(
        model=model,
        tell=tell,
        fits=fits,
        begin=begin,
        probes=uniform_probes if is_as_run else latin_probes,
        num_probes=_few(settings.num_probes or per_dim * domain.dim),
        num_iterations=MAX_ITERATIONS if is_as_run else settings.global_iterations,
        ei_weight=_fraction("ei_weight", settings.ei_weight),
    )


def fmtbo_server(settings: Settings) -> FmtboServer:
    """Return FMTBO's shared half."""
    is_as_run = settings.mode == "as-run"
    return FmtboServer(
        averaging=raw if is_as_run else geometric,
        similar_share=_fraction("similar_share", settings.similar_share),
        neighbours=first_then_nearest if is_as_run else nearest,
    )


def ei_rule(settings: Settings) -> ExpectedImprovement:
    """Return the rule of expected improvement."""
    del settings
    return ExpectedImprovement()


def _fraction(name: str, value: float) -> float:
    if value > 1.0:
        raise SettingsError(
            f"Setting {name} must be a finite number from 0 to 1, got {value:g}."
        )
    return value


def _few(num_probes: int) -> int:
    if num_probes > MAX_PROBES:
        raise SettingsError(
            f"Setting num_probes must be at most {MAX_PROBES}, got {num_probes}. The "
            "server compares the ranks of all probes pair by pair."
        )
    return num_probes
