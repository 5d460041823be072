"""Values that are asked keep their limits in floating point."""

from itertools import permutations
from math import fsum

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import seeds

import guidefbo as gf
from guidefbo import AtMost, Float, Space, SumTo
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.settling import keeps, settled

NAMES = "abcd"
coefficients = st.sampled_from([-2.5, -1.0, -0.1, 0.0, 0.1, 0.3, 1.0, 2.0, 7.0])
steps = st.sampled_from([None, None, 0.05, 0.1, 0.3])


def sums(limit, values):
    """The sum in every order, and as other libraries add."""
    terms = [a * values[name] for name, a in limit.coefficients.items()]
    yield from (sum(order) for order in permutations(terms))
    yield fsum(terms)
    yield float(np.sum(terms))
    weights = np.array(list(limit.coefficients.values()))
    yield float(np.sum(weights * np.array([values[n] for n in limit.coefficients])))
    half = len(terms) // 2
    yield sum(terms[:half]) + sum(terms[half:])


@st.composite
def limited(draw, step=steps):
    """A space, and points of it of which many lie on the faces of its limits."""
    count = draw(st.integers(2, 4))
    parameters = {
        name: Float(low, low + draw(st.sampled_from([1, 2.7, 10])), step=draw(step))
        for name in NAMES[:count]
        for low in [draw(st.sampled_from([0, -1, 0.1, 3]))]
    }
    limits = []
    for _ in range(draw(st.integers(1, 3))):
        weights = draw(st.lists(coefficients, min_size=count, max_size=count))
        assume(any(weights))
        bound = draw(st.sampled_from([0.3, 1.0, 1.5, 4.1, 10.0]))
        limits.append(AtMost(dict(zip(parameters, weights, strict=True)), bound))
    try:
        space = Space(**parameters).subject_to(*limits)
    except SpaceError:
        assume(False)
    # A set without room has no other point to go to.
    assume(space.domain.polytope.basis.shape[1] == count)
    assume(min(space.domain.polytope.slacks) > 1e-3)
    beyond = np.random.default_rng(draw(seeds)).normal(0.5, 2.0, (10, count))
    return space, space.domain.admit(np.clip(beyond, -1.0, 2.0))


@given(case=limited(step=st.none()))
def test_what_is_asked_keeps_every_limit_in_every_order(case):
    space, X = case
    for x in X:
        values = space.from_unit(x)
        for limit in space.constraints:
            assert max(sums(limit, values)) <= limit.bound
        plain = {
            name: p.from_unit(float(x[space.places[name].start]))
            for name, p in space.parameters.items()
        }
        for name, p in space.parameters.items():
            assert p.low <= values[name] <= p.high
            assert values[name] == pytest.approx(plain[name], abs=1e-8)
        if all(keeps(limit, plain) for limit in space.constraints):
            assert values == plain


@given(case=limited())
def test_values_on_steps_keep_their_limits_too(case):
    space, X = case
    for x in X:
        values = space.from_unit(x)
        on_steps = all(
            values[name] == p.grid.nearest(values[name])
            for name, p in space.parameters.items()
            if p.step is not None
        )
        # Limits may leave no value on steps nearby: then those between them are taken.
        assume(on_steps)
        for name, p in space.parameters.items():
            assert p.low <= values[name] <= p.high
        for limit in space.constraints:
            assert max(sums(limit, values)) <= limit.bound


@given(a=st.integers(0, 10), b=st.integers(0, 10), bound=st.integers(1, 20))
def test_steps_of_a_tenth_stay_below_a_limit(a, b, bound):
    limit = AtMost({"a": 1, "b": 1}, bound / 10)
    space = Space(a=Float(0, 1, step=0.1), b=Float(0, 1, step=0.1)).subject_to(limit)
    assume(a + b <= bound)
    asked = {"a": a / 10, "b": b / 10}
    values = space.from_unit(np.array([a / 10, b / 10]))
    assert values["a"] + values["b"] <= limit.bound
    if asked["a"] + asked["b"] <= limit.bound:
        assert values == asked
    else:
        moved = abs(values["a"] - asked["a"]) + abs(values["b"] - asked["b"])
        assert moved == pytest.approx(0.1)


def test_a_value_that_a_site_always_has_does_not_give_way():
    limit = AtMost({"a": 1, "b": 1}, 0.3)
    space = Space(a=Float(0, 1, step=0.1), b=Float(0, 1, step=0.1)).subject_to(limit)
    x = np.array([0.1, 0.2])
    assert space.from_unit(x, {"a": (0.1, 0.1)}) == {"a": 0.1, "b": 0.1}
    assert space.from_unit(x, {"b": (0.2, 0.2)}) == {"a": 0.0, "b": 0.2}
    smooth = Space(a=Float(0, 1), b=Float(0, 1)).subject_to(limit)
    assert smooth.from_unit(x, {"a": (0.1, 0.1)})["a"] == 0.1
    assert smooth.from_unit(x, {"b": (0.2, 0.5)})["b"] == 0.2


def test_what_keeps_its_limits_and_what_breaks_them_stays():
    floats = {"a": Float(0, 1), "b": Float(0, 1)}
    limits = [AtMost({"a": 1, "b": 2}, 1.5), SumTo(1.0, "a", "b")]
    for values in ({"a": 0.5, "b": 0.5}, {"a": 0.3, "b": 0.1}, {"a": 1.0, "b": 0.9}):
        assert settled(values, floats, limits) == values


def test_an_objective_that_checks_its_limit_loses_nothing():
    limit = AtMost({"water": 1, "oil": 2}, 1.5)
    space = Space(water=Float(0, 1), oil=Float(0, 1)).subject_to(limit)

    def blend(values):
        if values["water"] + 2 * values["oil"] > 1.5:
            raise ValueError("too much")
        return values["water"] + values["oil"]

    result = gf.optimize([blend], space, goal="max", rounds=15, seed=0)
    assert not result.failures


def test_a_point_that_the_search_takes_for_one_on_the_face():
    limit = AtMost({"water": 1, "oil": 2}, 1.5)
    space = Space(water=Float(0, 1), oil=Float(0, 1)).subject_to(limit)
    x = np.array([0.5, 0.5 + 3e-13])
    assert (space.domain.admit(x[None])[0] == x).all()
    values = space.from_unit(x)
    assert max(sums(limit, values)) <= 1.5
    assert values == pytest.approx({"water": 0.5, "oil": 0.5}, abs=1e-12)
