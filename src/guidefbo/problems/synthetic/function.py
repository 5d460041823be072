"""The record of one synthetic base function."""

from collections.abc import Callable
from dataclasses import dataclass

from guidefbo.core.arrays import Point, Points, Values
from guidefbo.problems.synthetic.wells import Wells


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SyntheticFunction:
    """A test function in its usual form: raw coordinates, to be minimised."""

    name: str
    """Name in the catalogue."""
    domain: tuple[float, float]
    """Lower and upper end of the raw box, the same for every coordinate."""
    output_scale: float
    """Raw value that counts as one in scaled units."""
    landscape: str
    """What makes it hard, in a few words."""
    function: Callable[[Points], Values]
    """The formula, over a batch of raw points."""
    maximiser: Callable[[int], Point]
    """Raw location of the optimum in so many dimensions."""
    maximum: Callable[[int], float]
    """Largest value of the sign-changed function in so many dimensions."""
    min_dim: int = 1
    """Smallest dimension in which the formula has a term."""
    is_global: bool = False
    """Whether no raw point is better than the optimum, not even outside the box."""
    wells: Wells | None = None
    """Where its wells are, for a search for the best point of a box; None: unknown."""

    @property
    def width(self) -> float:
        """Width of the raw box."""
        return self.domain[1] - self.domain[0]

    def __call__(self, X: Points) -> Values:
        """Return the values to be minimised at raw points."""
        return self.function(X)

    def __repr__(self) -> str:
        return self.name
