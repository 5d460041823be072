"""Settings of strategies that intervene on the uncertainty."""

from types import MappingProxyType

from guidefbo.agent.guidance.scaling import Intervention, LocalScaling, UniformScaling

INTERVENTIONS: MappingProxyType[str, Intervention] = MappingProxyType(
    {"local": LocalScaling.widening, "uniform": UniformScaling.averaging}
)
"""Where the uncertainty grows."""

STARTS = MappingProxyType({"none": False, "centers": True})
"""Whether the search starts at the centres of components as well."""
