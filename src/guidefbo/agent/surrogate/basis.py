"""Functions without cross terms, of which a trend is a weighted sum.

Every function is a sum of terms of single coordinates, of degree four at most. In
u = x - 1/2 and q = u² - 1/12, whose means over the unit cube are zero,

    φ(x)ᵀ β = level + Σ_j slope_j u_j + Σ_j curvature_j q_j

and, where there are terms of higher degree, with cubic_j u_j³ + quartic_j (u_j⁴ - 1/80)
of every coordinate added.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Point, Points, Values

GRID = 201
"""Values of a coordinate at which a sum of higher degree is compared."""


class HigherTerms(NamedTuple):
    """The terms of third and fourth degree."""

    cubics: NDArray[np.float64]
    """(d,), of u³."""
    quartics: NDArray[np.float64]
    """(d,), of u⁴ - 1/80."""

    def value(self, U: Points) -> Values:
        """Return their sum at the rows of U."""
        squares = U * U
        value: Values = (squares * U) @ self.cubics + squares**2 @ self.quartics
        return value - self.quartics.sum() / 80.0

    def gradient(self, U: Points) -> Points:
        """Return its gradient at the rows of U."""
        return U * U * (3.0 * self.cubics + 4.0 * self.quartics * U)

    def bend(self, u: Point) -> Values:
        """Return the second derivative along each coordinate at one point."""
        return u * (6.0 * self.cubics + 12.0 * self.quartics * u)


class Terms(NamedTuple):
    """A weighted sum of a basis, by its terms."""

    level: float
    slopes: NDArray[np.float64]
    """(d,), of u."""
    curvatures: NDArray[np.float64]
    """(d,), of q."""
    higher: HigherTerms | None = None
    """None: a quadratic."""

    def value(self, U: Points) -> Values:
        """Return the sum at the rows of U."""
        level, slopes, curvatures, higher = self
        value = level - curvatures.sum() / 12.0 + U @ slopes + U**2 @ curvatures
        return value if higher is None else value + higher.value(U)

    def gradient(self, U: Points) -> Points:
        """Return its gradient at the rows of U."""
        gradient = self.slopes + (2.0 * self.curvatures) * U
        return gradient if self.higher is None else gradient + self.higher.gradient(U)

    def bend(self, u: Point) -> Values:
        """Return the second derivative along each coordinate at one point."""
        bend = 2.0 * self.curvatures
        return bend if self.higher is None else bend + self.higher.bend(u)

    @property
    def summit(self) -> Point:
        """Where in the cube it is highest; above degree two, to within a grid."""
        if self.higher is not None:
            grid = np.linspace(-0.5, 0.5, GRID)[:, None]
            values = grid * (self.slopes + grid * self.curvatures)
            values += grid**3 * (self.higher.cubics + grid * self.higher.quartics)
            return 0.5 + grid[np.argmax(values, axis=0), 0]
        down = self.curvatures < 0.0
        inside = -self.slopes / np.where(down, 2.0 * self.curvatures, -1.0)
        at_side = 0.5 * np.sign(self.slopes)
        return 0.5 + np.where(down, np.clip(inside, -0.5, 0.5), at_side)


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
