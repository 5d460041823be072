"""The server of the control shared-data: hand every site the others' observations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guidefbo.core.domain import Domain
from guidefbo.server.side import Draws
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.shared_data import MAX_ROWS, SharedObservations, SharedPacket


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDataServer:
    """Passes raw observations on, of every site about as many."""

    upload_type: ClassVar[type[SharedObservations]] = SharedObservations
    packet_type: ClassVar[type[SharedPacket]] = SharedPacket

    max_shared: int
    """Most observations of a packet."""

    def form(self, upload: SharedObservations) -> tuple[str, int]:
        """Return the dimension."""
        return "dimension", upload.dim

    def max_numbers(self, domain: Domain) -> int:
        """Return the numbers of an upload: its observations."""
        return MAX_ROWS * (2 + domain.dim)

    def check(self, upload: SharedObservations, domain: Domain) -> None:
        """Refuse an upload of another dimension."""
        same_dimension(upload.dim, domain.dim, "An upload")

    def aggregate(
        self, uploads: Mapping[str, SharedObservations], t: int, draws: Draws
    ) -> dict[str, SharedPacket]:
        """Return for every site what the others observed."""
        del t, draws
        packets: dict[str, SharedPacket] = {}
        for site in uploads:
            others = [uploads[name] for name in sorted(uploads) if name != site]
            counts = fair_shares([len(other) for other in others], self.max_shared)
            pairs = zip(others, counts, strict=True)
            packets[site] = SharedPacket(
                sites=tuple(thin(other, count) for other, count in pairs if count)
            )
        return packets


def fair_shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Return how many of each to keep, `limit` in all, as equally as sizes allow.

    >>> fair_shares([2, 50, 50], 42)
    [2, 20, 20]
    """
    shares, left = [0] * len(sizes), limit
    # Smallest first: what one cannot use up is there for those who follow.
    for rank, n in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[n] = min(sizes[n], left // (len(sizes) - rank))
        left -= shares[n]
    return shares


def thin(data: SharedObservations, count: int) -> SharedObservations:
    """Return observations of evenly spread ranks, the best and the worst among them.

    Args:
        data: All of them.
        count: How many to keep, at least 1; of one, the best is kept.
    """
    if count >= len(data):
        return data
    ranks = np.linspace(len(data) - 1, 0, count).round().astype(np.intp)
    kept = np.sort(np.argsort(data.values, kind="stable")[ranks])
    return SharedObservations(
        inputs=data.inputs[kept], values=data.values[kept], noise=data.noise[kept]
    )
