"""The posterior mean as an acquisition."""

from dataclasses import dataclass

from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.sums import BySums
from guidefbo.core.arrays import Points, Values
from guidefbo.core.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorMean:
    """The posterior mean at rounded points: no variance is computed."""

    posterior: GaussianProcess
    """Whose mean."""
    domain: Domain
    """Knows which coordinates are rounded."""

    def value(self, X: Points) -> Values:
        """Return the mean at the rows of X."""
        return self.posterior.predict_mean(self.domain.snap(X))

    def by_sums(self) -> BySums[Values]:
        """Return the mean, by sums."""
        return self.posterior.mean_by_sums()

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the mean and its gradient at the rows of X."""
        value, gradient = self.posterior.mean_and_gradient(self.domain.snap(X))
        return value, gradient * self.domain.free
