"""FTS's server: hand every agent the message of one other agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from guidefbo.server.side import Draws
from guidefbo.wire.fts import FeatureWeights, PeerPoint

Sources = Callable[[Sequence[str], Draws], dict[str, str]]
"""(sites, draws) -> whose message each site gets."""


def any_other(sites: Sequence[str], draws: Draws) -> dict[str, str]:
    """Draw a source uniformly among the other sites; one alone gets its own."""
    if len(sites) == 1:
        return {sites[0]: sites[0]}
    drawn = {site: int(draws.of(site).integers(len(sites) - 1)) for site in sites}
    return {
        site: sites[m + (m >= n)] for n, (site, m) in enumerate(drawn.items())
    }  # E48


def anybody(sites: Sequence[str], draws: Draws) -> dict[str, str]:
    """Draw a source uniformly among all sites, the receiver itself included."""
    return {site: sites[int(draws.of(site).integers(len(sites)))] for site in sites}


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsServer:
    """Relays the weights of one agent to another."""

    upload_type: ClassVar[type[FeatureWeights]] = FeatureWeights
    packet_type: ClassVar[type[FeatureWeights]] = FeatureWeights

    sources: Sources = any_other
    """Whose weights an agent gets."""

    def form(self, upload: FeatureWeights) -> tuple[str, int]:
        """Return the number of features."""
        return "number of features", upload.num_features

    def aggregate(
        self, uploads: Mapping[str, FeatureWeights], t: int, draws: Draws
    ) -> dict[str, FeatureWeights]:
        """Return a packet for every site that uploaded."""
        del t
        chosen = self.sources(sorted(uploads), draws)
        return {site: uploads[source] for site, source in chosen.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsPointServer:
    """Relays the point of one agent to another: as the paper's tables were run."""

    upload_type: ClassVar[type[PeerPoint]] = PeerPoint
    packet_type: ClassVar[type[PeerPoint]] = PeerPoint

    sources: Sources = anybody
    """Whose point an agent gets."""

    def form(self, upload: PeerPoint) -> tuple[str, int]:
        """Return the dimension."""
        return "dimension", upload.dim

    def aggregate(
        self, uploads: Mapping[str, PeerPoint], t: int, draws: Draws
    ) -> dict[str, PeerPoint]:
        """Return a packet for every site that uploaded."""
        del t
        chosen = self.sources(sorted(uploads), draws)
        return {site: uploads[source] for site, source in chosen.items()}
