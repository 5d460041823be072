"""Where the synthetic functions have their optimum, and how large it is."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Point, frozen_array
from guidefbo.problems.synthetic import formulas
from guidefbo.problems.synthetic.maps import Negate

_GRID_POINTS = 65
_GRID_ROUNDS = 10
_GRID_SHRINK = 1.0 / 16.0

STYBLINSKI_TANG_PEAK = float(np.min(np.roots([4.0, 0.0, -32.0, 5.0]).real))
"""Coordinate of the deeper well: the smallest root of the derivative."""

# The paper prints two decimals and measures regret against them, so its dimension
# keeps the printed number (short of the exact one by 0.0002 and 0.0017). Every other
# dimension has the exact maximum.
_PRINTED_DIM = 10
_PRINTED_MICHALEWICZ = 9.66
_PRINTED_STYBLINSKI_TANG = 391.66


def everywhere(value: float) -> Callable[[int], Point]:
    """Return the rule "every coordinate of the optimum is `value`"."""
    return lambda dim: np.full(dim, value)


def zero(dim: int) -> float:
    """Return the maximum of a function whose best value is 0 in any dimension."""
    del dim
    return 0.0


def styblinski_tang_maximum(dim: int) -> float:
    """Return the largest value of the sign-changed Styblinski-Tang function."""
    if dim == _PRINTED_DIM:
        return _PRINTED_STYBLINSKI_TANG
    peak = formulas.styblinski_tang(np.array([[STYBLINSKI_TANG_PEAK]]))
    return dim * float(Negate()(peak)[0])


def michalewicz_maximum(dim: int) -> float:
    """Return the largest value of the sign-changed Michalewicz function."""
    if dim == _PRINTED_DIM:
        return _PRINTED_MICHALEWICZ
    best = formulas.michalewicz(michalewicz_maximiser(dim)[np.newaxis])
    return float(Negate()(best)[0])


@lru_cache(maxsize=32)
def michalewicz_maximiser(dim: int) -> Point:
    """Return the optimum, found per coordinate: the function is a sum over them.

    Term i has a steep valley about every root of cos(i x^2 / pi), and the depth at the
    root is sin(x). So the best one is next to pi / 2 on one of its sides: both are
    searched with grids, each one laid finer around the best point of the last.
    """
    numbers = np.arange(1.0, dim + 1.0)
    below = np.maximum(np.floor(numbers / 4.0 - 0.5), 0.0)
    roots = np.stack([below, np.minimum(below + 1.0, numbers - 1.0)])
    best = np.pi * np.sqrt((roots + 0.5) / numbers)
    radius = np.pi / (8.0 * numbers)
    for _ in range(_GRID_ROUNDS):
        steps = np.linspace(-radius, radius, _GRID_POINTS)
        best = _lowest(best + steps[:, np.newaxis])
        radius = radius * _GRID_SHRINK
    return frozen_array(_lowest(best))


def _lowest(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points of least term along the first axis; coordinates come last."""
    terms = formulas.michalewicz_terms(grid.reshape(-1, grid.shape[-1]))
    winners = np.argmin(terms.reshape(grid.shape), axis=0)
    return np.take_along_axis(grid, winners[np.newaxis], axis=0)[0]
