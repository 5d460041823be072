"""The contract of a decision rule.

A rule turns a posterior into an acquisition, a function the search maximises. It knows
nothing of guidance: the interventional posterior is a posterior.
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
    """A way to decide."""

    def acquisition(
        self, posterior: Posterior, stream: np.random.Generator
    ) -> Acquisition:
        """Return the acquisition of this posterior; all its randomness is drawn here.

        The same stream state must give the same acquisition.
        """
        ...
