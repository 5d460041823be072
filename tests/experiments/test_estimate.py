"""How long a study will take, before any of it has run."""

import pytest

from guidefbo.experiments.estimate import estimate_seconds
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
    return estimate_seconds([row], known or {})


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


def test_runs_that_are_there_tell_the_pace():
    rows = [
        Row(key="done", spec=FULL, code={}),
        Row(key="left", spec={**FULL, "num_agents": 8}, code={}),
    ]
    known = {"done": Outcome(seconds={"total": 100.0})}
    assert estimate_seconds(rows, known) == pytest.approx(50.0)
