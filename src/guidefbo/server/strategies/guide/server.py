"""GUIDE's server: merge, reweight, dispatch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.server.side import Draws
from guidefbo.server.strategies.guide.dispatch import Dispatch
from guidefbo.server.strategies.guide.merging import Merging
from guidefbo.server.strategies.guide.moments import ScoredComponents, merge_clusters
from guidefbo.server.strategies.guide.reweighting import Reweighting
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.guide import GuidancePacket, OptimumUpload


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideServer:
    """Algorithm 1 of the paper, server side."""

    upload_type: ClassVar[type[OptimumUpload]] = OptimumUpload
    packet_type: ClassVar[type[GuidancePacket]] = GuidancePacket

    merging: Merging
    """Clusters of centres."""
    reweighting: Reweighting
    """Global weights."""
    dispatch: Dispatch
    """Who receives what."""
    merge_threshold: float
    """Largest RMS distance within a cluster."""
    packet_size: int
    """Most components in a packet."""

    def form(self, upload: OptimumUpload) -> tuple[str, int]:
        """Return the kind of covariance and the dimension."""
        kind = "full" if upload.variance.ndim == 2 else "diagonal"
        return f"{kind} components, dimension", upload.dim

    def max_numbers(self, domain: Domain) -> int:
        """Return the numbers of an upload: at most a full covariance."""
        return 2 + domain.dim + domain.dim * (domain.dim + 1) // 2

    def check(self, upload: OptimumUpload, domain: Domain) -> None:
        """Refuse an upload of another dimension."""
        same_dimension(upload.dim, domain.dim, "An upload")

    def aggregate(
        self, uploads: Mapping[str, OptimumUpload], t: int, draws: Draws
    ) -> dict[str, GuidancePacket]:
        """Return a packet for every site that uploaded."""
        del t
        return self.listen(uploads, sorted(uploads), draws) if uploads else {}

    def listen(
        self, uploads: Mapping[str, OptimumUpload], sites: Sequence[str], draws: Draws
    ) -> dict[str, GuidancePacket]:
        """Return a packet for each of some sites, whether they uploaded or not."""
        components, log_weights = self.globals(list(uploads.values()))
        chosen = self.dispatch(log_weights, sites, self.packet_size, draws)
        return {
            site: GuidancePacket(components=components.take(row))
            for site, row in zip(sites, chosen, strict=True)
        }

    def globals(self, uploads: list[OptimumUpload]) -> tuple[Components, np.ndarray]:
        """Return the merged components and the logarithms of their weights."""
        stacked = stack(uploads)
        labels = self.merging(stacked.centers, self.merge_threshold)
        merged = merge_clusters(stacked, labels)
        log_weights = self.reweighting(merged)
        components = Components(
            weights=np.exp(log_weights),
            centers=np.clip(merged.centers, 0.0, 1.0),
            variances=merged.variances,
        )
        return components, log_weights


def stack(uploads: list[OptimumUpload]) -> ScoredComponents:
    """Return the uploads as arrays in a canonical order, whoever came first."""
    masses = np.array([u.mass for u in uploads])
    centers = np.stack([u.center for u in uploads])
    variances = np.stack([u.variance for u in uploads])
    scores = np.array([u.value_score for u in uploads])
    flat = variances.reshape(len(uploads), -1)
    keys = np.column_stack([scores, masses, flat[:, ::-1], centers[:, ::-1]])
    order = np.lexsort(keys.T)
    return ScoredComponents(
        masses=masses[order],
        centers=centers[order],
        variances=variances[order],
        scores=scores[order],
    )
