"""A base function between the maps applied to its points and to its values."""

from collections.abc import Callable
from dataclasses import dataclass

from guidefbo.core.arrays import Points, Values


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
