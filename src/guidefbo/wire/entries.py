"""Validation of single message fields, before any computation uses them."""

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values
from guidefbo.core.checks import is_finite_number, shown
from guidefbo.core.errors import WireError

BOX_SLACK = 1e-9
"""How far a centre may lie outside the unit cube before it is refused."""
MIN_VARIANCE = 1e-12
MAX_VARIANCE = 1e2


def require_fields(form: Mapping[str, Any], expected: set[str], what: str) -> None:
    """Refuse missing and unknown fields by name."""
    missing, unknown = expected - form.keys(), form.keys() - expected
    if missing or unknown:
        raise WireError(
            f"Expected {what} to have the fields {sorted(expected)}; "
            f"missing {shown(sorted(missing))}, unknown {shown(sorted(unknown))}."
        )


def number(value: Any, name: str, low: float, high: float) -> float:
    """Return a finite number in [low, high], or say what arrived instead."""
    if not is_finite_number(value) or not low <= value <= high:
        raise WireError(
            f"{name} must be a finite number in [{low:g}, {high:g}], got "
            f"{shown(value)}."
        )
    return float(value)


def array(value: Any, name: str, ndim: int) -> NDArray[np.float64]:
    """Return a finite array with this number of axes."""
    if not _is_nested(value, ndim):
        raise WireError(
            f"{name} must be finite numbers in lists {ndim} deep, none of them empty, "
            f"got {shown(value)}."
        )
    try:
        return np.array(value, dtype=np.float64)
    except ValueError as error:
        raise WireError(
            f"{name} must have rows of one length, got {shown(value)}."
        ) from error


def in_box(centers: Points | Values, name: str) -> None:
    """Refuse a centre outside the unit cube."""
    # What is no number is in no box.
    if not ((centers >= -BOX_SLACK) & (centers <= 1.0 + BOX_SLACK)).all():
        raise WireError(
            f"{name} must lie in the unit cube, got coordinates from "
            f"{centers.min():g} to {centers.max():g}."
        )


def positive_spread(variances: NDArray[np.float64], is_full: bool, name: str) -> None:
    """Refuse a variance that is not positive, or a covariance not positive definite.

    The range is far wider than any honest spread in a unit cube, and narrow enough for
    products and inverses to stay finite.
    """
    # The wire carries one triangle; rounding may part the two, a mistake does more.
    if is_full and not np.allclose(variances, np.swapaxes(variances, -1, -2), 1e-9):
        raise WireError(f"{name} must be a symmetric matrix, and it is not.")
    spread = np.linalg.eigvalsh(variances) if is_full else variances
    if not ((spread >= MIN_VARIANCE) & (spread <= MAX_VARIANCE)).all():
        what = "positive definite, with eigenvalues" if is_full else "positive,"
        raise WireError(
            f"{name} must be {what} from {MIN_VARIANCE:g} to {MAX_VARIANCE:g}, got "
            f"{spread.min():g} to {spread.max():g}."
        )


def same_dimension(dim: int, expected: int, name: str) -> None:
    """Refuse a message of another dimension than the study's."""
    if dim != expected:
        raise WireError(
            f"{name} must have dimension {expected}, got {dim}. Do both sides use the "
            "same search space?"
        )


def _is_nested(value: Any, depth: int) -> bool:
    if depth == 0:
        return is_finite_number(value)
    if not isinstance(value, list) or not value:
        return False
    items = cast(list[Any], value)
    # Plain floats whose sum is finite are finite: a whole row at a glance.
    if depth == 1 and set(map(type, items)) == {float} and math.isfinite(sum(items)):
        return True
    return all(_is_nested(item, depth - 1) for item in items)
