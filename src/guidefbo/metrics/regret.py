"""Regret of the best noise-free value found so far."""

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Values


def best_so_far(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the running maximum along the first axis, which is time."""
    return np.maximum.accumulate(values, axis=0)


def simple_regret(
    best_values: NDArray[np.float64], maximum: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far the best values stay below the maximum, in raw units."""
    return maximum - best_values  # E33


def mean_simple_regret(
    best_values: Matrix, maximum: float | NDArray[np.float64]
) -> Values:
    """Return the regret averaged over agents, one entry per row.

    Args:
        best_values: Best value so far, a row per round (the first one after the
            initial design) and a column per agent.
        maximum: Reference value, common to all agents or one of each.
    """
    return simple_regret(best_values, maximum).mean(axis=1)  # E34
