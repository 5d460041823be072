"""The shared side's parts by name."""

from types import MappingProxyType

from guidefbo.server.strategies.consensus.fusion import (
    Fusion,
    dersimonian_laird,
    paule_mandel,
    trimmed,
)
from guidefbo.server.strategies.guide.dispatch import (
    Dispatch,
    agent_specific,
    broadcast,
)
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

MERGINGS: MappingProxyType[str, Merging] = MappingProxyType(
    {"complete-linkage": complete_linkage, "none": no_merging}
)
REWEIGHTINGS: MappingProxyType[str, Reweighting] = MappingProxyType(
    {"value-aware": value_aware, "mass-only": mass_only}
)
DISPATCHES: MappingProxyType[str, Dispatch] = MappingProxyType(
    {"agent-specific": agent_specific, "broadcast": broadcast}
)
FUSIONS: MappingProxyType[str, Fusion] = MappingProxyType(
    {
        "dersimonian-laird": dersimonian_laird,
        "paule-mandel": paule_mandel,
        "trimmed": trimmed,
    }
)
