"""The trend model conditioned on m draws of its own noise-free values (for noisy EI).

Conditioning on f(X) = F is conditioning the prior on noise-free data, so one factor of
the prior covariance serves all m draws and the std does not depend on the draw.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from guidefbo.agent.surrogate.fantasies import NUGGET, draw_values
from guidefbo.agent.surrogate.gp import conditional_std
from guidefbo.agent.surrogate.kernel import matern52, matern52_with_slope
from guidefbo.agent.surrogate.linalg import factorise, invert_factor
from guidefbo.agent.surrogate.posterior import FantasyMoments
from guidefbo.agent.surrogate.sums import BySums, coordinates_by_sums, join
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.arrays import Matrix, Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendFantasies:
    """Quasi-random draws at the observed inputs and the model conditioned on them."""

    model: TrendPosterior
    """The posterior the draws come from."""
    draws: Matrix
    """(n, m) noise-free values at the observed inputs."""
    inverse_factor: Matrix
    """Inverse Cholesky factor of the prior covariance at the inputs + nugget."""
    weights: Matrix
    """(n, m), the inverse of that covariance times the draws less their prior mean."""
    coefficients: Matrix
    """(functions, m), conditioned means of the trend's coefficients."""

    @classmethod
    def draw(
        cls, model: TrendPosterior, num_fantasies: int, stream: np.random.Generator
    ) -> Self:
        """Draw F by quasi-Monte Carlo from the joint posterior at the inputs."""
        gp, prior = model.rest, model.prior
        F = draw_values(model, gp.X, num_fantasies, stream)
        K = model.prior_covariance(gp.X)
        K.flat[:: len(K) + 1] += NUGGET * float(np.mean(np.diagonal(K)))
        L_inv = invert_factor(factorise(K))
        mean = gp.hyper.mean + prior.basis(gp.X) @ prior.means
        weights = L_inv.T @ (L_inv @ (F - mean[:, None]))
        return cls(
            model=model,
            draws=F,
            inverse_factor=L_inv,
            weights=weights,
            coefficients=prior.means[:, None] + model.loadings.T @ weights,
        )

    @property
    def observed(self) -> Points:
        """Inputs the draws belong to."""
        return self.model.rest.X

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        model, gp = self.model, self.model.rest
        k, slope = matern52_with_slope(gp.distances(X), gp.hyper.outputscale)
        means, w, std = self._condition(k, X)

        def std_gradient() -> Points:
            return model.std_gradient(X, w @ self.inverse_factor, slope, std)

        def pull_back(sensitivity: Matrix) -> Points:
            of_rest = gp.contract((sensitivity @ self.weights.T) * slope, X)
            return of_rest + model.prior.basis.pull_back(
                sensitivity @ self.coefficients.T, X
            )

        return FantasyMoments(
            means=means, std=std, std_gradient=std_gradient, pull_back=pull_back
        )

    def by_sums(self) -> BySums[tuple[Matrix, Values]] | None:
        """Return the conditioned means and standard deviation, by sums."""
        gp = self.model.rest
        return join(self._predict, gp.distances_by_sums(), coordinates_by_sums(gp.dim))

    def _predict(self, q: Matrix, X: Points) -> tuple[Matrix, Values]:
        """Return the conditioned means and std, from points and distances q."""
        k = matern52(q, self.model.rest.hyper.outputscale)
        means, _, std = self._condition(k, X)
        return means, std

    def _condition(self, k: Matrix, X: Points) -> tuple[Matrix, Matrix, Values]:
        """Return the means, the whitened covariance with the data, and the std."""
        Phi = self.model.prior.basis(X)
        w = (k + Phi @ self.model.loadings.T) @ self.inverse_factor.T
        means = self.model.rest.hyper.mean + k @ self.weights
        means += Phi @ self.coefficients
        return means, w, conditional_std(w, self.model.prior_variance(Phi))
