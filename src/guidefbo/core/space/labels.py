"""Units and descriptions: words about a parameter, which no arithmetic uses."""

from dataclasses import fields
from typing import Any

from guidefbo.core.checks import is_plain_text, shown
from guidefbo.core.errors import SpaceError

MAX_LABEL = 200
"""Longest unit or description."""


def check_label(what: str, text: Any) -> None:
    """Refuse what is neither None nor a short text of one line.

    Args:
        what: What the text is, for the refusal.
        text: What was given.
    """
    if text is None:
        return
    if not (
        isinstance(text, str)
        and text == text.strip()
        and 0 < len(text) <= MAX_LABEL
        and is_plain_text(text)
    ):
        raise SpaceError(
            f"{what} must be a text of one line of at most {MAX_LABEL} characters, not "
            f"blank at its ends, got {shown(text)}."
        )


def written(self: Any) -> str:
    """Return a parameter as one would write it: fields without a value are left out."""
    parts = [
        f"{field.name}={value!r}"
        for field in fields(self)
        if (value := getattr(self, field.name)) is not None
    ]
    return f"{type(self).__name__}({', '.join(parts)})"


def labelled(name: str, unit: str | None) -> str:
    """Return a name with its unit, as the header of a column.

    >>> labelled("temperature", "degC"), labelled("drug", None)
    ('temperature [degC]', 'drug')
    """
    return name if unit is None else f"{name} [{unit}]"
