"""Changes of unit: unit cube, search coordinates, raw coordinates, scaled values.

Search coordinates are the raw ones divided by the width of the box, so that the box
has width one and keeps the raw origin.
"""

from dataclasses import dataclass

from guidefbo.core.arrays import Point, Points, Values, frozen_array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToSearch:
    """Take points of the unit cube to search coordinates."""

    corner: Point
    """Lower corner of the box in search coordinates."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "corner", frozen_array(self.corner))

    def __call__(self, X: Points) -> Points:
        """Return the points with the raw origin as their origin."""
        return X + self.corner

    def __repr__(self) -> str:
        return "to_search"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToRaw:
    """Take points in search coordinates to raw coordinates."""

    width: Point
    """Width of the raw box along each coordinate."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", frozen_array(self.width))

    def __call__(self, X: Points) -> Points:
        """Return the points in raw coordinates."""
        return X * self.width

    def __repr__(self) -> str:
        return "to_raw"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScaleOutput:
    """Express raw values in units of `scale`."""

    scale: float
    """Raw value that becomes one."""

    def __call__(self, values: Values) -> Values:
        """Return the scaled values."""
        return values / self.scale

    def __repr__(self) -> str:
        return f"scale_output[{self.scale:g}]"
