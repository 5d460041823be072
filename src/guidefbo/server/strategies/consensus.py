"""The consensus server: a meta-analysis of the agents' peaks, for each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guidefbo.core.arrays import Points
from guidefbo.core.component import Components
from guidefbo.server.aims import Aim
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
    aim: Aim
    """Which place an agent is pointed to."""

    def aggregate(
        self, uploads: Mapping[int, PeakUpload], t: int, stream: np.random.Generator
    ) -> dict[int, ConsensusPacket]:
        """Return for every agent that uploaded where its optimum is likeliest."""
        del t, stream
        if len(uploads) < 2:
            nobody = np.empty((0, 1))
            return dict.fromkeys(uploads, _packet(nobody, nobody))
        agents = sorted(uploads)
        centers, variances = self.aim(*self.fuse([uploads[n] for n in agents]))
        centers = np.clip(centers, 0.0, 1.0)
        variances = np.maximum(variances, self.min_spread**2)  # E77
        return {
            agent: _packet(centers[[n]], variances[[n]])
            for n, agent in enumerate(agents)
        }

    def fuse(self, uploads: list[PeakUpload]) -> tuple[Points, Points, Fused]:
        """Return each agent's place, its variance and what the others say of it."""
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
        return centers, variances, fused


def _packet(centers: Points, variances: Points) -> ConsensusPacket:
    weights = np.ones(len(centers))
    return ConsensusPacket(
        components=Components(weights=weights, centers=centers, variances=variances)
    )
