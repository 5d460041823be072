"""The wells of a task inside the unit cube, and next to those outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Others, Point, Points, Values
from guidefbo.problems.synthetic.search.landscape import Landscape
from guidefbo.problems.synthetic.wells import Positions

Indices = NDArray[np.intp]
"""(n, d) which of its positions each coordinate of a well has."""
SPREADS = (0.2, 0.4, 0.7, 1.0, 1.5)
"""Standard deviations of the points around one, in steps between wells."""
MAX_SIDES = 6
"""Most sides of the cube that a well may lie behind to be of use."""
MAX_SETS = 40
"""Most sets of coordinates that are given up for one well outside."""
ROUNDING = 1e-9
"""How far outside the cube counts as inside."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lattice:
    """A grid of wells, turned and moved into the coordinates of the cube."""

    landscape: Landscape
    """The task."""
    inverse: Matrix
    """From raw coordinates to the cube's, without the offset."""
    positions: Sequence[NDArray[np.float64]]
    """Raw positions along each coordinate, ascending, at least one."""
    table: Matrix
    """The same, a row for each coordinate, filled up with infinities."""

    @classmethod
    def of(cls, landscape: Landscape, positions: Positions) -> Self:
        """Return the wells of a task, those a little outside its cube included."""
        low, high = landscape.ends
        margin, middle = 0.25 * (high - low), 0.5 * (low + high)
        found = positions(low - margin, high + margin)
        found = [p if len(p) else m[None] for p, m in zip(found, middle, strict=True)]
        table = np.full((len(found), max(map(len, found))), np.inf)
        for row, places in zip(table, found, strict=True):
            row[: len(places)] = places
        return cls(
            landscape=landscape,
            inverse=np.asarray(np.linalg.inv(landscape.matrix), dtype=np.float64),
            positions=found,
            table=table,
        )

    def around(self, x: Point, count: int, stream: np.random.Generator) -> Indices:
        """Return the wells nearest to points drawn around one, each well once."""
        y = self.landscape.to_raw(x[None])
        steps = np.array(
            [np.mean(np.diff(p)) if len(p) > 1 else 0.0 for p in self.positions]
        )
        spread = steps * stream.choice(SPREADS, size=(count, 1))
        drawn = y + spread * stream.standard_normal((count, len(x)))
        return np.unique(self._nearest(drawn), axis=0)

    def beside(self, X: Points, count: int, stream: np.random.Generator) -> Indices:
        """Return wells that differ from those at points in one to three coordinates.

        Mostly by one position, so that they are next to it, sometimes by any.
        """
        K = np.repeat(self._nearest(self.landscape.to_raw(X)), count, axis=0)
        rows, sizes = np.arange(len(K)), np.array([len(p) for p in self.positions])
        for chance in (1.0, 0.5, 0.5):
            i = stream.integers(K.shape[1], size=len(K))
            step = K[rows, i] + stream.choice((-1, 1), size=len(K))
            anywhere = stream.integers(sizes[i])
            moved = np.where(stream.random(len(K)) < 0.25, anywhere, step)
            moves = stream.random(len(K)) < chance
            K[rows, i] = np.where(moves, np.clip(moved, 0, sizes[i] - 1), K[rows, i])
        return np.unique(K, axis=0)

    def draw_position(
        self,
        i: NDArray[np.intp],
        low: Values,
        high: Values,
        stream: np.random.Generator,
    ) -> Values:
        """Return a position of each of these coordinates between two ends.

        Where it has none there, it is the next one above, or the last.
        """
        rows = self.table[i]
        first = np.sum(rows < low[:, None], axis=1)
        count = np.sum(rows <= high[:, None], axis=1) - first
        drawn = first + np.floor(count * stream.random(len(i))).astype(np.intp)
        last = np.sum(np.isfinite(rows), axis=1) - 1
        return rows[np.arange(len(i)), np.minimum(drawn, last)]

    def inside(self, K: Indices, most: int, stream: np.random.Generator) -> Points:
        """Return points of the cube for wells: those inside, and for others the sides.

        A well outside is given up in as many raw coordinates as there are sides of the
        cube between: the others stay at their positions and the point comes to lie on
        those sides. Where a well's floor is flat or sharp, as a rule one of these is
        the best the cube has of it. They are made for many choices of the coordinates
        given up, and kept where no other side is crossed.

        Args:
            K: The wells.
            most: Most points on sides; the wells nearest to the cube come first.
            stream: Draws the coordinates given up where there are many choices.
        """
        X, dim = self._places(K), K.shape[1]
        misses = np.abs(X - np.clip(X, 0.0, 1.0))
        num_sides = np.sum(misses > ROUNDING, axis=1)
        found = [np.clip(X[num_sides == 0], 0.0, 1.0)]
        num_sets = np.minimum([comb(dim, n) for n in range(dim + 1)], MAX_SETS)
        order = np.argsort(np.sum(misses**2, axis=1), kind="stable")
        order = order[(num_sides[order] > 0) & (num_sides[order] <= MAX_SIDES)]
        order = order[np.cumsum(num_sets[num_sides[order]]) <= most]
        for n in range(1, min(MAX_SIDES, dim) + 1):
            chosen = X[order[num_sides[order] == n]]
            if len(chosen):
                found.append(self._on_sides(chosen, _sets(dim, n, stream)))
        return np.concatenate(found)

    def _on_sides(self, X: Points, sets: Indices) -> Others:
        """Return points on the n sides that each of X lies behind, for every set."""
        n = sets.shape[1]
        goal = np.clip(X, 0.0, 1.0)
        behind = np.argsort(np.abs(X - goal) <= ROUNDING, axis=1, kind="stable")[:, :n]
        missing = np.take_along_axis(goal - X, behind, axis=1)
        # Moving raw coordinate i moves the point along column i of the inverse. How
        # far each of the set is moved follows from where the n sides are.
        M = self.inverse[behind[:, None, :, None], sets[None, :, None, :]]
        M = M / np.abs(self.inverse).max()
        is_sound = np.abs(np.linalg.det(M)) > 1e-6
        M[~is_sound] = np.eye(n)
        right = np.broadcast_to(missing[:, None, :, None], (*M.shape[:3], 1))
        solved = np.asarray(np.linalg.solve(M, right), dtype=np.float64)
        far = solved[..., 0] / np.abs(self.inverse).max()
        points = X[:, None, :] + np.einsum("wsn,snd->wsd", far, self.inverse.T[sets])
        stays = np.abs(points - np.clip(points, 0.0, 1.0)).max(axis=2) <= ROUNDING
        return np.clip(points[is_sound & stays], 0.0, 1.0)

    def _places(self, K: Indices) -> Points:
        """Return wells in the coordinates of the cube."""
        Y = np.stack([p[k] for p, k in zip(self.positions, K.T, strict=True)], axis=1)
        return (Y - self.landscape.offset) @ self.inverse.T

    def _nearest(self, Y: Points) -> Indices:
        """Return the wells nearest to raw points."""
        found: list[NDArray[np.intp]] = []
        for places, y in zip(self.positions, Y.T, strict=True):
            between = 0.5 * (places[1:] + places[:-1])
            found.append(np.asarray(np.searchsorted(between, y), dtype=np.intp))
        return np.stack(found, axis=1)


def _sets(dim: int, size: int, stream: np.random.Generator) -> Indices:
    """Return all sets of so many coordinates, or some of them drawn."""
    if comb(dim, size) <= MAX_SETS:
        return np.array(list(combinations(range(dim), size)), dtype=np.intp)
    return np.argsort(stream.random((MAX_SETS, dim)), axis=1)[:, :size]
