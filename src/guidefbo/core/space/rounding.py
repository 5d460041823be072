"""Parameters that come in steps and stand under constraints, rounded together.

One by one they would break a sum. Each steps down or up, parameters of a sum without
steps take up what is left, and the nearest values that keep all constraints are taken.
Where none of these keeps them, farther steps are looked at.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

from guidefbo.core.space.constraints import AtMost, Constraint, SumTo
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.settling import EXACT, Ends, keeps, miss_of, settled
from guidefbo.core.space.steps import Grid
from guidefbo.core.space.walking import Steps, Walk

MAX_FREE = 12
"""Most parameters that are tried both ways: those nearest to the middle of a step."""


def round_together(
    values: Mapping[str, float],
    floats: Mapping[str, Float],
    constraints: tuple[Constraint, ...],
    ends: Ends | None = None,
) -> dict[str, float]:
    """Return values on their steps that keep the constraints, the nearest found.

    The given values where none are found; the search is bounded.

    Args:
        values: Of the parameters under constraints, which they keep.
        floats: Those parameters.
        constraints: The constraints.
        ends: Narrower bounds by name, equal ones of what must not move.
    """
    grids = {n: grid for n, p in floats.items() if (grid := p.grid) is not None}
    place = {n: (values[n] - grid.low) / grid.step for n, grid in grids.items()}
    open_first = sorted(grids, key=lambda n: abs(place[n] % 1.0 - 0.5))
    ways: list[list[int]] = []
    for name, grid in grids.items():
        k, last = place[name], grid.last
        near = {min(max(round(k), 0), last)}
        if name in open_first[:MAX_FREE]:
            near = {min(max(j, 0), last) for j in (math.floor(k), math.ceil(k))}
        ways.append(sorted(near))
    search = _Search(values, floats, constraints, ends or {})
    for way in product(*ways):
        search.see(dict(zip(grids, way, strict=True)))
    if search.best is None and search.nearly is None:
        # Steps that do not fit each other: farther away there may be some that do.
        Walk.of(
            values, floats, constraints, ends or {}, search.see, lambda: search.distance
        ).run()
    if search.best is None and search.nearly is not None:
        # What is nearest adds up to more than a limit by rounding: one step away.
        for steps in _neighbours(search.nearly, grids, ends or {}):
            search.see(steps)
    return search.found


class _Search:
    """Looks for the nearest values on steps that keep the constraints."""

    def __init__(
        self,
        values: Mapping[str, float],
        floats: Mapping[str, Float],
        constraints: tuple[Constraint, ...],
        ends: Ends,
    ) -> None:
        self._values, self._floats = values, floats
        self._constraints, self._ends = constraints, ends
        self.best: dict[str, float] | None = None
        """The nearest that keep every limit."""
        self.nearly: Steps | None = None
        """The steps of the nearest that keep them but for rounding."""
        self._distance = self._near_distance = math.inf
        self._rounded = dict(values)

    @property
    def distance(self) -> float:
        """How far, squared, the best ones are; infinite while there are none."""
        return self._distance

    @property
    def found(self) -> dict[str, float]:
        """What keeps the limits best."""
        return self._rounded if self.best is None else self.best

    def see(self, steps: Steps) -> None:
        """Take these steps, if they are nearer than those before."""
        floats, tried = self._floats, dict(self._values)
        for name, k in steps.items():
            grid = floats[name].grid
            assert grid is not None
            tried[name] = grid.value(k)
        _fill(tried, floats, self._constraints)
        distance = sum(
            ((tried[n] - self._values[n]) / (p.high - p.low)) ** 2
            for n, p in floats.items()
        )
        if distance >= self._distance:
            return
        if any(miss_of(c, tried, floats) > EXACT for c in self._constraints):
            return
        final = settled(tried, floats, self._constraints, self._ends)
        if all(keeps(c, final) for c in self._constraints if isinstance(c, AtMost)):
            self.best, self._distance = final, distance
        elif distance < self._near_distance:
            self._rounded, self.nearly = tried, steps
            self._near_distance = distance


def _neighbours(steps: Steps, grids: Mapping[str, Grid], ends: Ends) -> Iterator[Steps]:
    """Yield one parameter a step elsewhere, or two of them."""
    moves: list[tuple[str, int]] = []
    for name, grid in grids.items():
        low, high = ends.get(name, (grid.low, grid.high))
        moves += [
            (name, k)
            for k in (steps[name] - 1, steps[name] + 1)
            if 0 <= k <= grid.last and low <= grid.value(k) <= high
        ]
    for chosen in (*combinations(moves, 1), *combinations(moves, 2)):
        yield {**steps, **dict(chosen)}


def _fill(
    values: dict[str, Any],
    floats: Mapping[str, Float],
    constraints: tuple[Constraint, ...],
) -> None:
    """Let a parameter without steps take up what a sum misses."""
    for constraint in constraints:
        if not isinstance(constraint, SumTo):
            continue
        missing = -constraint.excess(values)
        smooth = [n for n in constraint.names if floats[n].step is None]
        for name in smooth:
            room = floats[name].high if missing > 0.0 else floats[name].low
            share = missing if abs(missing) <= abs(room - values[name]) else 0.0
            values[name] += share
            missing -= share
