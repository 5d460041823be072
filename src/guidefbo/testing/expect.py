"""Assertions with a sentence as their message, which `python -O` does not remove."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values

STEP = 1e-5
"""Step of the differences: far below the distance to the nearest observation."""
GRADIENT_TOLERANCE = 1e-5
"""Relative to the largest entry; the differences themselves err by about 1e-9."""


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
    """Demand that a gradient agrees with differences of the function."""
    slopes = np.empty_like(X)
    for j in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[j] = STEP
        near = function(X + step) - function(X - step)
        far = function(X + 2.0 * step) - function(X - 2.0 * step)
        # Fourth order: close to an observation the third derivative is enormous.
        slopes[:, j] = (8.0 * near - far) / (12.0 * STEP)
    scale = max(1.0, float(np.abs(slopes).max()))
    error = float(np.abs(gradient - slopes).max())
    expect(
        error <= GRADIENT_TOLERANCE * scale,
        f"The gradient of {what} must agree with finite differences to "
        f"{GRADIENT_TOLERANCE:g} of {scale:g}, and is off by {error:g}.",
    )
