"""What the paper counts per agent and round, which is not always what is sent.

References:
    The paper's communication table, whose entries for d = 10 these formulas give.
"""

from collections.abc import Callable
from types import MappingProxyType

from guidefbo.methods.catalog import Method
from guidefbo.methods.settings import Settings

PAPER_RANKS = 10
"""Ranks the paper counts for FMTBO, beside two hyperparameters."""
PAPER_DESIGNS = 20
"""Designs the paper counts for CGP: the cap on models, which never leave an agent."""

Count = Callable[[Settings, int], tuple[int, int]]
"""(settings, dim) -> scalars up and down."""


def _none(settings: Settings, dim: int) -> tuple[int, int]:
    del settings, dim
    return 0, 0


def _fts(settings: Settings, dim: int) -> tuple[int, int]:
    del dim
    return settings.num_shared, settings.num_shared


def _fts_de(settings: Settings, dim: int) -> tuple[int, int]:
    del dim
    count = settings.num_regions * settings.num_shared
    return count, count


def _fmtbo(settings: Settings, dim: int) -> tuple[int, int]:
    del settings, dim
    return 2 + PAPER_RANKS, 2


def _cgp(settings: Settings, dim: int) -> tuple[int, int]:
    del settings
    return dim + 2, PAPER_DESIGNS * dim


def _guide(settings: Settings, dim: int) -> tuple[int, int]:
    return 2 * dim + 2, settings.packet_size * (2 * dim + 1)


def _consensus(settings: Settings, dim: int) -> tuple[int, int]:
    del settings
    return 2 * dim + 2, 2 * dim + 1


PAPER_SCALARS: MappingProxyType[str, Count] = MappingProxyType(
    {
        "independent": _none,
        "placebo": _none,
        "fts": _fts,
        "fts-de": _fts_de,
        "fmtbo": _fmtbo,
        "cgp": _cgp,
        "guide": _guide,
        "consensus": _consensus,
    }
)


def paper_scalars(method: Method, settings: Settings, dim: int) -> dict[str, int]:
    """Return the paper's own accounting, in the form of the measured one."""
    up, down = PAPER_SCALARS[method.strategy](settings, dim)
    return {"up_per_agent_round": up, "down_per_agent_round": down}
