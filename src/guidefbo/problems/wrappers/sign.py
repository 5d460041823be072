"""The only place where a function to be minimised becomes one to be maximised."""

from dataclasses import dataclass

from guidefbo.core.arrays import Values


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Negate:
    """Turn values to be minimised into values to be maximised."""

    def __call__(self, values: Values) -> Values:
        """Return the values with their sign changed."""
        # Subtraction, not unary minus: an optimum of 0 is shown as 0, not as -0.
        return 0.0 - values

    def __repr__(self) -> str:
        return "negate"
