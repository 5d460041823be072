"""A walk outwards over steps to the nearest values that keep all constraints.

For steps that do not fit each other, such as 2 and 5 under a sum: of the nearest step
of each parameter and the one beyond, none may make the sum. Parameters are decided one
after the other, those with the largest steps first, from the nearest step outwards.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from guidefbo.core.space.constraints import Constraint, SumTo
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.settling import EXACT, Ends
from guidefbo.core.space.steps import Grid
from guidefbo.core.space.whole_sums import Places, WholeSum, places_of, whole_sums

MAX_WALK = 2000
"""Most steps of parameters that are tried in one walk."""
Steps = Mapping[str, int]
"""The number of a value on the grid of each parameter that has one."""


@dataclass(kw_only=True)
class Walk:
    """Tries steps of all parameters together, near ones first."""

    values: Mapping[str, float]
    """Of the parameters under constraints."""
    grids: Mapping[str, Grid]
    """Of those that have steps, the largest steps first."""
    places: Places
    """The steps they may be on."""
    wholes: list[WholeSum]
    """Sums of parameters that all have steps."""
    spans: "list[_Span]"
    """What all constraints leave for those with steps."""
    see: Callable[[Steps], None]
    """Takes steps of all parameters that may keep the constraints."""
    best: Callable[[], float]
    """How far, squared, the best ones seen so far are."""
    num_left: int = field(default=MAX_WALK)
    """How many more steps are tried."""

    @classmethod
    def of(
        cls,
        values: Mapping[str, float],
        floats: Mapping[str, Float],
        constraints: tuple[Constraint, ...],
        ends: Ends,
        see: Callable[[Steps], None],
        best: Callable[[], float],
    ) -> "Walk":
        """Return a walk; the first arguments are those of `round_together`."""
        grids = {n: grid for n, p in floats.items() if (grid := p.grid) is not None}
        places = dict(places_of(floats, ends))
        for name, grid in grids.items():
            if not places[name]:
                # Held between two steps, where it is rounded to the nearer one.
                k = round((values[name] - grid.low) / grid.step)
                places[name] = range(k, k + 1)
        return cls(
            values=values,
            grids=dict(sorted(grids.items(), key=lambda item: -item[1].step)),
            places=places,
            wholes=whole_sums(constraints, floats),
            spans=[_Span.of(c, values, floats, constraints) for c in constraints],
            see=see,
            best=best,
        )

    def run(self) -> None:
        """Show what may keep the constraints, each nearer than the best before."""
        if self._may_go_on({}, 0.0):
            self._decide({}, 0.0)

    def _decide(self, steps: dict[str, int], distance: float) -> None:
        """Try the steps of the next parameter, the nearest first."""
        if len(steps) == len(self.grids):
            self.see(steps)
            return
        name = next(name for name in self.grids if name not in steps)
        for k in self._candidates(name, steps):
            self.num_left -= 1
            far = distance + self._away(name, k) ** 2
            if self.num_left < 0 or far >= self.best():
                return
            if self._may_go_on({**steps, name: k}, far):
                self._decide({**steps, name: k}, far)

    def _away(self, name: str, k: int) -> float:
        """Return how far step k is, as a share of the range."""
        grid = self.grids[name]
        return (grid.value(k) - self.values[name]) / (grid.high - grid.low)

    def _candidates(self, name: str, steps: Steps) -> Iterator[int]:
        """Yield the steps of a parameter, only those that make a sum it completes."""
        among, grid = self.places[name], self.grids[name]
        for whole in self.wholes:
            if name in whole.units and whole.units.keys() - steps.keys() == {name}:
                made = whole.completing(whole.taken(steps), name)
                start, stop = max(among.start, made.start), min(among.stop, made.stop)
                among = range(start, stop)
        return _outwards((self.values[name] - grid.low) / grid.step, among)

    def _may_go_on(self, steps: Steps, distance: float) -> bool:
        """Whether the other parameters may keep the constraints, and be near enough."""
        for whole in self.wholes:
            rest = whole.units.keys() - steps.keys()
            if not whole.may_reach(whole.taken(steps), rest, self.places):
                return False
        return all(distance + self._detour(s, steps) < self.best() for s in self.spans)

    def _detour(self, span: "_Span", steps: Steps) -> float:
        """Return how far, squared, the rest has to go at least for one constraint."""
        near = least = most = room = 0.0
        for name, a in span.coefficients.items():
            grid, among = self.grids[name], self.places[name]
            if name in steps:
                ends = (a * grid.value(steps[name]),) * 2
                near += ends[0]
            else:
                ends = a * grid.value(among[0]), a * grid.value(among[-1])
                near += a * self.values[name]
                room += (a * (grid.high - grid.low)) ** 2
            least, most = least + min(ends), most + max(ends)
        if least > span.high or most < span.low:
            return math.inf
        missed = max(near - span.high, span.low - near, 0.0)
        return missed / room * missed if room and missed else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """What the parameters with steps may add up to under one constraint."""

    coefficients: Mapping[str, float]
    """Of the parameters with steps."""
    low: float
    """Least sum of them, whatever the others are."""
    high: float
    """Largest one."""

    @classmethod
    def of(
        cls,
        limit: Constraint,
        values: Mapping[str, float],
        floats: Mapping[str, Float],
        constraints: tuple[Constraint, ...],
    ) -> "_Span":
        """Return what a constraint leaves to the parameters with steps."""
        movable = {n for c in constraints if isinstance(c, SumTo) for n in c.names}
        own = {n: a for n, a in limit.coefficients.items() if floats[n].step}
        least = most = size = 0.0
        for name, a in limit.coefficients.items():
            p, value = floats[name], values[name]
            size = max(size, abs(a) * max(abs(p.low), abs(p.high)))
            if name not in own:
                # Those without steps take up what a sum misses.
                ends = (p.low, p.high) if name in movable else (value, value)
                least += min(a * end for end in ends)
                most += max(a * end for end in ends)
        slack = 2 * EXACT * size
        if isinstance(limit, SumTo):
            low, high = limit.total - most - slack, limit.total - least + slack
        else:
            low, high = -math.inf, limit.bound - least + slack
        return cls(coefficients=own, low=low, high=high)


def _outwards(place: float, among: range) -> Iterator[int]:
    """Yield whole numbers of a range, those nearest to a place first.

    >>> list(_outwards(2.4, range(6)))
    [2, 3, 1, 4, 0, 5]
    """
    below = min(max(math.floor(place), among.start - 1), among.stop - 1)
    above = below + 1
    while below >= among.start or above < among.stop:
        goes_down = above >= among.stop or (
            below >= among.start and place - below <= above - place
        )
        yield below if goes_down else above
        below, above = (below - 1, above) if goes_down else (below, above + 1)
