"""Where an agent looks: between its own word and that of the others.

In the random-effects model the optimum of site n is x*_n = θ + u_n. The others say that
it is about θ, with variance s = error² + τ²; its own data say that it is about y_n,
with variance v. The best linear prediction from both lies between them, the nearer to θ
the less the site knows itself and the more alike the sites are.

References:
    Robinson, That BLUP is a good thing: the estimation of random effects, 1991.
    Efron and Morris, Stein's estimation rule and its competitors, 1973.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Place(NamedTuple):
    """Where an optimum may be, one coordinate as uncertain as it is."""

    center: NDArray[np.float64]
    """(..., d), in the unit cube."""
    variance: NDArray[np.float64]
    """(..., d), positive."""


Aim = Callable[[Place, Place], Place]
"""(own place, the others') -> the place to look at."""


def blend(own: Place, others: Place) -> Place:
    """Return the best prediction from both."""
    (y, v), (theta, s) = own, others
    share = v / (v + s)  # E86
    return Place(y + share * (theta - y), share * s)  # E88


def of_others(own: Place, others: Place) -> Place:
    """Return the others' place, whatever the agent knows itself."""
    del own
    return others


def of_own(own: Place, others: Place) -> Place:
    """Return the agent's own place: a control that uses nothing of the others."""
    return Place(
        *(np.broadcast_to(a, b.shape) for a, b in zip(own, others, strict=True))
    )


AIMS: Mapping[str, Aim] = MappingProxyType(
    {"blend": blend, "others": of_others, "own": of_own}
)
"""By the name that the setting `aim` takes."""
