import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from guidefbo.core.errors import FedBOError, SpaceError
from guidefbo.core.space.space import Float, Space

UNIT = st.floats(0.0, 1.0)


@st.composite
def parameters(draw):
    log = draw(st.booleans())
    low = draw(st.floats(1e-6, 1e6) if log else st.floats(-1e6, 1e6))
    high = low + draw(st.floats(1e-3, 1e6))
    return Float(low, high, log=log)


def spaces():
    names = st.text("abcxyz", min_size=1, max_size=3)
    return st.dictionaries(names, parameters(), min_size=1, max_size=5).map(
        lambda given: Space(**given)
    )


def size(parameter):
    return max(abs(parameter.low), abs(parameter.high))


@given(parameters(), UNIT)
def test_unit_to_value_and_back(parameter, u):
    value = parameter.from_unit(u)
    assert parameter.low <= value <= parameter.high
    # A value rounds at 1e-16 of its size (times the logarithm's, at most 14, on a
    # logarithmic scale); a narrow interval far from 0 magnifies that.
    if parameter.log:
        width = math.log(parameter.high / parameter.low) * parameter.low
    else:
        width = parameter.high - parameter.low
    assert parameter.to_unit(value) == pytest.approx(
        u, abs=1e-14 * (1.0 + size(parameter) / width)
    )


@given(parameters(), UNIT)
def test_value_to_unit_and_back(parameter, share):
    value = parameter.low + share * (parameter.high - parameter.low)
    assume(value <= parameter.high)
    u = parameter.to_unit(value)
    assert 0.0 <= u <= 1.0
    assert parameter.from_unit(u) == pytest.approx(value, abs=1e-13 * size(parameter))


@given(parameters())
def test_ends_are_the_bounds(parameter):
    assert parameter.from_unit(0.0) == pytest.approx(parameter.low, rel=1e-14)
    assert parameter.from_unit(1.0) == pytest.approx(parameter.high, rel=1e-14)
    assert parameter.to_unit(parameter.low) == 0.0
    assert parameter.to_unit(parameter.high) == 1.0


@given(parameters(), UNIT, UNIT)
def test_order_is_kept(parameter, a, b):
    a, b = sorted((a, b))
    assert parameter.from_unit(a) <= parameter.from_unit(b)


def test_logarithmic_scale_by_hand():
    dose = Float(0.01, 100, log=True)
    assert [dose.from_unit(u) for u in (0.0, 0.25, 0.5, 1.0)] == pytest.approx(
        [0.01, 0.1, 1.0, 100.0]
    )
    assert dose.to_unit(10) == pytest.approx(0.75)


def test_linear_scale_by_hand():
    assert Float(-2, 6).from_unit(0.25) == 0.0
    assert Float(-2, 6).to_unit(4) == 0.75


@given(spaces(), st.data())
def test_space_round_trip_keeps_names_and_order(space, data):
    x = np.array(data.draw(st.lists(UNIT, min_size=space.dim, max_size=space.dim)))
    values = space.from_unit(x)
    assert list(values) == list(space.parameters)
    assert all(type(value) is float for value in values.values())
    shuffled = dict(reversed(values.items()))
    assert np.array_equal(space.to_unit(values), space.to_unit(shuffled))
    each = [p.from_unit(u) for p, u in zip(space.parameters.values(), x, strict=True)]
    assert list(values.values()) == each


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 1),
        (2, 1),
        (0, math.inf),
        (-math.inf, 0),
        (math.nan, 1),
        (0, math.nan),
        ("0", 1),
        (None, 1),
        (False, True),
        (0, 10**400),
        (np.complex128(1.0), 2),
    ],
    ids=lambda bound: repr(bound)[:20],
)
def test_bounds_must_be_finite_numbers_in_order(low, high):
    with pytest.raises(SpaceError, match="finite bounds with low < high"):
        Float(low, high)


@pytest.mark.parametrize("low", [0, -1, -0.0])
def test_logarithmic_bounds_must_be_positive(low):
    with pytest.raises(SpaceError, match=rf"low > 0, got low={low}.*drop log"):
        Float(low, 1, log=True)


@pytest.mark.parametrize(
    "value", [-0.1, 1.1, math.nan, math.inf, "0.5", None, True, [0.5]]
)
def test_value_outside_is_refused(value):
    with pytest.raises(SpaceError, match=r"number in \[0, 1\], got"):
        Float(0, 1).to_unit(value)


def test_numpy_numbers_are_numbers():
    parameter = Float(np.float32(0.0), np.int64(2))
    assert parameter.from_unit(0.5) == 1.0
    assert parameter.to_unit(np.float64(1.0)) == 0.5


def test_space_needs_parameters():
    with pytest.raises(SpaceError, match="at least one parameter"):
        Space()


def test_space_takes_parameters_only():
    with pytest.raises(SpaceError, match=r"dose must be a Float, .* got \(0, 1"):
        Space(dose=(0, 1))


@pytest.mark.parametrize("values", [{}, {"a": 0.1}, {"a": 0.1, "b": 0.2, "c": 0.3}])
def test_space_wants_exactly_its_names(values):
    with pytest.raises(SpaceError, match=r"values for \['a', 'b'\], got"):
        Space(a=Float(0, 1), b=Float(0, 1)).to_unit(values)


def test_space_reads_as_it_is_written():
    space = Space(dose=Float(1, 2, log=True))
    assert repr(space) == "Space(dose=Float(low=1, high=2, log=True))"
    assert space.dim == 1


def test_parameters_cannot_be_changed():
    space = Space(a=Float(0, 1))
    with pytest.raises(TypeError):
        space.parameters["b"] = Float(0, 1)
    assert issubclass(SpaceError, FedBOError)
