"""Whole points a search looks at, for comparison with what it computes of them."""

import numpy as np


def changed_points(change, X):
    """Return every row of X with the parameter changed in every way, (n, ways, d)."""
    num_ways = len(change.columns)
    points = np.repeat(X[:, None], num_ways, axis=1)
    points[:, :, change.where] = 0.0
    points[:, np.arange(num_ways), change.columns] = change.values(X[:, change.where])
    return points
