import math

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import seeds

from guidefbo.core.errors import SpaceError
from guidefbo.core.space.constraints import AtMost, SumTo
from guidefbo.core.space.parameters import Bool, Choice, Float, Int
from guidefbo.core.space.space import SLACK, Space

NO_NUMBERS = [math.nan, math.inf, -math.inf, None, "1", True, 1j, [1.0], 1e151, 10**400]


def shares(*limits):
    space = Space(water=Float(0, 1), oil=Float(0, 1), soap=Float(0, 0.3))
    return space.subject_to(SumTo(1.0, "water", "oil", "soap"), *limits)


def test_excess_by_hand():
    limit = AtMost({"a": 2, "b": -1}, 3)
    assert limit.excess({"a": 2.0, "b": 0.5, "c": 9.0}) == 0.5
    assert limit.excess({"a": 0.0, "b": 0.0}) == -3.0
    assert str(limit) == "2 a + -1 b <= 3"
    total = SumTo(1, "a", "b")
    assert total.excess({"a": 0.25, "b": 0.5}) == -0.25
    assert str(total) == "a + b = 1"
    assert repr(total) == "SumTo(1.0, 'a', 'b')"
    assert total.coefficients == {"a": 1.0, "b": 1.0}


def test_constraints_are_equal_by_what_they_say():
    assert AtMost({"a": 1, "b": 2}, 1) == AtMost({"b": 2.0, "a": 1.0}, 1.0)
    assert AtMost({"a": 1}, 1) != AtMost({"a": 1}, 2)
    assert SumTo(1, "a", "b") == SumTo(1.0, "a", "b")
    assert SumTo(1, "a", "b") != SumTo(2, "a", "b")
    assert hash(SumTo(1, "a", "b")) == hash(SumTo(1.0, "a", "b"))
    assert SumTo(1, "a", "b") != AtMost({"a": 1, "b": 1}, 1)


def test_equal_bounds_have_equal_hashes():
    assert hash(AtMost({"a": 1, "b": 2}, 1)) == hash(AtMost({"b": 2, "a": 1}, 1.0))


def test_coefficients_are_copied_and_cannot_be_changed():
    given = {"a": 1}
    limit = AtMost(given, 1)
    given["a"] = 5
    assert limit.coefficients == {"a": 1.0}
    with pytest.raises(TypeError):
        limit.coefficients["a"] = 2.0


@pytest.mark.parametrize("coefficients", [{}, None, [1, 2], "ab", 3, {"a"}])
def test_coefficients_come_by_name(coefficients):
    with pytest.raises(SpaceError, match="AtMost needs coefficients by parameter"):
        AtMost(coefficients, 1)


@pytest.mark.parametrize("number", NO_NUMBERS, ids=lambda v: repr(v)[:10])
def test_numbers_of_a_constraint_are_finite(number):
    with pytest.raises(SpaceError, match="AtMost, a: expected a finite number, got"):
        AtMost({"a": number}, 1)
    with pytest.raises(SpaceError, match="the bound: expected a finite number, got"):
        AtMost({"a": 1}, number)
    with pytest.raises(SpaceError, match="SumTo: expected a finite number, got"):
        SumTo(number, "a", "b")


def test_numbers_of_numpy_will_do():
    limit = AtMost({"a": np.float32(0.5), "b": np.int64(2)}, np.float32(1.5))
    assert limit == AtMost({"a": 0.5, "b": 2.0}, 1.5)
    assert type(limit.bound) is float
    assert SumTo(np.float32(1), "a", "b") == SumTo(1.0, "a", "b")


def test_only_zeros_say_nothing():
    with pytest.raises(SpaceError, match="a coefficient other than 0"):
        AtMost({"a": 0, "b": 0.0}, 1)


@pytest.mark.parametrize("names", [(), ("a",), ("a", "a"), ("a", 1), (["a", "b"],)])
def test_sum_needs_two_different_names(names):
    with pytest.raises(SpaceError, match="at least two different names, as in"):
        SumTo(1.0, *names)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("absent", "no parameter"),
        ("n", "Int"),
        ("c", "Choice"),
        ("w", "Bool"),
        ("dose", "log=True"),
    ],
)
def test_constraint_names_linear_floats_only(name, what):
    space = Space(
        a=Float(0, 1),
        n=Int(0, 1),
        c=Choice(1, 2),
        w=Bool(),
        dose=Float(1, 2, log=True),
    )
    for limit in (AtMost({"a": 1, name: 1}, 1), SumTo(1.0, "a", name)):
        with pytest.raises(SpaceError, match=rf"linear Float.*'{name}' is .*{what}"):
            space.subject_to(limit)


@pytest.mark.parametrize("limit", [None, "a <= 1", {"a": 1}, Float(0, 1), AtMost])
def test_constraint_of_another_kind_is_refused(limit):
    with pytest.raises(SpaceError, match="must be an AtMost or a SumTo, got"):
        Space(a=Float(0, 1)).subject_to(limit)


@pytest.mark.parametrize(
    "limits",
    [
        [SumTo(2.5, "a", "b")],
        [SumTo(-0.1, "a", "b")],
        [AtMost({"a": 1}, -0.5)],
        [AtMost({"a": -1, "b": -1}, -2.5)],
        [SumTo(1.0, "a", "b"), AtMost({"a": 1, "b": 1}, 0.9)],
        [SumTo(1.0, "a", "b"), SumTo(1.1, "a", "b")],
    ],
    ids=str,
)
def test_constraints_that_leave_nothing_are_refused_at_once(limits):
    space = Space(a=Float(0, 1), b=Float(0, 1))
    with pytest.raises(SpaceError, match=r"No values satisfy .*Widen a bound"):
        space.subject_to(*limits)
    assert space.constraints == ()


@pytest.mark.parametrize("a", [1e100, 1e149, 1e150])
def test_largest_numbers_are_kept_or_refused_in_silence(a):
    """In units of the cube the coefficient is as large as 1e300."""
    space = Space(a=Float(0, 1e150), b=Float(0, 1))
    try:
        space = space.subject_to(AtMost({"a": a, "b": 1}, 1))
    except SpaceError:
        return
    values = space.from_unit(space.domain.sample(1, np.random.default_rng(0))[0])
    assert 0.0 <= values["b"] <= 1.0


def test_constraints_add_up_and_the_space_stays():
    space = Space(a=Float(0, 1), b=Float(0, 1))
    first = space.subject_to(AtMost({"a": 1}, 0.5))
    second = first.subject_to(SumTo(1.0, "a", "b"))
    assert [len(s.constraints) for s in (space, first, second)] == [0, 1, 2]
    assert second == space.subject_to(AtMost({"a": 1}, 0.5), SumTo(1.0, "a", "b"))
    assert second != first
    assert space.domain.polytope is None
    assert "SumTo(1.0, 'a', 'b')" in repr(second)


@given(seeds)
@settings(max_examples=25)
def test_points_of_the_domain_keep_the_constraints_in_natural_units(seed):
    space = Space(
        n=Int(1, 9),
        a=Float(-5, 15),
        c=Choice("u", "v"),
        b=Float(100, 300),
        d=Float(0, 0.01),
    ).subject_to(SumTo(210.0, "a", "b", "d"), AtMost({"a": 3, "b": -1}, -180))
    rng = np.random.default_rng(seed)
    for x in (*space.domain.sample(10, rng), *space.domain.spread(10, rng)):
        values = space.from_unit(x)
        assert values["a"] + values["b"] + values["d"] == pytest.approx(210, rel=1e-9)
        assert 3 * values["a"] - values["b"] <= -180 + 1e-9 * 180
        back = space.to_unit(values)
        assert back == pytest.approx(x, abs=1e-12)


def test_told_values_may_miss_by_a_hundredth_of_the_total():
    """The total is 1, and no share reaches farther, however many there are."""
    space = shares(AtMost({"water": 1}, 0.5))
    near, far = 0.9 * SLACK, 1.1 * SLACK
    for sign in (-1.0, 1.0):
        space.to_unit({"water": 0.4, "oil": 0.5 + sign * near, "soap": 0.1})
        with pytest.raises(SpaceError, match=r"water \+ oil \+ soap = 1, missed by"):
            space.to_unit({"water": 0.4, "oil": 0.5 + sign * far, "soap": 0.1})
    space.to_unit({"water": 0.509, "oil": 0.391, "soap": 0.1})
    with pytest.raises(SpaceError, match=r"water <= 0.5, missed by 0\.02"):
        space.to_unit({"water": 0.52, "oil": 0.38, "soap": 0.1})
    # Below the bound there is no limit.
    space.to_unit({"water": 0.0, "oil": 0.9, "soap": 0.1})


def test_polytope_is_in_units_of_the_cube():
    """a + 2 b <= 30 with a in [0, 10], b in [5, 25]: 10 u + 40 v <= 20."""
    space = Space(b=Float(5, 25), n=Int(0, 3), a=Float(0, 10))
    space = space.subject_to(AtMost({"a": 1, "b": 2}, 30))
    domain = space.domain
    assert domain.columns.tolist() == [0, 2]
    corners = np.array([[0.5, 0.0], [0.25, 1.0], [0.51, 0.0], [0.26, 1.0]])
    assert domain.polytope.contains(corners).tolist() == [True, True, False, False]
