"""Assertions that speak in sentences and survive `python -O`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values

STEP = float(np.finfo(np.float64).eps) ** (1.0 / 3.0)
"""Best step of a central difference: truncation and rounding are both its square."""
GRADIENT_TOLERANCE = 1e-5
"""Relative to the largest entry; five digits above the error of the difference."""


def expect(is_true: bool, sentence: str) -> None:
    """Raise `AssertionError` with the sentence unless it is true."""
    if not is_true:
        raise AssertionError(sentence)


def expect_shape(array: NDArray[np.float64], shape: tuple[int, ...], what: str) -> None:
    """Demand a finite float64 array of this shape."""
    expect(
        isinstance(array, np.ndarray) and array.dtype == np.float64,
        f"{what} must be a float64 array, got {type(array).__name__} of "
        f"{getattr(array, 'dtype', 'no dtype')}.",
    )
    expect(array.shape == shape, f"{what} must have shape {shape}, got {array.shape}.")
    expect(bool(np.isfinite(array).all()), f"{what} must be finite, got {array}.")


def expect_gradient(
    function: Callable[[Points], Values], X: Points, gradient: Points, what: str
) -> None:
    """Demand that a gradient agrees with central differences of the function."""
    slopes = np.empty_like(X)
    for j in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[j] = STEP
        slopes[:, j] = (function(X + step) - function(X - step)) / (2.0 * STEP)
    scale = max(1.0, float(np.abs(slopes).max()))
    error = float(np.abs(gradient - slopes).max())
    expect(
        error <= GRADIENT_TOLERANCE * scale,
        f"The gradient of {what} must agree with finite differences to "
        f"{GRADIENT_TOLERANCE:g} of {scale:g}, and is off by {error:g}.",
    )
