"""The local GP conditioned on m draws of its own noise-free values (for noisy EI).

Conditioning the posterior on f(X) = F is conditioning the prior on noise-free data F,
so one factor of k(X, X) serves all m draws and the std does not depend on the draw.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtri

from guidefbo.agent.surrogate.gp import GaussianProcess, conditional_std
from guidefbo.agent.surrogate.kernel import (
    matern52,
    matern52_with_slope,
    squared_distances,
)
from guidefbo.agent.surrogate.linalg import factorise, invert_factor
from guidefbo.agent.surrogate.posterior import FantasyMoments, Posterior
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.designs import sobol

NUGGET = 1e-7
"""Noise variance of a fantasised value, relative to the output scale."""


def draw_values(
    posterior: Posterior, X: Points, num_draws: int, stream: np.random.Generator
) -> Matrix:
    """Return (n, num_draws) joint draws at the rows of X, by quasi-Monte Carlo."""
    mean, cov = posterior.joint(X)
    uniforms = sobol(num_draws, len(X), stream)
    z = ndtri(np.clip(uniforms, 1e-9, 1.0 - 1e-9))
    return mean[:, None] + factorise(cov) @ z.T


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFantasies:
    """Quasi-random draws at the observed inputs and the GP conditioned on them."""

    gp: GaussianProcess
    """The posterior the draws come from."""
    draws: Matrix
    """(n, m) noise-free values at the observed inputs."""
    inverse_factor: Matrix
    """Inverse Cholesky factor of k(X, X) + nugget."""
    weights: Matrix
    """(n, m), k(X, X)^-1 (F - m)."""

    @classmethod
    def draw(
        cls, gp: GaussianProcess, num_fantasies: int, stream: np.random.Generator
    ) -> Self:
        """Draw F by quasi-Monte Carlo from the joint posterior at the inputs."""
        hyper = gp.hyper
        F = draw_values(gp, gp.X, num_fantasies, stream)
        K = matern52(
            squared_distances(gp.X, gp.X, hyper.lengthscales), hyper.outputscale
        )
        K.flat[:: len(K) + 1] += NUGGET * hyper.outputscale
        L_inv = invert_factor(factorise(K))
        weights = L_inv.T @ (L_inv @ (F - hyper.mean))
        return cls(gp=gp, draws=F, inverse_factor=L_inv, weights=weights)

    @property
    def observed(self) -> Points:
        """Inputs the draws belong to."""
        return self.gp.X

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        hyper = self.gp.hyper
        k, slope = matern52_with_slope(self.gp.distances(X), hyper.outputscale)
        w = k @ self.inverse_factor.T
        std = conditional_std(w, hyper.outputscale)

        def std_gradient() -> Points:
            v = (w @ self.inverse_factor) * slope
            return self.gp.contract(v, X) / -std[:, None]

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
        std = conditional_std(k @ self.inverse_factor.T, hyper.outputscale)
        return hyper.mean + k @ self.weights, std
