"""How long a study will take, before any of it has run."""

import pytest

from guidefbo.experiments.estimate import estimate_seconds, slowness
from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.study_json import Row
from guidefbo.methods.registry import find_method, find_rule

FULL = {
    "method": "ucb",
    "num_agents": 16,
    "num_rounds": 50,
    "num_initial": 30,
    "dim": 10,
}


def seconds(known=None, **changes):
    row = Row(key="a", spec={**FULL, **changes}, code={})
    return estimate_seconds([row], known or {}, slowness=lambda: 1.0)


def test_a_full_run_takes_what_the_records_say():
    plain = find_method("ucb").strategy.seconds
    assert seconds() == pytest.approx(plain)
    assert seconds(method="nei") == pytest.approx(plain + find_rule("nei").seconds)
    assert find_rule("nei").seconds > 0.5 * plain


def test_a_rule_of_its_own_is_in_the_time_of_the_strategy():
    assert seconds(method="fts") == pytest.approx(find_method("fts").strategy.seconds)


@pytest.mark.parametrize(
    ("changes", "least", "most"),
    [
        ({"num_agents": 4}, 0.25, 0.25),
        ({"num_rounds": 25}, 0.4, 0.5),
        ({"num_initial": 10, "num_rounds": 20}, 0.24, 0.34),
        ({"dim": 4}, 0.85, 1.0),
        ({"dim": 20}, 1.0, 1.2),
    ],
)
def test_smaller_runs_take_less(changes, least, most):
    """Within what was measured of plain UCB and of GUIDE on one core."""
    assert least <= seconds(**changes) / seconds() <= most


def test_a_slow_machine_takes_longer_where_nothing_has_run_yet():
    rows = [
        Row(key="done", spec=FULL, code={}),
        Row(key="left", spec={**FULL, "num_agents": 8}, code={}),
        Row(key="other", spec={**FULL, "method": "nei"}, code={}),
    ]
    known = {"done": Outcome(seconds={"total": 100.0})}
    by_record = seconds(method="nei")
    for times in (0.5, 3.0):
        estimate = estimate_seconds(rows, known, slowness=lambda t=times: t)
        assert estimate == pytest.approx(50.0 + times * by_record)


def test_the_machine_is_measured_by_a_run(monkeypatch):
    """The sample takes a tenth of a second or so; what it took counts in proportion."""
    assert 0.01 < slowness() < 100.0
    measured = slowness()
    monkeypatch.setattr("guidefbo.experiments.estimate.sample_seconds", lambda: 2.2)
    sample = {"num_agents": 4, "num_initial": 50, "num_rounds": 5}
    assert slowness() == pytest.approx(2.2 / seconds(**sample))
    assert slowness() != measured


def test_runs_that_are_there_tell_the_pace():
    rows = [
        Row(key="done", spec=FULL, code={}),
        Row(key="left", spec={**FULL, "num_agents": 8}, code={}),
    ]
    known = {"done": Outcome(seconds={"total": 100.0})}
    assert estimate_seconds(rows, known, unmeasured) == pytest.approx(50.0)


def unmeasured():
    raise AssertionError("All that is left has a pace: there is nothing to measure.")
