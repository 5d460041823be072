"""Settings of GUIDE's server, with the values of the paper."""

from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.core.settings import count, part, real
from guidefbo.server.strategies.guide.dispatch import DISPATCHES
from guidefbo.server.strategies.guide.merging import (
    Merging,
    complete_linkage,
    no_merging,
)
from guidefbo.server.strategies.guide.reweighting import (
    Reweighting,
    mass_only,
    value_aware,
)
from guidefbo.server.strategies.guide.server import GuideServer
from guidefbo.wire.guide import MAX_COMPONENTS

MERGINGS: MappingProxyType[str, Merging] = MappingProxyType(
    {"complete-linkage": complete_linkage, "none": no_merging}
)
REWEIGHTINGS: MappingProxyType[str, Reweighting] = MappingProxyType(
    {"value-aware": value_aware, "mass-only": mass_only}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideServerSettings:
    """How uploads are merged, weighted and sent out."""

    merging: str = part("complete-linkage", "how components are clustered", MERGINGS)
    reweighting: str = part("value-aware", "global weights", REWEIGHTINGS)
    dispatch: str = part("agent-specific", "which site gets what", DISPATCHES)
    merge_threshold: float = real(0.05, "largest RMS distance within a cluster")
    packet_size: int = count(
        5, "components sent to an agent at most", high=MAX_COMPONENTS
    )

    def build(self) -> GuideServer:
        """Return GUIDE's server side."""
        return GuideServer(
            merging=MERGINGS[self.merging],
            reweighting=REWEIGHTINGS[self.reweighting],
            dispatch=DISPATCHES[self.dispatch],
            merge_threshold=self.merge_threshold,
            packet_size=self.packet_size,
        )


SERVER = GuideServerSettings
