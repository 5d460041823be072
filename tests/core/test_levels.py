"""Numbers in their order: where they sit, what is refused."""

import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import unit

from guidefbo.core.errors import SpaceError
from guidefbo.core.space.form import fingerprint, space_from_form, space_to_form
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Int
from guidefbo.core.space.scales import FEW_LEVELS
from guidefbo.core.space.space import Space

numbers = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=40, unique=True)


@st.composite
def levels(draw):
    values, log = sorted(draw(numbers)), draw(st.booleans())
    # Nearer logarithms are refused.
    assume(not log or all(b > a * (1.0 + 1e-7) for a, b in pairwise(values)))
    return Levels(*values, log=log)


@pytest.mark.parametrize("value", [1e-3, 1.0, 1000.0])
def test_logarithms_that_rounding_makes_equal_are_refused(value):
    above = float(np.nextafter(value, 2.0 * value))
    with pytest.raises(SpaceError, match="are the same but for rounding"):
        Levels(value / 2, value, above, log=True)
    assert Levels(value / 2, value, above).num_levels == 3


@given(levels())
def test_every_level_is_in_its_own_part(parameter):
    positions = [parameter.to_unit(value) for value in parameter.values]
    assert all(0.0 < a < b < 1.0 for a, b in pairwise(positions))
    assert [parameter.from_unit(u) for u in positions] == list(parameter.values)
    assert parameter.snap(np.array(positions)).tolist() == positions


@given(levels(), st.lists(unit, min_size=1, max_size=5))
def test_every_position_has_a_level(parameter, positions):
    u = np.array(positions)
    snapped = parameter.snap(u)
    for position, middle in zip(positions, snapped, strict=True):
        assert parameter.to_unit(parameter.from_unit(position)) == middle
    tried = parameter.steps(u)
    assert tried.shape[0] == len(u)
    assert (parameter.snap(tried) == tried).all()
    if parameter.num_levels <= FEW_LEVELS:
        assert (tried == [parameter.to_unit(v) for v in parameter.values]).all()


def test_equal_parts_are_those_of_whole_numbers():
    parameter, whole = Levels(0.1, 1, 10, 500), Int(0, 3)
    assert [parameter.to_unit(v) for v in parameter.values] == [
        whole.to_unit(n) for n in range(4)
    ]
    u = np.linspace(0.0, 1.0, 101)
    np.testing.assert_array_equal(parameter.snap(u), whole.snap(u))


def test_on_a_logarithmic_scale_a_level_sits_at_its_logarithm():
    parameter = Levels(1, 10, 10_000, log=True)
    a, b, c = (parameter.to_unit(v) for v in parameter.values)
    assert (c - b) / (b - a) == pytest.approx(3.0)
    assert parameter.from_unit(0.999) == 10_000
    # Half-way between two logarithms the parts meet.
    middle = 0.5 * (b + c)
    assert parameter.from_unit(middle - 1e-9) == 10
    assert parameter.from_unit(middle + 1e-9) == 10_000


def test_from_many_levels_near_and_far_ones_are_tried():
    parameter = Levels(*range(0, 200, 2))
    start = parameter.to_unit(100)
    tried = [parameter.from_unit(u) for u in parameter.steps(np.array([start]))[0]]
    near = {98, 102, 96, 104, 92, 108}
    assert set(tried) == near | {84, 116, 68, 132, 36, 164, 0, 198}


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ((), {}),
        ((1,), {}),
        ((2, 1), {}),
        ((1, 1), {}),
        ((1, float("nan")), {}),
        ((1, "2"), {}),
        ((1, 1e200), {}),
        ((0, 1), {"log": True}),
        ((1, 2), {"log": 1}),
    ],
)
def test_what_is_no_list_of_levels_is_refused(values, options):
    with pytest.raises(SpaceError):
        Levels(*values, **options)


@pytest.mark.parametrize("value", [1.5, "1", None, float("nan"), 3])
def test_other_values_are_refused(value):
    with pytest.raises(SpaceError, match="Expected one of"):
        Levels(1, 2).to_unit(value)


def test_a_space_with_levels():
    space = Space(heat=Levels(20, 40, 100), days=Int(1, 3))
    x = space.to_unit({"heat": 40.0, "days": 3})
    assert space.from_unit(x) == {"heat": 40, "days": 3}
    assert type(space.clean({"heat": 40.0, "days": 3})["heat"]) is int
    X = np.random.default_rng(0).random((50, 2))
    snapped = space.domain.snap(X)
    assert {space.from_unit(row)["heat"] for row in snapped} == {20, 40, 100}
    assert (space.domain.snap(snapped) == snapped).all()
    assert not space.domain.free.any()
    assert len(space.domain.changes[0].columns) == 3
    form = json.loads(json.dumps(space_to_form(space)))
    assert space_from_form(form, is_problem=True) == space
    assert pickle.loads(pickle.dumps(space)) == space
    other = Space(heat=Levels(20, 40, 100, log=True), days=Int(1, 3))
    assert fingerprint(space) != fingerprint(other)
    # A site's own file knows no such parameter.
    with pytest.raises(SpaceError, match="expected a type, one of float, int, choice"):
        space_from_form(form)
