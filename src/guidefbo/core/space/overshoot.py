"""Values beyond the bounds of a parameter: what was set is not always what was run."""

import math
from typing import Any

from guidefbo.core.checks import is_finite_number
from guidefbo.core.space.parameters import Float, Int, Parameter

OVERSHOOT = 0.05
"""How far beyond a bound a value may have been run, as a share of the range."""


def nearest(parameter: Parameter, value: Any, overshoot: float) -> Any:
    """Return a value, or the bound next to it where it lies outside by little.

    >>> nearest(Float(0.5, 2.0), 0.498, OVERSHOOT), nearest(Float(0.5, 2.0), 1.7, 0.0)
    (0.5, 1.7)

    Args:
        parameter: Its kind and bounds.
        value: What was run.
        overshoot: How far it may lie outside, as a share of the range: of the range of
            logarithms on a logarithmic scale.
    """
    if not isinstance(parameter, Float | Int) or not is_finite_number(value):
        return value
    low, high = parameter.low, parameter.high
    if overshoot <= 0.0 or low <= value <= high:
        return value
    # What is too far, or a fraction of a whole number, is refused by the parameter.
    is_whole = isinstance(parameter, Float) or float(value).is_integer()
    if not is_whole or not _is_near(parameter, float(value), overshoot):
        return value
    return low if value < low else high


def _is_near(parameter: Float | Int, value: float, overshoot: float) -> bool:
    if math.isinf(overshoot):
        return True
    low, high = float(parameter.low), float(parameter.high)
    if not parameter.log:
        return max(low - value, value - high) <= overshoot * (high - low)
    if value <= 0.0:
        return False
    beyond = max(math.log(low / value), math.log(value / high))
    return beyond <= overshoot * math.log(high / low)
