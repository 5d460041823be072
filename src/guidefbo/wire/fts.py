"""The messages of the FTS and FTS-DE strategies.

FTS: M weights each way. FTS-DE: M up, R M down for R regions. fts-de-as-run: 2M and
2 R M, a cosine and a sine per frequency. fts-as-run: one point, d scalars each way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Point, Values, frozen_array
from guidefbo.core.errors import WireError
from guidefbo.wire import entries
from guidefbo.wire.entries import require_fields
from guidefbo.wire.regions import REGION_COUNTS

MAX_NORM = 1e6
"""Largest Euclidean norm of a vector of weights, which no honest posterior reaches.

A draw is ω = ν + ω₀: a mean, and a centred part of at most the prior's variance 1, so
that |ω₀| is about √M, 22 of 500 features. With the singular values s of the features,
ν = V diag(s / (s² + σ²)) U'y, and s / (s² + σ²) is at most 1 / (2σ): |ν| <= |y| / (2σ).
The model takes no noise for less than σ = 1e-3. A site's values are standardised,
|y| <= √n, and stay below up to 4 000 000 of them; values of a simulated run, of 100 in
size, up to 400. Averages are no longer than what they average.
Runs here send at most 1.4√M with noise, 10√M without. A positive factor moves no
maximum: the limit keeps one vector from being an average, not a peer from being wrong.
"""
MANY_FEATURES = 10_000
"""Most weights that a coordinator takes: twenty times the usual number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureWeights:
    """One draw ω of an agent's feature weights, up to the server and on to a peer."""

    KIND: ClassVar[str] = "fts.weights"

    weights: Values
    """(M,), one per shared feature."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen_array(self.weights))
        _check_weights(self.weights, ndim=1)

    @property
    def num_features(self) -> int:
        """Number of shared features."""
        return len(self.weights)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {"weights": self.weights.tolist()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"weights"}, "feature weights")
        return cls(weights=entries.array(body["weights"], "weights", ndim=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionWeights:
    """The averaged weights of every region, the same for all agents."""

    KIND: ClassVar[str] = "fts.regions"

    weights: Matrix
    """(R, M), one row a region."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen_array(self.weights))
        _check_weights(self.weights, ndim=2)
        if self.num_regions not in REGION_COUNTS:
            raise WireError(
                "weights must have a row for each of 1, 2 or 4 regions, got "
                f"{self.num_regions} rows."
            )

    @property
    def num_regions(self) -> int:
        """Number of regions."""
        return self.weights.shape[0]

    @property
    def num_features(self) -> int:
        """Number of shared features."""
        return self.weights.shape[1]

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {"weights": self.weights.tolist()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"weights"}, "region weights")
        return cls(weights=entries.array(body["weights"], "weights", ndim=2))


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerPoint:
    """Where a posterior draw peaks: FTS as presumed behind the paper's tables."""

    KIND: ClassVar[str] = "fts.point"

    point: Point
    """(d,), in the unit cube."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", frozen_array(self.point))
        if self.point.ndim != 1 or not self.dim or not np.isfinite(self.point).all():
            raise WireError(
                "point must be one row of finite coordinates, got shape "
                f"{self.point.shape}."
            )
        entries.in_box(self.point, "point")

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.point)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {"point": self.point.tolist()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"point"}, "a point")
        return cls(point=entries.array(body["point"], "point", ndim=1))


def same_features(num_features: int, expected: int, name: str) -> None:
    """Refuse weights of another number of features than the study's."""
    if num_features != expected:
        raise WireError(
            f"{name} must have {expected} feature weights, got {num_features}. Do all "
            "sides use the same num_shared?"
        )


def _check_weights(weights: NDArray[np.float64], ndim: int) -> None:
    if weights.ndim != ndim or not weights.size:
        raise WireError(
            f"weights must have {ndim} axes, none of them empty, got shape "
            f"{weights.shape}."
        )
    # In two steps, since squares of what is too large may overflow; and comparisons
    # that not-a-number fails as well.
    is_small = (np.abs(weights) <= MAX_NORM).all()
    if not is_small or not (np.linalg.norm(weights, axis=-1) <= MAX_NORM).all():
        raise WireError(
            f"weights must be finite numbers, each vector of a norm of at most "
            f"{MAX_NORM:g}, which no posterior of standardised values exceeds, and "
            f"they are not: the largest is {np.abs(weights).max():g} in size."
        )
