"""The interface of a posterior, on which decision rules and the search are built.

The local Gaussian process, the one with a quadratic trend and the interventional one
(FI-GP) satisfy it, so a rule is written once for all of them.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from guidefbo.core.arrays import Matrix, Points, Values


class Moments(NamedTuple):
    """Pointwise posterior moments at b points, with their gradients in the input."""

    mean: Values
    std: Values
    mean_gradient: Points
    std_gradient: Points


class FantasyMoments(NamedTuple):
    """Moments at b points after conditioning on m fantasies of the observed values.

    Only the targets differ between fantasies, so one standard deviation serves all.
    """

    means: Matrix
    """(b, m)."""
    std: Values
    std_gradient: Callable[[], Points]
    """Work out its gradient, which a plain value has no use for."""
    pull_back: Callable[[Matrix], Points]
    """Turn (b, m) sensitivities of the means into (b, d) input gradients."""


class Fantasies(Protocol):
    """A posterior conditioned on m noise-free draws at the observed inputs."""

    @property
    def observed(self) -> Points:
        """Inputs the draws belong to, (n, d)."""
        ...

    @property
    def draws(self) -> Matrix:
        """The drawn values, (n, m): one column a fantasy."""
        ...

    def moments(self, X: Points) -> FantasyMoments:
        """Return the conditioned moments at the rows of X."""
        ...


class SamplePath(Protocol):
    """One function drawn from a posterior, defined on the whole cube."""

    def value(self, X: Points) -> Values:
        """Return the path's values at the rows of X."""
        ...

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path's values and gradients at the rows of X."""
        ...


class Posterior(Protocol):
    """A distribution over functions on the unit cube, by its moments and draws."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        ...

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        ...

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        ...

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        ...

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Condition on quasi-random draws of the values at the observed inputs.

        A mixture of functions draws as many of each.
        """
        ...

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of the values at the rows of X."""
        ...

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw one continuous path."""
        ...
