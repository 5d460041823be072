"""Weighted k-means for several starts at once: initialises the mixture fit.

References:
    Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.
"""

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values

MAX_SWEEPS = 5
"""Lloyd sweeps; the mixture fit that follows forgives an unfinished start."""


def assign(
    X: Points, counts: Values, k: int, starts: int, stream: np.random.Generator
) -> NDArray[np.float64]:
    """Return memberships times counts, (starts, k, u).

    Args:
        X: Distinct points, (u, d).
        counts: Weight of each point.
        k: Number of clusters.
        starts: Number of independent runs.
        stream: Source of the seeding.
    """
    squares = np.einsum("ij,ij->i", X, X)
    centers = _seed(X, squares, counts, k, starts, stream)
    labels = np.full((starts, len(X)), -1)
    for _ in range(MAX_SWEEPS):
        previous, labels = labels, _nearest(X, squares, centers)
        if np.array_equal(previous, labels):
            break
        R = _one_hot(labels, k)
        mass = R @ counts
        sums = (R * counts) @ X
        # A cluster that lost all its points keeps its centre.
        filled = mass > 0.0
        centers[filled] = sums[filled] / mass[filled, None]
    return _one_hot(labels, k) * counts


def _seed(
    X: Points,
    squares: Values,
    counts: Values,
    k: int,
    starts: int,
    stream: np.random.Generator,
) -> NDArray[np.float64]:
    """Choose k centres per start, each with probability ∝ distance² to the chosen."""
    centers = np.empty((starts, k, X.shape[1]))
    nearest = np.ones((starts, len(X)))
    for j in range(k):
        cumulative = np.cumsum(nearest * counts, axis=1)
        u = stream.random((starts, 1)) * cumulative[:, -1:]
        chosen = np.minimum((cumulative < u).sum(axis=1), len(X) - 1)
        centers[:, j] = X[chosen]
        distance = _distances(X, squares, centers[:, j : j + 1])[:, 0]
        nearest = distance if j == 0 else np.minimum(nearest, distance)
    return centers


def _distances(
    X: Points, squares: Values, centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return squared distances, (starts, k, u)."""
    cross = centers @ X.T
    norms = np.einsum("skd,skd->sk", centers, centers)
    return np.maximum(squares - 2.0 * cross + norms[:, :, None], 0.0)


def _nearest(
    X: Points, squares: Values, centers: NDArray[np.float64]
) -> NDArray[np.intp]:
    return _distances(X, squares, centers).argmin(axis=1)


def _one_hot(labels: NDArray[np.intp], k: int) -> NDArray[np.float64]:
    return (labels[:, None, :] == np.arange(k)[:, None]).astype(np.float64)
