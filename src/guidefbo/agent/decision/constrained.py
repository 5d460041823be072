"""Local ascent where some coordinates are subject to linear constraints.

The constrained coordinates move along a basis of the directions their polytope extends
in, so that equalities hold by construction and SLSQP is left with inequalities.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import minimize

from guidefbo.agent.decision.rule import Acquisition
from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.core.space.polytope import Polytope

_PRECISION = 1e-9
"""Gain at which SLSQP stops, in units of the slope at the start."""


def climb_within(
    acquisition: Acquisition,
    starts: Points,
    polytope: Polytope,
    columns: NDArray[np.intp],
    free: NDArray[np.bool_],
    max_iterations: int,
) -> Points:
    """Return where SLSQP leads from each start, or the start where it leads nowhere.

    Args:
        acquisition: What to climb.
        starts: Points of the unit cube; one outside the polytope is repaired first.
        polytope: Where the constrained coordinates may lie.
        columns: Which coordinates those are, in increasing order; they may all move.
        free: Which coordinates may move; others stay as they are.
        max_iterations: SLSQP iterations per start.
    """
    starts = starts.copy()
    starts[:, columns] = U = polytope.repair(starts[:, columns])
    is_lone = free.copy()
    is_lone[columns] = False
    lone = np.flatnonzero(is_lone)
    r, edges = polytope.basis.shape[1], np.eye(len(lone))
    directions = np.zeros((starts.shape[1], r + len(lone)))
    directions[columns, :r] = polytope.basis
    directions[lone, r:] = edges
    if not directions.size:
        return starts
    growth = block_diag(-polytope.faces @ polytope.basis, np.vstack([edges, -edges]))
    X = starts[:, lone]
    inner = polytope.slacks - (U - polytope.centre) @ polytope.faces.T
    # A start on a face may be beyond it by rounding.
    rooms = np.maximum(np.concatenate([inner, X, 1.0 - X], axis=1), 0.0)
    ends = starts.copy()
    for i, room in enumerate(rooms):
        ends[i] = _climb(
            acquisition, starts[i], directions, growth, room, max_iterations
        )
    ends[:, columns] = polytope.repair(ends[:, columns])
    is_higher = acquisition.value(ends) > acquisition.value(starts)
    return np.where(is_higher[:, np.newaxis], ends, starts)


def _climb(
    acquisition: Acquisition,
    start: Point,
    directions: Matrix,
    growth: Matrix,
    room: Values,
    max_iterations: int,
) -> Point:
    """Return the end of an ascent over start + directions v, room + growth v >= 0."""

    def place(v: NDArray[np.float64]) -> Point:
        return np.clip(start + directions @ v, 0.0, 1.0)

    def climbed(v: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        values, gradients = acquisition.value_and_gradient(place(v)[np.newaxis])
        value, slope = float(values[0]), gradients[0] @ directions
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            raise FloatingPointError("the acquisition is not finite")
        return value, slope

    try:
        v = np.zeros(directions.shape[1])
        base, slope = climbed(v)
        # Acquisitions differ by orders of magnitude, and SLSQP knows only absolute
        # numbers: the length of its first step, and the gain at which it stops.
        scale = float(np.linalg.norm(slope))
        if scale == 0.0:
            return start

        def fallen(v: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            value, slope = climbed(v)
            return (base - value) / scale, -slope / scale

        def left(v: NDArray[np.float64]) -> Values:
            return room + growth @ v

        def left_slope(v: NDArray[np.float64]) -> Matrix:
            return growth

        constraint: Any = {"type": "ineq", "fun": left, "jac": left_slope}
        options: Any = {"maxiter": max_iterations, "ftol": _PRECISION}
        found: Any = minimize(
            fallen,
            v,
            method="SLSQP",
            jac=True,
            constraints=constraint,
            options=options,
        )
    except (ArithmeticError, np.linalg.LinAlgError):
        return start
    return place(found.x) if np.isfinite(found.x).all() else start
