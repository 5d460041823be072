"""What objectives look like in the large: a few features of a point.

For a number, u = x - 1/2: its slope √12 u and its bend √180 (u² - 1/12), which have
mean 0 and variance 1 over the cube. For a choice of k options: the centred indicator
of each, 1 - 1/k at the option and -1/k elsewhere.

A *block* is all slopes, all bends, or one choice. Coefficients of one block are taken
to differ equally much from site to site.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.surrogate.basis import Terms
from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.core.domain import Domain
from guidefbo.wire.shape import blocks_of

SLOPE, BEND = 12.0**0.5, 180.0**0.5
"""What brings u and u² - 1/12 to variance 1 over the cube."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapeFeatures:
    """A basis of trends: the constant, slopes, bends, then the options of each choice.

    The constant is every site's own: it is in the basis and in no message.
    """

    dim: int
    """Number of coordinates."""
    numbers: NDArray[np.intp]
    """Coordinates that are numbers."""
    options: NDArray[np.intp]
    """Coordinates that stand for an option each."""
    shares: NDArray[np.float64]
    """1/k for each of those."""
    sizes: tuple[int, ...]
    """Features in each block, none of them empty; the constant is in none."""

    @classmethod
    def of(cls, domain: Domain) -> Self:
        """Return the features of a domain."""
        is_number = np.ones(domain.dim, dtype=np.bool_)
        for first, choice in domain.blocks:
            is_number[first : first + choice.size] = False
        counts = [choice.size for _, choice in domain.blocks]
        (numbers,), (options,) = np.nonzero(is_number), np.nonzero(~is_number)
        bent = (len(numbers),) * 2 if len(numbers) else ()
        return cls(
            dim=domain.dim,
            numbers=numbers,
            options=options,
            shares=np.repeat(1.0 / np.array(counts, dtype=float), counts),
            sizes=(*bent, *counts),
        )

    @property
    def size(self) -> int:
        """Number of features without the constant, p."""
        return sum(self.sizes)

    @property
    def form(self) -> tuple[tuple[str, int], ...]:
        """Kind and size of each block of a message: the trend's, then the place's."""
        m = len(self.numbers)
        return blocks_of(m, self.sizes[2 if m else 0 :])

    def __call__(self, X: Points) -> Matrix:
        """Return the constant and the features at the rows of X, (n, 1 + p)."""
        Phi = np.empty((len(X), 1 + self.size))
        constant, slopes, bends, options = self._parts(Phi)
        U = self._centred(X)
        constant[:] = 1.0
        np.multiply(U, SLOPE, out=slopes)
        U *= U
        U -= 1.0 / 12.0
        np.multiply(U, BEND, out=bends)
        if len(self.options):
            np.subtract(X[:, self.options], self.shares, out=options)
        return Phi  # E98

    def pull_back(self, sensitivity: Matrix, X: Points) -> Points:
        """Return Σ_a C_ba ∂φ_a(x_b)/∂x_b for sensitivities C, (b, 1 + p)."""
        _, slopes, bends, options = self._parts(sensitivity)
        U = self._centred(X)
        U *= 2.0 * BEND
        U *= bends
        U += SLOPE * slopes
        if not len(self.options):
            return U
        gradient = np.empty(X.shape)
        gradient[:, self.numbers] = U
        gradient[:, self.options] = options
        return gradient

    def gradient(self, x: Point) -> Matrix:
        """Return ∂φ_a(x)/∂x_j as (d, 1 + p)."""
        count = 1 + self.size
        return self.pull_back(np.eye(count), np.tile(x, (count, 1))).T

    def terms(self, weights: Values) -> Terms:
        """Return the sum of the features with these weights."""
        constant, of_slopes, of_bends, of_options = self._parts(weights[None])
        slopes, curvatures = np.zeros(self.dim), np.zeros(self.dim)
        slopes[self.numbers] = SLOPE * of_slopes[0]
        slopes[self.options] = of_options[0]
        curvatures[self.numbers] = BEND * of_bends[0]
        # Options are counted from their mean 1/k, and u from 1/2.
        level = float(constant[0, 0] + of_options[0] @ (0.5 - self.shares))
        return Terms(level, slopes, curvatures)

    def settled(self, x: Point, weights: Values) -> Point:
        """Return a point with every choice at its option of highest weight."""
        settled, m = x.copy(), len(self.numbers)
        first = 0
        for size in self.sizes[2:] if m else self.sizes:
            block = slice(first, first + size)
            columns, of_options = self.options[block], weights[1 + 2 * m :][block]
            settled[columns] = 0.0
            settled[columns[np.argmax(of_options)]] = 1.0
            first += size
        return settled

    def _centred(self, X: Points) -> NDArray[np.float64]:
        """Return u of the coordinates that are numbers, which may be all."""
        return (X[:, self.numbers] if len(self.options) else X) - 0.5

    def _parts(self, C: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        m = len(self.numbers)
        return C[:, :1], C[:, 1 : 1 + m], C[:, 1 + m : 1 + 2 * m], C[:, 1 + 2 * m :]
