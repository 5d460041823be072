"""The messages of the control shared-data: raw observations, up and down.

n (d + 2) scalars of n observations: inputs, values and the variance of their noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import frozen_array
from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.wire import entries
from guidefbo.wire.entries import require_fields

MAX_ROWS = 2000
"""Most observations of a message."""
LARGEST = 1e3
"""Largest value in size: of n standardised values none is above √n."""
LEAST_NOISE, MOST_NOISE = 1e-12, 1e6
"""Least and largest variance of the noise, in squared standard deviations."""
SLACK = 1e-9
"""How far a number may lie beyond these limits, relatively, before it is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedObservations:
    """All observations of one site, its values standardised by themselves."""

    KIND: ClassVar[str] = "shared-data.upload"

    inputs: NDArray[np.float64]
    """(n, d), in the unit cube."""
    values: NDArray[np.float64]
    """(n,), of mean 0 and standard deviation 1 at the site; higher is better."""
    noise: NDArray[np.float64]
    """(n,) variance of each value's noise, in squared standard deviations."""

    def __post_init__(self) -> None:
        for name in ("inputs", "values", "noise"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        shapes = self.inputs.shape, self.values.shape, self.noise.shape
        if len(shapes[0]) != 2 or not self.inputs.size:
            raise WireError(
                "inputs must be one row or more of one coordinate or more, got shape "
                f"{shapes[0]}."
            )
        if {shapes[1], shapes[2]} != {shapes[0][:1]}:
            raise WireError(
                f"Expected a value and a noise for each of {shapes[0][0]} inputs, got "
                f"shapes {shapes[1]} and {shapes[2]}."
            )
        if len(self) > MAX_ROWS:
            raise WireError(
                f"A message has at most {MAX_ROWS} observations, got {len(self)}."
            )
        if not np.isfinite(self.inputs).all():
            raise WireError("inputs must be finite numbers, and they are not.")
        entries.in_box(self.inputs, "inputs")
        _check(self.values, "values", -LARGEST, LARGEST)
        _check(self.noise, "noise", LEAST_NOISE, MOST_NOISE)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.inputs.shape[1]

    def __len__(self) -> int:
        return len(self.inputs)

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "inputs": self.inputs.tolist(),
            "values": self.values.tolist(),
            "noise": self.noise.tolist(),
        }

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"inputs", "values", "noise"}, "observations")
        return cls(
            inputs=entries.array(body["inputs"], "inputs", ndim=2),
            values=entries.array(body["values"], "values", ndim=1),
            noise=entries.array(body["noise"], "noise", ndim=1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPacket:
    """Observations of the other sites, site by site; none where nobody else is."""

    KIND: ClassVar[str] = "shared-data.packet"

    sites: tuple[SharedObservations, ...]
    """Those of one site each, without its name."""

    def __post_init__(self) -> None:
        dims = {site.dim for site in self.sites}
        if len(dims) > 1:
            raise WireError(
                f"All observations of a packet must have one dimension, got {dims}."
            )
        if len(self) > MAX_ROWS:
            raise WireError(
                f"A packet has at most {MAX_ROWS} observations, got {len(self)}."
            )

    def __len__(self) -> int:
        return sum(map(len, self.sites))

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {"sites": [site.to_body() for site in self.sites]}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message."""
        require_fields(body, {"sites"}, "a packet")
        value = body["sites"]
        sites = cast(list[Any], value) if isinstance(value, list) else None
        if sites is None or not all(isinstance(site, dict) for site in sites):
            raise WireError(f"sites must be a list of objects, got {shown(value)}.")
        if len(sites) > MAX_ROWS:
            raise WireError(f"A packet has at most {MAX_ROWS} sites, got {len(sites)}.")
        return cls(sites=tuple(map(SharedObservations.from_body, sites)))


def _check(numbers: NDArray[np.float64], name: str, low: float, high: float) -> None:
    # Written so that a number that is none fails as well.
    inside = (numbers >= low - SLACK * abs(low)) & (numbers <= high * (1.0 + SLACK))
    if not inside.all():
        raise WireError(
            f"{name} must lie from {low:g} to {high:g}, got {shown(numbers.tolist())}."
        )
