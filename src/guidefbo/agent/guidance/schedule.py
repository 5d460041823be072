"""The strength λ_t of guidance in round t."""

from collections.abc import Callable
from math import sqrt
from types import MappingProxyType

Schedule = Callable[[float, int], float]
"""(max_strength, t) -> strength in round t, t from 1."""


def decaying(max_strength: float, t: int) -> float:
    """Return max_strength / √t: strong early, fading as local evidence grows."""
    return max_strength / sqrt(t)  # E17


def constant(max_strength: float, t: int) -> float:
    """Return max_strength in every round."""
    del t
    return max_strength


SCHEDULES = MappingProxyType({"decaying": decaying, "constant": constant})
