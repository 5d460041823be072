"""A known function as a posterior, with next to no variance.

Federated Thompson sampling maximises a function that another agent drew; wrapped like
this, every rule and the search work on it.
"""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.surrogate.posterior import (
    Fantasies,
    FantasyMoments,
    Moments,
    Posterior,
    SamplePath,
)
from guidefbo.agent.surrogate.snapped import unrounded
from guidefbo.core.arrays import Matrix, Points, Values

CERTAIN_STD = 1e-9
"""Standard deviation of what is certain: positive, as every rule expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainPosterior:
    """The posterior whose mean is a given function and whose variance is negligible."""

    path: SamplePath
    """The function."""
    dim: int
    """Number of coordinates."""

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the function and next to no uncertainty at the rows of X."""
        return self.path.value(X), np.full(len(X), CERTAIN_STD)

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        value, gradient = self.path.value_and_gradient(X)
        std = np.full(len(X), CERTAIN_STD)
        return Moments(value, std, gradient, np.zeros_like(X))

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        return self.path.value(X), np.eye(len(X)) * CERTAIN_STD**2

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return the function at the rows of X, the only draw there is."""
        del stream
        return self.path.value(X)

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Return draws that are all the function itself."""
        del stream
        return CertainFantasies(posterior=self, num_fantasies=num_fantasies)

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Return the function itself, the only draw there is."""
        del num_features, stream
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainFantasies:
    """Draws of a known function: all of them are equal."""

    posterior: CertainPosterior
    """Whose draws they are."""
    num_fantasies: int
    """How many."""

    @property
    def observed(self) -> Points:
        """The middle of the cube: there are no observed inputs, and one is needed."""
        return np.full((1, self.posterior.dim), 0.5)

    @property
    def draws(self) -> Matrix:
        """The function's value there, (1, m)."""
        value = self.posterior.path.value(self.observed)
        return np.repeat(value[:, None], self.num_fantasies, axis=1)

    def moments(self, X: Points) -> FantasyMoments:
        """Return the function at the rows of X, m times."""
        mean, std, gradient, std_gradient = self.posterior.moments(X)

        def pull_back(sensitivity: Matrix) -> Points:
            return sensitivity.sum(axis=1)[:, None] * gradient

        return FantasyMoments(
            means=np.repeat(mean[:, None], self.num_fantasies, axis=1),
            std=std,
            std_gradient=lambda: std_gradient,
            pull_back=pull_back,
        )


def is_certain(posterior: Posterior) -> bool:
    """Return whether a posterior is one function, rounded or not."""
    return isinstance(unrounded(posterior), CertainPosterior)
