"""FI-GP, the interventional posterior: the local GP with a rescaled covariance.

    mean~(x) = mean(x),      cov~(x, x') = S(x) cov(x, x') S(x')

S >= 1 is large near received components: an optimistic rule then looks there sooner,
while the mean stays what the local data say. It satisfies the `Posterior` protocol like
the local process.
"""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.guidance.scaling import UncertaintyScaling
from guidefbo.agent.surrogate.posterior import (
    Fantasies,
    FantasyMoments,
    Moments,
    Posterior,
    SamplePath,
)
from guidefbo.agent.surrogate.sums import BySums, by_sums, join
from guidefbo.core.arrays import Matrix, Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionalPosterior:
    """A local posterior with its uncertainty widened by a scaling S >= 1."""

    local: Posterior
    """The posterior of the agent's own data."""
    scaling: UncertaintyScaling
    """S."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.local.dim

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        return _widen(self.local.predict(X), self.scaling(X))

    def by_sums(self) -> BySums[tuple[Values, Values]] | None:
        """Return the mean and standard deviation, by sums."""
        return join(_widen, by_sums(self.local), by_sums(self.scaling))

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        mean, std, mean_gradient, std_gradient = self.local.moments(X)
        S, dS = self.scaling.with_gradient(X)
        return Moments(
            mean=mean,
            std=S * std,
            mean_gradient=mean_gradient,
            std_gradient=S[:, None] * std_gradient + std[:, None] * dS,
        )  # E18

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        mean, cov = self.local.joint(X)
        S = self.scaling(X)
        return mean, S[:, None] * cov * S  # E18

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of the values at the rows of X."""
        mean, _ = self.local.predict(X)
        return mean + self.scaling(X) * (self.local.draw(X, stream) - mean)

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Condition on quasi-random draws of the values at the observed inputs."""
        fantasies = self.local.fantasise(num_fantasies, stream)
        return InterventionalFantasies(posterior=self, local_fantasies=fantasies)

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw a local path and scale its centred residual."""
        path = self.local.sample_path(num_features, stream)
        return InterventionalPath(posterior=self, path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionalFantasies:
    """FI-GP conditioned on draws of its own values at the observed inputs.

    Conditioning S cov S on mean + S (F - mean) is conditioning cov on F and scaling
    the conditional mean's departure from the posterior mean, and the std, by S(x).
    """

    posterior: InterventionalPosterior
    """The posterior the draws belong to."""
    local_fantasies: Fantasies
    """The local GP conditioned on the same draws."""

    @property
    def observed(self) -> Points:
        """Inputs the draws belong to."""
        return self.local_fantasies.observed

    @property
    def draws(self) -> Matrix:
        """The drawn values, (n, m): one column a fantasy."""
        mean, _ = self.posterior.local.predict(self.observed)
        S = self.posterior.scaling(self.observed)
        departure = self.local_fantasies.draws - mean[:, None]
        return mean[:, None] + S[:, None] * departure

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        means, std, std_gradient, local_pull_back = self.local_fantasies.moments(X)
        prior = self.posterior.local.moments(X)
        S, dS = self.posterior.scaling.with_gradient(X)
        departure = means - prior.mean[:, None]

        def widened_std_gradient() -> Points:
            return S[:, None] * std_gradient() + std[:, None] * dS

        def pull_back(sensitivity: Matrix) -> Points:
            from_mean = sensitivity.sum(axis=1) * (1.0 - S)
            from_scale = np.einsum("bm,bm->b", sensitivity, departure)
            return (
                from_mean[:, None] * prior.mean_gradient
                + S[:, None] * local_pull_back(sensitivity)
                + from_scale[:, None] * dS
            )

        return FantasyMoments(
            means=prior.mean[:, None] + S[:, None] * departure,
            std=S * std,
            std_gradient=widened_std_gradient,
            pull_back=pull_back,
        )

    def by_sums(self) -> BySums[tuple[Matrix, Values]] | None:
        """Return the conditioned means and standard deviation, by sums."""
        return join(
            _widen_fantasies,
            by_sums(self.local_fantasies),
            by_sums(self.posterior.local),
            by_sums(self.posterior.scaling),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionalPath:
    """A local path with its departure from the posterior mean scaled by S."""

    posterior: InterventionalPosterior
    """The posterior that scales."""
    path: SamplePath
    """The local path."""

    def value(self, X: Points) -> Values:
        """Return the path's values at the rows of X."""
        return _widen_path(
            self.path.value(X),
            self.posterior.local.predict(X),
            self.posterior.scaling(X),
        )

    def by_sums(self) -> BySums[Values] | None:
        """Return the path's values, by sums."""
        return join(
            _widen_path,
            by_sums(self.path),
            by_sums(self.posterior.local),
            by_sums(self.posterior.scaling),
        )

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path's values and gradients at the rows of X."""
        f, df = self.path.value_and_gradient(X)
        prior = self.posterior.local.moments(X)
        S, dS = self.posterior.scaling.with_gradient(X)
        departure = f - prior.mean
        value = prior.mean + S * departure  # E19
        gradient = (
            prior.mean_gradient
            + S[:, None] * (df - prior.mean_gradient)
            + departure[:, None] * dS
        )
        return value, gradient


def _widen(moments: tuple[Values, Values], S: Values) -> tuple[Values, Values]:
    mean, std = moments
    return mean, S * std  # E18


def _widen_fantasies(
    conditioned: tuple[Matrix, Values], prior: tuple[Values, Values], S: Values
) -> tuple[Matrix, Values]:
    (means, std), (mean, _) = conditioned, prior
    departure = means - mean[:, None]
    return mean[:, None] + S[:, None] * departure, S * std


def _widen_path(path: Values, prior: tuple[Values, Values], S: Values) -> Values:
    mean, _ = prior
    return mean + S * (path - mean)  # E19
