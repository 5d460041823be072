"""Runs on problems of one's own, and on real data, go as on any other problem."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import guidefbo as gf
from guidefbo.core.errors import DataError, SettingsError
from guidefbo.methods.registry import method_names
from guidefbo.simulation.spec import RunSpec

FILE = Path(__file__).parents[1] / "problems" / "own_tasks.py"
REACTION = f"{FILE}:reaction"


@pytest.mark.parametrize("method", method_names())
def test_every_method_searches_choices_and_integers(method):
    trace = gf.simulate(REACTION, method=method, num_rounds=1)
    space = gf.Space(
        dose=gf.Float(0.1, 10, log=True), days=gf.Int(1, 5), drug=gf.Choice("a", "b")
    )
    rows = trace.queries.reshape(-1, space.dim)
    assert np.allclose(rows, space.domain.snap(rows))
    assert len(trace.curve) == 2


def test_a_trace_is_in_the_units_of_the_problem():
    trace = gf.simulate(REACTION, method="ucb", seed=1)
    assert trace.queries.shape == (3, 6, 4)
    assert (trace.values >= 0.0).all()
    # Smaller is better: the best so far falls, and the regret with it.
    assert (np.diff(trace.best_value, axis=0) <= 0.0).all()
    assert trace.best_value[-1].tolist() == trace.values.min(axis=1).tolist()
    assert trace.mean_simple_regret == pytest.approx(trace.best_value.mean(axis=1))
    assert trace.mean_metric == pytest.approx(trace.best_value.mean(axis=1))
    # Nothing is added to what the functions say, so the choice is the best value.
    assert trace.observations.tolist() == trace.values.tolist()
    assert trace.held_out.tolist() == trace.values.min(axis=1).tolist()
    assert "loss" in str(trace)


def test_where_no_optimum_is_known_there_is_a_metric():
    trace = gf.simulate(f"{FILE}:measured", method="guide-nei")
    assert trace.mean_simple_regret is None
    assert trace.curve.tolist() == trace.best_value.mean(axis=1).tolist()
    record = trace.to_record()
    assert "mean_simple_regret" not in record
    assert record["metric"] == {"name": "value", "unit": "", "goal": "max"}
    assert np.allclose(trace.queries.sum(axis=2), 1.0)
    assert (trace.observations != trace.values).all()


def test_choices_follow_the_posterior_mean():
    """Under much noise the best observation is luck; chosen points are others."""
    size = {"dim": 2, "num_agents": 8, "num_initial": 20, "num_rounds": 4}
    trace = gf.simulate("sphere", level=1, noise=2.0, method="ucb", seed=0, **size)
    assert trace.chosen.shape == (5, 8)
    lucky = trace.observations.argmax(axis=1)
    assert (trace.chosen[-1] != lucky).any()
    inferred = trace.values[np.arange(8), trace.chosen[-1]]
    assert inferred.mean() > trace.values[np.arange(8), lucky].mean()


def test_the_problems_budget_is_the_default():
    spec = RunSpec(problem=REACTION)
    assert (spec.num_agents, spec.num_initial, spec.num_rounds) == (3, 4, 2)
    form = spec.to_dict()
    assert not {"level", "dim", "common_shift", "noise", "noise_units"} & form.keys()
    assert RunSpec(**form) == spec


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"level": 2}, "has no level"),
        ({"num_agents": 4}, "has 3 sites"),
        ({"noise": -1}, "noise"),
    ],
)
def test_a_spec_refuses_what_the_problem_is_not(changes, words):
    with pytest.raises(SettingsError, match=words):
        RunSpec(problem=REACTION, **changes)


def test_a_problems_settings_are_defaults_only(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import guidefbo as gf\n"
        "def f():\n"
        "    space = gf.Space(x=gf.Float(0, 1))\n"
        "    given = {'beta': 100.0, 'num_paths': 7}\n"
        "    return gf.Tasks(space, [lambda v: -v['x']] * 2, num_initial=3,\n"
        "                    num_rounds=3, settings=given)\n"
    )
    own = gf.simulate(f"{path}:f", method="ucb")
    same = gf.simulate(f"{path}:f", method="ucb", settings={"beta": 100.0})
    other = gf.simulate(f"{path}:f", method="ucb", settings={"beta": 0.01})
    assert own.queries.tolist() == same.queries.tolist()
    assert own.queries.tolist() != other.queries.tolist()


def test_a_failing_evaluation_ends_the_run_with_its_place():
    with pytest.raises(DataError, match="site-0 must return a finite number"):
        gf.simulate(f"{FILE}:broken", method="ucb")


def test_the_command_runs_it_in_several_processes(tmp_path):
    """The record does not depend on how many processes evaluate."""
    forms = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.json"
        command = ["run", REACTION, "--method", "ucb", "--out", str(out)]
        subprocess.run(
            [sys.executable, "-m", "guidefbo", *command, "--jobs", str(jobs)],
            check=True,
            capture_output=True,
        )
        form = json.loads(out.read_text())
        forms.append({k: v for k, v in form.items() if k != "seconds"})
    assert forms[0] == forms[1]
    assert len(forms[0]["queries"]) == 3
