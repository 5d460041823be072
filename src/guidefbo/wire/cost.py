"""Size of a message in scalars and bytes, counted from its encoding."""

import json
from dataclasses import dataclass
from typing import Any, Self, cast

NUMBERS = frozenset([int, float])
"""Types of a number in a parsed message; a truth value has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Size of one message or of many together."""

    scalars: int = 0
    """Numbers in the body."""
    num_bytes: int = 0
    """Length of the encoded message, envelope included."""

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Count one encoded message."""
        return cls(scalars=_count(json.loads(data)["body"]), num_bytes=len(data))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            scalars=self.scalars + other.scalars,
            num_bytes=self.num_bytes + other.num_bytes,
        )


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_count, cast(dict[str, Any], value).values()))
    if isinstance(value, list):
        entries = cast(list[Any], value)
        # Long lists are lists of numbers.
        if set(map(type, entries)) <= NUMBERS:
            return len(entries)
        return sum(map(_count, entries))
    return int(isinstance(value, int | float) and not isinstance(value, bool))
