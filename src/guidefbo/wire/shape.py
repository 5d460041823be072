"""The messages of the shape strategy: trend and place up, what to expect of them down.

2p + 2m scalars each way: p is the number of features, as many for a number as the trend
has degrees and one for each option of a choice, and m that of numbers, whose place is
one coordinate each. None come down where nobody else has spoken.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix
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

SLOPES, BENDS, CUBICS, QUARTICS = "slopes", "bends", "cubics", "quartics"
DEGREES = (SLOPES, BENDS, CUBICS, QUARTICS)
"""What the coefficients of degree one, two and so on are called."""
LOWEST_DEGREE, HIGHEST_DEGREE = 2, len(DEGREES)
"""Of the trends that are exchanged."""
CHOICE, PLACE = "choice", "place"
KINDS = (*DEGREES, CHOICE, PLACE)
"""What a block may hold: coefficients of one degree or of the options of one choice, or
coordinates of the optimum's place, counted from the middle of the cube."""
Blocks = tuple[NDArray[np.float64], ...]
"""One array of numbers a block."""


def blocks_of(
    num_numbers: int, choices: Iterable[int], degree: int
) -> tuple[tuple[str, int], ...]:
    """Return kind and size of each block of a message: the trend's, then the place's.

    Args:
        num_numbers: Parameters that are numbers.
        choices: How many options each choice has, in the order of the choices.
        degree: Of the trend of a number.
    """
    m = num_numbers
    options = tuple((CHOICE, size) for size in choices)
    if not m:
        return options
    return (*((kind, m) for kind in DEGREES[:degree]), *options, (PLACE, m))


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
        means, variances = (
            [np.asarray(block, dtype=np.float64) for block in blocks]
            for blocks in (self.means, self.variances)
        )
        shapes = [block.shape for block in means]
        if shapes != [block.shape for block in variances]:
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
        object.__setattr__(self, "means", _checked(means, "means", -LARGEST, LARGEST))
        checked = _checked(variances, "variances", SHARPEST, WIDEST)
        object.__setattr__(self, "variances", checked)

    @classmethod
    def of_rows(
        cls, form: tuple[tuple[str, int], ...], means: Matrix, variances: Matrix
    ) -> list[Self]:
        """Return a message for each row of numbers, all rows checked at once.

        Args:
            form: Kind and size of each block, one block or more.
            means: (N, p), the blocks of a message side by side.
            variances: (N, p).
        """
        kinds, sizes = zip(*form, strict=True)
        ends = [0, *accumulate(sizes)]
        blocks = [slice(first, last) for first, last in pairwise(ends)]
        if means.shape != variances.shape or means.shape[1:] != (ends[-1],):
            raise WireError(
                f"Expected rows of {ends[-1]} numbers, got the shapes {means.shape} "
                f"and {variances.shape}."
            )
        both = _checked([means.ravel()], "means", -LARGEST, LARGEST)
        both += _checked([variances.ravel()], "variances", SHARPEST, WIDEST)
        rows = zip(*(flat.reshape(means.shape) for flat in both), strict=True)
        messages: list[Self] = []
        for number, (mean, variance) in enumerate(rows):
            m = tuple([mean[block] for block in blocks])
            v = tuple([variance[block] for block in blocks])
            if not number:
                # The first checks what is left: the kinds and sizes of the blocks.
                messages.append(cls(kinds=kinds, means=m, variances=v))
                continue
            message = object.__new__(cls)
            object.__setattr__(message, "kinds", kinds)
            object.__setattr__(message, "means", m)
            object.__setattr__(message, "variances", v)
            messages.append(message)
        return messages

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


def _checked(
    blocks: list[NDArray[np.float64]], name: str, low: float, high: float
) -> Blocks:
    """Return read-only copies of blocks, or refuse them.

    In one piece, since a server makes a message for each of many sites.
    """
    if not blocks:
        return ()
    flat = np.concatenate(blocks)
    flat.setflags(write=False)
    slack = SLACK * max(abs(low), abs(high))
    least, most = low - min(slack, SLACK * abs(low)), high + slack
    # The least and the largest of numbers one of which is none are none as well, of
    # which no comparison holds.
    if np.minimum.reduce(flat) >= least and np.maximum.reduce(flat) <= most:
        ends = [0, *accumulate(map(len, blocks))]
        return tuple([flat[first:last] for first, last in pairwise(ends)])
    bad = next(b for b in blocks if not ((b >= least) & (b <= most)).all())
    raise WireError(
        f"{name} must lie from {low:g} to {high:g}, got {shown(bad.tolist())}."
    )
