"""Functions without cross terms, of which a trend is a weighted sum.

Every function is a sum of terms of single coordinates, of degree two at most. In
u = x - 1/2 and q = u² - 1/12, whose means over the unit cube are zero,

    φ(x)ᵀ β = level + Σ_j slope_j u_j + Σ_j curvature_j q_j.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Point, Points, Values


class Terms(NamedTuple):
    """A weighted sum of a basis, by its terms."""

    level: float
    slopes: NDArray[np.float64]
    """(d,), of u."""
    curvatures: NDArray[np.float64]
    """(d,), of q."""


class Basis(Protocol):
    """The functions φ of a trend."""

    def __call__(self, X: Points) -> Matrix:
        """Return φ at the rows of X, one column a function."""
        ...

    def pull_back(self, sensitivity: Matrix, X: Points) -> Points:
        """Return Σ_a C_ba ∂φ_a(x_b)/∂x_b for sensitivities C, one row a point."""
        ...

    def gradient(self, x: Point) -> Matrix:
        """Return ∂φ_a(x)/∂x_j as (d, functions)."""
        ...

    def terms(self, weights: Values) -> Terms:
        """Return the sum of the functions with these weights."""
        ...


@dataclass(frozen=True, slots=True)
class PooledQuadratic:
    """φ(x) = (1, u_1 .. u_d, Σ_j q_j, q_1 .. q_d): curvatures share one coefficient."""

    dim: int
    """Number of coordinates."""

    def __call__(self, X: Points) -> Matrix:
        """Return φ at the rows of X, (n, 2d + 2)."""
        d = self.dim
        Phi = np.empty((len(X), 2 * d + 2))
        U, Q = Phi[:, 1 : d + 1], Phi[:, d + 2 :]
        Phi[:, 0] = 1.0
        np.subtract(X, 0.5, out=U)
        np.multiply(U, U, out=Q)
        Q -= 1.0 / 12.0
        Q.sum(axis=1, out=Phi[:, d + 1])
        return Phi

    def pull_back(self, sensitivity: Matrix, X: Points) -> Points:
        """Return Σ_a C_ba ∂φ_a(x_b)/∂x_b for sensitivities C, (b, 2d + 2)."""
        C, d = sensitivity, self.dim
        return C[:, 1 : d + 1] + 2.0 * (X - 0.5) * (C[:, [d + 1]] + C[:, d + 2 :])

    def gradient(self, x: Point) -> Matrix:
        """Return ∂φ_a(x)/∂x_j as (d, 2d + 2)."""
        d, u = self.dim, x - 0.5
        return np.hstack(
            [np.zeros((d, 1)), np.eye(d), 2.0 * u[:, None], np.diag(2.0 * u)]
        )

    def terms(self, weights: Values) -> Terms:
        """Return the sum of the functions with these weights."""
        d = self.dim
        return Terms(
            float(weights[0]), weights[1 : d + 1], weights[d + 1] + weights[d + 2 :]
        )
