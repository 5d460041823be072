"""Rotation of a landscape about the origin."""

from dataclasses import dataclass

import numpy as np

from guidefbo.core.arrays import Matrix, Points, frozen_array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rotate:
    """Turn every point x into matrix @ x. The result is not clipped to any box."""

    matrix: Matrix
    """Orthogonal, determinant one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", frozen_array(self.matrix))

    def __call__(self, X: Points) -> Points:
        """Return the turned points."""
        return X @ self.matrix.T

    def __repr__(self) -> str:
        # The Frobenius distance from the identity: 0 says that nothing is turned.
        distance = np.linalg.norm(self.matrix - np.eye(len(self.matrix)))
        return f"rotate[{distance:.3g}]"
