"""How far the agents' tasks differ: random shifts and rotations of one landscape.

Everything here is in search coordinates, where the box has width one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.linalg import expm

from guidefbo.core.arrays import Matrix, Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Heterogeneity:
    """Strength of the two transformations."""

    shift_scale: float
    """Root-mean-square shift per coordinate, as a share of the box width."""
    rotation_scale: float
    """Factor of the random skew-symmetric generator of the rotation."""


LEVELS: Mapping[int, Heterogeneity] = MappingProxyType(
    {
        1: Heterogeneity(shift_scale=0.0, rotation_scale=0.0),
        2: Heterogeneity(shift_scale=0.05, rotation_scale=0.1),
        3: Heterogeneity(shift_scale=0.3, rotation_scale=1.0),
    }
)
"""The paper's three regimes: identical, mildly and strongly different tasks."""


def draw_shift(scale: float, dim: int, stream: np.random.Generator) -> Point:
    """Return z ~ N(0, scale^2 I)."""
    return scale * stream.standard_normal(dim)  # E30


def draw_common_shift(size: float, dim: int, stream: np.random.Generator) -> Point:
    """Return a displacement for the whole federation, uniform within +-size."""
    return stream.uniform(-size, size, dim)


def draw_rotation(scale: float, dim: int, stream: np.random.Generator) -> Matrix:
    """Return R = exp(scale (A - A^T)) with standard Gaussian A."""
    if scale == 0.0:
        return np.eye(dim)  # Exact, so that Level 1 is the base function bit for bit.
    A = stream.standard_normal((dim, dim))
    return np.asarray(expm(scale * (A - A.T)), dtype=np.float64)  # E31
