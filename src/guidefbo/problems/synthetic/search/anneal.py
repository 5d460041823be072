"""Simulated annealing over the wells of a task, many chains at once.

References:
    Kirkpatrick, Gelatt and Vecchi, Optimization by simulated annealing, Science 1983.
"""

import numpy as np

from guidefbo.core.arrays import Points, Values
from guidefbo.problems.synthetic.search.lattice import ROUNDING, Lattice

HOT, COLD = 0.2, 0.02
"""First and last temperature, in standard deviations of the objective."""
TO_WELL, ANYWHERE = 0.6, 0.2
"""Shares of the moves that go to a well and to any place; the others are short."""
SHORT = 0.05
"""Length of a short move, as a share of the way through the cube."""
BEYOND = 0.2
"""How far beyond the cube wells are drawn, as a share of the way through it."""


def anneal(
    lattice: Lattice,
    X: Points,
    spread: float,
    num_moves: int,
    stream: np.random.Generator,
) -> Points:
    """Return the best point of every chain.

    A move changes one raw coordinate, so that a sum over them changes in one term. One
    that leaves the cube changes a second, which brings it back to the side it crossed;
    where it crossed another as well, it is not made.

    Args:
        lattice: The wells.
        X: Where the chains begin.
        spread: Standard deviation of the objective over the cube.
        num_moves: Moves of a chain.
        stream: Randomness of the moves.
    """
    value = lattice.landscape.value(X)
    best, highest = X.copy(), value.copy()
    rows = np.arange(len(X))
    for temperature in spread * np.geomspace(HOT, COLD, num_moves):
        i = stream.integers(X.shape[1], size=len(X))
        way = lattice.inverse.T[i]
        low, high = _ends(X, way)
        kind = stream.random(len(X))
        y = lattice.landscape.to_raw(X)[rows, i]
        beyond = BEYOND * (high - low)
        ends = y + low - beyond, y + high + beyond
        well = lattice.draw_position(i, *ends, stream) - y
        place = low + (high - low) * stream.random(len(X))
        short = SHORT * (high - low) * stream.standard_normal(len(X))
        far = np.where(kind < TO_WELL, well, place)
        far = np.where(kind < TO_WELL + ANYWHERE, far, short)
        tried = _slid(lattice, X + far[:, None] * way, stream)
        kept = np.clip(tried, 0.0, 1.0)
        stays = np.abs(tried - kept).max(axis=1) <= ROUNDING
        reached = np.full(len(X), -np.inf)
        reached[stays] = lattice.landscape.value(kept[stays])
        goes = reached > value + temperature * np.log(1.0 - stream.random(len(X)))
        X = np.where(goes[:, None], kept, X)
        value = np.where(goes, reached, value)
        is_best = value > highest
        best[is_best], highest[is_best] = X[is_best], value[is_best]
    return best


def _slid(lattice: Lattice, X: Points, stream: np.random.Generator) -> Points:
    """Return points brought back to the side they are furthest behind.

    One more raw coordinate, drawn at random, changes until the side is reached.
    """
    rows = np.arange(len(X))
    miss = np.clip(X, 0.0, 1.0) - X
    side = np.abs(miss).argmax(axis=1)
    j = stream.integers(X.shape[1], size=len(X))
    speed = lattice.inverse[side, j]
    far = miss[rows, side] / np.where(speed == 0.0, np.inf, speed)
    return X + far[:, None] * lattice.inverse.T[j]


def _ends(X: Points, way: Points) -> tuple[Values, Values]:
    """Return how far one can go from each point, back and ahead, within the cube."""
    is_still = way == 0.0
    speed = np.where(is_still, 1.0, way)
    to_low, to_high = (0.0 - X) / speed, (1.0 - X) / speed
    back = np.where(is_still, -np.inf, np.minimum(to_low, to_high))
    ahead = np.where(is_still, np.inf, np.maximum(to_low, to_high))
    return back.max(axis=1), ahead.min(axis=1)
