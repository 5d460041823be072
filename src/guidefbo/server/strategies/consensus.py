"""The consensus server: a meta-analysis of the other agents' peaks, for each agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guidefbo.core.component import Components
from guidefbo.server.fusion import Fused, Fusion, leave_one_out
from guidefbo.server.groups import split_groups
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
    has_groups: bool
    """Whether unrelated groups of sites are told apart."""
    shrinks: bool
    """Whether the weight falls where an agent knows better than the others; else 1."""

    def aggregate(
        self, uploads: Mapping[int, PeakUpload], t: int, stream: np.random.Generator
    ) -> dict[int, ConsensusPacket]:
        """Return for every agent that uploaded the place of all the others."""
        del t, stream
        if len(uploads) < 2:
            nobody = np.empty((0, 1))
            return dict.fromkeys(uploads, _packet(nobody[:, 0], nobody, nobody))
        agents = sorted(uploads)
        fused = self.fuse([uploads[agent] for agent in agents])
        spread = fused.squared_error + fused.between
        centers = np.clip(fused.center, 0.0, 1.0)  # E77
        variances = np.maximum(spread, self.min_spread**2)  # E77
        weights = np.ones(len(agents))
        if self.shrinks:
            own = np.stack([uploads[agent].variance for agent in agents])
            weights = (own / (own + spread)).mean(axis=1)  # E86
        return {
            agent: _packet(weights[[n]], centers[[n]], variances[[n]])
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
        groups = split_groups(centers[order]) if self.has_groups else [slice(None)]
        fused = Fused(*(np.empty_like(centers) for _ in Fused._fields))
        for group in groups:
            members = order[group]
            parts = leave_one_out(self.fusion, centers[members], variances[members])
            for whole, part in zip(fused, parts, strict=True):
                whole[members] = part
        return fused


def _packet(
    weights: np.ndarray, centers: np.ndarray, variances: np.ndarray
) -> ConsensusPacket:
    return ConsensusPacket(
        components=Components(weights=weights, centers=centers, variances=variances)
    )
