"""Settings of the consensus server."""

from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.core.settings import part
from guidefbo.server.strategies.consensus.fusion import (
    Fusion,
    dersimonian_laird,
    paule_mandel,
    trimmed,
)
from guidefbo.server.strategies.consensus.groups import GROUPINGS
from guidefbo.server.strategies.consensus.server import ConsensusServer

FUSIONS: MappingProxyType[str, Fusion] = MappingProxyType(
    {
        "dersimonian-laird": dersimonian_laird,
        "paule-mandel": paule_mandel,
        "trimmed": trimmed,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusServerSettings:
    """How one place is made of the places of many sites."""

    fusion: str = part("trimmed", "one place of many", FUSIONS)
    groups: str = part("found", "groups of sites", GROUPINGS)

    def build(self) -> ConsensusServer:
        """Return the strategy's server side."""
        return ConsensusServer(
            fusion=FUSIONS[self.fusion], grouping=GROUPINGS[self.groups]
        )


SERVER = ConsensusServerSettings
