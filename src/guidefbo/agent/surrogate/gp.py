"""The local Gaussian process posterior: mean, std, joint covariance, gradients.

Symbols, shapes:
    X (n, d) observed inputs        ell (d,) lengthscales      s output scale
    y (n,) observed values          m constant mean            K = k(X, X) + noise I
    L lower Cholesky factor of K    alpha = K^-1 (y - m)       q scaled squared distance

    mean(x) = m + k(x, X) alpha,    cov(x, x') = k(x, x') - k(x, X) K^-1 k(X, x')

References:
    Rasmussen and Williams, Gaussian Processes for Machine Learning, algorithm 2.1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.surrogate.factor import Factor
from guidefbo.agent.surrogate.kernel import (
    distances_by_sums,
    matern52,
    matern52_over,
    matern52_with_slope,
    scaled_distances,
    squared_distances,
)
from guidefbo.agent.surrogate.linalg import factorise
from guidefbo.agent.surrogate.posterior import Fantasies, Moments, SamplePath
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.core.arrays import Matrix, Point, Points, Values

STD_FLOOR = 1e-6
"""Smallest posterior std, relative to the prior's: below it is rounding error."""

MANY_RESULTS = 1000
"""Observations above which fantasies are drawn and conditioned on with less work."""


def conditional_std(w: Matrix, prior: float | Values) -> Values:
    """Return √(prior - |w|²), above its floor.

    Args:
        w: L^-1 k(X, x), one row a point.
        prior: Prior variance, of all points or of each.
    """
    variance = prior - np.einsum("ij,ij->i", w, w)
    return np.sqrt(np.maximum(variance, STD_FLOOR**2 * prior))  # E03


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameters:
    """Hyperparameters of the process, fitted by the marginal likelihood."""

    lengthscales: Point
    """One per coordinate of the unit cube."""
    outputscale: float
    """Prior variance."""
    mean: float
    """Constant prior mean."""
    noise_variance: float
    """Variance of one observation's noise, where it has none of its own."""


class Solution(NamedTuple):
    """What predictions are made of."""

    factor: Factor
    """L."""
    alpha: Values
    """K^-1 (y - m)."""


@dataclass(slots=True)
class _Once:
    """A solution that is made when it is first asked for; copies take it along."""

    make: Callable[[], Solution]
    made: Solution | None = None

    def __call__(self) -> Solution:
        if self.made is None:
            self.made = self.make()
        return self.made


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProcess:
    """A Matern-5/2 Gaussian process conditioned on private observations."""

    X: Points
    """Observed inputs."""
    y: Values
    """Observed values."""
    hyper: Hyperparameters
    """Fitted hyperparameters."""
    solution: Callable[[], Solution]
    """Gives L and K^-1 (y - m); they may be made when they are first asked for."""
    scaled: Points
    """X divided by the lengthscales."""
    norms: Values
    """Squared norms of the scaled inputs."""
    noise: Values
    """(n,) noise variance of each observation."""
    _pull: Point = field(init=False)
    """2 / ell²: dq/dx_j is this times a difference."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pull", 2.0 / self.hyper.lengthscales**2)

    @classmethod
    def condition(
        cls,
        X: Points,
        y: Values,
        hyper: Hyperparameters,
        noise: Values | None = None,
    ) -> Self:
        """Return the posterior given observations `y` at `X`.

        Args:
            X: Observed inputs.
            y: Observed values.
            hyper: Fitted hyperparameters.
            noise: Variance of each observation; None: the common one.
        """
        gp = cls.to_be_conditioned(X, y, hyper, noise)
        gp.solution()
        return gp

    @classmethod
    def to_be_conditioned(
        cls,
        X: Points,
        y: Values,
        hyper: Hyperparameters,
        noise: Values | None = None,
    ) -> Self:
        """Return the same posterior, whose equations are solved when it is used.

        For models that take its data and no prediction of it.
        """
        if noise is None:
            noise = np.full(len(X), hyper.noise_variance)
        Z = X / hyper.lengthscales
        return cls(
            X=X,
            y=y,
            hyper=hyper,
            solution=_Once(partial(_solve, X, y, hyper, noise)),
            scaled=Z,
            norms=np.einsum("ij,ij->i", Z, Z),
            noise=noise,
        )

    @property
    def factor(self) -> Factor:
        """L."""
        return self.solution().factor

    @property
    def alpha(self) -> Values:
        """K^-1 (y - m)."""
        return self.solution().alpha

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.X.shape[1]

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        return self._predict(self.distances(X))

    def by_sums(self) -> BySums[tuple[Values, Values]]:
        """Return the mean and standard deviation, by sums."""
        return self.distances_by_sums().then(self._predict)

    def predict_mean(self, X: Points) -> Values:
        """Return the mean at the rows of X."""
        return self._predict_mean(self.distances(X))

    def mean_by_sums(self) -> BySums[Values]:
        """Return the mean, by sums."""
        return self.distances_by_sums().then(self._predict_mean)

    def mean_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the mean and its gradient at the rows of X."""
        k, slope = matern52_with_slope(self.distances(X), self.hyper.outputscale)
        slope *= self.alpha
        return self.hyper.mean + k @ self.alpha, self.contract(slope, X)

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        k, slope = matern52_with_slope(self.distances(X), self.hyper.outputscale)
        mean = self.hyper.mean + k @ self.alpha
        w = self.factor.whiten(k, overwrite=True)
        std = conditional_std(w, self.hyper.outputscale)
        v = self.factor.unwhiten(w, overwrite=True)
        of_mean, of_variance = self.contract_both(slope, v, X)
        return Moments(
            mean=mean,
            std=std,
            mean_gradient=of_mean,
            std_gradient=of_variance / -std[:, None],
        )

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        k = matern52(self.distances(X), self.hyper.outputscale)
        w = self.factor.whiten_densely(k)
        prior = matern52(
            squared_distances(X, X, self.hyper.lengthscales), self.hyper.outputscale
        )
        return self.hyper.mean + k @ self.alpha, prior - w @ w.T  # E03

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of the values at the rows of X."""
        mean, cov = self.joint(X)
        return mean + factorise(cov) @ stream.standard_normal(len(X))

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Condition on quasi-random draws of the values at the observed inputs."""
        # Fantasies and paths are built from a posterior, hence imported late.
        from guidefbo.agent.surrogate.fantasies import LocalFantasies
        from guidefbo.agent.surrogate.many_fantasies import ManyFantasies

        if len(self.X) > MANY_RESULTS:
            return ManyFantasies.draw(self, num_fantasies, stream)
        return LocalFantasies.draw(self, num_fantasies, stream)

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw one continuous path with its mean at the exact posterior mean."""
        from guidefbo.agent.paths.path import FeaturePath

        return FeaturePath.draw(self, num_features, stream)

    def thinned(self, max_points: int) -> Self:
        """Return the process with at most so many of its data, of evenly spread ranks.

        Args:
            max_points: Where there are no more, the process itself is returned.
        """
        if len(self.y) <= max_points:
            return self
        ranks = np.linspace(0, len(self.y) - 1, max_points).round().astype(np.intp)
        kept = np.sort(np.argsort(self.y, kind="stable")[ranks])
        return self.to_be_conditioned(
            self.X[kept], self.y[kept], self.hyper, self.noise[kept]
        )

    def distances(self, X: Points) -> Matrix:
        """Return q between the rows of X and the observed inputs, (b, n)."""
        return scaled_distances(X, self.hyper.lengthscales, self.scaled, self.norms)

    def distances_by_sums(self) -> BySums[Matrix]:
        """Return q to the observed inputs, by sums."""
        return distances_by_sums(self.hyper.lengthscales, self.scaled, self.norms)

    def contract(
        self, sensitivity: NDArray[np.float64], X: Points
    ) -> NDArray[np.float64]:
        """Return Σ_i C_bi dq(x_b, X_i)/dx_b for sensitivities C, (..., b, d)."""
        C = sensitivity
        inner = X * C.sum(axis=-1)[..., None]
        inner -= C @ self.X
        inner *= self._pull
        return inner

    def contract_both(
        self, slope: Matrix, v: Matrix, X: Points
    ) -> tuple[Points, Points]:
        """Return what `contract` makes of slope ∘ alpha and of slope ∘ v, at once.

        Args:
            slope: (b, n), derivative of the kernel in the squared distance.
            v: (b, n), one row a point.
            X: The points.
        """
        both = np.empty((2, *v.shape))
        np.multiply(slope, self.alpha, out=both[0])
        np.multiply(slope, v, out=both[1])
        of_alpha, of_v = self.contract(both, X)
        return of_alpha, of_v

    def _predict(self, q: Matrix) -> tuple[Values, Values]:
        """Return the mean and standard deviation at distances q, (b, n)."""
        k = matern52(q, self.hyper.outputscale)
        return self.hyper.mean + k @ self.alpha, conditional_std(
            self.factor.whiten(k), self.hyper.outputscale
        )

    def _predict_mean(self, q: Matrix) -> Values:
        """Return the mean at distances q, (b, n)."""
        k = matern52(q, self.hyper.outputscale)
        return self.hyper.mean + k @ self.alpha  # E02


def _solve(X: Points, y: Values, hyper: Hyperparameters, noise: Values) -> Solution:
    """Return the factor of the observations' covariance, and what it makes of them."""
    q = squared_distances(X, X, hyper.lengthscales)
    K = matern52_over(q, hyper.outputscale)
    K.flat[:: len(X) + 1] += noise
    L = factorise(K, overwrite=True)
    # Of many observations these matrices are large.
    del q, K
    factor = Factor.of(L)
    return Solution(factor, factor.solve(y - hyper.mean))
