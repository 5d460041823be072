"""Values that keep their limits in floating point, in whatever order one adds them up.

A point on the face of a limit may miss it by rounding: by the last digits that the
search cannot tell apart, or because 0.1 + 0.2 is more than 0.3. Whoever checks the
limit before an experiment would refuse it.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from guidefbo.core.space.constraints import AtMost, Constraint, SumTo
from guidefbo.core.space.parameters import Float

EXACT = 1e-9
"""How exactly a constraint is kept, relative to the size of its terms."""
Ends = Mapping[str, tuple[float, float]]
"""Bounds by name that a part of the space has; nothing moves beyond them."""
MAX_TERMS = 8
"""Most terms whose orders are all looked at; of more, the worst is assumed."""
SWEEPS = 8
"""Most rounds over the limits, each with twice the margin of the one before."""


def keeps(limit: AtMost, values: Mapping[str, Any]) -> bool:
    """Whether the sum is at most the bound in every order of summation.

    >>> values = {"a": 0.1, "b": 0.2, "c": 0.5, "d": 0.25}
    >>> keeps(AtMost({"a": 1, "b": 1}, 0.3), values)
    False
    >>> keeps(AtMost({"c": 1, "d": 1}, 0.75), values)
    True
    """
    terms = _terms(limit, values)
    total, margin = math.fsum(terms), _margin(terms)
    if total + margin <= limit.bound:
        return True
    if total - margin > limit.bound or len(terms) > MAX_TERMS:
        return False
    # The exact sum, rounded once, may be larger than any that is rounded in between.
    return max(total, _largest_sum(terms)) <= limit.bound


def miss_of(
    constraint: Constraint, values: Mapping[str, Any], floats: Mapping[str, Float]
) -> float:
    """Return how far a constraint is missed, relative to the size of its terms."""
    excess = constraint.excess(values)
    miss = abs(excess) if isinstance(constraint, SumTo) else excess
    return miss / max(
        abs(a) * max(abs(floats[name].low), abs(floats[name].high))
        for name, a in constraint.coefficients.items()
    )


def settled(
    values: Mapping[str, Any],
    floats: Mapping[str, Float],
    constraints: Sequence[Constraint],
    ends: Ends | None = None,
) -> dict[str, Any]:
    """Return values that keep the limits, where they miss them by rounding only.

    Those without steps and digits move by a few units in the last place; values that
    keep all limits stay as they are to the bit.

    Args:
        values: By name, perhaps of other parameters as well.
        floats: The parameters that constraints name.
        constraints: The constraints.
        ends: Narrower bounds by name, equal ones of what must not move.
    """
    limits = [c for c in constraints if isinstance(c, AtMost)]
    room = {n: (p.low, p.high) for n, p in floats.items()} | dict(ends or {})
    now = dict(values)
    if any(miss_of(limit, now, floats) > EXACT for limit in limits):
        return now
    in_sums = {n for c in constraints if isinstance(c, SumTo) for n in c.names}
    for sweep in range(SWEEPS):
        broken = [limit for limit in limits if not keeps(limit, now)]
        if not broken:
            return now
        for limit in broken:
            movers = _movers(limit, limits, floats, in_sums)
            _retreat(now, limit, movers, room, 2.0**sweep)
    return now


def _movers(
    limit: AtMost,
    limits: Sequence[AtMost],
    floats: Mapping[str, Float],
    in_sums: set[str],
) -> list[str]:
    """Return the parameters that may give way to a limit, the best first.

    Those that push against no other limit and stand in no sum, and of them the one
    that moves least.
    """

    def rank(name: str) -> tuple[int, bool, float]:
        a, p = limit.coefficients[name], floats[name]
        against = sum(a * other.coefficients.get(name, 0.0) < 0.0 for other in limits)
        return against, name in in_sums, -abs(a) * (p.high - p.low)

    names = [
        name
        for name, a in limit.coefficients.items()
        if a and floats[name].step is None and floats[name].digits is None
    ]
    return sorted(names, key=rank)


def _retreat(
    values: dict[str, Any],
    limit: AtMost,
    movers: Sequence[str],
    ends: Ends,
    factor: float,
) -> None:
    """Move values back from a limit by what it is missed and a margin, in place."""
    for name in movers:
        if keeps(limit, values):
            return
        low, high = ends[name]
        if low == high:
            continue
        terms = _terms(limit, values)
        margin = factor * (_margin(terms) + sys.float_info.epsilon * abs(limit.bound))
        over = math.fsum([*terms, -limit.bound, margin])
        moved = values[name] - over / limit.coefficients[name]
        values[name] = min(max(moved, float(low)), float(high))


def _terms(limit: AtMost, values: Mapping[str, Any]) -> list[float]:
    return [a * values[name] for name, a in limit.coefficients.items() if a]


def _margin(terms: Sequence[float]) -> float:
    """Return more than the rounding error of a sum, twice the bound on it."""
    return len(terms) * sys.float_info.epsilon * math.fsum(map(abs, terms))


def _largest_sum(terms: Sequence[float]) -> float:
    """Return the largest sum over all orders and brackets.

    Rounded addition grows with what is added, so that the largest sums of two parts
    make the largest sum of both.
    """

    @cache
    def largest(members: int) -> float:
        first = members & -members
        if members == first:
            return terms[first.bit_length() - 1]
        sums: list[float] = []
        part = (members - 1) & members
        while part:
            if part & first:
                sums.append(largest(part) + largest(members ^ part))
            part = (part - 1) & members
        return max(sums)

    return largest((1 << len(terms)) - 1)
