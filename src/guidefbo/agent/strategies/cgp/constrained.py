"""The consensus-constrained posterior: a mixture of GPs that differ in pseudo-data.

The constraint that f exceeds a level at p designs is imposed by S models, each given
the local data and pseudo-values of f at the designs, F_s (p,), drawn from the posterior
and above the level. With hyperparameters, inputs and noise in common, K is the same for
all of them:

    mean_s(x) = mean(x) + k(x, X) K^-1 [0; F_s - F],      F = average of the F_s
    mean(x)   = average of the mean_s,    var(x) = σ+²(x) + |k(x, X) C|²

with σ+ the std of every model, C = K^-1 [0; R] and R R' the sample covariance of the
pseudo-values. C has p columns, however many models there are.

References:
    Chen, Jiang, Qin and Al Kontar, Multi-agent collaborative Bayesian optimization via
    constrained Gaussian processes, Technometrics 2025.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from scipy.special import ndtri

from guidefbo.agent.surrogate.fantasies import LocalFantasies
from guidefbo.agent.surrogate.gp import GaussianProcess, Solution, conditional_std
from guidefbo.agent.surrogate.kernel import matern52, matern52_with_slope
from guidefbo.agent.surrogate.linalg import factorise, invert_factor
from guidefbo.agent.surrogate.posterior import (
    Fantasies,
    FantasyMoments,
    Moments,
    SamplePath,
)
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.core.arrays import Matrix, Others, Points, Values
from guidefbo.core.designs import sobol

NUGGET = 1e-4
"""Noise variance of a pseudo-value, and of a fantasised one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstrainedPosterior:
    """The mixture of the pseudo-data GPs, by its first two moments."""

    average: GaussianProcess
    """Given the data and the average pseudo-values: the mixture's mean, and σ+."""
    pseudo_values: Matrix
    """(p, S): one column a model."""
    influence: Matrix
    """(n + p, p): K^-1 of the pseudo-values."""
    spread: Matrix
    """(n + p, p): C."""

    @classmethod
    def condition(
        cls, local: GaussianProcess, designs: Others, pseudo_values: Matrix
    ) -> Self:
        """Return the mixture given pseudo-values, (p, S), at p designs."""
        n, (p, S) = len(local.X), pseudo_values.shape
        F = pseudo_values.mean(axis=1)
        average = GaussianProcess.condition(
            np.vstack([local.X, designs]),
            np.concatenate([local.y, F]),
            local.hyper,
            np.concatenate([local.noise, np.full(p, NUGGET)]),
        )
        influence = average.factor.inverse_columns(n)
        departures = (pseudo_values - F[:, None]) / np.sqrt(max(S - 1, 1))
        R = np.linalg.qr(departures.T).R.T
        return cls(
            average=average,
            pseudo_values=pseudo_values,
            influence=influence,
            spread=influence @ R,
        )

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.average.dim

    @property
    def num_observed(self) -> int:
        """Inputs that were observed; the accepted designs come after them."""
        return len(self.average.X) - len(self.pseudo_values)

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        return self._predict(self.average.distances(X))

    def by_sums(self) -> BySums[tuple[Values, Values]]:
        """Return the mean and standard deviation, by sums."""
        return self.average.distances_by_sums().then(self._predict)

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        gp = self.average
        k, slope = matern52_with_slope(gp.distances(X), gp.hyper.outputscale)
        w = gp.factor.whiten_densely(k)
        std, u = self._std(k, w)
        sensitivity = np.empty((2, *k.shape))
        np.multiply(slope, gp.alpha, out=sensitivity[0])
        np.matmul(u, self.spread.T, out=sensitivity[1])
        sensitivity[1] -= gp.factor.unwhiten_densely(w)
        sensitivity[1] *= slope
        both = gp.contract(sensitivity, X)
        return Moments(
            mean=gp.hyper.mean + k @ gp.alpha,
            std=std,
            mean_gradient=both[0],
            std_gradient=both[1] / std[:, None],
        )

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        gp = self.average
        mean, cov = gp.joint(X)
        u = matern52(gp.distances(X), gp.hyper.outputscale) @ self.spread
        return mean, cov + u @ u.T  # E59

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Condition every model on draws of its values: num_fantasies times S of them.

        Args:
            num_fantasies: Draws of each model.
            stream: Randomness of the draws.
        """
        gp, (_, S) = self.average, self.pseudo_values.shape
        K = matern52(gp.distances(gp.X), gp.hyper.outputscale)
        mean, cov = gp.joint(gp.X)
        departures = self.pseudo_values - self.pseudo_values.mean(axis=1)[:, None]
        means = mean[:, None] + K @ self.influence @ departures
        uniforms = sobol(S * num_fantasies, len(gp.X), stream)
        z = ndtri(np.clip(uniforms, 1e-9, 1.0 - 1e-9))
        F = np.repeat(means, num_fantasies, axis=1) + factorise(cov) @ z.T  # E61
        K.flat[:: len(K) + 1] += NUGGET
        L_inv = invert_factor(factorise(K))
        inner = LocalFantasies(
            gp=gp,
            draws=F,
            inverse_factor=L_inv,
            weights=L_inv.T @ (L_inv @ (F - gp.hyper.mean)),
        )
        return ConstrainedFantasies(inner=inner, num_observed=self.num_observed)

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of the first model's values at the rows of X."""
        return self.first().draw(X, stream)

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw one path of the first model."""
        return self.first().sample_path(num_features, stream)

    def first(self) -> GaussianProcess:
        """Return the GP of the first pseudo-values."""
        gp, n = self.average, self.num_observed
        y = np.concatenate([gp.y[:n], self.pseudo_values[:, 0]])
        alpha = gp.factor.solve(y - gp.hyper.mean)
        return replace(gp, y=y, solution=partial(Solution, gp.factor, alpha))  # E60

    def _predict(self, q: Matrix) -> tuple[Values, Values]:
        gp = self.average
        k = matern52(q, gp.hyper.outputscale)
        std, _ = self._std(k, gp.factor.whiten_densely(k))
        return gp.hyper.mean + k @ gp.alpha, std

    def _std(self, k: Matrix, w: Matrix) -> tuple[Values, Matrix]:
        u = k @ self.spread
        variance = conditional_std(w, self.average.hyper.outputscale) ** 2
        variance += np.einsum("ij,ij->i", u, u)
        return np.sqrt(variance), u  # E59


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstrainedFantasies:
    """Fantasies at observed inputs and accepted designs; `draws` are the former."""

    inner: LocalFantasies
    """All draws, and the GP conditioned on them."""
    num_observed: int
    """Rows that belong to observed inputs."""

    @property
    def observed(self) -> Points:
        """Inputs the draws belong to."""
        return self.inner.gp.X[: self.num_observed]

    @property
    def draws(self) -> Matrix:
        """The drawn values at the observed inputs: one column a fantasy."""
        return self.inner.draws[: self.num_observed]

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        return self.inner.moments(X)

    def by_sums(self) -> BySums[tuple[Matrix, Values]]:
        """Return the conditioned means and standard deviation, by sums."""
        return self.inner.by_sums()
