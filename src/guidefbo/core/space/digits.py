"""How many digits tell the values of a parameter apart."""

from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Choice, Float, Int, Parameter
from guidefbo.core.space.scales import DIGITS, MAX_DIGITS, digits_between


def digits_of(parameter: Parameter) -> int:
    """Return the significant digits in which people see a parameter's values.

    >>> digits_of(Float(20, 80)), digits_of(Float(532.0, 532.001))
    (6, 9)
    """
    match parameter:
        case Float():
            step = parameter.step
            finest = None if step is None else step / 10
            digits = digits_between(parameter.low, parameter.high, finest)
            return max(digits, parameter.digits or 0)
        case Int():
            return digits_between(parameter.low, parameter.high)
        case Levels():
            return _telling_apart(parameter.values)
        case Choice():
            options = parameter.options
            return _telling_apart([o for o in options if isinstance(o, float)])
        case _:
            return DIGITS


def _telling_apart(values: "tuple[float, ...] | list[float]") -> int:
    """Return the fewest digits, at least six, in which no two values are alike."""
    for digits in range(DIGITS, MAX_DIGITS):
        if len({f"{value:.{digits}g}" for value in values}) == len(values):
            return digits
    return MAX_DIGITS
