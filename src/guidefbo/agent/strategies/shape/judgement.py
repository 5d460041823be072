"""The evidence weights of the models, by name and in words."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from guidefbo.agent.side import OTHERS

MODELS: Mapping[str, str] = MappingProxyType(
    {OTHERS: "the other sites' trend", "own": "an own trend", "none": "no trend"}
)
"""What each model is, by its name."""


def weight_by_name(names: Iterable[str], weights: Iterable[float]) -> dict[str, float]:
    """Return the weight of each name; models of one name count together."""
    found: dict[str, float] = {}
    for name, weight in zip(names, weights, strict=True):
        found[name] = found.get(name, 0.0) + float(weight)
    return found
