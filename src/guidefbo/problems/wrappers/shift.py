"""Displacement of a landscape."""

from dataclasses import dataclass

import numpy as np

from guidefbo.core.arrays import Point, Points, frozen_array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Shift:
    """Move the landscape by `vector`: the argument becomes x - vector."""

    vector: Point
    """Displacement in search coordinates, where the box has width one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", frozen_array(self.vector))

    def __call__(self, X: Points) -> Points:
        """Return the points as the unmoved landscape sees them."""
        return X - self.vector

    def __repr__(self) -> str:
        return f"shift[{np.linalg.norm(self.vector):.3g}]"
