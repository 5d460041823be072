"""One Gaussian process of all sites' observations, seen from one of the sites.

    y = m_n + f_n(x) + noise,      f_n = √ρ g + √(1 - ρ) h_n,      g, h_n ~ GP(0, k)

at site n: a part g that all sites have in common and a part h_n of its own. So

    cov(f_n(x), f_m(x')) = B_nm k(x, x'),      B_nm = 1 for n = m, else ρ.

With K = k(X, X) ∘ B + noise over the observations of all sites, and c_i = 1 for the own
observations, else ρ, the posterior of f_n has

    mean(x) = m_n + k(x, X) (c ∘ K⁻¹ (y - m)),
    cov(x, x') = k(x, x') - k(x, X) diag(c) K⁻¹ diag(c) k(X, x'),

which is that of an ordinary process whose weights are c ∘ α and whose inverse factor is
L⁻¹ diag(c). The constants m_n are profiled out by generalised least squares.

References:
    Bonilla, Chai and Williams, Multi-task Gaussian process prediction, NIPS 2007.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import lapack

from guidefbo.agent.paths.features import FeatureMap
from guidefbo.agent.paths.path import FeaturePath
from guidefbo.agent.strategies.shared_data.pool import Pool
from guidefbo.agent.surrogate.factor import Factor
from guidefbo.agent.surrogate.fantasies import NUGGET, LocalFantasies, draw_values
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters, Solution
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.agent.surrogate.linalg import factorise, invert_factor
from guidefbo.agent.surrogate.posterior import FantasyMoments, Moments, SamplePath
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.core.arrays import Matrix, Points, Values

CORRELATIONS = (0.0, 0.5, 0.8, 0.95, 0.99)
"""Values of ρ that are compared."""


class _Fit(NamedTuple):
    """The data under one ρ."""

    rho: float
    factor: Matrix
    """L."""
    constants: Values
    """m, one a site."""
    residual: Values
    """L⁻¹ (y - m)."""

    @property
    def evidence(self) -> float:
        """Log likelihood of all observations, up to a constant."""
        half_logdet = np.log(np.diagonal(self.factor)).sum()
        return float(-half_logdet - 0.5 * self.residual @ self.residual)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedPosterior:
    """The posterior of one site's objective given everybody's observations."""

    process: GaussianProcess
    """Has all inputs, c ∘ α and L⁻¹ diag(c), so that it predicts f_n."""
    pool: Pool
    """All observations."""
    rho: float
    """Correlation of two sites' objectives at one place."""
    constants: Values
    """m, one a site, the own first."""

    @classmethod
    def fit(
        cls,
        pool: Pool,
        hyper: Hyperparameters,
        correlations: Sequence[float] = CORRELATIONS,
    ) -> Self:
        """Return the posterior for the ρ under which all observations are likeliest.

        Args:
            pool: All observations.
            hyper: Lengthscales and output scale.
            correlations: Values of ρ to choose from.
        """
        q = squared_distances(pool.X, pool.X, hyper.lengthscales)
        kernel = matern52(q, hyper.outputscale)
        best = max(
            (_fit(pool, kernel, rho) for rho in correlations),
            key=lambda fit: fit.evidence,
        )
        c = pool.links_to_own(best.rho)
        L_inv = invert_factor(best.factor)
        Z = pool.X / hyper.lengthscales
        process = GaussianProcess(
            X=pool.X,
            y=pool.y,
            hyper=replace(hyper, mean=float(best.constants[0])),
            solution=partial(
                Solution,
                factor=Factor(matrix=L_inv * c, is_inverse=True),
                alpha=c * (L_inv.T @ best.residual),  # E100
            ),
            scaled=Z,
            norms=np.einsum("ij,ij->i", Z, Z),
            noise=pool.noise,
        )
        return cls(process=process, pool=pool, rho=best.rho, constants=best.constants)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.process.dim

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        return self.process.predict(X)

    def by_sums(self) -> BySums[tuple[Values, Values]]:
        """Return the mean and standard deviation, by sums."""
        return self.process.by_sums()

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        return self.process.moments(X)

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        return self.process.joint(X)

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of the values at the rows of X."""
        return self.process.draw(X, stream)

    def fantasise(
        self, num_fantasies: int, stream: np.random.Generator
    ) -> "SharedFantasies":
        """Condition on quasi-random draws of the own values at the own inputs.

        Given f_n there, the own observations say no more; those of the others do.
        """
        pool, gp = self.pool, self.process
        s, n, c = gp.hyper.outputscale, pool.num_own, pool.links_to_own(self.rho)
        F = draw_values(gp, pool.X[:n], num_fantasies, stream)
        K = matern52(gp.distances(pool.X), s) * pool.links(self.rho)
        K.flat[:: len(K) + 1] += np.where(pool.site == 0, NUGGET * s, pool.noise)
        L_inv = invert_factor(factorise(K))
        rest = (pool.y - self.constants[pool.site])[n:]
        targets = np.vstack(
            [F - gp.hyper.mean, np.repeat(rest[:, None], F.shape[1], axis=1)]
        )
        inner = LocalFantasies(
            gp=gp,
            draws=F,
            inverse_factor=L_inv * c,
            weights=c[:, None] * (L_inv.T @ (L_inv @ targets)),  # E101
        )
        return SharedFantasies(inner=inner, observed=pool.X[:n])

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw one continuous path with its mean at the exact posterior mean.

        Every site's function is a draw of the same random features with weights
        √ρ w + √(1 - ρ) w_n; Matheron's rule conditions them on all observations.
        """
        pool, gp = self.pool, self.process
        features = FeatureMap.draw(
            num_features, gp.hyper.lengthscales, gp.hyper.outputscale, stream
        )
        Phi = features(pool.X)
        gram = (Phi @ Phi.T) * pool.links(self.rho)
        gram.flat[:: len(gram) + 1] += pool.noise
        common = stream.standard_normal(num_features)
        own = stream.standard_normal((pool.num_sites, num_features))
        W = np.sqrt(self.rho) * common + np.sqrt(1.0 - self.rho) * own
        prior = np.einsum("nf,nf->n", Phi, W[pool.site])
        prior += np.sqrt(pool.noise) * stream.standard_normal(len(prior))
        correction, _ = lapack.dpotrs(factorise(gram), prior, lower=1)
        weights = W[0] - Phi.T @ (pool.links_to_own(self.rho) * correction)
        return FeaturePath(mean=gp, features=features, weights=weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedFantasies:
    """Draws at the own observed inputs and the model conditioned on them."""

    inner: LocalFantasies
    """Has the inputs of all sites; its draws are at the own alone."""
    observed: Points
    """The own inputs."""

    @property
    def draws(self) -> Matrix:
        """The drawn values, one column a fantasy."""
        return self.inner.draws

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        return self.inner.moments(X)

    def by_sums(self) -> BySums[tuple[Matrix, Values]]:
        """Return the conditioned means and standard deviation, by sums."""
        return self.inner.by_sums()


def _fit(pool: Pool, kernel: Matrix, rho: float) -> _Fit:
    """Return the data under one ρ, each site's constant by least squares."""
    K = kernel * pool.links(rho)  # E99
    K.flat[:: len(K) + 1] += pool.noise
    L = factorise(K)
    whitened, _ = lapack.dtrtrs(L, np.column_stack([pool.y, pool.members]), lower=1)
    y, M = whitened[:, 0], whitened[:, 1:]
    _, constants, _ = lapack.dposv(M.T @ M, M.T @ y)
    return _Fit(rho, L, constants, y - M @ constants)
