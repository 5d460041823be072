"""Thompson sampling: maximise one function drawn from the posterior."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from guidefbo.agent.surrogate.certain import is_certain
from guidefbo.agent.surrogate.posterior import Posterior, SamplePath
from guidefbo.agent.surrogate.sums import BySums, by_sums
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.designs import sobol
from guidefbo.core.settings import count


@dataclass(frozen=True, slots=True, kw_only=True)
class ThompsonSampling:
    """The TS rule on a continuous sample path, approximated by random features."""

    num_features: int = count(500, "random features of a path")

    def build(self) -> Self:
        """Return the rule, which is its settings."""
        return self

    def acquisition(
        self, posterior: Posterior, stream: np.random.Generator
    ) -> "PathAcquisition":
        """Draw one path; the search maximises it."""
        return PathAcquisition(path=posterior.sample_path(self.num_features, stream))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAcquisition:
    """The acquisition that is the path itself."""

    path: SamplePath
    """The drawn function."""

    def value(self, X: Points) -> Values:
        """Return the path at the rows of X."""
        return self.path.value(X)

    def by_sums(self) -> BySums[Any] | None:
        """Return the path, by sums."""
        return by_sums(self.path)

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path and its gradient at the rows of X."""
        return self.path.value_and_gradient(X)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridThompsonSampling:
    """The TS rule on one joint draw at scrambled Sobol points."""

    num_points: int = count(1000, "Sobol points of the grid", high=10_000)

    def build(self) -> Self:
        """Return the rule, which is its settings."""
        return self

    def acquisition(
        self, posterior: Posterior, stream: np.random.Generator
    ) -> "PathAcquisition":
        """Draw the values on the grid; the search finds the point that won.

        A function that is certain is not drawn, and is maximised wherever it peaks.
        """
        if is_certain(posterior):
            return PathAcquisition(path=posterior.sample_path(1, stream))
        grid = sobol(self.num_points, posterior.dim, stream)
        draw = posterior.draw(grid, stream)
        return PathAcquisition(path=Peak(at=grid[int(np.argmax(draw))]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The function -|x - at|²: stands for a draw whose maximiser alone is known."""

    at: Point
    """The maximiser."""

    def value(self, X: Points) -> Values:
        """Return the path at the rows of X."""
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path and its gradient at the rows of X."""
        difference = X - self.at
        return -np.einsum("bd,bd->b", difference, difference), -2.0 * difference
