"""The consensus server: for each agent, pool the other agents' estimated optima."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Point, Points
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.server.side import Draws
from guidefbo.server.strategies.consensus.fusion import Fused, Fusion, leave_one_out
from guidefbo.server.strategies.consensus.groups import Grouping
from guidefbo.wire.consensus import ConsensusPacket, PeakUpload
from guidefbo.wire.entries import same_dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusServer:
    """Random-effects pooling of estimated optima, server side."""

    upload_type: ClassVar[type[PeakUpload]] = PeakUpload
    packet_type: ClassVar[type[ConsensusPacket]] = ConsensusPacket

    fusion: Fusion
    """Pools several estimates into one."""
    grouping: Grouping
    """Finds clusters of sites, which are pooled separately."""

    def form(self, upload: PeakUpload) -> tuple[str, int]:
        """Return the dimension."""
        return "dimension", upload.dim

    def max_numbers(self, domain: Domain) -> int:
        """Return the numbers of an upload: a place and its spread."""
        return 2 + 2 * domain.dim

    def check(self, upload: PeakUpload, domain: Domain) -> None:
        """Refuse an upload of another dimension."""
        same_dimension(upload.dim, domain.dim, "An upload")

    def aggregate(
        self, uploads: Mapping[str, PeakUpload], t: int, draws: Draws
    ) -> dict[str, ConsensusPacket]:
        """Return for every site the pooled estimate of the others in its group."""
        del t, draws
        if len(uploads) < 2:
            nobody = np.empty((0, 1))
            return dict.fromkeys(uploads, _packet(nobody, nobody))
        sites = sorted(uploads)
        fused = self.fuse([uploads[site] for site in sites])
        centers, spread = np.clip(fused.center, 0.0, 1.0), fused.spread  # E77
        return dict(zip(sites, ConsensusPacket.of_rows(centers, spread), strict=True))

    def listen(
        self, uploads: Mapping[str, PeakUpload], sites: Sequence[str], draws: Draws
    ) -> dict[str, ConsensusPacket]:
        """Return the pooled estimate of all for sites that have none of their own.

        Nothing tells the group of such a site, so that all are one group.
        """
        del draws
        # A site's own estimate is not part of its packet, so that any stands for it.
        ordered = [uploads[site] for site in sorted(uploads)]
        y = np.clip(np.stack([u.center for u in [*ordered, ordered[0]]]), 0.0, 1.0)
        v = np.stack([u.variance for u in [*ordered, ordered[0]]])
        fused = leave_one_out(self.fusion, y, v)
        center = np.clip(fused.center[[-1]], 0.0, 1.0)
        return dict.fromkeys(sites, _packet(center, fused.spread[[-1]]))

    def fuse(self, uploads: list[PeakUpload]) -> Fused:
        """Return for each upload the pooled estimate of the others."""
        y, v = _rows([u.center for u in uploads]), _rows([u.variance for u in uploads])
        y = np.clip(y, 0.0, 1.0)
        # Rounding of sums depends on their order, so the order is made canonical.
        order = row_order(np.hstack([y, v[:, ::-1]]))
        fused = Fused(*(np.empty_like(y) for _ in Fused._fields))
        for group in self.grouping(y[order], v[order]):
            members = order[group]
            parts = leave_one_out(self.fusion, y[members], v[members])
            for whole, part in zip(fused, parts, strict=True):
                whole[members] = part
        return fused


def row_order(rows: Points) -> NDArray[np.intp]:
    """Return the order of the rows by the first column, then the second and so on.

    Of many places hardly two are alike in a coordinate: only those that are need be
    compared in the others.
    """
    order = np.argsort(rows[:, 0], kind="stable")
    first = rows[order, 0]
    is_tie = np.zeros(len(rows) + 1, dtype=np.bool_)
    is_tie[1:-1] = first[1:] == first[:-1]
    tied = np.flatnonzero(is_tie[1:] | is_tie[:-1])
    order[tied] = order[tied][np.lexsort(rows[order[tied]].T[::-1])]
    return order


def _rows(parts: list[Point]) -> Points:
    """Return the same as `np.stack`, which is slow for very many."""
    return np.concatenate(parts).reshape(len(parts), -1)


def _packet(centers: Points, variances: Points) -> ConsensusPacket:
    weights = np.ones(len(centers))
    return ConsensusPacket(
        components=Components(weights=weights, centers=centers, variances=variances)
    )
