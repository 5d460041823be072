"""How alike the agents' objectives rank common candidates."""

import numpy as np
from scipy.stats import rankdata

from guidefbo.core.arrays import Matrix
from guidefbo.core.errors import DataError


def task_similarity(values: Matrix) -> float:
    """Return the mean Spearman correlation over all pairs of agents.

    Args:
        values: Noise-free values, a row per agent and a column per probe point. There
            must be two agents or more, and no row may be constant.
    """
    num_agents, num_probes = values.shape
    if num_agents < 2 or not np.isfinite(values).all():
        raise DataError(
            "values must be finite and have a row for each of at least two agents, "
            f"got {num_agents} rows, {np.isfinite(values).sum()} of {values.size} "
            "entries finite. Compare two agents or more on points they can evaluate."
        )
    # Twice the centred ranks are whole numbers, so that the products below are exact
    # (up to some 200 000 probes) and identical rows correlate to exactly one.
    ranks = 2.0 * rankdata(values, axis=1) - (num_probes + 1)
    products = ranks @ ranks.T
    squares = np.diag(products)
    if not squares.all():
        raise DataError(
            "every agent's values must differ between probe points, got a constant "
            f"row for agent {int(np.argmin(squares))}. Probe at more points."
        )
    correlations = products / np.sqrt(np.outer(squares, squares))
    pairs = np.triu_indices(num_agents, k=1)
    return float(correlations[pairs].mean())  # E35
