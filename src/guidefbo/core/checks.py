"""Checks of numbers given by users, and how a wrong value is shown in a message."""

import math
import reprlib
import unicodedata
from typing import Any, cast

import numpy as np

from guidefbo.core.errors import SettingsError

MAX_AGENTS = 10_000
"""Most sites of one federation; every one of them takes memory of its own."""
MAX_SEED = 2**128 - 1
"""Largest root of randomness: no more bits are drawn from by chance."""
UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of characters that no file or terminal takes for text: control
characters, line breaks among them, and halves of a surrogate pair."""


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
    """Return a NumPy number as Python's own, anything else as it is.

    >>> type(plain(np.longdouble(0.5)))
    <class 'float'>
    """
    if isinstance(value, np.floating):
        # A long double's own `item` is a long double, which JSON does not know.
        return float(cast(float, value))
    return cast(Any, value).item() if isinstance(value, np.generic) else value


def is_plain_text(text: str) -> bool:
    r"""Whether a text is one line that can be printed and written to a file.

    >>> is_plain_text("5 °C"), is_plain_text("a\nb"), is_plain_text("\ud800")
    (True, False, False)
    """
    return all(unicodedata.category(character) not in UNPRINTABLE for character in text)


def shown(value: Any) -> str:
    """Return a short text of a value: a message never repeats a megabyte."""
    try:
        return reprlib.repr(value)
    except ValueError:
        # Python writes no whole number of more than 4300 digits.
        return f"a {type(value).__name__} too long to be shown"


def require_share(name: str, value: Any) -> None:
    """Refuse what is no number from 0 to 1."""
    if not is_finite_number(value) or not 0.0 <= value <= 1.0:
        raise SettingsError(f"{name} must be a number from 0 to 1, got {shown(value)}.")


def require_count(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high`, or refuse what arrived."""
    if not is_whole_number(value) or value < low:
        raise SettingsError(
            f"{name} must be a whole number of at least {low}, got {shown(value)}."
        )
    if high is not None and value > high:
        raise SettingsError(
            f"{name} must be a whole number of at most {high}, got {shown(value)}."
        )
    return int(cast(int, value))
