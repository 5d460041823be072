"""How many digits people see of a parameter's values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo import Bool, Choice, Float, Int
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.digits import digits_of
from guidefbo.core.space.levels import Levels


@pytest.mark.parametrize(
    ("parameter", "digits"),
    [
        (Float(0, 1), 6),
        (Float(20, 80), 6),
        (Float(-5, 5), 6),
        (Float(1e-6, 1, log=True), 6),
        (Float(0, 1e9), 6),
        (Float(1000, 1050), 6),
        (Float(20, 80, step=0.5), 6),
        (Float(0, 100, step=1 / 3), 6),
        (Int(1, 10**7), 6),
        (Bool(), 6),
        (Choice("a", 1.5, 2), 6),
        (Levels(1e-6, 1e-3, 1e6), 6),
        (Float(1e6, 1e6 + 1), 10),
        (Float(532.0, 532.0010), 9),
        (Float(0, 1e5, step=0.25), 8),
        (Float(0, 1, digits=9), 9),
        (Int(10**6, 10**6 + 5), 10),
        (Levels(532.0, 532.0001, 532.001), 7),
        (Choice(0.12345678, 0.12345679), 8),
    ],
)
def test_digits_follow_from_the_range(parameter, digits):
    assert digits_of(parameter) == digits


@given(
    low=st.floats(-1e6, 1e6),
    span=st.floats(1e-3, 1e6),
    u=st.integers(0, 999),
)
def test_a_thousand_values_of_a_range_are_told_apart(low, span, u):
    parameter = Float(low, low + span)
    a, b = (parameter.from_unit(v / 1000) for v in (u, u + 1))
    digits = digits_of(parameter)
    assert f"{a:.{digits}g}" != f"{b:.{digits}g}" or np.isclose(a, b, rtol=1e-15)


def test_a_value_outside_is_refused_in_the_digits_of_its_range():
    with pytest.raises(SpaceError, match=r"in \[1000000, 1000001\], got 5"):
        Float(1e6, 1e6 + 1).to_unit(5.0)
