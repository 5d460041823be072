"""Numbers between the values that are asked: off a step, or with more digits."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from guidefbo.core.space.parameters import Float
from guidefbo.core.space.steps import to_digits

SAME = 1e-9
"""How far from a value, in steps or units of the last digit, a number still is it."""


def values_beside(parameter: Float, number: float) -> tuple[float, ...]:
    """Return the values that are asked next to a number; none where it is one itself.

    >>> x = Float(0, 10, step=0.1)
    >>> values_beside(x, 0.33), values_beside(x, 0.3)
    ((0.3, 0.4), ())
    >>> values_beside(Float(0, 1000, digits=2), 123)
    (120.0, 130.0)

    Args:
        parameter: The parameter.
        number: A number within its bounds.
    """
    if parameter.step is None and parameter.digits is None:
        return ()
    around = _on_steps if parameter.step is not None else _in_digits
    values, spacing = around(parameter, number)
    is_asked = any(abs(value - number) <= SAME * spacing for value in values)
    return () if is_asked else tuple(values)


def _on_steps(parameter: Float, number: float) -> tuple[list[float], float]:
    """Return the values on steps next to a number, and the step."""
    grid = parameter.grid
    assert grid is not None
    k = round((number - grid.low) / grid.step)
    places = [j for j in (k - 1, k, k + 1) if 0 <= j <= grid.last]
    return _nearest_two([grid.value(j) for j in places], number), grid.step


def _in_digits(parameter: Float, number: float) -> tuple[list[float], float]:
    """Return the values of so many digits next to a number, and their distance."""
    assert parameter.digits is not None
    digits, written = parameter.digits, Decimal(repr(float(number)))
    last = Decimal(1).scaleb(written.adjusted() - digits + 1)
    low, high = float(parameter.low), float(parameter.high)
    values: set[float] = set()
    for way in (ROUND_FLOOR, ROUND_CEILING):
        value = float((written / last).to_integral_value(way) * last)
        # A bound with more digits is asked where rounding would leave the bounds.
        value = min(max(value, low), high)
        if min(max(to_digits(value, digits), low), high) == value:
            values.add(value)
    return _nearest_two(sorted(values), number), float(last)


def _nearest_two(values: list[float], number: float) -> list[float]:
    """Return the nearest value on either side of a number."""
    below = [value for value in values if value <= number]
    above = [value for value in values if value > number]
    return [*below[-1:], *above[:1]]
