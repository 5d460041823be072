"""Ranks of methods over benchmarks."""

import numpy as np
from scipy.stats import rankdata

from guidefbo.core.arrays import Matrix, Values
from guidefbo.core.errors import DataError


def average_ranks(table: Matrix) -> Values:
    """Return each method's rank, averaged over the benchmarks; 1 is best.

    Args:
        table: A row per benchmark and a column per method, lower is better (for an
            accuracy, one minus it). Equal entries share the mean of their ranks.
    """
    if table.size == 0 or np.isnan(table).any():
        raise DataError(
            f"table must hold a number for every benchmark and method, got shape "
            f"{table.shape} with {np.isnan(table).sum()} missing. "
            "Complete it or leave out the benchmark."
        )
    return rankdata(table, axis=1).mean(axis=0)
