"""Checks of numbers given by users, and how a wrong value is shown in a message."""

import math
import reprlib
from typing import Any, cast

import numpy as np

from guidefbo.core.errors import SettingsError


def is_finite_number(value: Any) -> bool:
    """Whether a value is a real number that a float can hold. A bool is not.

    >>> is_finite_number(3), is_finite_number(float("nan")), is_finite_number(True)
    (True, False, False)
    """
    if isinstance(value, bool):
        return False
    if not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(cast(float, value))
    except OverflowError:
        return False


def is_whole_number(value: Any) -> bool:
    """Whether a value is an integer. A bool is not.

    >>> is_whole_number(3), is_whole_number(3.0), is_whole_number(True)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Return a NumPy number as Python's own, anything else as it is."""
    return cast(Any, value).item() if isinstance(value, np.generic) else value


def shown(value: Any) -> str:
    """Return a short text of a value: a message never repeats a megabyte."""
    return reprlib.repr(value)


def require_count(name: str, value: Any, low: int) -> int:
    """Return a whole number of at least `low`, or refuse what arrived."""
    if not is_whole_number(value) or value < low:
        raise SettingsError(
            f"{name} must be a whole number of at least {low}, got {shown(value)}."
        )
    return int(cast(int, value))
