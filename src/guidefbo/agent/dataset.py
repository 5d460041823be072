"""The agent's private observations."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from guidefbo.core.arrays import Points, Values, frozen_array
from guidefbo.core.errors import DataError

MAX_VALUE = 1e100
"""Largest observation in size; the squares of larger ones overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Inputs in the unit cube and the values observed there. Never leaves the agent."""

    X: Points
    """(n, d)."""
    y: Values
    """(n,), higher is better."""
    std: Values | None = None
    """(n,) known standard deviation of each value, NaN where it is not known."""

    def __post_init__(self) -> None:
        for name in ("X", "y", "std"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, frozen_array(given))
        if self.X.ndim != 2 or self.y.shape != (len(self.X),):
            raise DataError(
                f"Expected n points and n values, got shapes {self.X.shape} and "
                f"{self.y.shape}."
            )
        if self.std is not None and (
            self.std.shape != self.y.shape or (self.std < 0.0).any()
        ):
            raise DataError(
                "Expected a standard deviation of at least 0 for each value, or NaN "
                f"where it is not known, got {self.std}."
            )
        if not (np.abs(self.y) <= MAX_VALUE).all():
            bad = self.y[~(np.abs(self.y) <= MAX_VALUE)][0]
            raise DataError(
                f"An observation must be a finite number of at most {MAX_VALUE:g} in "
                f"size, got {bad}. Leave failed evaluations out."
            )
        if not ((self.X >= 0.0) & (self.X <= 1.0)).all():
            raise DataError(
                "Observed inputs must lie in the unit cube, got coordinates from "
                f"{self.X.min():g} to {self.X.max():g}."
            )

    def append(self, x: Points, y: Values) -> Self:
        """Return the data set with more observations, their own spread not known."""
        assert self.std is None
        return type(self)(X=np.vstack([self.X, x]), y=np.concatenate([self.y, y]))

    def __len__(self) -> int:
        return len(self.y)


def scale_of(y: Values) -> tuple[float, float]:
    """Return the mean and the (n-1) standard deviation, 1 where nothing is spread.

    One value, or equal ones, say nothing of the scale; dividing by the rounding of
    their mean would blow everything up.
    """
    mean = float(np.mean(y))
    spread = float(np.std(y, ddof=1)) if len(y) > 1 else 0.0
    rounding = 1e-12 * float(np.abs(y).max())
    return mean, spread if spread > rounding else 1.0
