"""The grid of a real parameter that comes in steps, such as a dial of half degrees."""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

import numpy as np

from guidefbo.core.space.scales import FEW_LEVELS, Block, doubling_steps

MAX_STEPS = 10**9
"""Most steps between two bounds; finer ones are lost in rounding."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The values low, low + step, ... up to high, and where they sit in [0, 1].

    Unlike levels they keep the places a parameter without steps has: a result between
    two of them, as it was run, lies between them in the model as well.
    """

    low: float
    """First value."""
    high: float
    """Upper bound, perhaps beyond the last value."""
    step: float
    """Distance of two values."""
    log: bool
    """Whether the unit interval is spread over the logarithm."""

    @classmethod
    def of(cls, low: float, high: float, step: float, *, log: bool) -> Self:
        """Return the grid between two bounds."""
        return cls(float(low), float(high), float(step), log)

    @property
    def last(self) -> int:
        """Number of the last value, the first being 0."""
        # As the numbers are written: 0.3 is three steps of 0.1.
        low, high, step = (Decimal(repr(v)) for v in (self.low, self.high, self.step))
        return int((high - low) / step)

    @property
    def has_few_levels(self) -> bool:
        """Whether all values are worth trying."""
        return self.last < FEW_LEVELS

    def value(self, k: int) -> float:
        """Return value k, as one would write it."""
        return float(Decimal(repr(self.low)) + k * Decimal(repr(self.step)))

    def nearest(self, value: float) -> float:
        """Return the value of the grid nearest to a number."""
        k = round((value - self.low) / self.step)
        return self.value(min(max(k, 0), self.last))

    def index(self, u: Block) -> Block:
        """Return the numbers of the values nearest to positions, of any shape."""
        if self.log:
            first, last = math.log(self.low), math.log(self.high)
            values = np.exp(first + u * (last - first))
        else:
            values = self.low + u * (self.high - self.low)
        return np.clip(np.rint((values - self.low) / self.step), 0.0, self.last)

    def positions(self, index: Block) -> Block:
        """Return where values sit by their numbers, of any shape."""
        values = np.minimum(self.low + index * self.step, self.high)
        if self.log:
            u = np.log(values / self.low) / math.log(self.high / self.low)
        else:
            u = (values - self.low) / (self.high - self.low)
        return np.clip(u, 0.0, 1.0)

    def snap(self, u: Block) -> Block:
        """Return positions moved to those of the nearest values, of any shape."""
        return self.positions(self.index(u))

    def steps(self, u: Block) -> Block:
        """Return positions worth trying from each of n, (n, s): near and far ones."""
        if self.has_few_levels:
            every = self.positions(np.arange(self.last + 1, dtype=np.float64))
            return np.tile(every, (len(u), 1))
        others = self.index(u)[:, None] + doubling_steps(self.last + 1)
        return self.positions(np.clip(others, 0.0, self.last))


def to_digits(value: float, digits: int) -> float:
    """Return a number with so many significant digits.

    >>> to_digits(1234.5678, 3), to_digits(0.00098765, 2)
    (1230.0, 0.00099)
    """
    return float(f"{value:.{digits - 1}e}")
