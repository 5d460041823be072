"""FTS-DE's weighting of agents as the paper's tables were run."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from guidefbo.core.arrays import Matrix

INDEX_LOGIT = 16.0
"""What belonging to the region adds to a logit of 1, before the temperature."""


def by_region_index(is_own: NDArray[np.bool_], t: int) -> Matrix:
    """Cool by the region's number, never by the round: as the tables were run."""
    del t
    T = np.arange(1.0, len(is_own) + 1.0)[:, None] ** 2
    return softmax((INDEX_LOGIT * is_own + 1.0) / T, axis=1)  # E49
