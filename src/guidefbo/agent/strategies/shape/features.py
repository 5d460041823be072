"""What objectives look like in the large: a few features of a point.

For a number, u = x - 1/2: the Legendre polynomials up to some degree, which have mean 0
and variance 1 over the cube and are uncorrelated there,

    √12 u,   √180 (u² - 1/12),   √2800 (u³ - 3u/20),   210 (u⁴ - 3u²/14 + 3/560):

its slope, its bend, how it is skewed, and whether it has one summit or two. For a
choice of k options: the centred indicator of each, 1 - 1/k at the option and -1/k
elsewhere.

A *block* is all coefficients of one degree, or one choice. Coefficients of one block
are taken to differ equally much from site to site.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.surrogate.basis import HigherTerms, Terms
from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.core.domain import Domain
from guidefbo.wire.shape import LOWEST_DEGREE, blocks_of

Real = TypeVar("Real", float, NDArray[np.float64])
SLOPE, BEND, CUBIC, QUARTIC = 12.0**0.5, 180.0**0.5, 2800.0**0.5, 210.0
"""What brings the polynomials to variance 1 over the cube."""
SKEW, HUMP = 3.0 / 20.0, 3.0 / 14.0
"""What is taken off u³ in u and off u⁴ in u², so that all are uncorrelated."""
MEAN_FOURTH = 1.0 / 80.0
"""Mean of u⁴ over the cube."""


def polynomials(u: Real) -> tuple[Real, Real, Real, Real]:
    """Return the features of a number, or of each of many, by degree."""
    square = u * u
    hump = square * (square - HUMP) + (HUMP / 12.0 - MEAN_FOURTH)
    return (
        SLOPE * u,
        BEND * (square - 1.0 / 12.0),
        CUBIC * u * (square - SKEW),
        QUARTIC * hump,
    )


def _higher_slopes(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the derivatives of those of the third and the fourth degree."""
    skew, hump = 3.0 * u * u - SKEW, 4.0 * u * u - 2.0 * HUMP
    return CUBIC * skew, QUARTIC * u * hump


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapeFeatures:
    """A basis of trends: the constant, degree by degree, the options of each choice.

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
    counts: tuple[int, ...]
    """Options of each choice."""
    degree: int
    """Highest degree of a polynomial."""
    size: int = field(init=False)
    """Number of features without the constant, p."""
    _columns: tuple[slice, ...] = field(init=False)
    """Columns of each degree, from the first on, and those of the options."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(self.sizes))
        m = len(self.numbers)
        ends = [1 + k * m for k in range(self.degree + 1)]
        columns = [slice(a, b) for a, b in pairwise(ends)]
        columns = columns if m else columns[:LOWEST_DEGREE]
        columns.append(slice(ends[-1], None))
        object.__setattr__(self, "_columns", tuple(columns))

    @classmethod
    def of(cls, domain: Domain, degree: int = LOWEST_DEGREE) -> Self:
        """Return the features of a domain, up to a degree."""
        is_number = np.ones(domain.dim, dtype=np.bool_)
        for first, choice in domain.blocks:
            is_number[first : first + choice.size] = False
        counts = [choice.size for _, choice in domain.blocks]
        (numbers,), (options,) = np.nonzero(is_number), np.nonzero(~is_number)
        return cls(
            dim=domain.dim,
            numbers=numbers,
            options=options,
            shares=np.repeat(1.0 / np.array(counts, dtype=float), counts),
            counts=tuple(counts),
            degree=degree,
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Features in each block, none of them empty; the constant is in none."""
        m = len(self.numbers)
        return (*(m,) * (self.degree if m else 0), *self.counts)

    @property
    def free(self) -> Values:
        """Share of each coefficient's variance that is not common to its choice.

        The indicators of k options sum to zero: only the k - 1 differences between
        their coefficients change a trend. Of the variance of coefficients that are
        independent and alike these hold the share 1 - 1/k. Without the constant.
        """
        free = np.ones(self.size)
        # Of a single option nothing can be told, and nothing needs to be.
        free[self.size - len(self.options) :] -= np.where(
            self.shares < 1.0, self.shares, 0.0
        )
        return free

    @property
    def quadratic(self) -> Self:
        """The features of the lowest degree."""
        return replace(self, degree=LOWEST_DEGREE)

    @property
    def of_quadratic(self) -> NDArray[np.bool_]:
        """Which features, the constant left out, a quadratic has too."""
        m = len(self.numbers)
        which = np.ones(self.size, dtype=np.bool_)
        which[LOWEST_DEGREE * m : self.degree * m] = False
        return which

    @property
    def form(self) -> tuple[tuple[str, int], ...]:
        """Kind and size of each block of a message: the trend's, then the place's."""
        return blocks_of(len(self.numbers), self.counts, self.degree)

    def __call__(self, X: Points) -> Matrix:
        """Return the constant and the features at the rows of X, (n, 1 + p)."""
        Phi = np.empty((len(X), 1 + self.size))
        constant, slopes, bends, higher, options = self._parts(Phi)
        U = self._centred(X)
        constant[:] = 1.0
        np.multiply(U, SLOPE, out=slopes)
        if higher:
            for column, values in zip(higher, polynomials(U)[2:], strict=False):
                column[:] = values
        U *= U
        U -= 1.0 / 12.0
        np.multiply(U, BEND, out=bends)
        if len(self.options):
            np.subtract(X[:, self.options], self.shares, out=options)
        return Phi  # E98

    def pull_back(self, sensitivity: Matrix, X: Points) -> Points:
        """Return Σ_a C_ba ∂φ_a(x_b)/∂x_b for sensitivities C, (b, 1 + p)."""
        _, slopes, bends, higher, options = self._parts(sensitivity)
        U = self._centred(X)
        beyond = _higher_slopes(U) if higher else ()
        U *= 2.0 * BEND
        U *= bends
        U += SLOPE * slopes
        for of_degree, values in zip(higher, beyond, strict=False):
            U += of_degree * values
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
        constant, of_slopes, of_bends, of_higher, of_options = self._parts(
            weights[None]
        )
        slopes, curvatures = np.zeros(self.dim), np.zeros(self.dim)
        slopes[self.numbers] = SLOPE * of_slopes[0]
        slopes[self.options] = of_options[0]
        curvatures[self.numbers] = BEND * of_bends[0]
        # Options are counted from their mean 1/k, and u from 1/2.
        level = float(constant[0, 0] + of_options[0] @ (0.5 - self.shares))
        if not of_higher:
            return Terms(level, slopes, curvatures)
        cubics, quartics = np.zeros(self.dim), np.zeros(self.dim)
        cubics[self.numbers] = CUBIC * of_higher[0][0]
        slopes -= SKEW * cubics
        if len(of_higher) > 1:
            quartics[self.numbers] = QUARTIC * of_higher[1][0]
            curvatures -= HUMP * quartics
        return Terms(level, slopes, curvatures, HigherTerms(cubics, quartics))

    def settled(self, x: Point, weights: Values) -> Point:
        """Return a point with every choice at its option of highest weight."""
        settled = x.copy()
        of_choices = weights[len(weights) - len(self.options) :]
        first = 0
        for size in self.counts:
            block = slice(first, first + size)
            columns, of_options = self.options[block], of_choices[block]
            settled[columns] = 0.0
            settled[columns[np.argmax(of_options)]] = 1.0
            first += size
        return settled

    def _centred(self, X: Points) -> NDArray[np.float64]:
        """Return u of the coordinates that are numbers, which may be all."""
        return (X[:, self.numbers] if len(self.options) else X) - 0.5

    def _parts(
        self, C: Matrix
    ) -> tuple[Matrix, Matrix, Matrix, tuple[Matrix, ...], Matrix]:
        """Return the columns of the constant, of each degree and of the options."""
        slopes, bends, *higher, options = (C[:, part] for part in self._columns)
        return C[:, :1], slopes, bends, tuple(higher), options
