"""The messages of the consensus strategy: one place up, the others' place down.

2d+2 scalars up, with the fields of a diagonal component; 2d+1 down, none where nobody
else has spoken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Point, Points, frozen_array
from guidefbo.core.component import Components
from guidefbo.core.errors import WireError
from guidefbo.wire import entries
from guidefbo.wire.entries import require_fields

MAX_SCORE = 1e6
"""Largest value score in absolute value: standardised scores are of order one."""
SHARPEST = 0.01**2
"""Smallest variance of a place: nobody is heard more than that."""
WIDEST = 1.0 / 12.0
"""Largest variance of a place: that of any point of the axis."""
SLACK = 1e-9
"""How far a variance may lie beyond these two before it is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakUpload:
    """Where one agent's posterior mean peaks, and how well its data place the peak."""

    KIND: ClassVar[str] = "consensus.upload"

    mass: float
    """1: the peak is all there is."""
    center: Point
    """(d,), in the unit cube."""
    variance: NDArray[np.float64]
    """(d,), from `SHARPEST` to `WIDEST`."""
    value_score: float
    """Standardised lower confidence bound at the peak."""

    def __post_init__(self) -> None:
        for name in ("center", "variance"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        entries.number(self.mass, "mass", 1.0, 1.0)
        entries.number(self.value_score, "value_score", -MAX_SCORE, MAX_SCORE)
        if self.center.ndim != 1 or not self.dim:
            raise WireError(
                "center must have one axis and one coordinate or more, got the shape "
                f"{self.center.shape}."
            )
        if self.variance.shape != self.center.shape:
            raise WireError(
                f"variance must have shape {self.center.shape} like the centre, got "
                f"{self.variance.shape}."
            )
        for name in ("center", "variance"):
            _check_finite(getattr(self, name), name)
        entries.in_box(self.center, "center")
        low, high = self.variance.min(), self.variance.max()
        if low < SHARPEST * (1.0 - SLACK) or high > WIDEST * (1.0 + SLACK):
            raise WireError(
                f"variance must lie from {SHARPEST:g} to {WIDEST:g}, got {low:g} to "
                f"{high:g}."
            )

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.center)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "mass": float(self.mass),
            "center": self.center.tolist(),
            "variance": self.variance.tolist(),
            "value_score": float(self.value_score),
        }  # E78

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        names = {"mass", "center", "variance", "value_score"}
        require_fields(body, names, "an upload")
        return cls(
            mass=entries.number(body["mass"], "mass", 1.0, 1.0),
            center=entries.array(body["center"], "center", ndim=1),
            variance=entries.array(body["variance"], "variance", ndim=1),
            value_score=entries.number(
                body["value_score"], "value_score", -MAX_SCORE, MAX_SCORE
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusPacket:
    """The place the other agents agree on, and how far another's may lie from it."""

    KIND: ClassVar[str] = "consensus.packet"

    components: Components
    """One, or none where nobody else has spoken."""

    def __post_init__(self) -> None:
        c = self.components
        if not len(c):
            # The wire carries no dimension where there is nothing to place.
            object.__setattr__(self, "components", _nothing())
            return
        if len(c) > 1:
            raise WireError(f"A packet may hold one component at most, got {len(c)}.")
        for weight in c.weights:
            entries.number(float(weight), "weight", 0.0, 1.0)
        _check_rows(c)

    @classmethod
    def of_rows(cls, centers: Points, variances: Points) -> list[Self]:
        """Return a packet with one component for each row, all rows checked at once.

        Args:
            centers: (N, d), one coordinate or more.
            variances: (N, d).
        """
        whole = Components(
            weights=np.ones(len(centers)), centers=centers, variances=variances
        )
        _check_rows(whole)
        packets: list[Self] = []
        weight, put = whole.weights[:1], object.__setattr__
        for center, variance in zip(
            whole.centers[:, None], whole.variances[:, None], strict=True
        ):
            one, packet = object.__new__(Components), object.__new__(cls)
            put(one, "weights", weight)
            put(one, "centers", center)
            put(one, "variances", variance)
            put(packet, "components", one)
            packets.append(packet)
        return packets

    def __len__(self) -> int:
        return len(self.components)

    @property
    def dim(self) -> int:
        """Number of coordinates, 0 where there is no component."""
        return self.components.centers.shape[1]

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        c = self.components
        return {
            "weights": c.weights.tolist(),
            "centers": c.centers.tolist(),
            "variance": c.variances.tolist(),
        }  # E78

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"weights", "centers", "variance"}, "a packet")
        if all(body[name] == [] for name in body):
            return cls(components=_nothing())
        weights = entries.array(body["weights"], "weights", ndim=1)
        centers = entries.array(body["centers"], "centers", ndim=2)
        if len(weights) != len(centers):
            raise WireError(
                f"A packet needs one weight per centre, got {len(weights)} weights and "
                f"{len(centers)} centres."
            )
        variances = entries.array(body["variance"], "variance", ndim=2)
        return cls(
            components=Components(weights=weights, centers=centers, variances=variances)
        )


def _check_rows(c: Components) -> None:
    """Refuse components that are no places with a variance for each coordinate."""
    if c.variances.shape != c.centers.shape or not c.centers.size:
        raise WireError(
            "A packet needs centres of one coordinate or more and a variance for "
            f"each, got the shapes {c.centers.shape} and {c.variances.shape}."
        )
    _check_finite(c.centers, "center")
    _check_finite(c.variances, "variance")
    entries.in_box(c.centers, "center")
    entries.positive_spread(c.variances, False, "variance")


def _nothing() -> Components:
    return Components(
        weights=np.empty(0), centers=np.empty((0, 0)), variances=np.empty((0, 0))
    )


def _check_finite(numbers: NDArray[np.float64], name: str) -> None:
    if not np.isfinite(numbers).all():
        raise WireError(f"{name} must be finite, and it is not.")
