"""Settings of FMTBO's agents.

The method as we recommend it: short fits of the global model, a Latin hypercube of 5 d
probes. What is presumed behind the paper's tables: fits to the end, all hyperparameters
sent as they are, 30 d uniform probes.
"""

from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.agent.decision.search import SearchSettings
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
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.descent import MAX_ITERATIONS
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError
from guidefbo.core.settings import count, part, real
from guidefbo.wire.fmtbo import MAX_PROBES

PROBES_PER_DIM = 5
AS_RUN_PROBES_PER_DIM = 30
SHARINGS = MappingProxyType(
    {
        "ard": (tell_ard, fits_ard, begin_ard),
        "iso2": (tell_iso, fits_iso, begin_iso),
    }
)
"""What is told, what may be received and what is made of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FmtboSettings:
    """What is shared of the global model, and how much it counts."""

    ei_weight: float = real(0.5, "weight of the global model's EI", high=1.0)
    num_probes: int = count(
        0, "probe points that are ranked, 0 = 5 dim", low=0, high=MAX_PROBES
    )
    share: str = part("ard", "hyperparameters sent", SHARINGS)
    global_iterations: int = count(5, "fit iterations of the global model")

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> FmtboAgent:
        """Return FMTBO's agent side."""
        del search
        tell, fits, begin = SHARINGS[self.share]
        return FmtboAgent(
            model=model,
            tell=tell,
            fits=fits,
            begin=begin,
            probes=latin_probes,
            num_probes=_few(self.num_probes or PROBES_PER_DIM * domain.dim),
            num_iterations=self.global_iterations,
            ei_weight=self.ei_weight,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FmtboAsRunSettings:
    """How much the global model counts."""

    ei_weight: float = real(0.5, "weight of the global model's EI", high=1.0)
    num_probes: int = count(
        0, "probe points that are ranked, 0 = 30 dim", low=0, high=MAX_PROBES
    )

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> FmtboAgent:
        """Return the agent side behind the paper's tables."""
        del search
        return FmtboAgent(
            model=model,
            tell=tell_all,
            fits=fits_ard,
            begin=begin_ard,
            probes=uniform_probes,
            num_probes=_few(self.num_probes or AS_RUN_PROBES_PER_DIM * domain.dim),
            num_iterations=MAX_ITERATIONS,
            ei_weight=self.ei_weight,
        )


def _few(num_probes: int) -> int:
    if num_probes > MAX_PROBES:
        raise SettingsError(
            f"Setting num_probes must be at most {MAX_PROBES}, got {num_probes}. The "
            "server compares the ranks of all probes pair by pair."
        )
    return num_probes
