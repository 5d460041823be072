"""The consensus server: for each agent, pool the other agents' estimated optima."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guidefbo.core.arrays import Points
from guidefbo.core.component import Components
from guidefbo.server.strategies.consensus.fusion import Fused, Fusion, leave_one_out
from guidefbo.server.strategies.consensus.groups import split_groups
from guidefbo.wire.consensus import ConsensusPacket, PeakUpload
from guidefbo.wire.entries import same_dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusServer:
    """Random-effects pooling of estimated optima, server side."""

    upload_type: ClassVar[type[PeakUpload]] = PeakUpload
    packet_type: ClassVar[type[ConsensusPacket]] = ConsensusPacket

    fusion: Fusion
    """Pools several estimates into one."""
    has_groups: bool
    """Whether clusters of sites are detected and pooled separately."""

    def aggregate(
        self, uploads: Mapping[int, PeakUpload], t: int, stream: np.random.Generator
    ) -> dict[int, ConsensusPacket]:
        """Return for every agent the pooled estimate of the others in its group."""
        del t, stream
        if len(uploads) < 2:
            nobody = np.empty((0, 1))
            return dict.fromkeys(uploads, _packet(nobody, nobody))
        agents = sorted(uploads)
        fused = self.fuse([uploads[agent] for agent in agents])
        centers, spread = np.clip(fused.center, 0.0, 1.0), fused.spread  # E77
        return {
            agent: _packet(centers[[n]], spread[[n]]) for n, agent in enumerate(agents)
        }

    def fuse(self, uploads: list[PeakUpload]) -> Fused:
        """Return for each upload the pooled estimate of the others."""
        for upload in uploads:
            same_dimension(upload.dim, uploads[0].dim, "Every upload")
        y = np.clip(np.stack([u.center for u in uploads]), 0.0, 1.0)
        v = np.stack([u.variance for u in uploads])
        # Rounding of sums depends on their order, so the order is made canonical.
        order = np.lexsort(np.column_stack([v, y[:, ::-1]]).T)
        groups = split_groups(y[order], v[order]) if self.has_groups else [slice(None)]
        fused = Fused(*(np.empty_like(y) for _ in Fused._fields))
        for group in groups:
            members = order[group]
            parts = leave_one_out(self.fusion, y[members], v[members])
            for whole, part in zip(fused, parts, strict=True):
                whole[members] = part
        return fused


def _packet(centers: Points, variances: Points) -> ConsensusPacket:
    weights = np.ones(len(centers))
    return ConsensusPacket(
        components=Components(weights=weights, centers=centers, variances=variances)
    )
