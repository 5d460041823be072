"""Results of runs that were not quite what was asked."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.site.sites import SPACES, make, told

from guidefbo import Agent, Float, Int, Space, SumTo
from guidefbo.core.errors import DataError, OutsideWarning, SettingsError, SpaceError
from guidefbo.core.space.overshoot import nearest


def test_the_values_that_were_run_close_the_trial():
    agent = make("mixed")
    trial = agent.ask()
    run = agent.tell(trial, 0.7, values={"n": 9, "drug": "b"})
    assert run.id == trial.id
    assert run.state == "done"
    assert run.values == trial.values
    assert run.as_run == {**trial.values, "n": 9, "drug": "b"}
    asked = {name: trial.values[name] for name in ("n", "drug")}
    assert run.changed == {k: v for k, v in asked.items() if v != run.as_run[k]}
    assert f"n=9 (asked {trial.values['n']})" in str(run)


def test_the_model_learns_what_was_run_and_not_what_was_asked():
    agent, twin = make("box"), make("box")
    for other in (agent, twin):
        other.ask()
    values = {"x": 0.31, "y": 7.0}
    agent.tell(1, 0.5, values=values)
    assert agent.fitted.data.X.tolist() == [agent.space.to_unit(values).tolist()]
    assert agent.best().values == values
    twin.tell(1, 0.5)
    assert twin.fitted.data.X.tolist() != agent.fitted.data.X.tolist()


def test_a_correction_of_the_value_keeps_what_was_run():
    agent = make("box")
    agent.ask()
    agent.tell(1, 0.5, values={"x": 0.3})
    agent.tell(1, 0.6)
    trial = agent.tell(1, 0.6, values={"y": 50.0})
    assert trial.as_run == {"x": 0.3, "y": 50.0}
    assert [r.value for r in trial.records] == [0.5, 0.6, 0.6]
    # Told again, and told back.
    assert agent.tell(1, 0.6, values={"x": 0.3}).records == trial.records
    assert agent.tell(1, 0.6, values=trial.values).records[-1].values is None


def test_what_was_run_is_kept_in_the_file(tmp_path):
    agent = told("box", 4)
    agent.ask()
    with pytest.warns(OutsideWarning):
        agent.tell(5, 0.4, values={"x": 1.02})
    agent.tell(agent.ask(), failed="hot", values={"y": 3.5})
    agent.save(tmp_path / "a.json")
    again = Agent.load(tmp_path / "a.json")
    assert again.trials == agent.trials
    assert again.ask() == agent.ask()


def test_a_value_slightly_outside_counts_at_the_bound():
    agent = make(Space(heat=Float(0.5, 2.0), n=Int(0, 100)))
    with pytest.warns(OutsideWarning, match=r"model takes heat=0\.498 as 0\.5\."):
        trial = agent.tell({"heat": 0.498, "n": 3}, 1.0)
    assert trial.values["heat"] == 0.498
    assert agent.fitted.data.X[0, 0] == 0.0
    with pytest.warns(OutsideWarning, match="n=104 as 100"):
        agent.tell({"heat": 0.6, "n": 104}, 1.0)
    assert agent.best() is not None


@pytest.mark.parametrize(
    ("values", "outside", "says"),
    [
        ({"x": 1.06}, "keep", r"Expected a number in \[0, 1\], got 1\.06"),
        ({"x": 1.01}, "refuse", r"Expected a number in \[0, 1\], got 1\.01"),
        ({"y": -1.0}, "keep", r"Expected a number in \[1, 100\]"),
        ({"x": math.nan}, "keep", "Expected a number"),
        ({"z": 1.0}, "keep", "or some of them"),
        ({"x": 1.0}, "clip", "'keep' or 'refuse'"),
        (7, "keep", "values that were run"),
    ],
)
def test_what_is_far_outside_or_no_value_is_refused(values, outside, says):
    agent = make("box")
    agent.ask()
    with pytest.raises((SpaceError, DataError, SettingsError), match=says):
        agent.tell(1, 0.5, values=values, outside=outside)
    assert agent.trials[0].state == "pending"


def test_own_values_have_no_second_set():
    with pytest.raises(DataError, match="leave out values"):
        make("line").tell({"x": 1.0}, 0.5, values={"x": 2.0})


def test_overshoot_is_a_setting():
    agent = make("line", overshoot=0.0)
    with pytest.raises(SpaceError):
        agent.tell({"x": 5.001}, 0.5)
    agent = make("line", overshoot=1)
    with pytest.warns(OutsideWarning):
        agent.tell({"x": 12.9}, 0.5)
    with pytest.raises(SettingsError, match="overshoot must be a number from 0 to 1"):
        make("line", overshoot=1.5)


def test_shares_may_miss_their_sum_by_as_much():
    space = Space(a=Float(0, 1), b=Float(0, 1)).subject_to(SumTo(1.0, "a", "b"))
    agent = make(space)
    agent.tell({"a": 0.5, "b": 0.54}, 1.0)
    with pytest.raises(SpaceError, match="missed by"):
        agent.tell({"a": 0.5, "b": 0.56}, 1.0)


@given(
    low=st.floats(0.001, 10.0),
    span=st.floats(0.01, 100.0),
    log=st.booleans(),
    share=st.floats(0.0, 2.0),
    is_above=st.booleans(),
)
def test_the_bound_is_taken_up_to_the_overshoot_and_not_beyond(
    low, span, log, share, is_above
):
    """Shares of the range are measured on the parameter's own scale."""
    parameter = Float(low, low + span, log=log)
    ends = (parameter.low, parameter.high)
    first, last = map(math.log, ends) if log else ends
    reach = 0.1 * share * (last - first)
    place = last + reach if is_above else first - reach
    value = math.exp(place) if log else place
    bound = ends[int(is_above)]
    if share < 0.999:
        assert math.isclose(nearest(parameter, value, 0.1), bound, rel_tol=1e-12)
    elif share > 1.001:
        assert nearest(parameter, value, 0.1) == value


@pytest.mark.parametrize("goal", ["max", "min"])
def test_asked_points_never_leave_the_bounds(goal):
    space = SPACES["box"]
    agent = make("box", goal, method="ucb", initial=2)
    rng = np.random.default_rng(3)
    for _ in range(8):
        trial = agent.ask()
        assert space.clean(trial.values) == trial.values
        x = min(max(trial.values["x"] + 0.04 * rng.normal(), -0.05), 1.05)
        if 0.0 <= x <= 1.0:
            agent.tell(trial, x, values={"x": x})
        else:
            with pytest.warns(OutsideWarning):
                agent.tell(trial, x, values={"x": x})
