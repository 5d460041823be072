"""Sums of parameters that all come in steps, in whole numbers.

Steps of 2 and of 5 add up to 100 in some ways and to 99.5 in none: sum of k s = total,
with s and the total in a common unit, is decided without rounding.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from guidefbo.core.space.constraints import Constraint, SumTo
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.settling import EXACT, Ends

MAX_TRIED = 10_000
"""Most values that are tried before a sum is taken for one that may be met."""
Places = Mapping[str, range]
"""The steps that each parameter may be on, from the bounds it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSum:
    """A sum in whole units: the units of k steps of each parameter, k from 0."""

    units: Mapping[str, int]
    """Units of a step, by name."""
    least: int
    """Least number of units that counts as the total."""
    most: int
    """Largest one; a total that rounding misses is met."""

    @classmethod
    def of(cls, limit: Constraint, floats: Mapping[str, Float]) -> "WholeSum | None":
        """Return a sum in whole units, None where a parameter has no steps."""
        if not isinstance(limit, SumTo) or any(
            floats[name].step is None for name in limit.names
        ):
            return None
        lows = [_exact(floats[name].low) for name in limit.names]
        steps = [_exact(floats[name].step or 0.0) for name in limit.names]
        total = _exact(limit.total) - sum(lows)
        parts = math.lcm(*(number.denominator for number in (total, *steps)))
        size = max(max(abs(floats[n].low), abs(floats[n].high)) for n in limit.names)
        # Sums are kept to `EXACT`; twice that is sure to hold all that are.
        slack = 2 * _exact(EXACT) * _exact(size) * parts
        return cls(
            units={n: int(s * parts) for n, s in zip(limit.names, steps, strict=True)},
            least=math.ceil(total * parts - slack),
            most=math.floor(total * parts + slack),
        )

    def taken(self, steps: Mapping[str, int]) -> int:
        """Return the units of those parameters that are decided."""
        return sum(u * steps[name] for name, u in self.units.items() if name in steps)

    def may_reach(self, taken: int, rest: Collection[str], places: Places) -> bool:
        """Whether the rest may add up to what is left, by bounds and divisors.

        Args:
            taken: Units of the others.
            rest: Names of the parameters that are not decided yet.
            places: The steps that each may be on.
        """
        least, most = self.least - taken, self.most - taken
        if any(not places[name] for name in rest):
            return False
        least = max(least, sum(self.units[n] * places[n][0] for n in rest))
        most = min(most, sum(self.units[n] * places[n][-1] for n in rest))
        common = math.gcd(*(self.units[name] for name in rest)) or 1
        # A multiple of the common divisor lies between them.
        multiple = -(-least // common) * common
        return multiple <= most if rest else least <= 0 <= most

    def completing(self, taken: int, name: str) -> range:
        """Return the steps of the last parameter that make the sum."""
        unit = self.units[name]
        return range(-(-(self.least - taken) // unit), (self.most - taken) // unit + 1)


def whole_sums(
    limits: Sequence[Constraint], floats: Mapping[str, Float]
) -> list[WholeSum]:
    """Return those constraints that are sums of parameters with steps."""
    found = [WholeSum.of(limit, floats) for limit in limits]
    return [whole for whole in found if whole is not None]


def places_of(floats: Mapping[str, Float], ends: Ends | None = None) -> Places:
    """Return the steps within the bounds, of all parameters that have steps.

    Args:
        floats: The parameters.
        ends: Narrower bounds by name.
    """
    places: dict[str, range] = {}
    for name, parameter in floats.items():
        if (grid := parameter.grid) is not None:
            low, high = (ends or {}).get(name, (grid.low, grid.high))
            first = math.ceil((low - grid.low) / grid.step - EXACT)
            last = math.floor((high - grid.low) / grid.step + EXACT)
            places[name] = range(max(first, 0), min(last, grid.last) + 1)
    return places


def unmet(
    limits: Sequence[Constraint],
    floats: Mapping[str, Float],
    ends: Ends | None = None,
) -> list[SumTo]:
    """Return the sums that no values on steps make, each looked at alone.

    Only those of which that is certain.

    >>> both = {"x": Float(0, 9, step=2), "y": Float(1, 9, step=4)}
    >>> unmet([SumTo(5, "x", "y"), SumTo(8, "x", "y")], both)
    [SumTo(8.0, 'x', 'y')]

    Args:
        limits: The constraints.
        floats: The parameters that they name.
        ends: Narrower bounds by name.
    """
    places = places_of(floats, ends)
    missed: list[SumTo] = []
    for limit in limits:
        whole = WholeSum.of(limit, floats)
        if isinstance(limit, SumTo) and whole is not None and not _met(whole, places):
            missed.append(limit)
    return missed


def _met(whole: WholeSum, places: Places) -> bool:
    """Whether some values make a sum, or too many would have to be tried."""
    # The largest steps first: small ones fill what those leave.
    names = sorted(whole.units, key=lambda name: -whole.units[name])
    reached = {0} if whole.may_reach(0, names, places) else set[int]()
    num_tried = 0
    while names and reached:
        name, *names = names
        if not names:
            return any(
                k in places[name] for t in reached for k in whole.completing(t, name)
            )
        num_tried += len(reached) * len(places[name])
        if num_tried > MAX_TRIED:
            return True
        sums = {t + k * whole.units[name] for t in reached for k in places[name]}
        reached = {t for t in sums if whole.may_reach(t, names, places)}
    return bool(reached)


def _exact(number: float) -> Fraction:
    """Return a number as it is written: 0.1 is a tenth."""
    return Fraction(repr(float(number)))
