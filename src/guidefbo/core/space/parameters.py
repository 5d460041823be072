"""The kinds of parameter, each with its place in the unit cube.

A number takes one coordinate. A choice takes a block of them, one per option, so that
no order is imposed and guidance from other sites can point at an option. Whole numbers
and options own cells of the cube; `snap` moves a position to the middle of its cell.
"""

import math
from dataclasses import dataclass, field
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
from guidefbo.core.space.labels import check_label, written
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.scales import (
    FEW_LEVELS,
    LARGEST,
    Block,
    IntScale,
    digits_between,
    doubling_steps,
    require_bool,
)
from guidefbo.core.space.steps import MAX_STEPS, Grid, to_digits

EDGE = 1e-12
"""Positions nearer to an end of the unit interval than this stand for the end."""
LARGEST_INT = 10**12
"""Largest whole number in size; cells of a longer range are lost in rounding."""
MAX_DIGITS = 15
"""Most significant digits that a number is rounded to."""
MAX_OPTIONS = 1000
"""Most options of one choice; each takes a coordinate."""


@dataclass(frozen=True, slots=True, repr=False)
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
    step: float | None = field(default=None, kw_only=True)
    """Distance of the values that are asked, from the lower bound on; None: any."""
    digits: int | None = field(default=None, kw_only=True)
    """Significant digits of the values that are asked; None: all."""
    unit: str | None = field(default=None, kw_only=True)
    """What it is measured in."""
    description: str | None = field(default=None, kw_only=True, compare=False)
    """What it is, for people."""

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        check_label("unit", self.unit)
        check_label("description", self.description)
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
        if self.step is not None:
            span = self.high - self.low
            if not is_finite_number(self.step) or not (
                span / MAX_STEPS <= self.step <= span * (1.0 + 1e-9)
            ):
                raise SpaceError(
                    f"step must be a number above 0 of at most high - low, got "
                    f"{shown(self.step)}."
                )
        if self.digits is not None:
            object.__setattr__(self, "digits", _digits(self.digits, self.step))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 1

    @property
    def grid(self) -> Grid | None:
        """The values that are asked, None where any is."""
        if self.step is None:
            return None
        return Grid.of(self.low, self.high, self.step, log=self.log)

    def from_unit(self, u: float) -> float:
        """Return the value at position u of the unit interval: one that is asked."""
        value = self._at(u)
        if (grid := self.grid) is not None:
            return grid.nearest(value)
        if self.digits is not None:
            value = to_digits(value, self.digits)
        return min(max(value, float(self.low)), float(self.high))

    def _at(self, u: float) -> float:
        # 5e-17 instead of 0 is rounding error: so close to an end, it is the end.
        if u <= EDGE or u >= 1.0 - EDGE:
            return float(self.low if u <= EDGE else self.high)
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            value = math.exp(low + u * (high - low))
        else:
            value = self.low + u * (self.high - self.low)
        return value

    def to_unit(self, value: Any) -> float:
        """Return the position of a value in the unit interval."""
        if not is_finite_number(value) or not self.low <= value <= self.high:
            digits = digits_between(self.low, self.high)
            raise SpaceError(
                f"Expected a number in [{self.low:.{digits}g}, {self.high:.{digits}g}]"
                f", got {shown(value)}."
            )
        if self.log:
            u = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            u = (value - self.low) / (self.high - self.low)
        return min(max(u, 0.0), 1.0)

    def clean(self, value: Any) -> float:
        """Return an allowed value as a float."""
        return float(value)

    __repr__ = written


@dataclass(frozen=True, slots=True, repr=False)
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
    unit: str | None = field(default=None, kw_only=True)
    """What it is measured in."""
    description: str | None = field(default=None, kw_only=True, compare=False)
    """What it is, for people."""

    def __post_init__(self) -> None:
        check_label("unit", self.unit)
        check_label("description", self.description)
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

    __repr__ = written

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


@dataclass(frozen=True, slots=True, repr=False)
class Bool:
    """Yes or no: the two ends of one coordinate.

    >>> Bool().from_unit(0.7), Bool().to_unit(False)
    (True, 0.0)
    """

    description: str | None = field(default=None, kw_only=True, compare=False)
    """What it is, for people."""

    def __post_init__(self) -> None:
        check_label("description", self.description)

    @property
    def unit(self) -> None:
        """It is measured in nothing."""
        return None

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

    __repr__ = written

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

    __slots__ = ("_options", "description", "unit")

    def __init__(
        self,
        *options: str | float | bool,
        unit: str | None = None,
        description: str | None = None,
    ) -> None:
        """Create a choice from its options.

        Args:
            options: Two or more of them.
            unit: What they are measured in, where they are numbers.
            description: What it is, for people.
        """
        check_label("unit", unit)
        check_label("description", description)
        self.unit, self.description = unit, description
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
        return isinstance(other, Choice) and (self._options, self.unit) == (
            other._options,
            other.unit,
        )

    def __hash__(self) -> int:
        return hash((self._options, self.unit))

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f", unit={self.unit!r}"
        return f"Choice({', '.join(map(repr, self._options))}{unit})"


Parameter = Float | Int | Levels | Choice | Bool


def _digits(digits: Any, step: float | None) -> int:
    if step is not None:
        raise SpaceError("A Float has a step or significant digits, not both.")
    if not is_whole_number(digits) or not 1 <= digits <= MAX_DIGITS:
        raise SpaceError(
            f"digits must be a whole number from 1 to {MAX_DIGITS}, got "
            f"{shown(digits)}."
        )
    return int(digits)


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
