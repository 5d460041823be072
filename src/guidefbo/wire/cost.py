"""What a message costs, counted from its bytes and never from a formula."""

import json
from dataclasses import dataclass
from typing import Any, Self


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
    match value:
        case bool() | str() | None:
            return 0
        case int() | float():
            return 1
        case dict():
            return sum(map(_count, value.values()))
        case _:
            return sum(map(_count, value))
