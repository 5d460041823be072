"""The messages of the cgp strategy: one design up, a few designs down.

d+2 scalars up, m d down for m designs; often there is none, and the packet is empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from guidefbo.core.arrays import Point, Points, frozen_array
from guidefbo.core.errors import WireError
from guidefbo.wire import entries
from guidefbo.wire.entries import require_fields

MAX_LEVEL = 1e100
"""Largest level in absolute value: that of an observation."""
MAX_DESIGNS = 15
"""Most designs in a packet: one table holds all patterns of what they may exceed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignUpload:
    """One agent's surest design, with two levels of its posterior."""

    KIND: ClassVar[str] = "cgp.upload"

    design: Point
    """(d,), in the unit cube: where the lower confidence bound is highest."""
    lower_bound: float
    """The lower confidence bound there, ℓ_k."""
    best_mean: float
    """The highest posterior mean, b_k."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", frozen_array(self.design))
        _check_designs(self.design, "design", 1)
        for name in ("lower_bound", "best_mean"):
            entries.number(getattr(self, name), name, -MAX_LEVEL, MAX_LEVEL)
        if not self.dim:
            raise WireError("A design must have one coordinate or more, got none.")

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.design)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "design": self.design.tolist(),
            "lower_bound": float(self.lower_bound),
            "best_mean": float(self.best_mean),
        }  # E62

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"design", "lower_bound", "best_mean"}, "an upload")
        levels = {
            name: entries.number(body[name], name, -MAX_LEVEL, MAX_LEVEL)
            for name in ("lower_bound", "best_mean")
        }
        return cls(design=entries.array(body["design"], "design", ndim=1), **levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPacket:
    """Designs of other agents that may beat the receiver's best."""

    KIND: ClassVar[str] = "cgp.packet"

    designs: Points
    """(m, d), in the unit cube; (0, 0) where there is none."""

    def __post_init__(self) -> None:
        designs = frozen_array(self.designs)
        if not len(designs):
            # The wire carries no dimension where there is nothing to place.
            designs = frozen_array(np.empty((0, 0)))
        object.__setattr__(self, "designs", designs)
        if len(designs) > MAX_DESIGNS:
            raise WireError(
                f"A packet may hold at most {MAX_DESIGNS} designs, got {len(designs)}. "
                "Make the groups smaller."
            )
        _check_designs(designs, "designs", 2)

    def __len__(self) -> int:
        return len(self.designs)

    @property
    def dim(self) -> int:
        """Number of coordinates, 0 where there is no design."""
        return self.designs.shape[1]

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {"designs": self.designs.tolist()}  # E62

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"designs"}, "a packet")
        if body["designs"] == []:
            return cls(designs=np.empty((0, 0)))
        return cls(designs=entries.array(body["designs"], "designs", ndim=2))


def _check_designs(designs: np.ndarray, name: str, ndim: int) -> None:
    if designs.ndim != ndim:
        raise WireError(
            f"{name} must have {ndim} axes, got {designs.ndim}: {designs.shape}."
        )
    if not np.isfinite(designs).all():
        raise WireError(f"{name} must be finite, and it is not.")
    if designs.size:
        entries.in_box(designs, name)
