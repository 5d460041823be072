"""The shape server: for each site, what the others' trends say to expect of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import ClassVar

import numpy as np

from guidefbo.core.arrays import Matrix
from guidefbo.core.checks import shown
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.server.side import Draws
from guidefbo.server.strategies.shape.pooling import Pooled, Pooling
from guidefbo.wire.shape import (
    HIGHEST_DEGREE,
    LARGEST,
    LOWEST_DEGREE,
    PLACE,
    SHARPEST,
    WIDEST,
    Blocks,
    ShapePacket,
    ShapeUpload,
    blocks_of,
)

Form = tuple[tuple[str, int], ...]
"""Kind and size of each block of a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeServer:
    """Random-effects pooling of the coefficients of trends, and of places.

    The precision that a site claims for its place is not used: those who claim most are
    often those whose noise made a bend look steep. All count alike.
    """

    upload_type: ClassVar[type[ShapeUpload]] = ShapeUpload
    packet_type: ClassVar[type[ShapePacket]] = ShapePacket

    pooling: Pooling
    """Makes one prior of many estimates."""

    def form(self, upload: ShapeUpload) -> tuple[str, Form]:
        """Return kinds and sizes of the blocks."""
        return "the blocks", upload.form

    def max_numbers(self, domain: Domain) -> int:
        """Return the numbers of an upload, and a word for each block."""
        sizes = [size for _, size in _forms(domain)[-1]]
        return 2 * sum(sizes) + len(sizes)

    def check(self, upload: ShapeUpload, domain: Domain) -> None:
        """Refuse coefficients of other blocks than those of the space."""
        forms = _forms(domain)
        if upload.form not in forms:
            raise WireError(
                f"An upload must have the blocks {shown(forms[-1])}, got "
                f"{shown(upload.form)}. Do both sides use the same search space?"
            )

    def aggregate(
        self, uploads: Mapping[str, ShapeUpload], t: int, draws: Draws
    ) -> dict[str, ShapePacket]:
        """Return for every site the prior of its coefficients, from the others."""
        del t, draws
        if len(uploads) < 2:
            nothing = ShapePacket(kinds=(), means=(), variances=())
            return dict.fromkeys(uploads, nothing)
        sites = sorted(uploads)
        form, pooled = self._pooled([uploads[site] for site in sites])
        packets = _packets(form, pooled.means, pooled.variances)
        return dict(zip(sites, packets, strict=True))

    def listen(
        self, uploads: Mapping[str, ShapeUpload], sites: Sequence[str], draws: Draws
    ) -> dict[str, ShapePacket]:
        """Return the prior from all uploads for sites that have none of their own."""
        del draws
        form, pooled = self._pooled([uploads[site] for site in sorted(uploads)])
        (mine,) = _packets(form, *(numbers[None] for numbers in pooled.from_all))
        return dict.fromkeys(sites, mine)

    def _pooled(self, uploads: list[ShapeUpload]) -> tuple[Form, Pooled]:
        """Return the form of the messages, and what their numbers come to."""
        b = _rows([upload.means for upload in uploads])
        v = _rows([upload.variances for upload in uploads])
        form = uploads[0].form
        ends = [0, *accumulate(size for _, size in form)]
        blocks = [slice(*pair) for pair in pairwise(ends)]
        for (kind, _), block in zip(form, blocks, strict=True):
            if kind == PLACE:
                v[:, block] = np.median(v[:, block], axis=0)  # E103
        return form, self.pooling(b, v, blocks)


def _packets(form: Form, means: Matrix, variances: Matrix) -> list[ShapePacket]:
    """Return a packet for each row of numbers."""
    means = np.clip(means, -LARGEST, LARGEST)
    return ShapePacket.of_rows(form, means, np.clip(variances, SHARPEST, WIDEST))


def _rows(messages: list[Blocks]) -> Matrix:
    """Return the numbers of each message side by side, (messages, p)."""
    flat = np.concatenate([block for blocks in messages for block in blocks])
    return flat.reshape(len(messages), -1)


def _forms(domain: Domain) -> list[Form]:
    """Return kind and size of each block of a message, the lowest degree first."""
    sizes = [choice.size for _, choice in domain.blocks]
    m = domain.dim - sum(sizes)
    degrees = range(LOWEST_DEGREE, HIGHEST_DEGREE + 1)
    return [blocks_of(m, sizes, degree) for degree in degrees]
