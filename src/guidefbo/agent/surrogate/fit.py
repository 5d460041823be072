"""Fit the hyperparameters by maximum a posteriori, or by plain marginal likelihood.

The constant mean has a flat prior and is profiled out in closed form,
m = 1'K^-1 y / 1'K^-1 1; the rest is L-BFGS-B on logarithms with the analytic gradient.
Pairs of observations are kept once (i > j): with A = αα' - K^-1 and D the squared
coordinate differences of the pairs,

    log p(y) = -½ (y-m)'α - Σ log L_ii - (n/2) log 2π
    d/d log ℓ_j = -2/ℓ_j² Σ_pairs D_pj A_p dk/dq_p
    d/d log s = Σ_pairs A_p k_p + ½ s Σ_i A_ii
    d/d log noise = ½ noise Σ_i A_ii      (over the observations that share it)

Coordinates may share a lengthscale, as those of one choice do: their differences are
summed, and ℓ_j then stands for a group of coordinates.

References:
    Rasmussen and Williams, Gaussian Processes for Machine Learning, section 5.4.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from guidefbo.agent.surrogate.gp import Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52_with_slope
from guidefbo.agent.surrogate.linalg import JITTERS
from guidefbo.agent.surrogate.priors import LogPrior
from guidefbo.core.arrays import Matrix, OtherValues, Point, Points, Values
from guidefbo.core.descent import MAX_ITERATIONS, minimise_within
from guidefbo.core.errors import NumericalError

Indices = NDArray[np.intp]
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Box of the search, so that no data can push a hyperparameter to infinity."""

    lengthscale: tuple[float, float] = (5e-3, 1e2)
    """In units of the unit cube."""
    outputscale: tuple[float, float] = (1e-6, 1e6)
    """In squared units of y."""
    noise_variance: tuple[float, float] = (1e-6, 1.0)
    """In squared units of y; used when the noise is fitted."""


START = float(np.log(2.0))
"""Lengthscale and output scale every fit starts from."""
START_NOISE = 1e-2
"""Noise variance a fit starts from when the noise is fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPosterior:
    """Log posterior of the hyperparameters, up to the priors' constants."""

    y: Values
    """Observed values."""
    differences: Matrix
    """(d, p) squared differences of the p pairs i > j, per coordinate or group."""
    rows: Indices
    """i of each pair."""
    cols: Indices
    """j of each pair."""
    places: Indices
    """Position of each pair in a column-major lower triangle."""
    noise_variance: float | None
    """Known noise variance, or None to fit it."""
    priors: LogPrior | None
    """None: plain marginal likelihood."""
    own_noise: Values | None = None
    """(n,) noise variances of single observations, NaN where the common one holds."""
    beside: tuple[NDArray[np.float64], Values] | None = None
    """Covariance of what is modelled beside the process, of the pairs (p,) and on the
    diagonal (n,); None: nothing is."""

    @classmethod
    def of(
        cls,
        X: Points,
        y: Values,
        noise_variance: float | None,
        priors: LogPrior | None,
        *,
        groups: Indices | None = None,
        own_noise: Values | None = None,
        beside: Matrix | None = None,
    ) -> Self:
        """Precompute what does not change during one fit."""
        cols, rows = _pairs(len(X))
        coordinates = np.ascontiguousarray(X.T)
        differences = coordinates.take(rows, axis=1)
        differences -= coordinates.take(cols, axis=1)
        differences *= differences
        if groups is not None and groups[-1] + 1 < len(groups):
            starts = np.flatnonzero(np.diff(groups, prepend=-1))
            differences = np.add.reduceat(differences, starts, axis=0)
        return cls(
            y=y,
            differences=differences,
            rows=rows,
            cols=cols,
            places=cols * len(X) + rows,
            noise_variance=noise_variance,
            priors=priors,
            own_noise=own_noise,
            beside=None if beside is None else (beside[rows, cols], beside.diagonal()),
        )

    def __call__(self, theta: Point) -> tuple[float, Point]:
        """Return the log posterior and its gradient.

        Args:
            theta: log lengthscales, log output scale, and log noise if it is fitted.
        """
        value, gradient, _ = self.evaluate(theta)
        return value, gradient

    def evaluate(self, theta: Point) -> tuple[float, Point, float]:
        """Return the log posterior, its gradient and the profiled mean."""
        n, d = len(self.y), len(self.differences)
        natural = np.exp(theta)
        s = float(natural[d])
        noise = self.noise_variance
        if noise is None:
            noise = float(natural[d + 1])
        inverse_squares = natural[:d] ** -2.0
        k, slope = matern52_with_slope(inverse_squares @ self.differences, s)

        K_inv, half_logdet = self._invert(k, s + self._noise_of_each(noise))
        row_sums = blas.dsymv(1.0, K_inv, np.ones(n), lower=1)
        v = blas.dsymv(1.0, K_inv, self.y, lower=1)
        mean = float(v.sum() / row_sums.sum())
        alpha = v - mean * row_sums
        fit_term = float((self.y - mean) @ alpha)
        value = -0.5 * (fit_term + n * LOG_2PI) - half_logdet  # E04

        A = alpha.take(self.rows)
        A *= alpha.take(self.cols)
        A -= K_inv.ravel(order="F").take(self.places)
        trace = float(alpha @ alpha - K_inv.diagonal().sum())
        gradient = np.empty_like(theta)
        gradient[d] = A @ k + 0.5 * s * trace
        slope *= A
        gradient[:d] = -2.0 * inverse_squares * (self.differences @ slope)
        if self.noise_variance is None:
            gradient[d + 1] = 0.5 * noise * self._shared_trace(trace, alpha, K_inv)
        if self.priors is not None:
            log_prior, slopes = self.priors.log_density(theta, natural, d)
            value += log_prior
            gradient += slopes
        return value, gradient, mean

    def _noise_of_each(self, noise: float) -> Values | float:
        if self.own_noise is None:
            return noise
        return np.where(np.isnan(self.own_noise), noise, self.own_noise)

    def _shared_trace(self, trace: float, alpha: Values, K_inv: Matrix) -> float:
        """Return Σ_i A_ii over the observations without a noise of their own."""
        if self.own_noise is None:
            return trace
        return float((alpha**2 - K_inv.diagonal())[np.isnan(self.own_noise)].sum())

    def _invert(self, k: Values, diagonal: OtherValues | float) -> tuple[Matrix, float]:
        """Return the lower triangle of K^-1 and half the log determinant of K."""
        n = len(self.y)
        if self.beside is not None:
            k, diagonal = k + self.beside[0], diagonal + self.beside[1]
        for jitter in JITTERS:
            # Nobody reads the upper triangle.
            flat = np.empty(n * n)
            flat[self.places] = k
            flat[:: n + 1] = diagonal
            if jitter > 0.0:
                flat[:: n + 1] *= 1.0 + jitter
            K = flat.reshape(n, n).T
            L, info = lapack.dpotrf(K, lower=1, clean=0, overwrite_a=1)
            if info == 0:
                half_logdet = float(np.log(L.diagonal()).sum())
                K_inv, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
                return K_inv, half_logdet
        raise NumericalError(
            f"The covariance of {n} observations is not positive definite even with a "
            f"jitter of {JITTERS[-1]:g}. Check the observations for absurd values."
        )


def _pairs(n: int) -> tuple[Indices, Indices]:
    """Return j and i of the pairs j < i, in the order of `np.triu_indices(n, 1)`."""
    counts = np.arange(n - 1, -1, -1)
    cols = np.repeat(np.arange(n), counts)
    # Within a row of the triangle i counts on from j + 1.
    starts = np.cumsum(counts) - counts
    rows = np.arange(len(cols)) + (np.arange(1, n + 1) - starts)[cols]
    return cols, rows


def fit(
    X: Points,
    y: Values,
    *,
    noise_variance: float | None,
    priors: LogPrior | None,
    bounds: Bounds,
    groups: Indices | None = None,
    own_noise: Values | None = None,
    beside: Matrix | None = None,
    start: Hyperparameters | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> Hyperparameters:
    """Return the hyperparameters of highest posterior density (or likelihood).

    Args:
        X: Observed inputs in the unit cube.
        y: Observed values.
        noise_variance: Known noise variance, or None to fit it.
        priors: Priors on the natural parameters, or None for the plain likelihood.
        bounds: Box of the search.
        groups: Group of each coordinate, ascending; a group shares a lengthscale.
            None: every coordinate has its own.
        own_noise: Noise variances of single observations, NaN where the common holds.
        beside: Covariance of what is modelled beside the process, such as a trend.
        start: Where the search starts; None: always at the same place.
        max_iterations: L-BFGS-B iterations at most.
    """
    objective = LogPosterior.of(
        X,
        y,
        noise_variance,
        priors,
        groups=groups,
        own_noise=own_noise,
        beside=beside,
    )
    d = len(objective.differences)
    first = np.full(d + 1, np.log(START))
    box = [np.log(bounds.lengthscale)] * d + [np.log(bounds.outputscale)]
    if noise_variance is None:
        first = np.append(first, np.log(START_NOISE))
        box.append(np.log(bounds.noise_variance))

    # The descent ends at a point it has evaluated.
    means: dict[bytes, float] = {}

    def negated(theta: Point) -> tuple[float, Point]:
        value, gradient, means[theta.tobytes()] = objective.evaluate(theta)
        return -value, -gradient

    if start is not None:
        leads = np.arange(d) if groups is None else np.unique(groups, True)[1]
        first[:d] = np.log(start.lengthscales[leads])
        first[d] = np.log(start.outputscale)
    low, high = np.array(box).T.copy()
    theta = minimise_within(negated, first, low, high, max_iterations=max_iterations)
    mean = means.get(theta.tobytes())
    natural = np.exp(theta)
    return Hyperparameters(
        lengthscales=natural[:d] if groups is None else natural[:d][groups],
        outputscale=float(natural[d]),
        mean=objective.evaluate(theta)[2] if mean is None else mean,
        noise_variance=float(
            natural[d + 1] if noise_variance is None else noise_variance
        ),
    )
