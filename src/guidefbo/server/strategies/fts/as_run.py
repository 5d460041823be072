"""FTS's server as presumed behind the paper's tables.

It hands every agent one agent's point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from guidefbo.core.domain import Domain
from guidefbo.server.side import Draws
from guidefbo.server.strategies.fts.server import Sources
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.fts import PeerPoint


def anybody(sites: Sequence[str], draws: Draws) -> dict[str, str]:
    """Draw a source uniformly among all sites, the receiver itself included."""
    return {site: sites[int(draws.of(site).integers(len(sites)))] for site in sites}


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsPointServer:
    """Relays one agent's point to another: as presumed behind the paper's tables."""

    upload_type: ClassVar[type[PeerPoint]] = PeerPoint
    packet_type: ClassVar[type[PeerPoint]] = PeerPoint

    sources: Sources = anybody
    """Whose point an agent gets."""

    def form(self, upload: PeerPoint) -> tuple[str, int]:
        """Return the dimension."""
        return "dimension", upload.dim

    def max_numbers(self, domain: Domain) -> int:
        """Return the numbers of an upload: a point."""
        return domain.dim

    def check(self, upload: PeerPoint, domain: Domain) -> None:
        """Refuse an upload of another dimension."""
        same_dimension(upload.dim, domain.dim, "An upload")

    def aggregate(
        self, uploads: Mapping[str, PeerPoint], t: int, draws: Draws
    ) -> dict[str, PeerPoint]:
        """Return a packet for every site that uploaded."""
        del t
        chosen = self.sources(sorted(uploads), draws)
        return {site: uploads[source] for site, source in chosen.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsAsRunServerSettings:
    """No settings."""

    def build(self) -> FtsPointServer:
        """Return the server side behind the paper's tables."""
        return FtsPointServer()


SERVER = FtsAsRunServerSettings
