"""Clusters of sites, each pooled on its own: a mixture of random-effects models.

Where the optima of sites form clusters, a single pooled estimate lies between them and
suits no site. Sites are bisected by 2-means, again and again, as long as the two halves
pass both of the following tests. Sites that report the same false optimum form a
cluster as well, and then do not affect the others.

Variance explained. For N points with d independent coordinates of equal variance, the
leading direction carries about (√N + √d)² of the sum of squares (the edge of the
Marchenko-Pastur law), and bisecting a Gaussian at its mean explains 2/π of that. A
split must explain `MARGIN` times as much. The noise is estimated from the sum of
squares within the halves, which has that much less than (N - 1) d degrees of freedom;
along the leading direction itself 1 - 2/π is left.

Separation. One coordinate of large variance passes the first test without any clusters.
Along the line between their means, the halves of a Gaussian are 2.6 of their standard
deviations apart and those of a uniform distribution 3.5; clusters must be `GAP` apart.
The standard deviation is at least the one that the sites report for their estimates:
for a binary coordinate, estimates are 0 or 1 even where sites report that they are
uncertain, and such a gap is no evidence of clusters.

References:
    Marchenko and Pastur, Distribution of eigenvalues for some sets of random matrices,
    1967.
    Ashman, Bird and Zepf, Detecting bimodality in astronomical datasets, 1994.
    Higgins, Thompson and Spiegelhalter, A re-evaluation of random-effects
    meta-analysis, 2009.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Others, Point, Points

MIN_SIZE = 3
"""Smallest group: each member receives an estimate from at least two others."""
MARGIN = 2.0
"""How many times as much as a split of pure noise a split must explain."""
GAP = 5.5
"""Distance between the means of two groups, in standard deviations, at least."""
MAX_ITERATIONS = 20
"""Rounds of 2-means."""

Members = NDArray[np.intp]
Grouping = Callable[[Points, Points], list[Members]]
"""(places, their variances) -> the rows of each group."""


def one_group(centers: Points, variances: Points) -> list[Members]:
    """Return all rows as one group."""
    del variances
    return [np.arange(len(centers), dtype=np.intp)]


def split_groups(centers: Points, variances: Points) -> list[Members]:
    """Return the rows of each group, a single one where no split passes both tests.

    Args:
        centers: Place of each site.
        variances: How uncertain the sites say it is.
    """
    todo: list[Members] = [np.arange(len(centers), dtype=np.intp)]
    groups: list[Members] = []
    while todo:
        members = todo.pop()
        is_first = _bisect(centers[members], variances[members])
        if is_first is None:
            groups.append(members)
        else:
            todo += [members[is_first], members[~is_first]]
    return groups


def _bisect(Y: Points, V: Points) -> NDArray[np.bool_] | None:
    """Return which sites form the first of two groups, None if there is only one."""
    N = len(Y)
    if N < 2 * MIN_SIZE:
        return None
    Z = Y - Y.mean(axis=0)
    is_first = Z @ np.linalg.svd(Z, full_matrices=False)[2][0] > 0.0
    for _ in range(MAX_ITERATIONS):
        if min(is_first.sum(), (~is_first).sum()) < MIN_SIZE:
            return None
        a, b = Z[is_first].mean(axis=0), Z[~is_first].mean(axis=0)
        nearer = ((Z - a) ** 2).sum(axis=1) < ((Z - b) ** 2).sum(axis=1)
        if (nearer == is_first).all():
            break
        is_first = nearer
    n = int(is_first.sum())
    if min(n, N - n) < MIN_SIZE:
        return None
    claimed = np.median(V, axis=0)
    return is_first if _stands_out(Z[is_first], Z[~is_first], claimed) else None


def _stands_out(A: Points, B: Others, claimed: Point) -> bool:
    """Return whether two halves differ more than the halves of one cluster would.

    Args:
        A: Places of one half.
        B: Places of the other.
        claimed: How uncertain a site says each coordinate is.
    """
    n, m, d = len(A), len(B), A.shape[1]
    N = n + m
    a, b = A.mean(axis=0), B.mean(axis=0)
    gap = a - b
    distance2 = float(gap @ gap)
    within = float(((A - a) ** 2).sum() + ((B - b) ** 2).sum())
    edge = (2.0 / np.pi) * (np.sqrt(N) + np.sqrt(d)) ** 2
    left = max((N - 1) * d - edge, (np.pi / 2.0 - 1.0) * edge)
    is_more = n * m / N * distance2 * left > MARGIN * edge * within
    # Variances along the gap, times its length squared.
    along = np.concatenate([(A - a) @ gap, (B - b) @ gap])
    width = max(float(along @ along) / (N - 2), float(gap**2 @ claimed))
    return bool(is_more and distance2**2 > GAP**2 * width)  # E87


GROUPINGS: dict[str, Grouping] = {"found": split_groups, "one": one_group}
