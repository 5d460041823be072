"""Clusters of uploaded centres: the merging part of the server.

Complete linkage with a threshold: clusters are joined, the closest pair first, while
every two members stay within the threshold of each other. The centres are never moved
while they are clustered. Equally close pairs are taken in the canonical order of the
clusters' first members, which is the lexicographic order of the centres, so neither
the clusters nor their numbers depend on who uploaded first.

The result is exact for any number of centres, and no matrix of all distances is made.
It is fast for three reasons. Equal centres are treated as one. A group of centres
closer to each other than to any other centre is joined at once, whatever its size. For
the others only near neighbours are searched (see `linkage`).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points
from guidefbo.core.errors import SettingsError
from guidefbo.core.threads import single_blas_thread
from guidefbo.server.strategies.guide.linkage import link
from guidefbo.server.strategies.guide.spans import Indices, Reals, squared_distance

Merging = Callable[[Points, float], NDArray[np.intp]]
"""Centres and threshold -> the cluster 0, 1, ... of each centre, in canonical order."""

_NUM_LEADERS = 64
"""Places looked at for a tight group; one with a smaller share is linked as usual."""

_MANY_POINTS = 2_000
"""Below this, linking is faster than looking for tight groups."""

_MOST_OUTER = 1_000
"""Outer members of a group that are measured against each other."""

_SLACK = 1e-9
"""Relative safety of the tests for a tight group."""


def rms_distance(first: Reals, second: Reals) -> Reals:
    """Return the distance per coordinate, sqrt(||a - b||^2 / d), over the last axis.

    >>> import numpy as np
    >>> float(rms_distance(np.array([0.0, 0.0]), np.array([3.0, 3.0])))
    3.0
    """
    squared = squared_distance(first, second)
    return np.asarray(np.sqrt(squared / first.shape[-1]))  # E23


def complete_linkage(centers: Points, threshold: float) -> NDArray[np.intp]:
    """Return the complete-linkage cluster of each centre.

    Args:
        centers: Uploaded centres.
        threshold: Largest RMS distance within a cluster; at 0 equal centres merge.

    Returns:
        Numbers 0, 1, ... in the canonical order of the clusters' first members.

    >>> import numpy as np
    >>> complete_linkage(np.array([[0.9], [0.1], [0.12], [0.11]]), 0.05)
    array([1, 0, 0, 0])
    """
    _check(centers, threshold)
    if not len(centers):
        return np.zeros(0, dtype=np.intp)
    order = _canonical_order(centers)
    ordered = centers[order]
    is_new = np.append(True, np.any(ordered[1:] != ordered[:-1], axis=1))
    points = ordered[is_new]
    limit = _squared_limit(threshold, centers.shape[1])
    with single_blas_thread():
        root = link(points, _tight_groups(points, limit), limit)  # E24
    number = np.unique(root, return_inverse=True)[1]
    labels = np.empty(len(centers), dtype=np.intp)
    labels[order] = number[np.cumsum(is_new) - 1]
    return labels


def no_merging(centers: Points, threshold: float) -> NDArray[np.intp]:
    """Make every centre its own cluster, equal ones too: the ablation without merging.

    Args:
        centers: Uploaded centres.
        threshold: Checked, but of no effect.
    """
    _check(centers, threshold)
    labels = np.empty(len(centers), dtype=np.intp)
    labels[_canonical_order(centers)] = np.arange(len(centers))
    return labels


def _check(centers: Points, threshold: float) -> None:
    """Refuse what has no distances."""
    if centers.ndim != 2 or not centers.shape[1]:
        raise SettingsError(
            f"centers must be one row per component, got shape {centers.shape}. "
            "Pass an array (components, coordinates) with at least one coordinate."
        )
    if not np.isfinite(centers).all():
        raise SettingsError("centers must be finite, got NaN or infinity. Remove them.")
    if not 0.0 <= threshold < np.inf:
        raise SettingsError(
            f"merge_threshold must be a finite number from 0 up, got {threshold}. "
            "Choose 0 to merge equal centres only."
        )


def _canonical_order(centers: Points) -> Indices:
    """Return the lexicographic order of the rows, first coordinate first."""
    return np.lexsort(centers.T[::-1])


def _squared_limit(threshold: float, dim: int) -> float:
    """Return the largest ||a - b||^2 whose RMS distance is within the threshold.

    Comparing squares with it is comparing RMS distances, to the last digit.
    """
    limit = threshold * threshold * dim
    while np.sqrt(limit / dim) > threshold:
        limit = np.nextafter(limit, 0.0)
    while np.sqrt(np.nextafter(limit, np.inf) / dim) <= threshold:
        limit = np.nextafter(limit, np.inf)
    return float(limit)


def _tight_groups(points: Reals, limit: float) -> Indices:
    """Return the first member of each point's group, most groups being one point.

    If the largest distance within a group is below every distance that leaves it, and
    within the limit, then its members are all joined before anything else can reach
    them.
    """
    root = np.arange(len(points))
    if len(points) < _MANY_POINTS:
        return root
    points = np.asfortranarray(points)  # it is read by coordinates
    is_grouped = np.zeros(len(points), dtype=np.bool_)
    for leader in np.linspace(0, len(points) - 1, _NUM_LEADERS).astype(np.intp):
        if not is_grouped[leader]:
            members = _group_around(points, points[leader], limit)
            is_grouped[members] = True
            root[members] = members[:1]
    return root


def _group_around(points: Reals, leader: Reals, limit: float) -> Indices:
    """Return the members of a tight group that holds `leader`, or nothing."""
    from_leader = squared_distance(points, leader)
    # A group ends where the distances from its leader more than double.
    near = np.sort(from_leader[from_leader <= 4 * limit])
    ends = np.flatnonzero((4 * near < np.append(near[1:], np.inf)) & (near <= limit))
    is_inside = from_leader <= near[ends[-1]] if ends.size else from_leader <= 0.0
    members = np.flatnonzero(is_inside)
    return members if _is_tight(points, is_inside, limit) else members[:0]


def _is_tight(points: Reals, is_inside: NDArray[np.bool_], limit: float) -> bool:
    """Whether all inside are closer to each other than to anything outside."""
    center = points[is_inside].mean(axis=0)
    from_center = np.sqrt(squared_distance(points, center))
    radius = from_center[is_inside].max()
    gap = from_center[~is_inside].min(initial=np.inf) - radius
    most = (1 - _SLACK) * min(np.sqrt(limit), gap)
    # Two members farther apart than `most` would both be at least so far out.
    outer = points[is_inside & (from_center >= most - radius)]
    if len(outer) > _MOST_OUTER:
        return False
    widest = squared_distance(outer[:, None], outer[None]).max(initial=0.0)
    return bool(widest < most * most)
