"""Search spaces: named parameters to and from the unit cube.

Natural units live here and nowhere else; everything behind works on the unit cube.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from guidefbo.core.arrays import Point
from guidefbo.core.errors import SpaceError
from guidefbo.core.numbers import is_finite_number, shown

LARGEST = 1e150
"""Largest bound in size; differences and ratios of larger ones overflow."""


@dataclass(frozen=True, slots=True)
class Float:
    """A real parameter between two bounds, on a linear or logarithmic scale.

    >>> round(Float(1, 100, log=True).from_unit(0.5), 6)
    10.0
    """

    low: float
    """Lower bound."""
    high: float
    """Upper bound."""
    log: bool = False
    """Whether the unit interval is spread over the logarithm."""

    def __post_init__(self) -> None:
        if not (
            is_finite_number(self.low)
            and is_finite_number(self.high)
            and self.low < self.high
            and max(abs(self.low), abs(self.high)) <= LARGEST
        ):
            raise SpaceError(
                f"Float needs finite bounds with low < high, got "
                f"low={shown(self.low)}, high={shown(self.high)}."
            )
        if self.log and self.low < 1.0 / LARGEST:
            raise SpaceError(
                f"A logarithmic Float needs low > 0, got low={self.low!r}. Raise the "
                "bound or drop log=True."
            )

    def from_unit(self, u: float) -> float:
        """Return the value at position u of the unit interval."""
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            value = math.exp(low + u * (high - low))
        else:
            value = self.low + u * (self.high - self.low)
        return min(max(value, float(self.low)), float(self.high))

    def to_unit(self, value: float) -> float:
        """Return the position of a value in the unit interval."""
        if not is_finite_number(value) or not self.low <= value <= self.high:
            raise SpaceError(
                f"Expected a number in [{self.low:g}, {self.high:g}], got "
                f"{shown(value)}."
            )
        if self.log:
            u = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            u = (value - self.low) / (self.high - self.low)
        return min(max(u, 0.0), 1.0)


class Space:
    """Named parameters in a fixed order.

    >>> space = Space(dose=Float(1, 100, log=True), hours=Float(1, 5))
    >>> space.to_unit({"dose": 10.0, "hours": 2.0}).tolist()
    [0.5, 0.25]
    """

    def __init__(self, **parameters: Float) -> None:
        """Create a space from parameters given by name."""
        if not parameters:
            raise SpaceError("A space needs at least one parameter, got none.")
        for name, parameter in parameters.items():
            if not isinstance(parameter, Float):
                raise SpaceError(
                    f"Parameter {name} must be a Float, got {parameter!r}."
                )
        self._parameters = MappingProxyType(dict(parameters))

    @property
    def parameters(self) -> Mapping[str, Float]:
        """The parameters by name."""
        return self._parameters

    @property
    def dim(self) -> int:
        """Number of coordinates of the unit cube."""
        return len(self._parameters)

    def from_unit(self, x: Point) -> dict[str, float]:
        """Return the values at a point of the unit cube."""
        items = self._parameters.items()
        return {
            name: p.from_unit(float(u)) for (name, p), u in zip(items, x, strict=True)
        }

    def to_unit(self, values: Mapping[str, Any]) -> Point:
        """Return the point of the unit cube with these values."""
        if values.keys() != self._parameters.keys():
            raise SpaceError(
                f"Expected values for {list(self._parameters)}, got {list(values)}."
            )
        return np.array(
            [p.to_unit(values[name]) for name, p in self._parameters.items()]
        )

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={p!r}" for name, p in self._parameters.items())
        return f"Space({inner})"
