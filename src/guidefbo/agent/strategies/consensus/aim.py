"""Whose estimate of the optimum an agent uses: both, the others' or its own."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from guidefbo.agent.guidance.place import Place, blend

Aim = Callable[[Place, Place], Place]
"""(own estimate, received one) -> the estimate to use."""


def of_others(own: Place, others: Place) -> Place:
    """Return the received estimate, whatever the own one."""
    del own
    return others


def of_own(own: Place, others: Place) -> Place:
    """Return the own estimate: a control that ignores what was received."""
    return Place(
        *(np.broadcast_to(a, b.shape) for a, b in zip(own, others, strict=True))
    )


AIMS: Mapping[str, Aim] = MappingProxyType(
    {"blend": blend, "others": of_others, "own": of_own}
)
"""By the name that the setting `aim` takes."""
