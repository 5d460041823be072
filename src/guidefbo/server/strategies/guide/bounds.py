"""Lower bounds on the squared spans of clusters to those of a block, by products.

The largest squared distance between members is no less than the mean one,

    span(A, B)^2 >= ||m_A - m_B||^2 + spread_A + spread_B,

nor than that of any two members; two far members of each cluster are tried. Products in
single precision have a margin for rounding, so that the bound stays one; where that
margin would be too coarse for the distances at hand, they are in double precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from guidefbo.server.strategies.guide.spans import Groups, Indices, Reals, Rows, product

_ENDS_FROM = 3.0
"""Mean size of clusters above which their far members are tried: smaller ones gain
little."""

_COARSE = 0.05
"""Margin of single precision, relative to what is compared, above which it is not
used."""

_ROWS_AT_ONCE = 2_048
"""Clusters that are multiplied with a block at once."""


@dataclass(slots=True)
class Desk:
    """Room for two products, used again and again: new memory is slow to come by."""

    rooms: dict[str, Rows] = field(default_factory=dict[str, Rows])

    def room(self, name: str, left: Rows, right: Rows) -> Rows:
        """Return a matrix to write left @ right to."""
        size = len(left) * right.shape[1]
        held = self.rooms.get(name)
        if held is None or held.size < size or held.dtype != left.dtype:
            held = cast(Rows, np.empty(size, dtype=left.dtype))
            self.rooms[name] = held
        return held[:size].reshape(len(left), -1)


class Bound:
    """Lower bounds on the squared spans of some clusters to those of a block."""

    def __init__(self, groups: Groups, askers: Indices, desk: Desk) -> None:
        """Prepare the products.

        Args:
            groups: All clusters.
            askers: Those that ask; they should lie together.
            desk: Where products are written; an answer is overwritten by the next.
        """
        self._groups, self._desk = groups, desk
        self._origin = groups.center[askers].mean(axis=0)
        self._has_ends = float(groups.size.mean()) > _ENDS_FROM
        places = self._places(askers)
        self._norms = [norm for _, norm in places]
        self._largest = max(float(norm.max()) for norm in self._norms)
        one = np.ones(askers.size)
        self._doubles = [np.column_stack([-2.0 * x, one, one]) for x, _ in places]
        self._singles = [left.astype(np.float32) for left in self._doubles]

    def beyond(
        self, rows: Indices, reach: Reals, members: Indices
    ) -> Iterator[tuple[Indices, Rows]]:
        """Yield how far beyond its reach the block's clusters are from each asker.

        Args:
            rows: Positions among the askers.
            reach: A squared distance for each.
            members: The clusters of the block.

        Yields:
            Some of the rows, and (rows, members) lower bounds, at most 0 for whatever
            may be within reach.
        """
        if not rows.size:
            return
        places = self._places(members)
        largest = max(float(norm.max()) for _, norm in places) + float(reach.max())
        scale = 8 * (len(self._origin) + 4) * (largest + self._largest)
        margin = scale * float(np.finfo(np.float32).eps)
        is_coarse = margin > _COARSE * float(np.median(reach))
        if is_coarse:
            margin = scale * float(np.finfo(np.float64).eps)
        lefts: list[Rows] = [*(self._doubles if is_coarse else self._singles)]
        kind = np.float64 if is_coarse else np.float32
        one = np.ones(len(members))
        rights: list[Rows] = [
            np.vstack([y.T, norm, one]).astype(kind) for y, norm in places
        ]
        allowed = reach + margin
        for at in range(0, rows.size, _ROWS_AT_ONCE):
            part = slice(at, at + _ROWS_AT_ONCE)
            yield rows[part], self._bound(lefts, rights, rows[part], allowed[part])

    def _bound(
        self, lefts: list[Rows], rights: list[Rows], rows: Indices, allowed: Reals
    ) -> Rows:
        """Return the largest of the bounds, less what is allowed to each row."""
        some: list[Rows] = []
        for left, norm in zip(lefts, self._norms, strict=True):
            mine = left.take(rows, axis=0)
            mine[:, -1] = norm[rows] - allowed
            some.append(mine)
        total = self._product("total", some[0], rights[0])
        for left in some[1:]:
            for right in rights[1:]:
                more = self._product("more", left, right)
                np.maximum(total, more, out=total)
        return total

    def _places(self, some: Indices) -> list[tuple[Reals, Reals]]:
        """Return means and far members about the origin, with their squared norms.

        The spread of a cluster counts as another coordinate of its mean.
        """
        g = self._groups
        mean = g.center[some] - self._origin
        places = [(mean, np.square(mean).sum(axis=1) + g.spread[some])]
        for far in g.far if self._has_ends else ():
            end = g.columns[:, far[some]].T - self._origin
            places.append((end, np.square(end).sum(axis=1)))
        return places

    def _product(self, name: str, left: Rows, right: Rows) -> Rows:
        return product(left, right, self._desk.room(name, left, right))
