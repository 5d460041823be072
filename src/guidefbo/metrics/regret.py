"""Regret of noise-free values: of the best so far, of the choice, and added up."""

from typing import Any

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


def inference_regret(
    values: Matrix, chosen: NDArray[np.integer[Any]], maximum: float | Values
) -> NDArray[np.float64]:
    """Return how far each agent's own choice stays below the maximum.

    Simple regret credits an agent with the best value it has met, which noise hides
    from it. This is the value at the point that it would go on with.

    Args:
        values: Noise-free values, a row per agent and a column per evaluation.
        chosen: Which of its evaluations each agent would go on with, a row per round
            (the first one after the initial design) and a column per agent.
        maximum: Reference value, common to all agents or one of each.
    """
    return maximum - values[np.arange(len(values)), chosen]


def cumulative_regret(
    values: Matrix, num_initial: int, maximum: float | Values
) -> NDArray[np.float64]:
    """Return the regret of all queries up to each round, added up.

    The initial design does not count: all methods share it, and nobody decided on it.

    Args:
        values: Noise-free values, a row per agent and a column per evaluation.
        num_initial: Evaluations of each agent in the initial design.
        maximum: Reference value, common to all agents or one of each.

    Returns:
        A row per round, the first one (zero) after the initial design, and a column
        per agent.
    """
    gaps = maximum - values[:, num_initial:].T
    return np.vstack([np.zeros(len(values)), np.cumsum(gaps, axis=0)])
