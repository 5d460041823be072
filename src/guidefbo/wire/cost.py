"""Size of a message in scalars and bytes, counted from its encoding."""

import json
from dataclasses import dataclass
from typing import Any, Self, cast


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
        return sum(map(_count, cast(list[Any], value)))
    return int(isinstance(value, int | float) and not isinstance(value, bool))
