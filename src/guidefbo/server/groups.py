"""Sites in groups: a mixture of random effects.

Where sites fall into groups with optima of their own, one place for all is the place of
none. Sites are split in two by 2-means as long as the split explains much more than a
split of noise would; the places within a group are then fused as ever.

For N points of d independent, equally wide coordinates the best direction carries about
(√N + √d)² of the scatter (the edge of the Marchenko-Pastur law), and cutting a Gaussian
in two at its mean takes 2/π of that. The scale is the scatter that remains within, so
neither the size of the box nor claimed precisions matter.

References:
    Marchenko and Pastur, Distribution of eigenvalues for some sets of random matrices,
    1967.
    Higgins, Thompson and Spiegelhalter, A re-evaluation of random-effects
    meta-analysis, 2009.
"""

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points

MIN_SIZE = 3
"""Smallest group: everyone in it hears two others."""
MARGIN = 2.0
"""How many times as much as of noise a split must explain."""
MAX_ITERATIONS = 20
"""Rounds of 2-means."""

Members = NDArray[np.intp]


def split_groups(centers: Points) -> list[Members]:
    """Return the rows of each group, a single one where no split stands out."""
    todo: list[Members] = [np.arange(len(centers), dtype=np.intp)]
    groups: list[Members] = []
    while todo:
        members = todo.pop()
        is_first = _bisect(centers[members])
        if is_first is None:
            groups.append(members)
        else:
            todo += [members[is_first], members[~is_first]]
    return groups


def _bisect(Y: Points) -> NDArray[np.bool_] | None:
    """Return who is in the first of two groups, None where one group will do."""
    N, d = Y.shape
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
    a, b = Z[is_first].mean(axis=0), Z[~is_first].mean(axis=0)
    between = float(n * (N - n) / N * ((a - b) ** 2).sum())
    within = float((Z**2).sum()) - between
    of_noise = (2.0 / np.pi) * (np.sqrt(N) + np.sqrt(d)) ** 2 * within / ((N - 2) * d)
    return is_first if between > MARGIN * of_noise else None  # E87
