"""Quadratic trend plus Gaussian process.

The objective is the sum of a quadratic polynomial without cross terms and a Gaussian
process, and both are inferred together:

    f(x) = φ(x)ᵀ β + r(x),        β ~ N(θ, diag(S)),        r ~ GP(m, ρ k)

with φ the functions of a basis, by default a quadratic whose curvatures are pooled.

With β integrated out this is one Gaussian process of mean m + φᵀ θ and kernel
ρ k(x, x') + φ(x)ᵀ diag(S) φ(x'), so that every answer has a closed form and one
Cholesky factor serves them all. ρ, the share of the fitted process's variance that is
left beside the quadratic, is the one of highest marginal likelihood among a few.

Why: lengthscales fitted to short-range variation say nothing far from the data. The
quadratic carries what the objective does over the whole cube.

The curvature of coordinate j is the sum of a shared coefficient and one of its own:
30 observations in ten dimensions determine one curvature, not ten.

References:
    Rasmussen and Williams, Gaussian Processes for Machine Learning, section 2.7.
    Gelman and Hill, Data Analysis Using Regression and Multilevel Models, 2007: partial
    pooling, here of curvatures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
from scipy.linalg import lapack

from guidefbo.agent.surrogate.basis import Basis, PooledQuadratic, Terms
from guidefbo.agent.surrogate.curvature import (
    GRADIENT_SHARE,
    gradient_cross,
    mean_hessian,
)
from guidefbo.agent.surrogate.factor import Factor
from guidefbo.agent.surrogate.gp import (
    GaussianProcess,
    Hyperparameters,
    Solution,
    conditional_std,
)
from guidefbo.agent.surrogate.kernel import (
    matern52,
    matern52_over,
    matern52_with_slope,
    squared_distances,
)
from guidefbo.agent.surrogate.linalg import factorise
from guidefbo.agent.surrogate.posterior import Fantasies, Moments, SamplePath
from guidefbo.agent.surrogate.sums import (
    BySums,
    Quadratics,
    coordinates_by_sums,
    join,
)
from guidefbo.core.arrays import Matrix, Point, Points, Values

CURVATURE, CURVATURE_SD = -2.0, 0.8
"""Default prior of the shared curvature coefficient, in standard deviations of the
data: negative, as for a maximum inside the cube. Without it, noise alone would often
put the quadratic's maximum into a corner."""
LEVEL_SD, SLOPE_SD, DIFFERENCE_SD = 1.0, 2.0, 1.0
"""Default prior standard deviations of the other coefficients, in the same units; their
prior means are zero."""
SHARES = (1.0, 0.1, 0.01)
"""Values of ρ that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPrior:
    """Independent normal priors of the coefficients β, in the order of φ."""

    basis: Basis
    """φ."""
    means: Values
    """θ."""
    variances: Values
    """S; a coefficient of variance zero is fixed at its mean."""

    @classmethod
    def default(cls, gp: GaussianProcess) -> Self:
        """Return a weak prior in units of the standard deviation of the data."""
        d = gp.dim
        # Equal values have a standard deviation of rounding error, not of zero.
        scale = float(gp.y.std()) if np.ptp(gp.y) > 0.0 else 0.0
        kinds = [1, d, 1, d]
        means = np.repeat([0.0, 0.0, CURVATURE, 0.0], kinds)
        deviations = np.repeat([LEVEL_SD, SLOPE_SD, CURVATURE_SD, DIFFERENCE_SD], kinds)
        return cls(
            basis=PooledQuadratic(d),
            means=scale * means,
            variances=(scale * deviations) ** 2,
        )

    @classmethod
    def none(cls, dim: int) -> Self:
        """Return the prior that fixes all coefficients at zero."""
        nothing = np.zeros(2 * dim + 2)
        return cls(basis=PooledQuadratic(dim), means=nothing, variances=nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPosterior:
    """The posterior of the sum, to be decided on like that of a plain process."""

    rest: GaussianProcess
    """The process r with kernel ρ k. Its `factor` and `alpha` are those of the sum's
    covariance, so that its own predictions are not those of r."""
    weights: Values
    """Posterior mean of β."""
    prior: TrendPrior
    """Prior of β."""
    design: Matrix = field(init=False)
    """φ(X), a row each observed input."""
    loadings: Matrix = field(init=False)
    """φ(X) diag(S): prior covariance of the observed values, a row each, and β."""
    _terms: Terms = field(init=False)
    """The mean of the trend."""

    def __post_init__(self) -> None:
        F = self.prior.basis(self.rest.X)
        object.__setattr__(self, "design", F)
        object.__setattr__(self, "loadings", F * self.prior.variances)
        object.__setattr__(self, "_terms", self.prior.basis.terms(self.weights))

    @classmethod
    def fit(
        cls,
        gp: GaussianProcess,
        prior: TrendPrior | None = None,
        *,
        hyper: Hyperparameters | None = None,
        shares: Sequence[float] | None = None,
        kernel: Matrix | None = None,
    ) -> Self:
        """Return the posterior given the data and hyperparameters of a fitted process.

        Args:
            gp: The process without a trend.
            prior: Of the coefficients; None: the default.
            hyper: Hyperparameters of r before it is shared; None: the process's.
            shares: Values of ρ to choose from; None: the usual ones.
            kernel: k of the observed inputs, where it is at hand.
        """
        if hyper is not None:
            gp = GaussianProcess.to_be_conditioned(gp.X, gp.y, hyper, gp.noise)
        prior = TrendPrior.default(gp) if prior is None else prior
        F = prior.basis(gp.X)
        residual = gp.y - gp.hyper.mean - F @ prior.means
        shares = SHARES if shares is None else shares
        factors = _factors(gp, F, prior.variances, shares, kernel)
        likeliest = 0
        if len(shares) > 1:
            likeliest = int(np.argmax([_evidence(L, residual) for L in factors]))
        s = shares[likeliest] * gp.hyper.outputscale
        factor = Factor.of(factors[likeliest])
        alpha = factor.solve(residual)
        rest = replace(
            gp,
            hyper=replace(gp.hyper, outputscale=s),
            solution=partial(Solution, factor, alpha),
        )
        weights = prior.means + prior.variances * (F.T @ alpha)  # E83
        return cls(rest=rest, weights=weights, prior=prior)

    @property
    def evidence(self) -> float:
        """Log likelihood of the observed values, up to a constant of their number."""
        gp = self.rest
        residual = gp.y - gp.hyper.mean - self.design @ self.prior.means
        return float(-gp.factor.half_logdet - 0.5 * residual @ gp.alpha)

    @property
    def weight_variances(self) -> Values:
        """Posterior variances of β."""
        W = self.rest.factor.divide(self.loadings)
        return self.prior.variances - np.einsum("ij,ij->j", W, W)

    @classmethod
    def without_trend(cls, gp: GaussianProcess) -> Self:
        """Return the process as it is, with a quadratic that is zero."""
        prior = TrendPrior.none(gp.dim)
        return cls(rest=gp, weights=prior.means, prior=prior)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.rest.dim

    @property
    def y(self) -> Values:
        """Observed values."""
        return self.rest.y

    @property
    def value_at_data(self) -> Values:
        """The mean at the observed inputs."""
        return self.rest.y - self.rest.noise * self.rest.alpha

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        return self._predict(self.rest.distances(X), X)

    def by_sums(self) -> BySums[tuple[Values, Values]] | None:
        """Return the mean and standard deviation, by sums."""
        points = coordinates_by_sums(self.dim)
        return join(self._predict, self.rest.distances_by_sums(), points)

    def predict_mean(self, X: Points) -> Values:
        """Return the mean at the rows of X."""
        return self.rest.predict_mean(X) + self._terms.value(X - 0.5)  # E84

    def mean_by_sums(self) -> BySums[Values] | None:
        """Return the mean, by sums."""
        level, slopes, curvatures, higher = self._terms
        if higher is not None:
            trend = coordinates_by_sums(self.dim).then(
                lambda X: self._terms.value(X - 0.5)
            )
            return join(_add, self.rest.mean_by_sums(), trend)
        constant = level + (curvatures / 6.0 - slopes / 2.0).sum()
        quadratic = Quadratics(
            squares=curvatures[:, None],
            slopes=(slopes - curvatures)[:, None],
            constants=np.array([constant]),
        )
        trend = BySums(sums=quadratic, finish=lambda S: S[:, 0])
        return join(_add, self.rest.mean_by_sums(), trend)

    def mean_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the mean and its gradient at the rows of X."""
        mean, gradient = self.rest.mean_and_gradient(X)
        U = X - 0.5
        gradient += self._terms.gradient(U)
        return mean + self._terms.value(U), gradient

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        gp = self.rest
        k, slope = matern52_with_slope(gp.distances(X), gp.hyper.outputscale)
        mean = gp.hyper.mean + k @ gp.alpha
        Phi = self.prior.basis(X)
        k += Phi @ self.loadings.T
        w = gp.factor.whiten(k, overwrite=True)
        std = conditional_std(w, self.prior_variance(Phi))
        v = gp.factor.unwhiten(w, overwrite=True)
        of_trend = self._variance_pulled_back(X, v, Phi)
        mean_gradient, of_rest = gp.contract_both(slope, v, X)
        _, slopes, curvatures, higher = self._terms
        U = X - 0.5
        mean += self._terms.value(U)
        if higher is not None:
            mean_gradient += higher.gradient(U)
        mean_gradient += slopes
        U *= 2.0 * curvatures
        mean_gradient += U
        of_trend -= of_rest
        of_trend /= std[:, None]
        return Moments(
            mean=mean, std=std, mean_gradient=mean_gradient, std_gradient=of_trend
        )

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        gp = self.rest
        k = matern52(gp.distances(X), gp.hyper.outputscale)
        Phi = self.prior.basis(X)
        w = gp.factor.whiten_densely(k + Phi @ self.loadings.T)
        mean = gp.hyper.mean + k @ gp.alpha + self._terms.value(X - 0.5)
        return mean, self.prior_covariance(X) - w @ w.T

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of the values at the rows of X."""
        mean, cov = self.joint(X)
        return mean + factorise(cov) @ stream.standard_normal(len(X))

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Condition on quasi-random draws of the values at the observed inputs."""
        # Fantasies and paths are built from a posterior, hence imported late.
        from guidefbo.agent.surrogate.trend_fantasies import TrendFantasies

        return TrendFantasies.draw(self, num_fantasies, stream)

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw one continuous path with its mean at the exact posterior mean.

        The random features of r and the polynomials φ are the features of one linear
        model, whose weights are drawn together.
        """
        from guidefbo.agent.paths.features import FeatureMap
        from guidefbo.agent.paths.path import FeaturePath
        from guidefbo.agent.paths.weights import WeightPosterior

        gp, root = self.rest, np.sqrt(self.prior.variances)
        features = FeatureMap.draw(
            num_features, gp.hyper.lengthscales, gp.hyper.outputscale, stream
        )
        Phi = np.hstack([features(gp.X), self.prior.basis(gp.X) * root])
        drawn = WeightPosterior.of(Phi, gp.noise).draw_centred(1, stream)[0]
        of_rest, of_trend = np.split(drawn.astype(np.float64), [-len(root)])
        mean = replace(self, weights=self.weights + root * of_trend)
        return FeaturePath(mean=mean, features=features, weights=of_rest)

    @property
    def summit(self) -> Point:
        """Where in the cube the trend alone is highest."""
        return self._terms.summit

    def hessian(self, x: Point) -> Matrix:
        """Return the Hessian of the mean at one point."""
        H = mean_hessian(self.rest, x)
        return H + self.trend_hessian(x)

    def gradient_covariance(self, x: Point) -> Matrix:
        """Return the posterior covariance of the gradient at one point."""
        return self.gradient_covariances(x)[0]

    def gradient_covariances(self, x: Point) -> tuple[Matrix, Matrix]:
        """Return the posterior covariances of two gradients at one point.

        That of the sum, and that of the quadratic alone.
        """
        gp = self.rest
        G = self.prior.basis.gradient(x)
        GS = G * self.prior.variances
        prior, cross = GS @ G.T, self.design @ GS.T
        of_rest = GRADIENT_SHARE * gp.hyper.outputscale / (gp.hyper.lengthscales**2)
        W = gp.factor.divide(gradient_cross(gp, x) + cross)
        V = gp.factor.divide(cross)
        return prior + np.diag(of_rest) - W.T @ W, prior - V.T @ V

    def trend_hessian(self, x: Point) -> Matrix:
        """Return the Hessian of the trend alone at one point."""
        return np.diag(self._terms.bend(x - 0.5))

    def trend_gradient_covariance(self, x: Point) -> Matrix:
        """Return the posterior covariance of the quadratic's gradient at one point."""
        return self.gradient_covariances(x)[1]

    def prior_variance(self, Phi: Matrix) -> Values:
        """Return the prior variance of f where the basis is Phi, one row a point."""
        return self.rest.hyper.outputscale + Phi**2 @ self.prior.variances

    def prior_covariance(self, X: Points) -> Matrix:
        """Return the prior covariance of f at the rows of X."""
        hyper, Phi = self.rest.hyper, self.prior.basis(X)
        q = squared_distances(X, X, hyper.lengthscales)
        kernel = matern52(q, hyper.outputscale)
        return kernel + (Phi * self.prior.variances) @ Phi.T

    def std_gradient(
        self,
        X: Points,
        v: Matrix,
        slope: Matrix,
        std: Values,
    ) -> Points:
        """Return the gradient of √(prior variance - c(x)ᵀ K⁻¹ c(x)).

        Args:
            X: Points, one a row.
            v: (b, n), K⁻¹ c(x), with c the prior covariance of f(x) and the data.
            slope: (b, n), derivative of the process's kernel in the squared distance.
            std: The root itself.
        """
        half = self._variance_pulled_back(X, v, self.prior.basis(X))
        half -= self.rest.contract(v * slope, X)
        half /= std[:, None]
        return half

    def _predict(self, q: Matrix, X: Points) -> tuple[Values, Values]:
        """Return mean and std at the rows of X, whose distances to the data are q."""
        gp = self.rest
        k = matern52(q, gp.hyper.outputscale)
        Phi = self.prior.basis(X)
        mean = gp.hyper.mean + k @ gp.alpha + self._terms.value(X - 0.5)
        k += Phi @ self.loadings.T
        w = gp.factor.whiten(k)
        return mean, conditional_std(w, self.prior_variance(Phi))

    def _variance_pulled_back(self, X: Points, v: Matrix, Phi: Matrix) -> Points:
        """Return the trend's part of half the gradient of the variance.

        Args:
            X: Points, one a row.
            v: (b, n), K⁻¹ c(x).
            Phi: The basis at X.
        """
        C = Phi * self.prior.variances
        C -= v @ self.loadings
        return self.prior.basis.pull_back(C, X)


def _add(mean: Values, trend: Values) -> Values:
    return mean + trend


def _evidence(L: Matrix, residual: Values) -> float:
    """Return the log likelihood of a residual ~ N(0, L Lᵀ), up to a constant."""
    z, _ = lapack.dtrtrs(L, residual, lower=1)
    return float(-np.log(np.diagonal(L)).sum() - 0.5 * (z @ z))


def _factors(
    gp: GaussianProcess,
    F: Matrix,
    variances: Values,
    shares: Sequence[float],
    kernel: Matrix | None,
) -> list[Matrix]:
    """Return the factor of the sum's covariance for each share of the process.

    Args:
        gp: The process.
        F: The basis at the observed inputs.
        variances: Of the coefficients.
        shares: Values of ρ.
        kernel: k of the observed inputs; None: made here, and used up.
    """
    trend = (F * variances) @ F.T
    trend.flat[:: len(F) + 1] += gp.noise
    if kernel is None and len(shares) == 1:
        # Of thousands of observations every copy counts.
        K = observed_kernel(gp)
        K *= shares[0]
        K += trend
        return [factorise(K, overwrite=True)]
    kernel = observed_kernel(gp) if kernel is None else kernel
    return [factorise(trend + share * kernel, overwrite=True) for share in shares]


def observed_kernel(gp: GaussianProcess) -> Matrix:
    """Return k of the observed inputs, without noise."""
    return matern52_over(gp.distances(gp.X), gp.hyper.outputscale)
