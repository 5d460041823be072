"""The messages of the guide strategy: one component up, a few components down.

Diagonal components: 2d+2 scalars up, at most P(2d+1) down. Full ones replace the d
variances by the d(d+1)/2 entries of the covariance's lower triangle.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Point, frozen_array
from guidefbo.core.component import Components
from guidefbo.core.errors import WireError
from guidefbo.wire import entries
from guidefbo.wire.entries import require_fields

MAX_SCORE = 1e6
"""Largest value score in absolute value: standardised scores are of order one."""
MAX_COMPONENTS = 100
"""Most components in a packet: a decision evaluates every one of them many times."""
MIN_MASS = 1e-12
"""Smallest mass: a component holds at least one of the sampled paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimumUpload:
    """One agent's dominant component Φ with its value score."""

    KIND: ClassVar[str] = "guide.upload"

    mass: float
    """OptimumBelief weight, in (0, 1]."""
    center: Point
    """(d,), in the unit cube."""
    variance: NDArray[np.float64]
    """(d,) if diagonal, (d, d) if full."""
    value_score: float
    """Standardised lower confidence bound at the centre."""

    def __post_init__(self) -> None:
        for name in ("center", "variance"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        entries.number(self.mass, "mass", MIN_MASS, 1.0)
        entries.number(self.value_score, "value_score", -MAX_SCORE, MAX_SCORE)
        d = self.dim
        if self.variance.shape not in ((d,), (d, d)) or d == 0:
            raise WireError(
                f"variance must have shape ({d},) or ({d}, {d}) like the centre, got "
                f"{self.variance.shape}."
            )
        _check_gaussians(self.center, self.variance, self.variance.ndim == 2)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.center)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "mass": float(self.mass),
            "center": self.center.tolist(),
            **_spread_to_body(self.variance, self.variance.ndim == 2),
            "value_score": float(self.value_score),
        }  # E38

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        spread = _spread_name(body)
        require_fields(body, {"mass", "center", spread, "value_score"}, "an upload")
        center = entries.array(body["center"], "center", ndim=1)
        return cls(
            mass=entries.number(body["mass"], "mass", MIN_MASS, 1.0),
            center=center,
            variance=_spread_from_body(body, spread, (len(center),)),
            value_score=entries.number(
                body["value_score"], "value_score", -MAX_SCORE, MAX_SCORE
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidancePacket:
    """The components Ψ one agent receives, with their global weights."""

    KIND: ClassVar[str] = "guide.packet"

    components: Components
    """At most `packet_size` of them."""

    def __post_init__(self) -> None:
        c = self.components
        if len(c) > MAX_COMPONENTS:
            raise WireError(
                f"A packet may hold at most {MAX_COMPONENTS} components, got {len(c)}."
            )
        for weight in c.weights:
            entries.number(float(weight), "weight", 0.0, 1.0)
        _check_gaussians(c.centers, c.variances, c.is_full)

    def __len__(self) -> int:
        return len(self.components)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.components.centers.shape[1]

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        c = self.components
        return {
            "weights": c.weights.tolist(),
            "centers": c.centers.tolist(),
            **_spread_to_body(c.variances, c.is_full),
        }  # E38

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        spread = _spread_name(body)
        require_fields(body, {"weights", "centers", spread}, "a packet")
        weights = entries.array(body["weights"], "weights", ndim=1)
        centers = entries.array(body["centers"], "centers", ndim=2)
        if len(weights) != len(centers):
            raise WireError(
                f"A packet needs one weight per centre, got {len(weights)} weights and "
                f"{len(centers)} centres."
            )
        variances = _spread_from_body(body, spread, centers.shape)
        return cls(
            components=Components(weights=weights, centers=centers, variances=variances)
        )


def _check_gaussians(
    centers: NDArray[np.float64], variances: NDArray[np.float64], is_full: bool
) -> None:
    if not (np.isfinite(centers).all() and np.isfinite(variances).all()):
        raise WireError("center and variance must be finite, and they are not.")
    entries.in_box(centers, "center")
    entries.positive_spread(variances, is_full, "variance")


def _spread_name(body: Mapping[str, Any]) -> str:
    return "covariance" if "covariance" in body else "variance"


def _spread_to_body(variances: NDArray[np.float64], is_full: bool) -> dict[str, Any]:
    if not is_full:
        return {"variance": variances.tolist()}
    rows, cols = np.tril_indices(variances.shape[-1])
    return {"covariance": variances[..., rows, cols].tolist()}


def _spread_from_body(
    body: Mapping[str, Any], name: str, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    d = shape[-1]
    per_component = d if name == "variance" else d * (d + 1) // 2
    packed = entries.array(body[name], name, ndim=len(shape))
    if packed.shape != (*shape[:-1], per_component):
        raise WireError(
            f"{name} must have shape {(*shape[:-1], per_component)} for centres of "
            f"shape {shape}, got {packed.shape}."
        )
    if name == "variance":
        return packed
    full = np.zeros((*shape, d))
    rows, cols = np.tril_indices(d)
    full[..., rows, cols] = packed
    full[..., cols, rows] = packed
    return full
