"""The span of two groups of points: the largest distance between their members.

Distances are squared and unscaled here; every one of them comes out of the same sum,
coordinate after coordinate, so that equal distances are equal in every digit wherever
they are computed. The span of two large groups is found with a matrix product in single
precision, which is fast but not exact; the members that are farthest within its error
are then evaluated again with the plain sum.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Rows: TypeAlias = NDArray[np.floating[Any]]

_PAIRS_AT_ONCE = 20_000
"""Member pairs measured together: the working arrays stay in the cache."""

_ASKERS_AT_ONCE = 64
"""Groups whose products are made before the ends that they name are measured."""

_PRODUCT_WORK = 1_000_000
"""Multiplications in one matrix product: it stays in the cache."""

_COARSE_PRODUCT = 1e-3
"""Error of single precision, relative to the limit, above which it is not used."""

_WORTH_A_PRODUCT = 2_000
"""Member pairs below which the plain sum beats the overhead of a product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Points in groups, with the statistics that bound the span of two groups."""

    names: Indices
    """Index of the first member of each group, increasing."""
    start: Indices
    """Where each group begins once the points are sorted by group."""
    size: Indices
    """Number of members."""
    columns: Reals
    """Coordinates of the points sorted by group, one row per coordinate."""
    center: Reals
    """Mean of the members."""
    spread: Reals
    """Mean squared distance of the members to their mean."""
    far: tuple[Indices, Indices]
    """The member farthest from the mean, and the one farthest from that member."""
    left: Rows
    """Rows whose product with those of `right` is about the squared distance."""
    right: Rows
    """See `left`."""
    blur: float
    """How far that product may be from the plain sum, twice."""


class _Ends(NamedTuple):
    """Members of two groups that are, within rounding, the farthest from each other."""

    first: Indices
    """A member of the one group."""
    second: Indices
    """A member of the other."""
    pair: Indices
    """Which pair of groups they span."""


def squared_distance(first: Reals, second: Reals) -> Reals:
    """Return ||a - b||^2 over the last axis, broadcasting the others."""
    coordinates = range(first.shape[-1])
    squares = (np.square(first[..., i] - second[..., i]) for i in coordinates)
    return np.asarray(reduce(np.add, squares))


def gather(points: Reals, root: Indices, limit: float) -> Groups:
    """Sort points into groups.

    Args:
        points: The points.
        root: The first member of each one's group.
        limit: Largest squared span of interest; single precision is used if it is
            much finer than this.
    """
    names, label = np.unique(root, return_inverse=True)
    size = np.bincount(label)
    start = np.cumsum(size) - size
    members = points[np.argsort(label, kind="stable")]
    offset = members - np.repeat(points[names], size, axis=0)
    # Means are taken relative to a member: far from the origin, digits would be lost.
    mean = np.add.reduceat(offset, start) / size[:, None]
    from_mean = np.square(offset - np.repeat(mean, size, axis=0)).sum(axis=1)
    end = _farthest(from_mean, start, size)
    from_end = np.square(members - np.repeat(members[end], size, axis=0)).sum(axis=1)
    left, right, blur = _factors(members, limit)
    return Groups(
        names=names,
        start=start,
        size=size,
        columns=np.ascontiguousarray(members.T),
        center=points[names] + mean,
        spread=np.add.reduceat(from_mean, start) / size,
        far=(end, _farthest(from_end, start, size)),
        left=left,
        right=right,
        blur=blur,
    )


def spans(groups: Groups, first: Indices, second: Indices, most: Reals) -> Reals:
    """Return the squared span of each pair of groups, or infinity above `most`.

    Args:
        groups: The groups.
        first: One group of each pair, equal ones side by side.
        second: The other group of each pair.
        most: Spans above this value are not needed.
    """
    work = groups.size[first] * groups.size[second]
    found = np.empty(first.size)
    single, several = np.flatnonzero(work == 1), np.flatnonzero(work > 1)
    for at in range(0, single.size, _PAIRS_AT_ONCE):
        some = single[at : at + _PAIRS_AT_ONCE]
        found[some] = _paired(
            groups.columns, groups.start[first[some]], groups.start[second[some]]
        )
    if several.size:
        found[several] = _measure(
            groups, first[several], second[several], work[several], most[several]
        )
    found[found > most] = np.inf
    return found


def product(left: Rows, right: Rows, room: Rows | None = None) -> Rows:
    """Return left @ right, written to `room` if there is one.

    The numbers are finite. The BLAS may say "invalid" all the same: some of its kernels
    compute on what lies beside a small matrix, and drop it.
    """
    with np.errstate(invalid="ignore"):
        return np.matmul(left, right, out=room)


def _farthest(distance: Reals, start: Indices, size: Indices) -> Indices:
    """Return the place of the first largest distance within each group."""
    peak = np.repeat(np.maximum.reduceat(distance, start), size)
    places = np.flatnonzero(distance == peak)
    return places[np.searchsorted(places, start)]


def _factors(members: Reals, limit: float) -> tuple[Rows, Rows, float]:
    """Return rows a, b with a @ b.T = ||x - y||^2 up to rounding, and its blur."""
    centred = members - members.mean(axis=0)
    norm = np.square(centred).sum(axis=1)
    one = np.ones_like(norm)
    left = np.column_stack([-2.0 * centred, one, norm])
    right = np.column_stack([centred, norm, one])
    scale = 16 * left.shape[1] * float(norm.max())
    blur = scale * float(np.finfo(np.float32).eps)
    if blur > _COARSE_PRODUCT * limit:
        return left, right, scale * float(np.finfo(np.float64).eps)
    return left.astype(np.float32), right.astype(np.float32), blur


def _paired(columns: Reals, i: Indices, j: Indices) -> Reals:
    """Return the squared distances of the members `i` to the members `j`."""
    return reduce(np.add, (np.square(x[i] - x[j]) for x in columns))


def _measure(
    groups: Groups, first: Indices, second: Indices, work: Indices, most: Reals
) -> Reals:
    """Return the exact squared spans, or infinity where they are above `most`."""
    found = np.empty(first.size)
    opens = np.flatnonzero(np.diff(first, prepend=-1))
    counts = np.diff(opens, append=first.size)
    heavy = np.add.reduceat(work, opens) > _WORTH_A_PRODUCT
    light = np.flatnonzero(~np.repeat(heavy, counts))
    found[light] = _pair_by_pair(groups, first[light], second[light], most[light])
    waiting: list[_Ends] = []
    for at, count in zip(opens[heavy], counts[heavy], strict=True):
        part = slice(at, at + count)
        is_near, ends = _by_product(groups, int(first[at]), second[part], most[part])
        found[part] = np.where(is_near, 0.0, np.inf)
        waiting.append(ends._replace(pair=at + ends.pair))
        if len(waiting) == _ASKERS_AT_ONCE:
            _widen(found, groups, waiting)
            waiting = []
    _widen(found, groups, waiting)
    return found


def _widen(found: Reals, groups: Groups, waiting: list[_Ends]) -> None:
    """Raise the span of each pair to the exact distance of its ends."""
    if waiting:
        i, j, pair = (np.concatenate(part) for part in zip(*waiting, strict=True))
        np.maximum.at(found, pair, _paired(groups.columns, i, j))


def _portions(work: Indices) -> Iterator[slice]:
    """Cut a list of tasks into runs of about `_PAIRS_AT_ONCE` member pairs."""
    total = np.cumsum(work)
    begin = 0
    while begin < work.size:
        goal = int(total[begin] - work[begin]) + _PAIRS_AT_ONCE
        end = max(begin + 1, int(np.searchsorted(total, goal)))
        yield slice(begin, end)
        begin = end


def _pair_by_pair(
    groups: Groups, first: Indices, second: Indices, most: Reals
) -> Reals:
    """Return the squared spans, each pair of members measured on its own."""
    found = np.full(first.size, np.inf)
    size_a, size_b = groups.size[first], groups.size[second]
    start_a, start_b = groups.start[first], groups.start[second]
    one = np.ones(groups.left.shape[1], dtype=groups.left.dtype)
    work = size_a * size_b
    for part in _portions(work):
        count = work[part]
        opens = np.cumsum(count) - count
        place = np.arange(int(count.sum())) - np.repeat(opens, count)
        row, column = np.divmod(place, np.repeat(size_b[part], count))
        i = np.repeat(start_a[part], count) + row
        j = np.repeat(start_b[part], count) + column
        factors = groups.left.take(i, axis=0)
        factors *= groups.right.take(j, axis=0)
        about = product(factors, one)
        largest = np.maximum.reduceat(about, opens)
        near = np.flatnonzero(largest <= most[part] + groups.blur)
        least = np.full(count.size, np.inf)
        least[near] = largest[near] - groups.blur
        close = np.flatnonzero(about >= np.repeat(least, count))
        exact = _paired(groups.columns, i[close], j[close])
        if near.size:
            begins = np.searchsorted(close, opens[near])
            found[part.start + near] = np.maximum.reduceat(exact, begins)
    return found


def _by_product(
    groups: Groups, a: int, partners: Indices, most: Reals
) -> tuple[NDArray[np.bool_], _Ends]:
    """Return which partners may be within `most` of group `a`, and their ends."""
    size = groups.size[partners]
    opens = np.cumsum(size) - size
    shift = np.repeat(groups.start[partners] - opens, size)
    members = np.arange(shift.size) + shift
    mine = slice(groups.start[a], groups.start[a] + groups.size[a])
    left, right = groups.left[mine], groups.right.take(members, axis=0)
    about = np.full(members.size, -np.inf, dtype=left.dtype)
    for part, _, piece in _products(left, right):
        np.maximum(about[part], piece.max(axis=0), out=about[part])
    largest = np.maximum.reduceat(about, opens)
    is_near = largest <= most + groups.blur
    least = np.repeat(np.where(is_near, largest - groups.blur, np.inf), size)
    close = np.flatnonzero(about >= least)
    rows, columns = [close[:0]], [close[:0]]
    for part, row, piece in _products(left, right.take(close, axis=0)):
        i, j = np.nonzero(piece >= least[close[part]])
        rows.append(mine.start + row + i)
        columns.append(close[part][j])
    column = np.concatenate(columns)
    pair = np.searchsorted(opens, column, side="right") - 1
    return is_near, _Ends(np.concatenate(rows), members[column], pair)


def _products(left: Rows, right: Rows) -> Iterator[tuple[slice, int, Rows]]:
    """Yield left @ right.T in pieces, with their columns and their first row."""
    height = min(len(left), 64)
    width = max(1, _PRODUCT_WORK // (height * left.shape[1]))
    for row in range(0, len(left), height):
        for at in range(0, len(right), width):
            part = slice(at, at + width)
            yield part, row, product(left[row : row + height], right[part].T)
