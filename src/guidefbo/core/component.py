"""Weighted Gaussian components, the content of the messages of GUIDE and consensus."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values, frozen_array


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """A few weighted Gaussians in the unit cube, kept as arrays."""

    weights: Values
    """(L,)."""
    centers: Points
    """(L, d)."""
    variances: NDArray[np.float64]
    """(L, d) if diagonal, (L, d, d) if full."""

    def __post_init__(self) -> None:
        for name in ("weights", "centers", "variances"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def is_full(self) -> bool:
        """Whether the components carry covariance matrices."""
        return self.variances.ndim == 3

    def take(self, index: NDArray[np.intp]) -> "Components":
        """Return the components at these positions, in that order."""
        return Components(
            weights=self.weights[index],
            centers=self.centers[index],
            variances=self.variances[index],
        )
