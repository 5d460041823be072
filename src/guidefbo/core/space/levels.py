"""A parameter that knows a few numbers in their order."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import is_finite_number, plain, shown
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.scales import (
    FEW_LEVELS,
    LARGEST,
    Block,
    doubling_steps,
    require_bool,
)

MAX_LEVELS = 100_000
"""Most levels of one parameter."""
NEAREST = 1e-9
"""Logarithms of two levels nearer than this, relative to the largest, are the same."""


class Levels:
    """One of several numbers in their order, such as the settings of a dial.

    The unit interval has an equal part for each, with the level in its middle. On a
    logarithmic scale a level sits at its logarithm, and parts meet half-way between two
    levels.

    >>> heat = Levels(20, 40, 100)
    >>> heat.to_unit(40), heat.from_unit(0.9)
    (0.5, 100)
    """

    __slots__ = ("_edges", "_log", "_positions", "_values")

    def __init__(self, *values: float, log: bool = False) -> None:
        """Create a parameter from its levels, in increasing order."""
        levels = tuple(plain(value) for value in values)
        if not (
            2 <= len(levels) <= MAX_LEVELS
            and all(is_finite_number(v) and abs(v) <= LARGEST for v in levels)
            and all(a < b for a, b in pairwise(levels))
        ):
            raise SpaceError(
                f"Levels need 2 to {MAX_LEVELS} finite numbers in increasing order, "
                f"got {shown(values)}."
            )
        require_bool("log", log)
        if log and levels[0] < 1.0 / LARGEST:
            raise SpaceError(
                f"Logarithmic levels must be above 0, got {levels[0]!r} among them. "
                "Leave it out or drop log=True."
            )
        self._values, self._log = levels, log
        places = np.log(levels) if log else np.arange(len(levels), dtype=np.float64)
        near = np.flatnonzero(np.diff(places) <= NEAREST * np.abs(places).max())
        if len(near):
            i = int(near[0])
            raise SpaceError(
                f"Logarithmic levels must be further apart: {levels[i]!r} and "
                f"{levels[i + 1]!r} are the same but for rounding. Leave one out or "
                "drop log=True."
            )
        edges = 0.5 * (places[1:] + places[:-1])
        first, last = 2 * places[0] - edges[0], 2 * places[-1] - edges[-1]
        self._positions = (places - first) / (last - first)
        self._edges = (edges - first) / (last - first)

    @property
    def unit(self) -> None:
        """What it is measured in: nothing that is told."""
        return None

    @property
    def description(self) -> None:
        """What it is, for people: nothing that is told."""
        return None

    @property
    def values(self) -> tuple[float, ...]:
        """The levels."""
        return self._values

    @property
    def log(self) -> bool:
        """Whether the unit interval is spread over the logarithm."""
        return self._log

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 1

    @property
    def num_levels(self) -> int:
        """How many values there are."""
        return len(self._values)

    @property
    def has_few_levels(self) -> bool:
        """Whether all values are worth trying."""
        return self.num_levels <= FEW_LEVELS

    def from_unit(self, u: float) -> float:
        """Return the level whose part holds position u of the unit interval."""
        return self._values[int(self._index(np.array([u]))[0])]

    def to_unit(self, value: Any) -> float:
        """Return the position of a level in the unit interval."""
        if not is_finite_number(value) or value not in self._values:
            raise SpaceError(f"Expected one of {shown(self._values)}, got {value!r}.")
        return float(self._positions[self._values.index(value)])

    def clean(self, value: Any) -> float:
        """Return an allowed value as it was given among the levels."""
        return self._values[self._values.index(value)]

    def snap(self, u: Block) -> Block:
        """Return positions moved to those of their levels, of any shape."""
        return self._positions[self._index(u)]

    def steps(self, u: Block) -> Block:
        """Return positions worth trying from each of n, (n, s): near and far ones."""
        if self.has_few_levels:
            return np.tile(self._positions, (len(u), 1))
        steps = doubling_steps(self.num_levels).astype(np.intp)
        others = self._index(u)[:, None] + steps
        return self._positions[np.clip(others, 0, self.num_levels - 1)]

    def _index(self, u: Block) -> NDArray[np.intp]:
        return np.searchsorted(self._edges, u, side="right")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Levels) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        log = ", log=True" if self._log else ""
        return f"Levels({', '.join(map(repr, self._values))}{log})"

    @property
    def _key(self) -> tuple[Any, ...]:
        return self._values, self._log
