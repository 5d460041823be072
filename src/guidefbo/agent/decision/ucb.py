"""Upper confidence bound: mean + √β std."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.sums import BySums, by_sums, join
from guidefbo.core.arrays import Points, Values
from guidefbo.core.settings import real


@dataclass(frozen=True, slots=True, kw_only=True)
class UpperConfidenceBound:
    """The UCB rule with a fixed β."""

    beta: float = real(4.0, "weight of the variance: mean + sqrt(beta) std")

    def build(self) -> Self:
        """Return the rule, which is its settings."""
        return self

    def acquisition(
        self, posterior: Posterior, stream: np.random.Generator
    ) -> "UpperConfidence":
        """Return mean + √β std of this posterior."""
        del stream
        return UpperConfidence(
            posterior=posterior, multiplier=float(np.sqrt(self.beta))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpperConfidence:
    """The acquisition mean + multiplier * std."""

    posterior: Posterior
    """Whose moments are combined."""
    multiplier: float
    """√β."""

    def value(self, X: Points) -> Values:
        """Return the acquisition at the rows of X."""
        return self._combine(self.posterior.predict(X))

    def by_sums(self) -> BySums[Values] | None:
        """Return the acquisition, by sums."""
        return join(self._combine, by_sums(self.posterior))

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the acquisition and its gradient at the rows of X."""
        mean, std, mean_gradient, std_gradient = self.posterior.moments(X)
        value = mean + self.multiplier * std  # E20
        return value, mean_gradient + self.multiplier * std_gradient

    def _combine(self, moments: tuple[Values, Values]) -> Values:
        mean, std = moments
        return mean + self.multiplier * std  # E20
