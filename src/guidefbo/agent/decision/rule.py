"""The contract of a decision rule.

A rule turns a posterior into an acquisition function, which the search maximises. It
uses the `Posterior` protocol alone, so the same rule works with and without guidance.
"""

from typing import Protocol

import numpy as np

from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Points, Values


class Acquisition(Protocol):
    """A function of the query point, higher is better."""

    def value(self, X: Points) -> Values:
        """Return the acquisition at the rows of X."""
        ...

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the acquisition and its gradient at the rows of X."""
        ...


class Rule(Protocol):
    """A decision rule, such as UCB, noisy EI or Thompson sampling."""

    def acquisition(
        self, posterior: Posterior, stream: np.random.Generator
    ) -> Acquisition:
        """Return the acquisition of this posterior; all its randomness is drawn here.

        The same stream state must give the same acquisition.
        """
        ...
