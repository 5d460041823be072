"""Fantasies of many observations: the same law with less work and one matrix.

With the prior covariance P = k(X, X) + nugget = L L', the noise δ = D - nugget of the
observations about it and A = P + δ, a draw of the posterior at the inputs is a draw of
the prior that is corrected by what it missed of the data (Matheron's rule),

    f = L z,    e = √δ z',    F = y - e - δ A^-1 (y - m - f - e).

No covariance of the posterior is built or factorised; L serves the draws and the
conditioning on them. Solving with L takes as long as multiplying with its inverse, and
finding that inverse would take longer than all solves of a search.

References:
    Wilson et al., Efficiently sampling functions from Gaussian process posteriors,
    ICML 2020: Matheron's rule.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import blas
from scipy.special import ndtri

from guidefbo.agent.surrogate.fantasies import NUGGET
from guidefbo.agent.surrogate.gp import GaussianProcess, conditional_std
from guidefbo.agent.surrogate.kernel import (
    matern52,
    matern52_over,
    matern52_with_slope,
    squared_distances,
)
from guidefbo.agent.surrogate.linalg import factorise_over
from guidefbo.agent.surrogate.posterior import FantasyMoments
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.designs import sobol


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyFantasies:
    """Quasi-random draws at the observed inputs and the GP conditioned on them."""

    gp: GaussianProcess
    """The posterior the draws come from."""
    draws: Matrix
    """(n, m) noise-free values at the observed inputs."""
    factor: Matrix
    """L, the lower Cholesky factor of k(X, X) + nugget; see `factorise_over`."""
    weights: Matrix
    """(n, m), (k(X, X) + nugget)^-1 (F - m)."""

    @classmethod
    def draw(
        cls, gp: GaussianProcess, num_fantasies: int, stream: np.random.Generator
    ) -> Self:
        """Draw F by quasi-Monte Carlo from the joint posterior at the inputs."""
        hyper, n = gp.hyper, len(gp.X)
        L = prior_factor(gp)
        prior = ndtri(np.clip(sobol(num_fantasies, n, stream), 1e-9, 1.0 - 1e-9))
        noise = stream.standard_normal((num_fantasies, n))
        F = correct(gp, L, prior.T, noise.T)
        whitened = blas.dtrsm(1.0, L, F - hyper.mean, lower=1)
        weights = blas.dtrsm(1.0, L, whitened, lower=1, trans_a=1)
        return cls(gp=gp, draws=F, factor=L, weights=weights)

    @property
    def observed(self) -> Points:
        """Inputs the draws belong to."""
        return self.gp.X

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        hyper = self.gp.hyper
        k, slope = matern52_with_slope(self.gp.distances(X), hyper.outputscale)
        w = self._whiten(k)
        std = conditional_std(w, hyper.outputscale)

        def std_gradient() -> Points:
            v = blas.dtrsm(1.0, self.factor, w.T, lower=1, trans_a=1).T
            return self.gp.contract(v * slope, X) / -std[:, None]

        def pull_back(sensitivity: Matrix) -> Points:
            return self.gp.contract((sensitivity @ self.weights.T) * slope, X)

        return FantasyMoments(
            means=hyper.mean + k @ self.weights,
            std=std,
            std_gradient=std_gradient,
            pull_back=pull_back,
        )

    def by_sums(self) -> BySums[tuple[Matrix, Values]]:
        """Return the conditioned means and standard deviation, by sums."""
        return self.gp.distances_by_sums().then(self._predict)

    def _predict(self, q: Matrix) -> tuple[Matrix, Values]:
        """Return the conditioned means and std at distances q, (b, n)."""
        hyper = self.gp.hyper
        k = matern52(q, hyper.outputscale)
        std = conditional_std(self._whiten(k), hyper.outputscale)
        return hyper.mean + k @ self.weights, std

    def _whiten(self, k: Matrix) -> Matrix:
        """Return the rows of k, each solved with L."""
        return blas.dtrsm(1.0, self.factor, k.T, lower=1).T


def prior_factor(gp: GaussianProcess) -> Matrix:
    """Return the lower Cholesky factor of k(X, X) + nugget at the observed inputs."""
    hyper = gp.hyper
    q = squared_distances(gp.X, gp.X, hyper.lengthscales)
    K = matern52_over(q, hyper.outputscale)
    K.flat[:: len(K) + 1] += NUGGET * hyper.outputscale
    return factorise_over(K)


def correct(gp: GaussianProcess, L: Matrix, prior: Matrix, noise: Matrix) -> Matrix:
    """Return draws of the posterior at the observed inputs, (n, m).

    Args:
        gp: The posterior.
        L: Factor of its prior covariance, see `prior_factor`.
        prior: (n, m) standard normal numbers of the prior.
        noise: (n, m) standard normal numbers of the noise.
    """
    delta = np.maximum(gp.noise - NUGGET * gp.hyper.outputscale, 0.0)[:, None]
    e = np.sqrt(delta) * noise
    miss = gp.y[:, None] - gp.hyper.mean - e
    miss -= blas.dtrmm(1.0, L, prior, lower=1)
    return gp.y[:, None] - e - delta * gp.factor.solve(miss)
