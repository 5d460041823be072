"""Thompson sampling: maximise one continuous path of the posterior."""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.surrogate.posterior import Posterior, SamplePath
from guidefbo.core.arrays import Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class ThompsonSampling:
    """The TS rule on a random-feature path."""

    num_features: int
    """Features of the path."""

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

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path and its gradient at the rows of X."""
        return self.path.value_and_gradient(X)
