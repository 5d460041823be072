"""Transformation of observed values to the units of the model, and back.

A Gaussian process assumes values of one scale. Real objectives often have a few very
low values; standardising would then compress the differences between good values, which
matter for the optimum. Below the median (the knee) a value is therefore tempered,

    t(y) = y                                    for y >= knee
    t(y) = knee - reach log(1 + (knee - y) / reach)     for y < knee

with reach the distance from the median to the best value. t is increasing and
continuously differentiable, and leaves the better half of the values unchanged. Then
the values are standardised.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from guidefbo.agent.dataset import scale_of
from guidefbo.core.arrays import Values

LARGEST_EXPONENT = 200.0
"""Beyond, what is read back from the model would overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """An increasing, invertible transformation of the values."""

    shift: float = 0.0
    """Subtracted after tempering."""
    scale: float = 1.0
    """Divided by, last."""
    knee: float = -np.inf
    """Below this, values are tempered."""
    reach: float = 1.0
    """How far below the knee a value is halfway to logarithmic."""

    @classmethod
    def plain(cls, y: Values) -> Self:
        """Leave the values as they are."""
        del y
        return cls()

    @classmethod
    def standard(cls, y: Values) -> Self:
        """Bring the values to mean 0 and standard deviation 1."""
        shift, scale = scale_of(y)
        return cls(shift=shift, scale=scale)

    @classmethod
    def tempered(cls, y: Values) -> Self:
        """Temper the worse half of the values, then standardise."""
        knee, best = float(np.median(y)), float(y.max())
        # Where the median is the best, to rounding, nothing says how far is far. The
        # second limit keeps the worst value's depth from overflowing, the third the
        # squares of tempered values from vanishing.
        rounding = 1e-12 * max(abs(knee), abs(best))
        if best - knee <= max(rounding, 1e-200 * float(np.abs(y).max()), 1e-140):
            return cls.standard(y)
        units = cls(knee=knee, reach=best - knee)
        shift, scale = scale_of(units.to_model(y))
        return cls(shift=shift, scale=scale, knee=knee, reach=best - knee)

    def to_model(self, y: Values) -> Values:
        """Return values of the site in units of the model."""
        depth = np.maximum(self.knee - y, 0.0) / self.reach
        tempered = np.where(y < self.knee, self.knee - self.reach * np.log1p(depth), y)
        return (tempered - self.shift) / self.scale  # E42

    def to_site(self, z: Values) -> Values:
        """Return values of the model in units of the site."""
        t = self.shift + self.scale * z
        depth = np.clip((self.knee - t) / self.reach, 0.0, LARGEST_EXPONENT)
        return np.where(t < self.knee, self.knee - self.reach * np.expm1(depth), t)

    def normal_to_site(self, mean: Values, std: Values) -> tuple[Values, Values]:
        """Return a normal distribution of the model in units of the site.

        As if the transformation were straight around its mean.
        """
        middle = self.to_site(mean)
        return middle, std / self.slope(middle)

    def slope(self, y: Values) -> Values:
        """Return what a small difference at y becomes in the model, per unit."""
        depth = np.maximum(self.knee - y, 0.0) / self.reach
        return 1.0 / ((1.0 + depth) * self.scale)
