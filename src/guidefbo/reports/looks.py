"""Colours and dashes of contenders: the colour tells the strategy, the dash the rule.

Both come from the methods' own records. A contender without a colour, or whose look is
taken, gets one that is free. Okabe and Ito's colours are told apart with any kind of
colour vision.
"""

from collections.abc import Sequence
from itertools import product
from types import MappingProxyType
from typing import Any

from guidefbo.canvas import COLOURS
from guidefbo.reports.contenders import Contender

DASHES = MappingProxyType(
    {
        "solid": "-",
        "dashed": (0, (5, 2)),
        "dotted": (0, (1.2, 1.4)),
        "dashdot": (0, (5, 1.5, 1, 1.5)),
    }
)
SPARE = ("grey", "red", "blue", "green", "orange", "purple", "sky", "black")
"""Colours for whatever has none of its own, in the order they are given out."""


def looks_of(contenders: Sequence[Contender]) -> dict[Contender, dict[str, Any]]:
    """Return how to draw each contender's line; no two look the same."""
    taken: dict[tuple[str, str], Contender] = {}
    for who in contenders:
        own = _own(who)
        if own is not None:
            taken.setdefault(own, who)
    spare = ((c, d) for d, c in product(DASHES, SPARE) if (c, d) not in taken)
    given = {who: pair for pair, who in taken.items()}
    looks: dict[Contender, dict[str, Any]] = {}
    for who in contenders:
        colour, dash = given[who] if who in given else next(spare, ("grey", "dashdot"))
        look = {"color": COLOURS[colour], "linestyle": DASHES[dash]}
        looks[who] = look | {"linewidth": 1.7}
    return looks


def _own(who: Contender) -> tuple[str, str] | None:
    note = who.note
    if who.variant is not None or note is None or note.colour is None:
        return None
    if note.colour not in COLOURS:
        return None
    return note.colour, note.dash if note.dash in DASHES else "solid"
