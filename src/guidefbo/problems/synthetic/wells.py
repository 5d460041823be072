"""Where the multimodal functions have their wells, along each raw coordinate.

The wells of a function that is a sum over its coordinates, or nearly one, form a grid:
every combination of the positions listed here. They need not be exact, since a search
climbs from them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Point

Positions = Callable[[Point, Point], list[NDArray[np.float64]]]
"""(least, largest) raw value of each coordinate -> its wells between them, ascending;
none where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wells:
    """What a search for the best point of a box may know of a function."""

    grids: tuple[Positions, ...]
    """Grids of wells, the coarsest and deepest first."""
    is_centred: bool = True
    """Whether wells are the shallower the further they are from the optimum."""
    is_smooth: bool = True
    """Whether a gradient leads to the bottom of a well."""


def every(step: float) -> Positions:
    """Return the rule "at all multiples of `step`"."""
    return lambda low, high: _each(low, high, np.full(len(low), step))


def griewank(low: Point, high: Point) -> list[NDArray[np.float64]]:
    """Return where the cosines of the product are 1 or -1."""
    return _each(low, high, np.pi * np.sqrt(np.arange(1.0, len(low) + 1.0)))


def levy(low: Point, high: Point) -> list[NDArray[np.float64]]:
    """Return where the squared sines vanish, and the optimum itself.

    They are of pi w + 1, of 2 pi w for the last coordinate, with w = (x + 3) / 4.
    """
    steps, starts = np.full(len(low), 4.0), np.full(len(low), -3.0 - 4.0 / np.pi)
    steps[-1], starts[-1] = 2.0, 1.0
    found = _each(low, high, steps, starts)
    return [
        np.unique(np.append(places, 1.0) if a <= 1.0 <= b else places)
        for places, a, b in zip(found, low, high, strict=True)
    ]


def michalewicz(low: Point, high: Point) -> list[NDArray[np.float64]]:
    """Return where the steep factor is 1, i x^2 / pi = (n + 1/2) pi, and sin x > 0.

    The box of the function is [0, pi], but a rotated point may lie anywhere.
    """
    found: list[NDArray[np.float64]] = []
    for i, (a, b) in enumerate(zip(low, high, strict=True), start=1):
        most = int(np.ceil(i * (max(abs(a), abs(b)) / np.pi) ** 2))
        above = np.pi * np.sqrt((np.arange(most) + 0.5) / i)
        both = np.concatenate([-above[::-1], above])
        found.append(both[(np.sin(both) > 0.0) & (both >= a) & (both <= b)])
    return found


def styblinski_tang(low: Point, high: Point) -> list[NDArray[np.float64]]:
    """Return the bottoms of both wells, wherever the ends are."""
    del high
    largest, _, smallest = np.sort(np.roots([4.0, 0.0, -32.0, 5.0]).real)[::-1]
    return [np.array([smallest, largest])] * len(low)


def _each(
    low: Point, high: Point, steps: Point, starts: Point | None = None
) -> list[NDArray[np.float64]]:
    """Return start + n step between the ends, for every coordinate."""
    starts = np.zeros(len(low)) if starts is None else starts
    first = np.ceil((low - starts) / steps)
    last = np.floor((high - starts) / steps)
    return [
        start + step * np.arange(a, b + 1.0)
        for start, step, a, b in zip(starts, steps, first, last, strict=True)
    ]
