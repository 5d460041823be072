"""A bowl for the whole box under the local surprises.

Lengthscales that suit the ripples of an objective hide its large shape. Here the large
shape has a model of its own, a quadratic without cross terms, and the process keeps the
rest:

    f(x) = φ(u)ᵀ β + r(x),        u = x - 1/2,        r ~ GP(m, ρ k)
    φ(u) = (1, u_1 .. u_d, Σ_j q_j, q_1 .. q_d),      q_j = u_j² - 1/12
    β ~ N(β0, S)

One bend is shared by all coordinates, and each may differ from it somewhat: 30 points
tell one bend in ten dimensions, not ten. β is integrated out, so φ S φᵀ joins the
kernel; ρ, the share of the fitted process that is left, is the likeliest of a few.

References:
    Rasmussen and Williams, Gaussian Processes for Machine Learning, section 2.7.
    Gelman and Hill, Data Analysis Using Regression and Multilevel Models, 2007: partial
    pooling, here of bends.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from guidefbo.agent.surrogate.curvature import (
    GRADIENT_SHARE,
    gradient_cross,
    mean_hessian,
)
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.kernel import matern52, matern52_with_slope
from guidefbo.agent.surrogate.linalg import factorise, invert_factor
from guidefbo.agent.surrogate.sums import BySums, Quadratics, join
from guidefbo.core.arrays import Matrix, Point, Points, Values

BEND, BEND_SD = -2.0, 0.8
"""Prior of the shared bend, in units of the data's standard deviation: downwards. The
optimum is inside the box as a rule; without it noise sends the summit to a corner."""
LEVEL_SD, SLOPE_SD, DIFFERENCE_SD = 1.0, 2.0, 1.0
"""Prior standard deviations of the other terms, in the same units, about nought."""
SHARES = (1.0, 0.1, 0.01)
"""What may be left of the process's variance beside a trend."""
MAX_POINTS = 256
"""Observations a trend is fitted to: more tell it nothing new, at cubic cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPosterior:
    """A quadratic and a Gaussian process, conditioned together."""

    rest: GaussianProcess
    """r: its kernel is ρ k, its alpha and factor are those of the sum."""
    weights: Values
    """Posterior mean of β, (2d + 2,)."""
    prior: Values
    """Prior variances of β."""

    @classmethod
    def fit(cls, gp: GaussianProcess) -> Self:
        """Return the sum's posterior from the data of a fitted process."""
        gp = _thin(gp)
        F = _basis(gp.X)
        bowl, S = _prior(gp)
        trend = (F * S) @ F.T
        trend.flat[:: len(F) + 1] += gp.noise
        kernel = matern52(gp.distances(gp.X), gp.hyper.outputscale)
        r = gp.y - gp.hyper.mean - F @ bowl
        factors = [factorise(trend + share * kernel) for share in SHARES]
        likeliest = int(np.argmax([_evidence(L, r) for L in factors]))
        L_inv = invert_factor(factors[likeliest])
        alpha = L_inv.T @ (L_inv @ r)
        s = SHARES[likeliest] * gp.hyper.outputscale
        rest = replace(
            gp,
            hyper=replace(gp.hyper, outputscale=s),
            inverse_factor=L_inv,
            alpha=alpha,
        )
        return cls(rest=rest, weights=bowl + S * (F.T @ alpha), prior=S)  # E83

    @classmethod
    def without_trend(cls, gp: GaussianProcess) -> Self:
        """Return the process as it is, with a quadratic that is nought."""
        nothing = np.zeros(2 * gp.dim + 2)
        return cls(rest=gp, weights=nothing, prior=nothing)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.rest.dim

    @property
    def value_at_data(self) -> Values:
        """The mean at the observed inputs: what the noise leaves of the values."""
        return self.rest.y - self.rest.noise * self.rest.alpha

    def value(self, X: Points) -> Values:
        """Return the mean at the rows of X."""
        return self.rest.predict_mean(X) + self._quadratic(X - 0.5)  # E84

    def by_sums(self) -> BySums[Values] | None:
        """Return the mean, by sums."""
        slopes, bends = self._terms
        constant = self.weights[0] + (bends / 6.0 - slopes / 2.0).sum()
        quadratic = Quadratics(
            squares=bends[:, None],
            slopes=(slopes - bends)[:, None],
            constants=np.array([constant]),
        )
        trend = BySums(sums=quadratic, finish=lambda S: S[:, 0])
        return join(_add, self.rest.mean_by_sums(), trend)

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the mean and its gradient at the rows of X."""
        gp = self.rest
        k, slope = matern52_with_slope(gp.distances(X), gp.hyper.outputscale)
        slope *= gp.alpha
        gradient = gp.contract(slope, X)
        slopes, bends = self._terms
        U = X - 0.5
        gradient += slopes + (2.0 * bends) * U
        return gp.hyper.mean + k @ gp.alpha + self._quadratic(U), gradient

    @property
    def summit(self) -> Point:
        """Where in the cube the quadratic alone is highest."""
        slopes, bends = self._terms
        down = bends < 0.0
        inside = -slopes / np.where(down, 2.0 * bends, -1.0)
        return 0.5 + np.where(down, np.clip(inside, -0.5, 0.5), 0.5 * np.sign(slopes))

    def hessian(self, x: Point) -> Matrix:
        """Return the Hessian of the mean at one point."""
        H = mean_hessian(self.rest, x)
        return H + self.trend_hessian()

    def gradient_covariance(self, x: Point) -> Matrix:
        """Return the posterior covariance of the gradient at one point."""
        d, gp = self.dim, self.rest
        prior, cross = self._slopes(x)
        W = gp.inverse_factor @ (gradient_cross(gp, x) + cross)
        prior.flat[:: d + 1] += (
            GRADIENT_SHARE * gp.hyper.outputscale / (gp.hyper.lengthscales**2)
        )
        return prior - W.T @ W

    def trend_hessian(self) -> Matrix:
        """Return the Hessian of the quadratic alone, the same everywhere."""
        return np.diag(2.0 * self._terms[1])

    def trend_gradient_covariance(self, x: Point) -> Matrix:
        """Return the posterior covariance of the quadratic's gradient at one point."""
        prior, cross = self._slopes(x)
        W = self.rest.inverse_factor @ cross
        return prior - W.T @ W

    def _slopes(self, x: Point) -> tuple[Matrix, Matrix]:
        """Return prior covariance of the trend's slopes at x, alone and with data."""
        d, u = self.dim, x - 0.5
        G = np.hstack([np.zeros((d, 1)), np.eye(d), 2.0 * u[:, None], np.diag(2.0 * u)])
        GS = G * self.prior
        return GS @ G.T, _basis(self.rest.X) @ GS.T

    def _quadratic(self, U: Points) -> Values:
        slopes, bends = self._terms
        return self.weights[0] - bends.sum() / 12.0 + U @ slopes + U**2 @ bends

    @property
    def _terms(self) -> tuple[Values, Values]:
        """Slopes and bends of the quadratic at the middle of the cube, (d,) each."""
        d, β = self.dim, self.weights
        return β[1 : d + 1], β[d + 1] + β[d + 2 :]


def _add(mean: Values, trend: Values) -> Values:
    return mean + trend


def _prior(gp: GaussianProcess) -> tuple[Values, Values]:
    """Return means and variances of β before the data, (2d + 2,) each."""
    d = gp.dim
    # Equal values have a standard deviation of rounding error, not of nought.
    scale = float(gp.y.std()) if np.ptp(gp.y) > 0.0 else 0.0
    kinds = [1, d, 1, d]
    means = np.repeat([0.0, 0.0, BEND, 0.0], kinds)
    deviations = np.repeat([LEVEL_SD, SLOPE_SD, BEND_SD, DIFFERENCE_SD], kinds)
    return scale * means, (scale * deviations) ** 2


def _evidence(L: Matrix, r: Values) -> float:
    """Return the log likelihood of r ~ N(0, L Lᵀ), up to a constant."""
    z, _ = lapack.dtrtrs(L, r, lower=1)
    return float(-np.log(np.diagonal(L)).sum() - 0.5 * (z @ z))


def _basis(X: NDArray[np.float64]) -> Matrix:
    """Return φ at the rows of X, (n, 2d + 2)."""
    U = X - 0.5
    Q = U**2 - 1.0 / 12.0
    return np.hstack([np.ones((len(X), 1)), U, Q.sum(axis=1, keepdims=True), Q])


def _thin(gp: GaussianProcess) -> GaussianProcess:
    """Return the process with at most `MAX_POINTS` data, of evenly spread ranks."""
    n = len(gp.y)
    if n <= MAX_POINTS:
        return gp
    ranks = np.linspace(0, n - 1, MAX_POINTS).round().astype(np.intp)
    kept = np.sort(np.argsort(gp.y, kind="stable")[ranks])
    return replace(
        gp,
        X=gp.X[kept],
        y=gp.y[kept],
        scaled=gp.scaled[kept],
        alpha=gp.alpha[kept],
        inverse_factor=gp.inverse_factor[np.ix_(kept, kept)],
        norms=gp.norms[kept],
        noise=gp.noise[kept],
    )
