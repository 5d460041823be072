"""The messages of the shape strategy: trend and place up, what to expect of them down.

2p + 2m scalars each way: p is the number of features, two for a number and one for each
option of a choice, and m that of numbers, whose place is one coordinate each. None come
down where nobody else has spoken.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import frozen_array
from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.wire import entries
from guidefbo.wire.entries import require_fields

LARGEST = 8.0
"""Largest coefficient in absolute value, in standard deviations of a site's values."""
SHARPEST, WIDEST = 1e-4, 1e4
"""Smallest and largest variance: nobody is heard more, and that is nothing at all."""
MAX_BLOCKS = 10_000
"""Most blocks of a message."""
SLACK = 1e-9
"""How far a number may lie beyond these limits before it is refused."""

SLOPES, BENDS, CHOICE, PLACE = "slopes", "bends", "choice", "place"
KINDS = (SLOPES, BENDS, CHOICE, PLACE)
"""What a block may hold: coefficients of slopes, of bends or of the options of one
choice, or coordinates of the optimum's place, counted from the middle of the cube."""
Blocks = tuple[NDArray[np.float64], ...]
"""One array of numbers a block."""


def blocks_of(num_numbers: int, choices: Iterable[int]) -> tuple[tuple[str, int], ...]:
    """Return kind and size of each block of a message: the trend's, then the place's.

    Args:
        num_numbers: Parameters that are numbers.
        choices: How many options each choice has, in the order of the choices.
    """
    m = num_numbers
    options = tuple((CHOICE, size) for size in choices)
    return ((SLOPES, m), (BENDS, m), *options, (PLACE, m)) if m else options


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coefficients:
    """A normal distribution of each coefficient of a trend, block by block."""

    kinds: tuple[str, ...]
    """What each block holds, one of `KINDS`."""
    means: Blocks
    """Coefficients in standard deviations of a site's values; places in the cube."""
    variances: Blocks
    """Of the same form."""

    def __post_init__(self) -> None:
        for name in ("means", "variances"):
            blocks = tuple(map(frozen_array, getattr(self, name)))
            object.__setattr__(self, name, blocks)
        shapes = [block.shape for block in self.means]
        if shapes != [block.shape for block in self.variances]:
            raise WireError("means and variances must have blocks of the same sizes.")
        if len(shapes) > MAX_BLOCKS or any(len(s) != 1 or s[0] == 0 for s in shapes):
            raise WireError(
                f"Expected at most {MAX_BLOCKS} blocks of one number or more, got the "
                f"shapes {shown(shapes)}."
            )
        if len(self.kinds) != len(shapes) or not set(self.kinds) <= set(KINDS):
            raise WireError(
                f"Expected for each of {len(shapes)} blocks one of {', '.join(KINDS)}, "
                f"got {shown(self.kinds)}."
            )
        _check(self.means, "means", -LARGEST, LARGEST)
        _check(self.variances, "variances", SHARPEST, WIDEST)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers in each block."""
        return tuple(len(block) for block in self.means)

    @property
    def form(self) -> tuple[tuple[str, int], ...]:
        """Kind and size of each block."""
        return tuple(zip(self.kinds, self.sizes, strict=True))

    def __len__(self) -> int:
        return sum(self.sizes)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "kinds": list(self.kinds),
            "means": [block.tolist() for block in self.means],
            "variances": [block.tolist() for block in self.variances],
        }  # E95

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"kinds", "means", "variances"}, "a message")
        return cls(
            kinds=_read_kinds(body["kinds"]),
            means=_read(body["means"], "means"),
            variances=_read(body["variances"], "variances"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeUpload(_Coefficients):
    """What one site's data say of its trend, without any prior."""

    KIND: ClassVar[str] = "shape.upload"

    def __post_init__(self) -> None:
        _Coefficients.__post_init__(self)
        if not len(self):
            raise WireError("An upload needs one coefficient or more, got none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapePacket(_Coefficients):
    """What to expect of a site's trend, from those of the others; perhaps nothing."""

    KIND: ClassVar[str] = "shape.packet"


def _read_kinds(value: Any) -> tuple[str, ...]:
    kinds = cast(list[Any], value) if isinstance(value, list) else None
    if (
        kinds is None
        or len(kinds) > MAX_BLOCKS
        or not all(isinstance(kind, str) for kind in kinds)
    ):
        raise WireError(
            f"kinds must be a list of at most {MAX_BLOCKS} texts, got {shown(value)}."
        )
    return tuple(kinds)


def _read(value: Any, name: str) -> Blocks:
    blocks = cast(list[Any], value) if isinstance(value, list) else None
    if blocks is None or len(blocks) > MAX_BLOCKS:
        raise WireError(
            f"{name} must be a list of at most {MAX_BLOCKS} blocks, got {shown(value)}."
        )
    return tuple(entries.array(block, name, ndim=1) for block in blocks)


def _check(blocks: Blocks, name: str, low: float, high: float) -> None:
    for block in blocks:
        # Written so that a number that is none fails as well.
        slack = SLACK * max(abs(low), abs(high))
        inside = (block >= low - min(slack, SLACK * abs(low))) & (block <= high + slack)
        if not inside.all():
            raise WireError(
                f"{name} must lie from {low:g} to {high:g}, got "
                f"{shown(block.tolist())}."
            )
