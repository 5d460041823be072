"""A task's objective as a search sees it: a raw function over an affine map."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.problems.synthetic.function import SyntheticFunction
from guidefbo.problems.synthetic.maps import Stack

STEP = 1e-6
"""Step of the finite differences, as a share of the box width."""
PORTION = 2**16
"""Coordinates evaluated at a time, which bounds the memory of a formula."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Landscape:
    """value(x) = function(matrix x + offset), over the unit cube, to be maximised."""

    function: Callable[[Points], Values]
    """Values at raw points."""
    matrix: Matrix
    """From the unit cube to raw coordinates."""
    offset: Point
    """Raw coordinates of the cube's origin."""
    base: SyntheticFunction | None = None
    """The function behind it, where it is one of the catalogue's kind."""

    @classmethod
    def of(cls, objective: Callable[[Points], Values], dim: int) -> Self:
        """Return what is behind an objective, or the objective over the cube itself."""
        if not isinstance(objective, Stack):
            return cls(function=objective, matrix=np.eye(dim), offset=np.zeros(dim))
        corners = np.vstack([np.zeros(dim), np.eye(dim)])
        for change in objective.inputs:
            corners = change(corners)
        base = objective.function
        return cls(
            function=Stack(inputs=(), function=base, outputs=objective.outputs),
            matrix=(corners[1:] - corners[0]).T,
            offset=corners[0],
            base=base if isinstance(base, SyntheticFunction) else None,
        )

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.offset)

    @property
    def ends(self) -> tuple[Point, Point]:
        """Least and largest raw value of each coordinate over the cube."""
        low = self.offset + np.minimum(self.matrix, 0.0).sum(axis=1)
        high = self.offset + np.maximum(self.matrix, 0.0).sum(axis=1)
        return low, high

    def value(self, X: Points) -> Values:
        """Return the values at points of the cube."""
        return self._values(self.to_raw(X))

    def gradient(self, X: Points) -> Points:
        """Return the gradients at points of the cube, by central differences.

        The steps are along raw coordinates: the map is applied once a point, not once
        a step, and the sides of the cube do not matter.
        """
        Y, dim = self.to_raw(X), self.dim
        steps = STEP * np.linalg.norm(self.matrix, axis=1)
        moved = np.concatenate([np.diag(steps), -np.diag(steps)])
        values = self._values((Y[:, None] + moved).reshape(-1, dim))
        ahead, behind = values.reshape(len(Y), 2, dim).transpose(1, 0, 2)
        return ((ahead - behind) / (2.0 * steps)) @ self.matrix

    def to_raw(self, X: Points) -> Points:
        """Return points of the cube in raw coordinates."""
        return X @ self.matrix.T + self.offset

    def _values(self, Y: Points) -> Values:
        rows = max(1, PORTION // self.dim)
        parts = [self.function(Y[k : k + rows]) for k in range(0, len(Y), rows)]
        return np.concatenate(parts) if parts else np.zeros(0)
