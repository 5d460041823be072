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

PAPER_SCALARS: MappingProxyType[str, Count] = MappingProxyType(
    {
        "independent": lambda s, d: (0, 0),
        "placebo": lambda s, d: (0, 0),
        "fts": lambda s, d: (s.num_shared, s.num_shared),
        "fts-de": lambda s, d: (s.num_regions * s.num_shared,) * 2,
        "fmtbo": lambda s, d: (2 + PAPER_RANKS, 2),
        "cgp": lambda s, d: (d + 2, PAPER_DESIGNS * d),
        "guide": lambda s, d: (2 * d + 2, s.packet_size * (2 * d + 1)),
    }
)


def paper_scalars(method: Method, settings: Settings, dim: int) -> dict[str, int]:
    """Return the paper's own accounting, in the form of the measured one."""
    up, down = PAPER_SCALARS[method.strategy](settings, dim)
    return {"up_per_agent_round": up, "down_per_agent_round": down}
