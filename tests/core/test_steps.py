"""Real parameters that come in steps, and the words about parameters."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from guidefbo import AtMost, Bool, Choice, Float, Int, Space, SumTo
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.form import fingerprint, space_from_form, space_to_form

units = st.floats(0.0, 1.0)


@given(
    low=st.integers(1, 50),
    count=st.integers(1, 400),
    step=st.sampled_from([0.1, 0.25, 0.5, 1.0, 3.0, 0.001]),
    log=st.booleans(),
    u=units,
)
def test_values_are_on_the_step_and_the_nearest_one(low, count, step, log, u):
    high = round(low + count * step, 6)
    parameter = Float(low, high, log=log, step=step)
    value = parameter.from_unit(u)
    assert low <= value <= high
    # As people write it: no digit of rounding.
    assert value == round(value, 6)
    k = (value - low) / step
    assert k == pytest.approx(round(k), abs=1e-6)
    free = Float(low, high, log=log).from_unit(u)
    assert abs(value - free) <= 0.5 * step * (1 + 1e-9)
    # Snapping a position and reading it again change nothing.
    grid = parameter.grid
    (snapped,) = grid.snap(np.array([u]))
    assert parameter.from_unit(float(snapped)) == value
    assert parameter.to_unit(value) == pytest.approx(snapped, abs=1e-9)
    assert (grid.snap(grid.steps(np.array([u]))) == grid.steps(np.array([u]))).all()


def test_the_last_value_is_within_the_bound():
    parameter = Float(0.0, 1.0, step=0.3)
    assert [parameter.from_unit(u) for u in (0.0, 0.5, 0.8, 1.0)] == [0, 0.6, 0.9, 0.9]


def test_a_result_between_two_steps_lies_between_them():
    parameter = Float(0, 10, step=1)
    assert parameter.to_unit(3.5) == 0.35
    assert Space(x=parameter).clean({"x": 3.5}) == {"x": 3.5}


def test_significant_digits():
    parameter = Float(0.001, 1.0, log=True, digits=2)
    values = [parameter.from_unit(u) for u in np.linspace(0, 1, 50)]
    assert all(v == float(f"{v:.1e}") for v in values)
    assert len(set(values)) > 30


def test_every_point_of_a_domain_is_on_its_steps():
    space = Space(
        a=Float(20, 120, step=0.5),
        b=Float(1, 100, log=True, step=3),
        c=Choice("u", "v"),
    )
    domain = space.domain
    assert domain.is_discrete
    X = domain.sample(50, np.random.default_rng(0))
    for x in X:
        values = space.from_unit(x)
        assert (values["a"] * 2).is_integer()
        assert space.to_unit(values) == pytest.approx(x, abs=1e-9)


@given(seed=st.integers(0, 10_000), step=st.sampled_from([0.05, 0.1, 0.02]))
def test_shares_on_steps_still_add_up(seed, step):
    space = Space(
        water=Float(0, 1, step=step),
        oil=Float(0, 1, step=step),
        soap=Float(0, 0.5, step=step),
        rest=Float(0, 1),
    ).subject_to(
        SumTo(1.0, "water", "oil", "soap"), AtMost({"water": 1, "rest": 1}, 1.2)
    )
    (x,) = space.domain.sample(1, np.random.default_rng(seed))
    values = space.from_unit(x)
    total = values["water"] + values["oil"] + values["soap"]
    assert total == pytest.approx(1.0, abs=1e-9)
    assert values["water"] + values["rest"] <= 1.2 + 1e-9
    for name in ("water", "oil", "soap"):
        assert values[name] / step == pytest.approx(round(values[name] / step))


@given(seed=st.integers(0, 10_000))
def test_what_has_no_step_takes_up_what_is_left(seed):
    space = Space(
        a=Float(0, 1, step=0.25), b=Float(0, 1, step=0.1), c=Float(0, 1)
    ).subject_to(SumTo(1.0, "a", "b", "c"))
    (x,) = space.domain.sample(1, np.random.default_rng(seed))
    values = space.from_unit(x)
    assume(values["c"] > 0.0)
    assert sum(values.values()) == pytest.approx(1.0, abs=1e-9)
    assert values["a"] in (0.0, 0.25, 0.5, 0.75, 1.0)
    assert 10 * values["b"] == pytest.approx(round(10 * values["b"]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"step": 0.0}, "step must be"),
        ({"step": -1}, "step must be"),
        ({"step": 2.0}, "step must be"),
        ({"step": float("nan")}, "step must be"),
        ({"step": 1e-12}, "step must be"),
        ({"digits": 0}, "digits must be"),
        ({"digits": 2.0}, "digits must be"),
        ({"digits": 2, "step": 0.1}, "not both"),
        ({"unit": ""}, "unit must be"),
        ({"unit": " C"}, "unit must be"),
        ({"unit": 5}, "unit must be"),
        ({"description": "a\nb"}, "description must be"),
        ({"description": "x" * 201}, "at most 200"),
    ],
)
def test_what_is_no_step_and_no_word_is_refused(options, says):
    with pytest.raises(SpaceError, match=says):
        Float(0, 1, **options)


def labelled(**extra):
    return Space(
        heat=Float(20, 120, **extra),
        n=Int(1, 4, unit="h", description="hours"),
        drug=Choice(1, 2, unit="mg"),
        warm=Bool(description="is it warm"),
    )


def test_words_and_steps_survive_a_file():
    space = labelled(step=0.5, unit="°C", description="of the bath")
    again = space_from_form(space_to_form(space))
    assert again == space
    assert space_to_form(again) == space_to_form(space)
    assert again.parameters["warm"].description == "is it warm"


def test_what_a_coordinate_means_is_in_the_fingerprint():
    """A unit says what a number is; a description and digits do not."""
    plain = fingerprint(labelled())
    assert fingerprint(labelled(description="of the bath")) == plain
    assert fingerprint(labelled(digits=3)) == plain
    others = [labelled(unit="K"), labelled(unit="°C"), labelled(step=0.5)]
    assert len({plain, *map(fingerprint, others)}) == 4
    # Spaces without any of it keep the fingerprint they always had.
    bare = Space(x=Float(0, 1), n=Int(1, 4), c=Choice("a", "b"), b=Bool())
    assert fingerprint(bare) == BARE


BARE = "8665e98968eb990f512d66aba8266181"
