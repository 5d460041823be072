"""Minimisation inside a box by L-BFGS-B, SciPy's routine without its wrapper.

SciPy's own loop around the routine checks and copies in every step what is known to be
right here, which takes longer than many a function of a few hundred numbers. So where
the SciPy at hand is one whose routine is known, it is called directly. The steps are
the same, bit for bit; any other version of SciPy is used by its public function.

References:
    Byrd, Lu, Nocedal and Zhu, 1995; Morales and Nocedal, 2011: L-BFGS-B 3.0.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import scipy
from scipy.optimize import fmin_l_bfgs_b

from guidefbo.core.arrays import Values

Sloped = Callable[[Values], tuple[float, Values]]
"""A point -> the function there, and its gradient."""

KNOWN = ("1.15.", "1.16.", "1.17.")
"""Versions of SciPy whose routine takes the arguments given below."""
MAX_ITERATIONS = 15_000
"""SciPy's own limit, of iterations and of evaluations."""
NUM_CORRECTIONS = 10
"""Steps behind the estimate of the curvature."""
NUM_LINE_STEPS = 20
"""Evaluations of one line search at most."""
TWO_SIDED = 2
"""How the routine is told that a coordinate has both bounds."""
NEW_ITERATION, EVALUATE, STOP = 1, 3, 5
"""What the routine asks for, and how it is told to end."""


def minimise_within(
    function: Sloped,
    start: Values,
    low: Values,
    high: Values,
    *,
    max_iterations: int = MAX_ITERATIONS,
    precision: float = 1e7,
    flatness: float = 1e-5,
) -> Values:
    """Return where L-BFGS-B ends.

    Args:
        function: What is minimised.
        start: Where the descent begins, moved into the box.
        low: Lower bounds, all finite.
        high: Upper bounds, all finite.
        max_iterations: Iterations at most.
        precision: Relative decrease at which it ends, in units of rounding.
        flatness: Largest projected slope at which it ends.
    """
    by = minimise_by_scipy if ROUTINE is None else _minimise
    return by(function, start, low, high, max_iterations, precision, flatness)


def minimise_by_scipy(
    function: Sloped,
    start: Values,
    low: Values,
    high: Values,
    max_iterations: int,
    precision: float,
    flatness: float,
) -> Values:
    """Return the same by SciPy's public function."""
    end, _, _ = fmin_l_bfgs_b(
        function,
        start,
        bounds=list(zip(low.tolist(), high.tolist(), strict=True)),
        maxiter=max_iterations,
        factr=precision,
        pgtol=flatness,
    )
    return end


def _routine() -> Any:
    """Return the routine, or None where it may take other arguments."""
    if not scipy.__version__.startswith(KNOWN):
        return None
    return import_module("scipy.optimize._lbfgsb").setulb


ROUTINE = _routine()


def _minimise(
    function: Sloped,
    start: Values,
    low: Values,
    high: Values,
    max_iterations: int,
    precision: float,
    flatness: float,
) -> Values:
    x, n, m = np.clip(start, low, high), len(start), NUM_CORRECTIONS
    sides = np.full(n, TWO_SIDED, dtype=np.int32)
    value, gradient = 0.0, np.zeros(n)
    # What the routine keeps between two calls.
    reals = np.zeros((2 * m + 5) * n + (11 * m + 8) * m)
    whole = np.zeros(3 * n, dtype=np.int32)
    task, line_task = np.zeros(2, dtype=np.int32), np.zeros(2, dtype=np.int32)
    saved = np.zeros(4, dtype=np.int32), np.zeros(44, dtype=np.int32), np.zeros(29)
    num_iterations = num_evaluations = 0
    while True:
        ROUTINE(
            m,
            x,
            low,
            high,
            sides,
            value,
            gradient,
            precision,
            flatness,
            reals,
            whole,
            task,
            *saved,
            NUM_LINE_STEPS,
            line_task,
        )
        asked = task[0]
        if asked == EVALUATE:
            value, gradient = function(x.copy())
            num_evaluations += 1
        elif asked != NEW_ITERATION:
            return x
        else:
            num_iterations += 1
            if num_iterations >= max_iterations or num_evaluations > MAX_ITERATIONS:
                task[0] = STOP
