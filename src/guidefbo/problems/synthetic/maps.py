"""The maps that turn a base function into an agent's task, and the noise.

Search coordinates are the raw ones divided by the width of the box, so that the box
has width one and keeps the raw origin.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guidefbo.core.arrays import Matrix, Point, Points, Values, frozen_array


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Shift:
    """Move the landscape by `vector`: the argument becomes x - vector."""

    vector: Point
    """Displacement in search coordinates, where the box has width one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", frozen_array(self.vector))

    def __call__(self, X: Points) -> Points:
        """Return the points as the unmoved landscape sees them."""
        return X - self.vector

    def __repr__(self) -> str:
        return f"shift[{np.linalg.norm(self.vector):.3g}]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rotate:
    """Turn every point x into matrix @ x. The result is not clipped to any box."""

    matrix: Matrix
    """Orthogonal, determinant one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", frozen_array(self.matrix))

    def __call__(self, X: Points) -> Points:
        """Return the turned points."""
        return X @ self.matrix.T

    def __repr__(self) -> str:
        # The Frobenius distance from the identity: 0 says that nothing is turned.
        distance = np.linalg.norm(self.matrix - np.eye(len(self.matrix)))
        return f"rotate[{distance:.3g}]"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Negate:
    """Turn values to be minimised into values to be maximised: the only place."""

    def __call__(self, values: Values) -> Values:
        """Return the values with their sign changed."""
        # Subtraction, not unary minus: an optimum of 0 is shown as 0, not as -0.
        return 0.0 - values

    def __repr__(self) -> str:
        return "negate"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Noise:
    """Add independent Gaussian noise."""

    std: float
    """Standard deviation, in the unit of the values it is added to."""

    def __call__(self, values: Values, stream: np.random.Generator) -> Values:
        """Return the values with noise drawn from `stream`."""
        return values + self.std * stream.standard_normal(values.shape)

    def __repr__(self) -> str:
        return f"noise[{self.std:.3g}]"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stack:
    """Apply `inputs`, then `function`, then `outputs`, each in the order given."""

    inputs: tuple[Callable[[Points], Points], ...]
    """Maps of the points; the first one sees the unit cube."""
    function: Callable[[Points], Values]
    """Base function, in raw coordinates."""
    outputs: tuple[Callable[[Values], Values], ...]
    """Maps of the values."""

    def __call__(self, X: Points) -> Values:
        """Return the values of the whole stack."""
        for change in self.inputs:
            X = change(X)
        values = self.function(X)
        for change in self.outputs:
            values = change(values)
        return values

    def __repr__(self) -> str:
        text = "x"
        for part in (*self.inputs, self.function, *self.outputs):
            text = f"{part!r}({text})"
        return text
