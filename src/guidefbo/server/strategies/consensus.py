"""The consensus server: a meta-analysis of the other agents' peaks, for each agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guidefbo.core.component import Components
from guidefbo.server.fusion import Fused, Fusion, leave_one_out
from guidefbo.wire.checks import same_dimension
from guidefbo.wire.consensus import ConsensusPacket, PeakUpload


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusServer:
    """Random-effects consensus on the optimum, server side."""

    upload_type: ClassVar[type[PeakUpload]] = PeakUpload
    packet_type: ClassVar[type[ConsensusPacket]] = ConsensusPacket

    fusion: Fusion
    """Makes one place of many."""
    min_spread: float
    """Smallest standard deviation of a packet, per coordinate."""

    def aggregate(
        self, uploads: Mapping[int, PeakUpload], t: int, stream: np.random.Generator
    ) -> dict[int, ConsensusPacket]:
        """Return for every agent that uploaded the place of all the others."""
        del t, stream
        if len(uploads) < 2:
            return dict.fromkeys(uploads, _packet(np.empty((0, 1)), np.empty((0, 1))))
        agents = sorted(uploads)
        fused = self.fuse([uploads[agent] for agent in agents])
        spread = fused.squared_error + fused.between
        centers = np.clip(fused.center, 0.0, 1.0)  # E77
        variances = np.maximum(spread, self.min_spread**2)  # E77
        return {
            agent: _packet(centers[[n]], variances[[n]])
            for n, agent in enumerate(agents)
        }

    def fuse(self, uploads: list[PeakUpload]) -> Fused:
        """Return what the others say, row by row, whoever came first."""
        for upload in uploads:
            same_dimension(upload.dim, uploads[0].dim, "Every upload")
        centers = np.clip(np.stack([u.center for u in uploads]), 0.0, 1.0)
        variances = np.stack([u.variance for u in uploads])
        # Sums round differently in another order; here there is only one.
        order = np.lexsort(np.column_stack([variances, centers[:, ::-1]]).T)
        sorted_out = leave_one_out(self.fusion, centers[order], variances[order])
        rank = np.argsort(order)
        return Fused(*(part[rank] for part in sorted_out))


def _packet(centers: np.ndarray, variances: np.ndarray) -> ConsensusPacket:
    return ConsensusPacket(
        components=Components(
            weights=np.ones(len(centers)), centers=centers, variances=variances
        )
    )
