"""Climbing inside the unit cube, from many starts at once or from one to the end.

References:
    Birgin, Martinez and Raydan, Nonmonotone spectral projected gradient methods on
    convex sets, SIAM Journal on Optimization 2000: the projected step and its length.
    Byrd, Lu, Nocedal and Zhu, 1995: L-BFGS-B.
"""

import numpy as np

from guidefbo.core.arrays import Point, Points
from guidefbo.core.descent import minimise_within
from guidefbo.problems.synthetic.search.landscape import Landscape

FIRST_STEP = 0.02
"""How far the first step goes along the steepest coordinate."""
MAX_ITERATIONS = 300
"""Iterations of a climb to the end."""


def climb_together(landscape: Landscape, X: Points, num_steps: int) -> Points:
    """Return where projected gradient steps lead from each point.

    A step is as long as the last two gradients suggest (Barzilai and Borwein); one
    that is not uphill is taken back and tried at a quarter of its length.
    """
    value, slope = landscape.value(X), landscape.gradient(X)
    length = FIRST_STEP / np.maximum(np.abs(slope).max(axis=1), np.finfo(float).tiny)
    for _ in range(num_steps):
        tried = np.clip(X + length[:, None] * slope, 0.0, 1.0)
        reached = landscape.value(tried)
        is_up = reached > value
        if not is_up.any():
            length = 0.25 * length
            continue
        after = slope.copy()
        after[is_up] = landscape.gradient(tried[is_up])
        moved = tried - X
        bend = np.sum(moved * (slope - after), axis=1)
        is_bent = bend > 0.0
        square = np.sum(moved**2, axis=1)
        suggested = np.where(is_bent, square / np.where(is_bent, bend, 1.0), np.inf)
        suggested = np.clip(suggested, 0.05 * length, 20.0 * length)
        X = np.where(is_up[:, None], tried, X)
        value = np.where(is_up, reached, value)
        slope = after
        length = np.where(is_up, suggested, 0.25 * length)
    return X


def climb_to_the_end(landscape: Landscape, x: Point) -> Point:
    """Return where L-BFGS-B leads from a point."""

    def negated(x: Point) -> tuple[float, Point]:
        X = x[None]
        return -float(landscape.value(X)[0]), -landscape.gradient(X)[0]

    end = minimise_within(
        negated,
        x,
        np.zeros(len(x)),
        np.ones(len(x)),
        max_iterations=MAX_ITERATIONS,
        precision=10.0,
        flatness=1e-12,
    )
    return np.clip(end, 0.0, 1.0)
