"""Where the posterior mean peaks, and how well the data place the peak.

The maximiser x of the mean is an estimate of the maximiser of f. To first order the
gradient of a posterior draw at x is ∇e ~ N(0, C), and the draw peaks at x - H⁻¹ ∇e with
H the Hessian of the mean: a sandwich H⁻¹ C H⁻¹, of precision

    Λ = H C⁻¹ H.

Of all Gaussians without correlation, the one nearest to N(x, Λ⁻¹) in the sense of
variational inference has the variances 1 / Λ_jj. They stay finite where H is singular.

References:
    White, Maximum likelihood estimation of misspecified models, 1982: the sandwich.
    Bishop, Pattern Recognition and Machine Learning, section 10.1.2: the diagonal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.surrogate.curvature import (
    GRADIENT_SHARE,
    gradient_covariance,
    mean_hessian,
)
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.kernel import matern52_with_slope
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.domain import Domain

SEARCH = SearchSettings(num_raw=32, num_starts=0, max_iterations=20)
"""Effort of the search. Quasi-random points are looked at but not climbed from: the
mean peaks near the data, and from afar the way there is long."""
NUM_NEAR = 3
"""Observed points of highest mean the search climbs from. More of them climb more
slowly, for one L-BFGS memory serves all."""
GRADIENT_FLOOR = 1e-6
"""Smallest variance of a slope, relative to the prior's: below it is rounding error."""
AT_BOUND = 1e-9
"""Nearer than this to a side of the cube, a coordinate is held by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorMean:
    """The acquisition that is the posterior mean, without the cost of a variance."""

    gp: GaussianProcess
    """Whose mean."""
    domain: Domain
    """Knows which coordinates are rounded."""

    def value(self, X: Points) -> Values:
        """Return the mean at the rows of X."""
        return self.gp.predict_mean(self.domain.snap(X))

    def by_sums(self) -> BySums[Values]:
        """Return the mean, by sums."""
        return self.gp.mean_by_sums()

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the mean and its gradient at the rows of X."""
        gp, X = self.gp, self.domain.snap(X)
        k, slope = matern52_with_slope(gp.distances(X), gp.hyper.outputscale)
        slope *= gp.alpha
        gradient = gp.contract(slope, X)
        gradient *= self.domain.free
        return gp.hyper.mean + k @ gp.alpha, gradient


def find_peak(
    gp: GaussianProcess, domain: Domain, stream: np.random.Generator
) -> Point:
    """Return the point of the domain where the posterior mean is highest."""
    mean = PosteriorMean(gp=gp, domain=domain)
    best = np.argsort(-mean.value(gp.X), kind="stable")[:NUM_NEAR]
    x = maximise_acquisition(mean, domain, SEARCH, stream, near=gp.X[best])
    assert x is not None  # nothing is forbidden
    return x


def peak_variance(
    gp: GaussianProcess, x: Point, domain: Domain, low: float, high: float
) -> Point:
    """Return how uncertain each coordinate of the peak is, between two bounds.

    A coordinate that cannot move both ways (steps, options, under constraints, held by
    a side of the cube) has no such curvature. What is known of it is over how much of
    its axis the objective hangs together: its squared lengthscale.

    Args:
        gp: The posterior.
        x: Where its mean peaks.
        domain: Which coordinates may move.
        low: Smallest variance.
        high: Largest variance.
    """
    ell = gp.hyper.lengthscales
    variance = ell**2
    moves = movable(x, domain)
    if moves.any():
        variance[moves] = _sandwich(gp, x, moves)
    # A slope or a bend that is no number says nothing.
    return np.clip(np.nan_to_num(variance, nan=high, posinf=high), low, high)


def movable(x: Point, domain: Domain) -> NDArray[np.bool_]:
    """Return which coordinates of a point may move both ways."""
    moves = domain.free & (x > AT_BOUND) & (x < 1.0 - AT_BOUND)
    moves[domain.columns] = False
    return moves


def _sandwich(
    gp: GaussianProcess, x: Point, moves: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return 1 / Λ_jj of the coordinates that move, the others held where they are."""
    # In units of the lengthscales all slopes are alike a priori.
    ell = gp.hyper.lengthscales[moves]
    scale = np.outer(ell, ell)
    H = mean_hessian(gp, x)[np.ix_(moves, moves)] * scale
    C = gradient_covariance(gp, x)[np.ix_(moves, moves)] * scale
    if not (np.isfinite(H).all() and np.isfinite(C).all()):
        return np.full(len(ell), np.inf)
    variances, V = np.linalg.eigh(C)
    floor = GRADIENT_FLOOR * GRADIENT_SHARE * gp.hyper.outputscale
    root = (V / np.sqrt(np.maximum(variances, floor))).T @ H
    with np.errstate(divide="ignore", over="ignore"):
        return ell**2 / np.einsum("ij,ij->j", root, root)  # E72
