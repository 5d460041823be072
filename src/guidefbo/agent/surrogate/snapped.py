"""Integers and choices: a posterior evaluated at rounded inputs.

    k'(x, x') = k(r(x), r(x'))       with r(x) the admissible point nearest to x

With rounding inside the kernel the model is constant on the set of points that round to
the same value, and its uncertainty is small on all of that set once the value has been
measured. The wrapper rounds the points it is evaluated at; the data are rounded
already.

References:
    Garrido-Merchán and Hernández-Lobato, Dealing with categorical and integer-valued
    variables in Bayesian optimization, Neurocomputing 2020.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from guidefbo.agent.surrogate.posterior import (
    Fantasies,
    FantasyMoments,
    Moments,
    Posterior,
    SamplePath,
)
from guidefbo.agent.surrogate.sums import BySums, by_sums
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class SnappedPosterior:
    """A posterior evaluated at rounded points."""

    inner: Posterior
    """Conditioned on snapped inputs."""
    domain: Domain
    """Knows the cells."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.inner.dim

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        return self.inner.predict(self.domain.snap(X))  # E39

    def by_sums(self) -> BySums[Any] | None:
        """Return the mean and standard deviation, by sums."""
        return by_sums(self.inner)

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        mean, std, mean_gradient, std_gradient = self.inner.moments(self.domain.snap(X))
        free = self.domain.free
        return Moments(mean, std, mean_gradient * free, std_gradient * free)

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        return self.inner.joint(self.domain.snap(X))

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of the values at the rows of X."""
        return self.inner.draw(self.domain.snap(X), stream)

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Condition on quasi-random draws of the values at the observed inputs."""
        inner = self.inner.fantasise(num_fantasies, stream)
        return SnappedFantasies(inner=inner, domain=self.domain)

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw one path, constant within every cell."""
        inner = self.inner.sample_path(num_features, stream)
        return SnappedPath(inner=inner, domain=self.domain)


def unrounded(posterior: Posterior) -> Posterior:
    """Return the posterior itself, whose kind and observations rounding hides."""
    return posterior.inner if isinstance(posterior, SnappedPosterior) else posterior


@dataclass(frozen=True, slots=True, kw_only=True)
class SnappedFantasies:
    """Fantasies evaluated at rounded points."""

    inner: Fantasies
    """The fantasies of the inner posterior."""
    domain: Domain
    """Knows the cells."""

    @property
    def observed(self) -> Points:
        """Inputs the draws belong to."""
        return self.inner.observed

    @property
    def draws(self) -> Matrix:
        """The drawn values, (n, m): one column a fantasy."""
        return self.inner.draws

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        means, std, std_gradient, pull_back = self.inner.moments(self.domain.snap(X))
        free = self.domain.free

        def std_gradient_free() -> Points:
            return std_gradient() * free

        def pull_back_free(sensitivity: Matrix) -> Points:
            return pull_back(sensitivity) * free

        return FantasyMoments(
            means=means,
            std=std,
            std_gradient=std_gradient_free,
            pull_back=pull_back_free,
        )

    def by_sums(self) -> BySums[Any] | None:
        """Return the conditioned means and standard deviation, by sums."""
        return by_sums(self.inner)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnappedPath:
    """A sample path evaluated at rounded points."""

    inner: SamplePath
    """The path of the inner posterior."""
    domain: Domain
    """Knows the cells."""

    def value(self, X: Points) -> Values:
        """Return the path's values at the rows of X."""
        return self.inner.value(self.domain.snap(X))

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path's values and gradients at the rows of X."""
        value, gradient = self.inner.value_and_gradient(self.domain.snap(X))
        return value, gradient * self.domain.free

    def by_sums(self) -> BySums[Any] | None:
        """Return the path's values, by sums."""
        return by_sums(self.inner)
