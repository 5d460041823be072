"""Near neighbours of clusters, by a lower bound on their span.

The clusters are cut into blocks that lie together, at medians of the widest coordinate.
A cluster passes over the blocks whose bounding box is beyond its radius of search, and
is compared with all clusters of the others by matrix products (see `bounds`). The first
radius is taken from the neighbours in the own block; it shrinks when more are found
than were asked for.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guidefbo.server.strategies.guide.bounds import Bound, Desk
from guidefbo.server.strategies.guide.spans import Groups, Indices, Reals

_BLOCK = 400
"""Clusters in a block, at most."""

_SHARE = 4
"""Neighbours told for each one that is counted in the own block, which holds a share of
all neighbours only."""

_ASKERS_AT_ONCE = 8_192
"""Clusters that search together."""

_BOXES_AT_ONCE = 8
"""Bounding boxes compared with the clusters that search at once."""

_FOUND_AT_ONCE = 1_000_000
"""Neighbours found before those beyond the number wanted are dropped."""

_SLACK = 1e-9
"""Relative safety of a bound: far above rounding, far below any loss of speed."""

_SINGLE_SLACK = np.float32(1.0 - 1e-5)
"""What a bound in single precision is shortened by."""


class Found(NamedTuple):
    """Neighbours of the clusters that ask."""

    first: Indices
    """One cluster of each pair, which asks."""
    second: Indices
    """The other one; each pair once, equal first ones side by side."""
    horizon: Reals
    """For each cluster that asks: those not found are no closer, squared."""


class _Blocks(NamedTuple):
    """Clusters in blocks that lie together."""

    members: list[Indices]
    home: Indices
    """Block of each cluster."""
    low: Reals
    """Lower corners of the bounding boxes, (blocks, d)."""
    high: Reals
    """Upper corners."""
    spread: Reals
    """Smallest spread in each block."""


class _Hits(NamedTuple):
    """Who asked (its row), whom it found, and the lower bound on their span."""

    row: Indices
    other: Indices
    least: Reals


def neighbours(groups: Groups, who: Indices, told: Indices, limit: Reals) -> Found:
    """Return the `told` nearest of each cluster in `who`, or fewer, within the limit.

    Args:
        groups: The clusters.
        who: Those that ask.
        told: How many neighbours each of them is told at most.
        limit: Largest squared span of interest to each of them.
    """
    blocks = _blocks(groups)
    count = len(groups.names)
    place = np.argsort(blocks.home[who], kind="stable")
    horizon = np.empty(who.size)
    is_asking = np.zeros(count, dtype=np.bool_)
    is_asking[who] = True
    codes: list[Indices] = []
    desk = Desk()
    for at in range(0, who.size, _ASKERS_AT_ONCE):
        rows = place[at : at + _ASKERS_AT_ONCE]
        some = who[rows]
        hits, horizon[rows] = _search(
            groups, blocks, some, told[rows], limit[rows], desk
        )
        a, b = some[hits.row], hits.other
        is_twin = is_asking[b] & (b < a)
        codes.append(np.where(is_twin, b, a) * count + np.where(is_twin, a, b))
    code = np.sort(np.concatenate(codes))
    first, second = np.divmod(code[np.diff(code, prepend=-1) > 0], count)
    return Found(first, second, horizon)


def _blocks(groups: Groups) -> _Blocks:
    members = list(_cut(groups.center))
    order = np.concatenate(members)
    size = np.array([len(some) for some in members])
    start = np.cumsum(size) - size
    home = np.empty(len(order), dtype=np.intp)
    home[order] = np.repeat(np.arange(len(members)), size)
    center = groups.center[order]
    return _Blocks(
        members=members,
        home=home,
        low=np.minimum.reduceat(center, start),
        high=np.maximum.reduceat(center, start),
        spread=np.minimum.reduceat(groups.spread[order], start),
    )


def _cut(points: Reals) -> Iterator[Indices]:
    """Yield blocks of points, cut at medians of the widest coordinate."""
    todo = [np.arange(len(points))]
    while todo:
        some = todo.pop()
        if len(some) <= _BLOCK:
            yield some
            continue
        inside = points[some]
        x = inside[:, np.argmax(np.ptp(inside, axis=0))]
        half = len(some) // 2
        order = np.argpartition(x, half)
        todo += [some[order[half:]], some[order[:half]]]


def _search(
    groups: Groups,
    blocks: _Blocks,
    who: Indices,
    told: Indices,
    limit: Reals,
    desk: Desk,
) -> tuple[_Hits, Reals]:
    """Return the neighbours of some clusters, sorted by block, and their horizons."""
    # Means are rounded to the grid of their coordinates.
    largest = max(np.abs(blocks.low).max(), np.abs(blocks.high).max())
    grid = 8 * np.finfo(np.float64).eps * np.sqrt(groups.center.shape[1]) * largest
    most = (1 + _SLACK) * limit
    radius = np.minimum(_first_radius(groups, blocks, who, told, desk), most)
    gap = _gaps(groups.center[who], groups.spread[who], blocks)
    parts: list[_Hits] = [
        _Hits(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    ]
    waiting = 0
    order: Indices = np.argsort(gap.mean(axis=1))
    bound = Bound(groups, who, desk)
    for block in order:
        members = blocks.members[int(block)]
        reach = ((1 + _SLACK) * np.sqrt(radius) + grid) ** 2
        rows = np.flatnonzero(gap[block] <= reach)
        for some, beyond in bound.beyond(rows, reach[rows], members):
            i, j = np.divmod(np.flatnonzero(beyond.ravel() <= 0.0), beyond.shape[1])
            least = beyond[i, j] + reach[some[i]]
            parts.append(_Hits(some[i], members[j], least))
            waiting += i.size
        if waiting > _FOUND_AT_ONCE:
            hits, radius = _nearest(parts, who, told, radius)
            parts, waiting = [hits], 0
    hits, radius = _nearest(parts, who, told, radius)
    horizon = np.maximum((1 - _SLACK) * np.sqrt(radius) - grid, 0.0) ** 2
    # Whatever is within the limit was found then.
    beyond_limit = np.maximum(horizon, np.nextafter(limit, np.inf))
    return hits, np.where(radius >= most, beyond_limit, horizon)


def _first_radius(
    groups: Groups, blocks: _Blocks, who: Indices, told: Indices, desk: Desk
) -> Reals:
    """Return a squared radius for each asker from the neighbours in its own block."""
    count = len(groups.names)
    radius = np.full(who.size, np.inf)
    home = blocks.home[who]
    opens = np.flatnonzero(np.diff(home, prepend=-1))
    for at, end in zip(opens, [*opens[1:], who.size], strict=True):
        some, mine = who[at:end], blocks.members[int(home[at])]
        rank = np.where(told[at:end] + 1 < count, -(-told[at:end] // _SHARE), count)
        everyone = np.arange(some.size)
        bound = Bound(groups, some, desk)
        for part, about in bound.beyond(everyone, np.zeros(some.size), mine):
            about[some[part][:, None] == mine] = np.inf
            for wanted in np.unique(rank[part][rank[part] < len(mine)]):
                rows = np.flatnonzero(rank[part] == wanted)
                found = np.partition(about[rows], wanted - 1, axis=1)[:, wanted - 1]
                radius[at + part[rows]] = np.maximum(found, 0.0)
    return radius


def _gaps(points: Reals, spread: Reals, blocks: _Blocks) -> NDArray[np.float32]:
    """Return lower bounds of the askers to whatever is in each block, (blocks, n)."""
    middle = points.mean(axis=0)
    ends = [part - middle for part in (points, blocks.low, blocks.high)]
    # Single precision moves an edge by less than this.
    size = max(float(np.abs(end).max()) for end in ends)
    edge = 4 * float(np.finfo(np.float32).eps) * size
    x, low, high = (end.T.astype(np.float32) for end in ends)
    center = ((low + high) / 2)[..., None]
    half = ((high - low) / 2 + np.float32(edge))[..., None]
    gap = np.empty((len(blocks.members), len(points)), dtype=np.float32)
    gap[:] = blocks.spread[:, None] + spread
    away = np.empty((_BOXES_AT_ONCE, len(points)), dtype=np.float32)
    for at in range(0, len(gap), _BOXES_AT_ONCE):
        part = slice(at, at + _BOXES_AT_ONCE)
        room = away[: len(gap[part])]
        for i in range(len(x)):
            np.subtract(center[i, part], x[i], out=room)
            np.abs(room, out=room)
            np.subtract(room, half[i, part], out=room)
            np.maximum(room, 0.0, out=room)
            gap[part] += np.multiply(room, room, out=room)
    gap *= _SINGLE_SLACK
    return gap


def _nearest(
    parts: list[_Hits], who: Indices, told: Indices, radius: Reals
) -> tuple[_Hits, Reals]:
    """Drop what lies beyond the number wanted, and draw in the radius."""
    row, other, least = (np.concatenate(part) for part in zip(*parts, strict=True))
    keep = other != who[row]
    is_many = np.bincount(row[keep], minlength=who.size) > told
    many = np.flatnonzero(keep & is_many[row])
    if many.size:
        bound = np.maximum(least[many], 0.0)
        # One key for both: the row, and as its fraction the bound.
        key = row[many] + bound / (1.0 + 2.0 * float(bound.max()))
        order = np.argsort(key)
        many, bound = many[order], bound[order]
        mine = row[many]
        rank = np.arange(many.size) - np.searchsorted(mine, np.arange(who.size))[mine]
        first_out = np.flatnonzero(rank == told[mine])
        radius = radius.copy()
        radius[mine[first_out]] = np.minimum(radius[mine[first_out]], bound[first_out])
        keep[many[rank >= told[mine]]] = False
    return _Hits(row[keep], other[keep], least[keep]), radius
