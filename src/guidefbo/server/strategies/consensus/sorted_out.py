"""The trimmed fusion of all sites but one, for every site, from one sorting.

Left out one by one, N sites would be fused N times from N - 1 places: work that grows
with N². Here the places of a coordinate are sorted once. Without the one of rank r, the
k-th place is z[k] below r and z[k + 1] from r on, so that

    a trimmed mean is a difference of running sums,
    a median is one entry or two, and
    a median distance from a point c is the reach of the k places nearest to c, which
    are neighbours in the order and are found by bisection.

The work is N log N. Differences of running sums round differently from sums: the
answers agree with those of `trimmed` to about twelve digits.
"""

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points

Reals = NDArray[np.float64]
Ranks = NDArray[np.intp]
Counts = NDArray[np.intp]


def trimmed_means(y: Points, num_trimmed: int) -> Points:
    """Return for every row the mean of the others, g left out at either end.

    Args:
        y: Places, (N, d).
        num_trimmed: g.
    """
    z, rank = _sorted(y)
    low, high = num_trimmed, len(y) - 1 - num_trimmed
    # Running sums lose digits to the level of the values; that is added last.
    level: Reals = z[len(z) // 2]
    sums = np.zeros((len(z) + 1, z.shape[1]))
    np.cumsum(z - level, axis=0, out=sums[1:])
    total: Reals = sums[high + 1] - sums[low] - (y - level)
    # Who is among the trimmed himself is not in the sum: the next one is.
    total = np.where(rank < low, sums[high + 1] - sums[low + 1], total)
    total = np.where(rank >= high, sums[high] - sums[low], total)
    return total / (high - low) + level


def medians(v: Points) -> Points:
    """Return for every row the median of the others, (N, d)."""
    z, rank = _sorted(v)
    middle = [(len(v) - 2) // 2, (len(v) - 1) // 2]
    low, high = (_entry(z, rank, np.full_like(rank, k)) for k in middle)
    return _between(low, high)


def median_distances(y: Points, center: Points) -> Points:
    """Return for every row the median distance of the others from its centre.

    Args:
        y: Places, (N, d).
        center: A point for every row, (N, d).
    """
    z, rank = _sorted(y)
    middle = {(len(y) - 2) // 2, (len(y) - 1) // 2}
    reach = [_reach(z, rank, center, k + 1) for k in sorted(middle)]
    return _between(reach[0], reach[-1])


def _reach(z: Points, rank: Ranks, center: Points, count: int) -> Points:
    """Return how far from each centre the `count`-th nearest of the others is."""
    # The nearest are places first to first + count - 1 of the others: `first` is the
    # smallest for which the next place above is no nearer than the lowest one taken.
    low, high = _bracket(z, center, count)
    first, end = np.tile(low, (len(z), 1)), np.tile(high, (len(z), 1))
    for _ in range(int((high - low).max()).bit_length()):
        middle = (first + end) // 2
        above = _entry(z, rank, np.minimum(middle + count, len(z) - 2))
        is_enough = above - center >= center - _entry(z, rank, middle)
        is_open = first < end
        end = np.where(is_open & is_enough, middle, end)
        first = np.where(is_open & ~is_enough, middle + 1, first)
    below, above = _entry(z, rank, first), _entry(z, rank, first + count - 1)
    return np.maximum(np.abs(below - center), np.abs(above - center))


def _bracket(z: Points, center: Points, count: int) -> tuple[Counts, Counts]:
    """Return between which places the first of the nearest is, in every column.

    Centres without one of many differ little, and so do the places. Left out may be a
    place below or one above, so that an entry is that of its rank or the next.
    """
    last = len(z) - 1 - count
    least, most = center.min(axis=0), center.max(axis=0)
    may_do = z[count + 1 :] - least >= least - z[1 : last + 1]
    must_do = z[count:-1] - most >= most - z[:last]
    return np.sum(~may_do, axis=0), np.sum(~must_do, axis=0)


def _sorted(y: Points) -> tuple[Points, Ranks]:
    """Return the values in order, and the rank of each row, column by column."""
    order = np.argsort(y, axis=0, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(y))[:, None], axis=0)
    return np.take_along_axis(y, order, axis=0), rank


def _entry(z: Points, rank: Ranks, k: Ranks) -> Points:
    """Return the k-th value without the one of that rank, for every row."""
    return np.take_along_axis(z, k + (k >= rank), axis=0)


def _between(low: Points, high: Points) -> Points:
    return low + 0.5 * (high - low)
