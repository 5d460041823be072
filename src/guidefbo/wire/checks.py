"""Checks of single fields, before any arithmetic touches them."""

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values
from guidefbo.core.errors import WireError

BOX_SLACK = 1e-9
"""How far a centre may lie outside the unit cube before it is refused."""


def number(value: Any, name: str, low: float, high: float) -> float:
    """Return a finite number in [low, high], or say what arrived instead."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WireError(f"{name} must be a number, got {value!r}.")
    if not math.isfinite(value) or not low <= value <= high:
        raise WireError(
            f"{name} must be finite and in [{low:g}, {high:g}], got {value!r}."
        )
    return float(value)


def array(value: Any, name: str, ndim: int) -> NDArray[np.float64]:
    """Return a finite array with this number of axes."""
    if not isinstance(value, list) or not _only_numbers(cast(list[Any], value)):
        raise WireError(f"{name} must be a list of numbers, got {value!r:.80}.")
    try:
        result = np.array(value, dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise WireError(
            f"{name} must be a regular list of numbers: {error}."
        ) from error
    if result.ndim != ndim or result.size == 0:
        raise WireError(
            f"{name} must have {ndim} axes and at least one entry, got shape "
            f"{result.shape}."
        )
    if not np.isfinite(result).all():
        raise WireError(f"{name} must be finite, got {value!r:.80}.")
    return result


def in_box(centers: Points | Values, name: str) -> None:
    """Refuse a centre outside the unit cube."""
    if (centers < -BOX_SLACK).any() or (centers > 1.0 + BOX_SLACK).any():
        raise WireError(
            f"{name} must lie in the unit cube, got coordinates from "
            f"{centers.min():g} to {centers.max():g}."
        )


def positive_spread(variances: NDArray[np.float64], is_full: bool, name: str) -> None:
    """Refuse a variance that is not positive, or a covariance not positive definite."""
    if is_full:
        if np.linalg.eigvalsh(variances).min() <= 0.0:
            raise WireError(f"{name} must be positive definite, and it is not.")
    elif variances.min() <= 0.0:
        raise WireError(f"{name} must be positive, got {variances.min():g}.")


def same_dimension(dim: int, expected: int, name: str) -> None:
    """Refuse a message of another dimension than the study's."""
    if dim != expected:
        raise WireError(
            f"{name} must have dimension {expected}, got {dim}. Do both sides use the "
            "same search space?"
        )


def _only_numbers(values: list[Any]) -> bool:
    return all(
        _only_numbers(cast(list[Any], v))
        if isinstance(v, list)
        else isinstance(v, int | float) and not isinstance(v, bool)
        for v in values
    )
