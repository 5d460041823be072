import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import printable, unit

from guidefbo.core.errors import SpaceError
from guidefbo.core.space.parameters import (
    LARGEST_INT,
    MAX_OPTIONS,
    Bool,
    Choice,
    Float,
    Int,
)
from guidefbo.core.space.scales import FEW_LEVELS


@st.composite
def ints(draw, most=LARGEST_INT):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -most, most - 1))
    high = draw(st.integers(low + 1, most))
    return Int(low, high, log=log)


@st.composite
def small_ints(draw):
    """At most 200 levels: all of them can be looked at."""
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -1000, 1000))
    return Int(low, low + draw(st.integers(1, 199)), log=log)


options = st.one_of(
    st.text(printable, max_size=4),
    st.booleans(),
    st.floats(-10, 10),
    st.integers(-3, 3),
)
choices = st.lists(options, min_size=2, max_size=8, unique=True).map(
    lambda given: Choice(*given)
)


def levels_of(parameter):
    return range(parameter.low, parameter.high + 1)


# Whole numbers.


@given(ints(), st.data())
def test_int_value_to_unit_and_back(parameter, data):
    value = data.draw(st.integers(parameter.low, parameter.high))
    u = parameter.to_unit(value)
    assert 0.0 < u < 1.0
    assert parameter.from_unit(u) == value
    assert type(parameter.from_unit(u)) is int


@given(ints(), unit)
def test_int_from_any_position_is_a_level(parameter, u):
    value = parameter.from_unit(u)
    assert type(value) is int
    assert parameter.low <= value <= parameter.high


@given(ints(), unit, unit)
def test_int_keeps_the_order(parameter, a, b):
    a, b = sorted((a, b))
    assert parameter.from_unit(a) <= parameter.from_unit(b)


@given(ints(), st.lists(unit, min_size=1, max_size=20))
def test_int_snap_agrees_with_the_value_and_changes_nothing_twice(parameter, us):
    u = np.array(us)
    snapped = parameter.snap(u)
    assert (parameter.snap(snapped) == snapped).all()
    values = [parameter.from_unit(each) for each in us]
    assert values == [parameter.from_unit(each) for each in snapped]
    assert snapped.tolist() == [parameter.to_unit(value) for value in values]


@given(small_ints())
def test_every_int_is_reached(parameter):
    assert parameter.from_unit(0.0) == parameter.low
    assert parameter.from_unit(1.0) == parameter.high
    u = np.array([parameter.to_unit(value) for value in levels_of(parameter)])
    assert (np.diff(u) > 0.0).all()
    assert [parameter.from_unit(each) for each in u] == list(levels_of(parameter))
    # Between two neighbours nothing else lies.
    middles = 0.5 * (u[1:] + u[:-1])
    between = [parameter.from_unit(each) for each in middles]
    for k, value in enumerate(between):
        assert value - parameter.low in (k, k + 1)


@pytest.mark.parametrize(("low", "high"), [(1, 4), (-3, 6), (0, 1), (7, 106)])
def test_cells_of_a_linear_int_are_equal(low, high):
    parameter = Int(low, high)
    n = high - low + 1
    grid = (np.arange(1000 * n) + 0.5) / (1000 * n)
    _, counts = np.unique(parameter.snap(grid), return_counts=True)
    assert counts.tolist() == [1000] * n
    middles = [parameter.to_unit(v) for v in range(low, high + 1)]
    assert middles == pytest.approx((np.arange(n) + 0.5) / n, abs=1e-15)


def test_linear_int_by_hand():
    days = Int(1, 4)
    assert [days.to_unit(v) for v in (1, 2, 3, 4)] == [0.125, 0.375, 0.625, 0.875]
    assert [days.from_unit(u) for u in (0.0, 0.249, 0.25, 0.5, 0.99, 1.0)] == [
        *(1, 1, 2, 3, 4, 4)
    ]
    assert days.snap(np.array([[0.1, 0.3], [0.6, 1.0]])).tolist() == [
        [0.125, 0.375],
        [0.625, 0.875],
    ]
    assert days.num_levels == 4


def test_logarithmic_int_by_hand():
    """From log 0.5 to log 4.5: a length of log 9; value v owns v ± 1/2."""
    cycles = Int(1, 4, log=True)
    span = math.log(9.0)
    expected = [math.log(v / 0.5) / span for v in (1, 2, 3, 4)]
    assert [cycles.to_unit(v) for v in (1, 2, 3, 4)] == pytest.approx(expected)
    for k, end in enumerate([1.5, 2.5, 3.5], start=1):
        edge = math.log(end / 0.5) / span
        assert cycles.from_unit(edge - 1e-9) == k
        assert cycles.from_unit(edge + 1e-9) == k + 1
    # The cell of 1 is as wide as those of 2, 3 and 4 together.
    assert cycles.from_unit(0.499999) == 1
    assert cycles.from_unit(0.500001) == 2


def test_largest_ints_keep_every_level():
    for parameter in (
        Int(-LARGEST_INT, LARGEST_INT),
        Int(1, LARGEST_INT, log=True),
        Int(LARGEST_INT - 5, LARGEST_INT),
        Int(LARGEST_INT - 5, LARGEST_INT, log=True),
    ):
        for value in (parameter.low, parameter.low + 1, parameter.high - 1):
            assert parameter.from_unit(parameter.to_unit(value)) == value


@given(ints(), st.lists(unit, min_size=1, max_size=5))
def test_int_steps_are_middles_of_cells_and_few(parameter, us):
    u = parameter.snap(np.array(us))
    steps = parameter.steps(u)
    assert len(steps) == len(u)
    assert (parameter.snap(steps) == steps).all()
    assert steps.shape[1] <= max(FEW_LEVELS, 2 * math.log2(parameter.num_levels) + 2)
    for row, here in zip(steps, u, strict=True):
        value = parameter.from_unit(here)
        reached = {parameter.from_unit(each) for each in row}
        neighbours = {value - 1, value + 1} & set(
            range(max(parameter.low, value - 1), min(parameter.high, value + 1) + 1)
        )
        assert neighbours <= reached


@given(small_ints())
def test_int_steps_lead_from_any_level_to_any_other(parameter):
    """Ten steps of 1, 2, 4, ... cross any 200 levels."""
    everywhere = np.unique([parameter.to_unit(value) for value in levels_of(parameter)])
    reached = everywhere[:1]
    for _ in range(9):
        reached = np.unique(np.append(reached, parameter.steps(reached)))
    assert (reached == everywhere).all()


@pytest.mark.parametrize(
    ("low", "high"),
    [
        *((1, 1), (2, 1), (0, 1.5), (0.0, 2), ("0", 1), (None, 1), (False, True)),
        *((0, 10**13), (-(10**13), 0), (0, math.inf), (math.nan, 1), (0, 10**400)),
        (0, [1]),
    ],
    ids=repr,
)
def test_bounds_of_an_int_must_be_whole(low, high):
    with pytest.raises(SpaceError, match="Int needs whole bounds with low < high"):
        Int(low, high)


@pytest.mark.parametrize("low", [0, -5])
def test_logarithmic_int_must_be_positive(low):
    with pytest.raises(SpaceError, match=rf"low >= 1, got low={low}\..*drop log"):
        Int(low, 10, log=True)


@pytest.mark.parametrize("kind", [Int, Float])
@pytest.mark.parametrize("log", [1, 0, None, "yes", np.True_])
def test_log_is_true_or_false(kind, log):
    with pytest.raises(SpaceError, match="log must be True or False, got"):
        kind(1, 2, log=log)


@pytest.mark.parametrize(
    "value", [0, 5, 2.5, math.nan, math.inf, "2", None, True, [2], 2 + 0j]
)
def test_value_that_is_no_level_is_refused(value):
    with pytest.raises(SpaceError, match="whole number from 1 to 4, got"):
        Int(1, 4).to_unit(value)


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), np.float64(3.0)])
def test_whole_numbers_of_any_kind_are_levels(value):
    assert Int(1, 4).to_unit(value) == 0.625
    assert type(Int(1, 4).clean(value)) is int


def test_bounds_of_numpy_become_plain():
    parameter = Int(np.int64(1), np.int8(4))
    assert type(parameter.low) is type(parameter.high) is int
    assert parameter == Int(1, 4)


# Yes or no.


def test_bool_by_hand():
    warm = Bool()
    assert [warm.from_unit(u) for u in (0.0, 0.49, 0.5, 1.0)] == [
        *(False, False, True, True)
    ]
    assert (warm.to_unit(False), warm.to_unit(True)) == (0.0, 1.0)
    assert warm.snap(np.array([[0.2, 0.7]])).tolist() == [[0.0, 1.0]]
    assert warm.steps(np.array([0.0, 1.0])).tolist() == [[1.0], [0.0]]
    assert type(warm.clean(np.True_)) is bool
    assert Bool() == Bool()


@pytest.mark.parametrize("value", [0, 1, "true", None, 0.5, math.nan, [], "yes"])
def test_bool_takes_no_other_value(value):
    with pytest.raises(SpaceError, match="Expected True or False, got"):
        Bool().to_unit(value)


# Options.


@given(choices, st.data())
def test_choice_to_unit_and_back(choice, data):
    k = data.draw(st.integers(0, choice.size - 1))
    option = choice.options[k]
    block = choice.to_unit(option)
    assert block.tolist() == [float(j == k) for j in range(choice.size)]
    back = choice.from_unit(block)
    assert back == option
    assert type(back) is type(option)
    assert choice.clean(option) == option


@given(choices, st.data())
def test_choice_snap_agrees_with_the_option(choice, data):
    X = data.draw(arrays(float, (4, choice.size), elements=st.floats(-1e3, 1e3)))
    snapped = choice.snap(X)
    assert (choice.snap(snapped) == snapped).all()
    assert (snapped.sum(axis=1) == 1.0).all()
    for row, nearest in zip(X, snapped, strict=True):
        assert choice.from_unit(row) == choice.from_unit(nearest)
        # No other corner is nearer, up to rounding of the larger coordinates.
        distances = ((row - np.eye(choice.size)) ** 2).sum(axis=1)
        own = ((row - nearest) ** 2).sum()
        assert own <= distances.min() * (1.0 + 1e-12)


def test_choice_by_hand():
    drug = Choice("a", "b", "c")
    assert drug.size == 3
    assert drug.to_unit("b").tolist() == [0.0, 1.0, 0.0]
    assert drug.from_unit(np.array([0.2, 0.1, 0.9])) == "c"
    # A tie goes to the option that was named first.
    assert drug.from_unit(np.full(3, 0.5)) == "a"
    assert repr(drug) == "Choice('a', 'b', 'c')"


def test_options_keep_their_kinds():
    mixed = Choice("1", 1, 1.5, False)
    assert [type(option) for option in mixed.options] == [str, int, float, bool]
    assert mixed.clean(1.0) == 1
    assert type(mixed.clean(1.0)) is int


def test_choices_are_equal_where_their_options_are_in_the_same_order():
    assert Choice("a", "b") == Choice("a", "b")
    assert hash(Choice("a", "b")) == hash(Choice("a", "b"))
    assert Choice("a", "b") != Choice("b", "a")
    assert Choice("a", "b") != "ab"


def test_options_cannot_be_changed():
    drug = Choice("a", "b")
    with pytest.raises(AttributeError):
        drug.options = ("c", "d")
    with pytest.raises(AttributeError):
        drug.other = 1


@pytest.mark.parametrize(
    "options",
    [(), ("a",), ("a", "a"), (1, 1.0), (1, True), tuple(range(MAX_OPTIONS + 1))],
    ids=lambda options: repr(options)[:20],
)
def test_options_must_be_several_and_different(options):
    with pytest.raises(SpaceError, match="2 to 1000 different options, got"):
        Choice(*options)


@pytest.mark.parametrize(
    "option",
    [None, math.nan, math.inf, ["a"], ("a", "b"), {"a"}, b"a", 1j, object(), 10**400],
    ids=lambda option: repr(option)[:20],
)
def test_option_must_be_plain(option):
    with pytest.raises(SpaceError, match=r"text, a finite number.*not a list"):
        Choice("x", option)


@pytest.mark.parametrize("value", ["d", "", None, 1, ["a"], math.nan, b"a", {}])
def test_value_that_is_no_option_is_refused(value):
    with pytest.raises(SpaceError, match="Expected one of 'a', 'b', got"):
        Choice("a", "b").to_unit(value)


def test_most_options():
    choice = Choice(*range(MAX_OPTIONS))
    assert choice.size == MAX_OPTIONS
    assert choice.from_unit(choice.to_unit(MAX_OPTIONS - 1)) == MAX_OPTIONS - 1


# Real numbers, at their limits; the rest is in test_space.py.


@pytest.mark.parametrize(
    "parameter",
    [
        Float(-1e150, 1e150),
        Float(1e-150, 1e150, log=True),
        Float(0, 5e-324),
        Float(1.0, math.nextafter(1.0, 2.0)),
        Float(1.0, math.nextafter(1.0, 2.0), log=True),
        Float(1.9999, math.nextafter(1.9999, 2.0), log=True),
        Float(1e149, math.nextafter(1e149, math.inf), log=True),
        Float(1e12, 1e12 + 1),
    ],
    ids=str,
)
def test_extreme_bounds_are_survived(parameter):
    for u in (0.0, 1e-300, 0.3, 0.5, 1.0):
        value = parameter.from_unit(u)
        assert parameter.low <= value <= parameter.high
        assert 0.0 <= parameter.to_unit(value) <= 1.0
    assert parameter.to_unit(parameter.low) == 0.0
    assert parameter.to_unit(parameter.high) == 1.0


@pytest.mark.parametrize("bound", [1e151, -1e151, 10**200])
def test_bounds_too_large_are_refused(bound):
    with pytest.raises(SpaceError, match="Float needs finite bounds"):
        Float(min(bound, 0), max(bound, 0))


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, np.int64])
def test_bounds_of_any_kind_of_number(kind):
    parameter = Float(kind(1), kind(3), log=True)
    assert parameter.from_unit(0.5) == pytest.approx(math.sqrt(3.0))
    assert parameter.to_unit(kind(3)) == 1.0
    assert parameter == Float(1, 3, log=True)
