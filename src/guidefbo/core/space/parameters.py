"""The kinds of parameter, each with its place in the unit cube.

A number takes one coordinate. A choice takes a block of them, one per option, so that
no order is imposed and guidance from other sites can point at an option. Whole numbers
and options own cells of the cube; `snap` moves a position to the middle of its cell.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import (
    is_finite_number,
    is_plain_text,
    is_whole_number,
    plain,
    shown,
)
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.scales import (
    FEW_LEVELS,
    LARGEST,
    Block,
    IntScale,
    doubling_steps,
    require_bool,
)

EDGE = 1e-12
"""Positions nearer to an end of the unit interval than this stand for the end."""
LARGEST_INT = 10**12
"""Largest whole number in size; cells of a longer range are lost in rounding."""
MAX_OPTIONS = 1000
"""Most options of one choice; each takes a coordinate."""


@dataclass(frozen=True, slots=True)
class Float:
    """A real parameter between two bounds, on a linear or logarithmic scale.

    >>> round(Float(1, 100, log=True).from_unit(0.5), 6)
    10.0
    """

    low: float
    """Lower bound."""
    high: float
    """Upper bound."""
    log: bool = False
    """Whether the unit interval is spread over the logarithm."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        if not (
            is_finite_number(self.low)
            and is_finite_number(self.high)
            and self.low < self.high
            and max(abs(self.low), abs(self.high)) <= LARGEST
        ):
            raise SpaceError(
                f"Float needs finite bounds with low < high, got "
                f"low={shown(self.low)}, high={shown(self.high)}."
            )
        require_bool("log", self.log)
        if self.log and self.low < 1.0 / LARGEST:
            raise SpaceError(
                f"A logarithmic Float needs low > 0, got low={self.low!r}. Raise the "
                "bound or drop log=True."
            )

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 1

    def from_unit(self, u: float) -> float:
        """Return the value at position u of the unit interval."""
        # 5e-17 instead of 0 is rounding error: so close to an end, it is the end.
        if u <= EDGE or u >= 1.0 - EDGE:
            return float(self.low if u <= EDGE else self.high)
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            value = math.exp(low + u * (high - low))
        else:
            value = self.low + u * (self.high - self.low)
        return min(max(value, float(self.low)), float(self.high))

    def to_unit(self, value: Any) -> float:
        """Return the position of a value in the unit interval."""
        if not is_finite_number(value) or not self.low <= value <= self.high:
            raise SpaceError(
                f"Expected a number in [{self.low:g}, {self.high:g}], got "
                f"{shown(value)}."
            )
        if self.log:
            u = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            u = (value - self.low) / (self.high - self.low)
        return min(max(u, 0.0), 1.0)

    def clean(self, value: Any) -> float:
        """Return an allowed value as a float."""
        return float(value)


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number between two bounds, both included.

    Its interval runs from half a step below the lower bound to half a step above the
    upper one, and a value sits at the middle of its own step (at its logarithm, on a
    logarithmic scale).

    >>> days = Int(1, 4)
    >>> days.to_unit(1), days.from_unit(0.99)
    (0.125, 4)
    """

    low: int
    """Smallest value."""
    high: int
    """Largest value."""
    log: bool = False
    """Whether the unit interval is spread over the logarithm."""

    def __post_init__(self) -> None:
        if not (
            is_whole_number(self.low)
            and is_whole_number(self.high)
            and self.low < self.high
            and max(abs(self.low), abs(self.high)) <= LARGEST_INT
        ):
            raise SpaceError(
                f"Int needs whole bounds with low < high, at most {LARGEST_INT:g} in "
                f"size, got low={shown(self.low)}, high={shown(self.high)}."
            )
        require_bool("log", self.log)
        if self.log and self.low < 1:
            raise SpaceError(
                f"A logarithmic Int needs low >= 1, got low={self.low}. Raise the "
                "bound or drop log=True."
            )
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 1

    @property
    def num_levels(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1

    @property
    def has_few_levels(self) -> bool:
        """Whether all values are worth trying."""
        return self.num_levels <= FEW_LEVELS

    def from_unit(self, u: float) -> int:
        """Return the value whose step holds position u of the unit interval."""
        return int(self.scale.at(np.array([u]))[0])

    def to_unit(self, value: Any) -> float:
        """Return the position of a value in the unit interval."""
        is_whole = is_whole_number(value) or (
            is_finite_number(value) and float(value).is_integer()
        )
        if not is_whole or not self.low <= value <= self.high:
            raise SpaceError(
                f"Expected a whole number from {self.low} to {self.high}, got "
                f"{shown(value)}."
            )
        return float(self.scale.positions(np.array([float(value)]))[0])

    def clean(self, value: Any) -> int:
        """Return an allowed value as an int."""
        return int(value)

    @property
    def scale(self) -> IntScale:
        """The values and their positions."""
        if not self.log:
            return IntScale(self.low, self.high, None)
        ends = math.log(self.low - 0.5), math.log(self.high + 0.5)
        return IntScale(self.low, self.high, ends)

    def snap(self, u: Block) -> Block:
        """Return positions moved to the middle of their steps, of any shape."""
        return self.scale.snap(u)

    def steps(self, u: Block) -> Block:
        """Return positions worth trying from each of n, (n, s): near and far ones.

        All values where they are few; else 1, 2, 4, ... steps down and up.
        """
        scale = self.scale
        if self.has_few_levels:
            values = np.arange(self.low, self.high + 1, dtype=np.float64)
            return np.tile(scale.positions(values), (len(u), 1))
        others = scale.at(u)[:, None] + doubling_steps(self.num_levels)
        return scale.positions(np.clip(others, self.low, self.high))


@dataclass(frozen=True, slots=True)
class Bool:
    """Yes or no: the two ends of one coordinate.

    >>> Bool().from_unit(0.7), Bool().to_unit(False)
    (True, 0.0)
    """

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 1

    def from_unit(self, u: float) -> bool:
        """Return the value at position u of the unit interval."""
        return bool(u >= 0.5)

    def to_unit(self, value: Any) -> float:
        """Return the end of the unit interval that stands for a value."""
        if not isinstance(value, bool | np.bool_):
            raise SpaceError(f"Expected True or False, got {shown(value)}.")
        return 1.0 if value else 0.0

    def clean(self, value: Any) -> bool:
        """Return an allowed value as a bool."""
        return bool(value)

    def snap(self, u: Block) -> Block:
        """Return positions moved to their nearer end, of any shape."""
        return (u >= 0.5).astype(np.float64)

    def steps(self, u: Block) -> Block:
        """Return the other end of each of n positions, (n, 1)."""
        return 1.0 - self.snap(u)[:, None]


class Choice:
    """One of several options without an order: words, numbers, yes or no.

    >>> drug = Choice("a", "b", "c")
    >>> drug.to_unit("b").tolist(), drug.from_unit(np.array([0.2, 0.1, 0.9]))
    ([0.0, 1.0, 0.0], 'c')
    """

    __slots__ = ("_options",)

    def __init__(self, *options: str | float | bool) -> None:
        """Create a choice from its options."""
        for option in options:
            if not isinstance(option, str | bool) and not is_finite_number(option):
                raise SpaceError(
                    "An option must be a text, a finite number, True or False, got "
                    f"{shown(option)}. Write Choice('a', 'b'), not a list."
                )
            if isinstance(option, str) and not is_plain_text(option):
                raise SpaceError(
                    "An option must be a text of one line that can be printed, without "
                    f"control characters, got {shown(option)}."
                )
        options = tuple(plain(option) for option in options)
        if not 2 <= len(options) <= MAX_OPTIONS or len(set(options)) != len(options):
            raise SpaceError(
                f"Choice needs 2 to {MAX_OPTIONS} different options, got "
                f"{shown(options)}."
            )
        self._options = options

    @property
    def options(self) -> tuple[str | float | bool, ...]:
        """The options in the order given."""
        return self._options

    @property
    def size(self) -> int:
        """Number of coordinates: one per option."""
        return len(self._options)

    def from_unit(self, u: Block) -> str | float | bool:
        """Return the option whose coordinate is the largest."""
        return self._options[int(np.argmax(u))]

    def to_unit(self, value: Any) -> Block:
        """Return the block with a one at the option."""
        value = plain(value)
        is_scalar = isinstance(value, str | bool) or is_finite_number(value)
        if not is_scalar or value not in self._options:
            raise SpaceError(
                f"Expected one of {', '.join(map(repr, self._options))}, got "
                f"{shown(value)}."
            )
        return _vertices(np.array(self._options.index(value)), self.size)

    def clean(self, value: Any) -> str | float | bool:
        """Return an allowed value as it was given among the options."""
        return self._options[self._options.index(plain(value))]

    def snap(self, u: Block) -> Block:
        """Return blocks, along the last axis, moved to their nearest option."""
        if _are_vertices(u):
            return u
        return _vertices(np.argmax(u, axis=-1), self.size)

    def at_share(self, u: Block) -> Block:
        """Return the blocks of the options whose equal parts of [0, 1] hold u."""
        index = np.clip(np.floor(u * self.size), 0, self.size - 1).astype(np.intp)
        return _vertices(index, self.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and self._options == other._options

    def __hash__(self) -> int:
        return hash(self._options)

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self._options))})"


Parameter = Float | Int | Levels | Choice | Bool


def _vertices(index: NDArray[np.intp], size: int) -> Block:
    """Return blocks with a one at each index, along a new last axis."""
    blocks = np.zeros((*index.shape, size))
    np.put_along_axis(blocks, index[..., None], 1.0, axis=-1)
    return blocks


def _are_vertices(u: Block) -> bool:
    """Return whether every block along the last axis is a one among zeros.

    That costs less than a look for the largest coordinate of every block, and what a
    search asks about are vertices.
    """
    size = u.shape[-1]
    places = np.flatnonzero(u != 0.0)
    return bool(
        len(places) * size == u.size
        and (places // size == np.arange(len(places))).all()
        and np.count_nonzero(u == 1.0) == len(places)
    )
