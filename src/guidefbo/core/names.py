"""Names of sites, federations and strategies: short, plain, the same everywhere."""

import re
from typing import Any

from guidefbo.core.checks import shown
from guidefbo.core.errors import SettingsError

NAME_RULE = (
    "a name of 1 to 64 letters, digits and the signs . _ -, beginning with a letter "
    "or digit"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def is_name(value: Any) -> bool:
    """Whether a value can name a site, a federation or a strategy.

    >>> is_name("north-2"), is_name("a b"), is_name(7)
    (True, False, False)
    """
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def require_name(what: str, value: Any) -> str:
    """Return a name, or refuse what arrived."""
    if not is_name(value):
        raise SettingsError(f"{what} must be {NAME_RULE}, got {shown(value)}.")
    return value


def to_name(text: str) -> str:
    """Return the name nearest to a text, say a file's.

    >>> to_name("Lab no. 7")
    'Lab-no.-7'
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("._-")[:64]
    return plain or "site"
