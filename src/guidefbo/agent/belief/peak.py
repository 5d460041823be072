"""The maximiser of the posterior mean, and its standard error per coordinate.

The maximiser x of the mean is an estimate of the maximiser of f. To first order the
gradient of a posterior draw at x is ∇e ~ N(0, C), and the draw peaks at x - H⁻¹ ∇e with
H the Hessian of the mean: a sandwich H⁻¹ C H⁻¹, of precision

    Λ = H C⁻¹ H.

Of all Gaussians without correlation, the one nearest to N(x, Λ⁻¹) in the sense of
variational inference has the variances 1 / Λ_jj. They stay finite where H is singular.

The first-order expansion fails for a residual process of short lengthscale: its
gradient changes within a fraction of the distance to the maximum, so that Λ says
little. The same expansion of the quadratic trend alone gives a second variance, to
which the squared distance between the two maximisers is added; the smaller of both is
used.

References:
    White, Maximum likelihood estimation of misspecified models, 1982: the sandwich.
    Bishop, Pattern Recognition and Machine Learning, section 10.1.2: the diagonal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.decision.search import ascend
from guidefbo.agent.surrogate.curvature import GRADIENT_SHARE
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.core.domain import Domain

MAX_ITERATIONS = 8
"""L-BFGS-B iterations of the climb. More move the peak by less than its error."""
GRADIENT_FLOOR = 1e-6
"""Smallest variance of a slope, relative to the prior's: below it is rounding error."""
AT_BOUND = 1e-9
"""Nearer than this to a side of the cube, a coordinate is held by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendMean:
    """The posterior mean as an acquisition: no variance is computed."""

    model: TrendPosterior
    """Whose mean."""
    domain: Domain
    """Knows which coordinates are rounded."""

    def value(self, X: Points) -> Values:
        """Return the mean at the rows of X."""
        return self.model.predict_mean(self.domain.snap(X))

    def by_sums(self) -> BySums[Values] | None:
        """Return the mean, by sums."""
        return self.model.mean_by_sums()

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the mean and its gradient at the rows of X."""
        value, gradient = self.model.mean_and_gradient(self.domain.snap(X))
        return value, gradient * self.domain.free


def find_peak(model: TrendPosterior, domain: Domain) -> Point:
    """Return the point of the domain where the posterior mean is highest.

    The search starts at the best observed input and at the trend's maximum only.
    """
    mean = TrendMean(model=model, domain=domain)
    best = model.rest.X[int(np.argmax(model.value_at_data))]
    starts = domain.admit(np.stack([best, model.summit]))
    found = np.vstack([ascend(mean, starts, domain, MAX_ITERATIONS), starts])
    return found[int(np.argmax(mean.value(found)))]


def peak_variance(
    model: TrendPosterior, x: Point, domain: Domain, low: float, high: float
) -> Point:
    """Return how uncertain each coordinate of the peak is, between two bounds.

    Steps, options and coordinates under constraints have no curvature; theirs is the
    squared lengthscale, the distance over which values are correlated. A coordinate at
    a side of the cube is at its maximum because of a slope; its variance falls with the
    ratio of the slope to the slope's standard deviation.

    Args:
        model: The posterior.
        x: Where its mean peaks.
        domain: Which coordinates may move.
        low: Smallest variance.
        high: Largest variance.
    """
    variance = model.rest.hyper.lengthscales**2
    free = domain.free.copy()
    free[domain.columns] = False
    if free.any():
        H, (C, of_trend) = model.hessian(x), model.gradient_covariances(x)
        held = free & ((x < AT_BOUND) | (x > 1.0 - AT_BOUND))
        moves = free & ~held
        variance[moves] = np.minimum(
            _sandwich(model, H, C, moves), _by_trend(model, x, of_trend, moves)
        )  # E89
        if held.any():
            slope = model.mean_and_gradient(x[None])[1][0]
            with np.errstate(divide="ignore", invalid="ignore"):
                variance[held] = (high / (1.0 + slope**2 / np.diagonal(C)))[held]  # E85
    # A gradient or curvature that is not finite carries no information.
    return np.clip(np.nan_to_num(variance, nan=high, posinf=high), low, high)


def _by_trend(
    model: TrendPosterior, x: Point, C: Matrix, moves: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the variances by the trend alone, infinite where it is not concave.

    Args:
        model: The posterior.
        x: Where its mean peaks.
        C: Covariance of the trend's gradient there.
        moves: The coordinates.
    """
    H = model.trend_hessian(x)
    miss = (x - model.summit)[moves]
    variance = _sandwich(model, H, C, moves) + miss**2
    return np.where(np.diagonal(H)[moves] < 0.0, variance, np.inf)


def _sandwich(
    model: TrendPosterior, H: Matrix, C: Matrix, moves: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return 1 / Λ_jj of the coordinates that move, the others held where they are."""
    # In units of the lengthscales all slopes are alike a priori.
    hyper = model.rest.hyper
    ell = hyper.lengthscales[moves]
    scale = np.outer(ell, ell)
    H, C = H[np.ix_(moves, moves)] * scale, C[np.ix_(moves, moves)] * scale
    if not moves.any() or not (np.isfinite(H).all() and np.isfinite(C).all()):
        return np.full(len(ell), np.inf)
    variances, V = np.linalg.eigh(C)
    floor = GRADIENT_FLOOR * max(
        float(variances[-1]), GRADIENT_SHARE * hyper.outputscale
    )
    root = (V / np.sqrt(np.maximum(variances, floor))).T @ H
    with np.errstate(divide="ignore", over="ignore"):
        return ell**2 / np.einsum("ij,ij->j", root, root)  # E72
