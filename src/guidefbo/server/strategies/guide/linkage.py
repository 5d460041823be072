"""Complete linkage under a limit, without the matrix of distances.

The rule: of all pairs of clusters take the one with the smallest span, the largest
distance between members; join it; stop when the smallest span exceeds the limit. Equal
spans are ordered by the clusters' first members. As the span of a joined cluster is
never below those of its halves, two clusters that are each other's nearest can be
joined at once, in whatever order they are found, and the outcome is the rule's.

So only the nearest neighbour of each cluster is needed. A search by a lower bound on
the span returns a few neighbours (see `neighbours`), and a *horizon*: a lower bound on
the span to every cluster that was not returned. A nearest neighbour within the horizon
is certain, and certain mutual neighbours are joined. The joined cluster keeps the
neighbours that both had, and the smaller horizon. A cluster without a certain neighbour
searches again, for twice as many, but not much farther than the nearest one it knows.
When few clusters are left, all their spans are measured (see `dense`).

Memory grows with the number of points, not of pairs. Time depends on the data; the
worst case is one cloud several thresholds wide in every direction, where the bound
excludes little. `benchmarks/merge.py` measures both; docs/results/merge.md holds what
it found.
"""

from dataclasses import dataclass, field

import numpy as np

from guidefbo.server.strategies.guide import dense
from guidefbo.server.strategies.guide.neighbours import neighbours
from guidefbo.server.strategies.guide.spans import Groups, Indices, Reals, gather, spans

_FIRST_ANSWER = 8
"""Neighbours a point is told of at first."""

_LARGEST_ROUND = 1_000_000
"""Neighbours handled in one round; this and the number of points bound the memory."""

_FARTHER = 1.2
"""How far a cluster searches, relative to the nearest one it knows of, squared: no
farther is needed now, and a little more saves the next search."""

_UNSEEN = -2
"""In place of the nearest neighbour of a cluster that was not looked at since it or its
surroundings changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Knowledge:
    """Known neighbours of every cluster; a cluster is named by its first member.

    Two clusters not listed as neighbours are no closer than either one's horizon.
    """

    near: list[dict[int, float]]
    """Squared spans to the known neighbours."""
    horizon: Reals
    """Squared distance up to which a cluster knows all others."""
    width: Indices
    """How many neighbours the next answer should hold."""
    choice: list[int]
    """The certain nearest neighbour, -1 for none, or `_UNSEEN`.

    A certain one stays so until it is joined: spans only grow.
    """
    absorbed: dict[int, int] = field(default_factory=dict[int, int])
    """Clusters that are no more, each with the one that took it in."""

    def nearest(self, a: int) -> int:
        """Return the nearest neighbour of `a`, or -1 while it is not certain."""
        if self.choice[a] > _UNSEEN:
            return self.choice[a]
        near = self.near[a]
        span, b = min(zip(near.values(), near, strict=True), default=(np.inf, -1))
        self.choice[a] = b if span < self.horizon[a] else -1
        return self.choice[a]

    def join(self, a: int, b: int) -> list[int]:
        """Join two clusters; return those who have to look anew."""
        keep, lose = min(a, b), max(a, b)
        ours, theirs = self.near[keep], self.near[lose]
        del ours[lose], theirs[keep]
        for c in ours:
            del self.near[c][keep]
        for c in theirs:
            del self.near[c][lose]
        both = {c: max(span, theirs[c]) for c, span in ours.items() if c in theirs}
        for c, span in both.items():
            self.near[c][keep] = span
        self.near[keep], self.near[lose] = both, {}
        self.absorbed[lose] = keep
        self.horizon[keep] = min(self.horizon[keep], self.horizon[lose])
        self.width[keep] = min(self.width[keep], self.width[lose])
        anew = [keep, *(c for c in ours | theirs if self.choice[c] in (a, b))]
        for c in anew:
            self.choice[c] = _UNSEEN
        return anew


def link(points: Reals, root: Indices, limit: float) -> Indices:
    """Return the first member of each point's cluster.

    Args:
        points: Distinct points in canonical order; the earlier wins a tie.
        root: The first member of each point's cluster to begin with.
        limit: Largest squared span of two clusters that may be joined.
    """
    know = _nothing_known(len(points))
    is_open = np.ones(len(points), dtype=np.bool_)
    asking = np.unique(root)
    while asking.size:
        active = np.flatnonzero(is_open[root])
        groups = gather(points[active], np.searchsorted(active, root[active]), limit)
        names = active[groups.names]
        if len(names) <= dense.MOST:
            into = np.arange(len(points))
            into[names] = names[dense.link_all(groups, limit)]
            return into[root]
        asking, later, width = _affordable(know, asking, len(names))
        _answer(know, groups, names, asking, width, limit)
        stuck = _settle(know, asking.tolist())
        root = _resolve(know.absorbed, len(points))[root]
        done = [a for a in stuck if not know.near[a] and know.horizon[a] > limit]
        is_open[done] = False
        asking = np.union1d([a for a in stuck if is_open[a]], later).astype(np.intp)
    return root


def _nothing_known(count: int) -> _Knowledge:
    return _Knowledge(
        near=[{} for _ in range(count)],
        horizon=np.zeros(count),
        width=np.full(count, _FIRST_ANSWER),
        choice=[_UNSEEN] * count,
    )


def _affordable(
    know: _Knowledge, asking: Indices, count: int
) -> tuple[Indices, Indices, Indices]:
    """Return who is answered now, who later, and how many neighbours each is told.

    Those with the nearest horizon come first: the others' surroundings will have
    thinned out by the time it is their turn.
    """
    asking = asking[np.argsort(know.horizon[asking], kind="stable")]
    width = np.minimum(know.width[asking], count)
    most = max(1, int(np.searchsorted(np.cumsum(width), _LARGEST_ROUND)))
    return asking[:most], asking[most:], width[:most]


def _answer(
    know: _Knowledge,
    groups: Groups,
    names: Indices,
    asking: Indices,
    width: Indices,
    limit: float,
) -> None:
    """Tell the clusters `asking` their neighbours and move their horizons."""
    who = np.searchsorted(names, asking)
    asked: list[int] = asking.tolist()
    known = [min(know.near[a].values(), default=np.inf) for a in asked]
    enough = np.minimum(_FARTHER * np.array(known), limit)
    first, second, horizon = neighbours(groups, who, width, enough)
    know.horizon[asking] = np.maximum(know.horizon[asking], horizon)
    know.width[asking] *= 2
    farther = np.maximum(know.horizon[names[first]], know.horizon[names[second]])
    span = spans(groups, first, second, np.minimum(farther, limit))
    useful = np.flatnonzero((span <= limit) & (span < farther))
    pairs = zip(
        names[first[useful]].tolist(),
        names[second[useful]].tolist(),
        span[useful].tolist(),
        strict=True,
    )
    for a, b, squared in pairs:
        know.near[a][b] = know.near[b][a] = squared
    for a in asked:
        know.choice[a] = _UNSEEN


def _settle(know: _Knowledge, start: list[int]) -> list[int]:
    """Join all certain mutual neighbours; return the clusters that have to ask.

    A chain runs from neighbour to nearest neighbour, ever closer, until two are
    mutual or one is not certain; then the whole chain has to wait for that one.
    """
    waiting: set[int] = set()
    todo = list(start)
    while todo:
        chain = [todo.pop()]
        while chain and (a := chain[-1]) not in waiting and a not in know.absorbed:
            b = know.nearest(a)
            if b < 0 or b in waiting:
                waiting.update(chain)
            elif chain[-2:-1] == [b]:
                del chain[-2:]
                todo += know.join(a, b)
            else:
                chain.append(b)
    return [a for a in waiting if know.choice[a] == -1]


def _resolve(absorbed: dict[int, int], count: int) -> Indices:
    """Return, for every cluster, the one it has ended up in."""
    into = np.arange(count)
    into[list(absorbed.keys())] = list(absorbed.values())
    while not np.array_equal(into, into[into]):
        into = into[into]
    return into
