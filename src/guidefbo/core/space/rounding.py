"""Parameters that come in steps and stand under constraints, rounded together.

One by one they would break a sum. Each steps down or up, parameters of a sum without
steps take up what is left, and the nearest values that keep all constraints are taken.
"""

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from guidefbo.core.space.constraints import Constraint, SumTo
from guidefbo.core.space.parameters import Float

MAX_FREE = 12
"""Most parameters that are tried both ways: those nearest to the middle of a step."""
EXACT = 1e-9
"""How exactly a constraint is kept, relative to the size of its terms."""


def round_together(
    values: Mapping[str, float],
    floats: Mapping[str, Float],
    constraints: tuple[Constraint, ...],
) -> dict[str, float]:
    """Return values on their steps that keep the constraints, the nearest found.

    The given values where none are found.

    Args:
        values: Of the parameters under constraints, which they keep.
        floats: Those parameters.
        constraints: The constraints.
    """
    stepped = {n: grid for n, p in floats.items() if (grid := p.grid) is not None}
    place = {n: (values[n] - grid.low) / grid.step for n, grid in stepped.items()}
    open_first = sorted(stepped, key=lambda n: abs(place[n] % 1.0 - 0.5))
    ways: list[tuple[float, ...]] = []
    for name, grid in stepped.items():
        k, last = place[name], grid.last
        near = {min(max(round(k), 0), last)}
        if name in open_first[:MAX_FREE]:
            near = {min(max(j, 0), last) for j in (math.floor(k), math.ceil(k))}
        ways.append(tuple(grid.value(j) for j in sorted(near)))
    best, best_distance = dict(values), math.inf
    for way in product(*ways):
        tried = dict(values) | dict(zip(stepped, way, strict=True))
        _fill(tried, floats, constraints)
        distance = sum(
            ((tried[n] - values[n]) / (p.high - p.low)) ** 2 for n, p in floats.items()
        )
        if distance < best_distance and _keeps(tried, floats, constraints):
            best, best_distance = tried, distance
    return best


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


def _keeps(
    values: Mapping[str, float],
    floats: Mapping[str, Float],
    constraints: tuple[Constraint, ...],
) -> bool:
    for constraint in constraints:
        excess = constraint.excess(values)
        miss = abs(excess) if isinstance(constraint, SumTo) else excess
        size = max(
            abs(a) * max(abs(floats[name].low), abs(floats[name].high))
            for name, a in constraint.coefficients.items()
        )
        if miss > EXACT * size:
            return False
    return True
