"""Where values that come in steps sit in the unit interval, and their limits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import shown
from guidefbo.core.errors import SpaceError

LARGEST = 1e150
"""Largest bound in size; differences and ratios of larger ones overflow."""
FEW_LEVELS = 16
"""Up to this many values are all tried; beyond, steps that double."""

DIGITS = 6
"""Significant digits in which people see a number of an ordinary range."""
MAX_DIGITS = 17
"""Digits that give back any float."""
Block = NDArray[np.float64]
"""Coordinates of one parameter: (size,) of one point, (n, size) of many."""
Bound = float | NDArray[np.float64]
"""A number, or (k,) of them for k parameters side by side."""


@dataclass(frozen=True, slots=True)
class IntScale:
    """Whole numbers from low to high, and where they sit in the unit interval.

    Of one parameter, or of several side by side along the last axis.
    """

    low: Bound
    """Smallest value."""
    high: Bound
    """Largest value."""
    log_ends: tuple[Bound, Bound] | None
    """Logarithms half a step beyond the bounds; None on a linear scale."""

    @classmethod
    def side_by_side(cls, parts: Sequence["IntScale"]) -> Self:
        """Return the levels of several parameters, all linear or all logarithmic."""
        low = np.array([part.low for part in parts], dtype=np.float64)
        high = np.array([part.high for part in parts], dtype=np.float64)
        ends = [part.log_ends for part in parts if part.log_ends is not None]
        if not ends:
            return cls(low, high, None)
        first, last = np.array(ends, dtype=np.float64).T
        return cls(low, high, (first, last))

    def at(self, u: Block) -> Block:
        """Return the values whose steps hold the positions, of any shape."""
        if self.log_ends is None:
            values = self.low + np.floor(u * (self.high - self.low + 1))
        else:
            first, last = self.log_ends
            values = np.floor(np.exp(first + u * (last - first)) + 0.5)
        return np.clip(values, self.low, self.high)

    def positions(self, values: Block) -> Block:
        """Return where values sit, of any shape."""
        if self.log_ends is None:
            return (values - self.low + 0.5) / (self.high - self.low + 1)
        first, last = self.log_ends
        return (np.log(values) - first) / (last - first)

    def snap(self, u: Block) -> Block:
        """Return positions moved to the middle of their steps, of any shape."""
        return self.positions(self.at(u))


def doubling_steps(num_levels: int) -> Block:
    """Return 1, 2, 4, ... steps down and up, within so many levels."""
    steps = np.exp2(np.arange((num_levels - 1).bit_length(), dtype=np.float64))
    return np.concatenate([-steps, steps])


def require_bool(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise SpaceError(f"{name} must be True or False, got {shown(value)}.")


def digits_between(low: float, high: float, finest: float | None = None) -> int:
    """Return the digits that tell a thousand values between two bounds apart.

    Args:
        low: Lower bound.
        high: Upper bound.
        finest: A smaller difference that is seen as well.
    """
    part = (high - low) / 1000.0
    seen = part if finest is None else min(part, finest)
    leading = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    # Not a digit more where the difference of the bounds is rounded.
    needed = math.ceil(leading - math.log10(seen) - 1e-6)
    return min(max(needed, DIGITS), MAX_DIGITS)
