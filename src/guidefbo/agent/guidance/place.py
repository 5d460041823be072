"""An estimate of where the optimum is, and the combination of two.

In the random-effects model the optimum of site n is x*_n = θ + u_n. The packet predicts
it by θ with variance s = error² + τ², the own data by y_n with variance v. The best
linear unbiased prediction from both is their average, weighted by the precisions.

References:
    Robinson, That BLUP is a good thing: the estimation of random effects, 1991.
    Efron and Morris, Stein's estimation rule and its competitors, 1973.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Place(NamedTuple):
    """An estimate of an optimum, with a variance per coordinate."""

    center: NDArray[np.float64]
    """(..., d), in the unit cube."""
    variance: NDArray[np.float64]
    """(..., d), positive."""


def blend(own: Place, others: Place) -> Place:
    """Return the best linear unbiased prediction from both."""
    (y, v), (theta, s) = own, others
    share = v / (v + s)  # E86
    return Place(y + share * (theta - y), share * s)  # E88
