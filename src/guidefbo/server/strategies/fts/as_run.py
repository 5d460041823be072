"""FTS's server as the paper's tables were run: hand every agent one agent's point."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from guidefbo.server.strategies.fts.server import Sources
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.fts import PeerPoint


def anybody(num_agents: int, stream: np.random.Generator) -> NDArray[np.intp]:
    """Draw a source uniformly among all agents, the target itself included."""
    return stream.integers(0, num_agents, size=num_agents)


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsPointServer:
    """Relays the point of one agent to another: as the paper's tables were run."""

    upload_type: ClassVar[type[PeerPoint]] = PeerPoint
    packet_type: ClassVar[type[PeerPoint]] = PeerPoint

    sources: Sources = anybody
    """Whose point an agent gets."""

    def aggregate(
        self, uploads: Mapping[int, PeerPoint], t: int, stream: np.random.Generator
    ) -> dict[int, PeerPoint]:
        """Return a packet for every agent that uploaded."""
        del t
        if not uploads:
            return {}
        agents = sorted(uploads)
        for agent in agents:
            same_dimension(uploads[agent].dim, uploads[agents[0]].dim, "Every upload")
        chosen = self.sources(len(agents), stream)
        return {n: uploads[agents[m]] for n, m in zip(agents, chosen, strict=True)}
