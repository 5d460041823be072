"""Complete linkage of a few thousand clusters, with the matrix of their spans.

A chain runs from cluster to nearest neighbour, ever closer, until two are each other's
nearest; these are joined, and the span of the joined cluster to any other is the larger
of the two. Equal spans are ordered by position, which is that of the first members.
"""

import numpy as np

from guidefbo.server.strategies.guide.bounds import Bound, Desk
from guidefbo.server.strategies.guide.spans import Groups, Indices, Reals, spans

MOST = 3_000
"""Clusters up to which a matrix of their spans is made: 72 MB."""

_COLUMNS_AT_ONCE = 400
"""Clusters whose neighbours are measured together."""

_SLACK = 1e-9
"""Relative safety of a bound: far above rounding, far below any loss of speed."""


def link_all(groups: Groups, limit: float) -> Indices:
    """Return, for every cluster, the position of the one it has ended up in."""
    matrix = _matrix(groups, limit)
    into = np.arange(len(matrix))
    for start in range(len(matrix)):
        chain = [start]
        while chain:
            a = chain[-1]
            b = int(matrix[a].argmin())
            if matrix[a, b] == np.inf:
                chain.pop()
            elif chain[-2:-1] != [b]:
                chain.append(b)
            else:
                del chain[-2:]
                keep, lose = min(a, b), max(a, b)
                _join(matrix, keep, lose)
                into[lose] = keep
                chain = chain or [keep]
    while not np.array_equal(into, into[into]):
        into = into[into]
    return into


def _join(matrix: Reals, keep: int, lose: int) -> None:
    """Give `keep` the larger span of the two to everybody, and `lose` none."""
    both = np.maximum(matrix[keep], matrix[lose])
    matrix[keep] = matrix[:, keep] = both
    matrix[lose] = matrix[:, lose] = np.inf


def _matrix(groups: Groups, limit: float) -> Reals:
    """Return the squared spans of all pairs, infinite above the limit and to itself."""
    count = len(groups.names)
    matrix = np.full((count, count), np.inf)
    everybody = np.arange(count)
    # Means are rounded to the grid of their coordinates.
    largest = np.abs(groups.center).max()
    grid = 8 * np.finfo(np.float64).eps * np.sqrt(groups.center.shape[1]) * largest
    reach = np.full(count, ((1 + _SLACK) * np.sqrt(limit) + grid) ** 2)
    bound = Bound(groups, everybody, Desk())
    for at in range(0, count, _COLUMNS_AT_ONCE):
        end = min(at + _COLUMNS_AT_ONCE, count)
        earlier = everybody[:end]
        for rows, beyond in bound.beyond(everybody[at:end], reach[at:end], earlier):
            first, second = np.nonzero(beyond <= 0.0)
            first = rows[first]
            is_pair = second < first
            first, second = first[is_pair], second[is_pair]
            found = spans(groups, first, second, np.full(first.size, limit))
            matrix[first, second] = matrix[second, first] = found
    return matrix
