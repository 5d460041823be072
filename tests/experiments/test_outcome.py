"""What a record says of a run: a regret, two of them, or a metric."""

import gzip
import json

import numpy as np
import pytest
from tests.experiments.test_fingerprint import TASKS, own_study
from tests.experiments.test_plugins import plugin_of

import guidefbo as gf
from guidefbo.experiments.outcome import outcome_entry, parse_outcome
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import parse_study

SIZE = {"num_agents": 2, "num_initial": 4, "num_rounds": 1}


def test_a_regret_has_two_references():
    trace = gf.simulate("sphere", dim=2, level=3, common_shift=0.5, **SIZE)
    outcome = parse_outcome(trace.to_record())
    assert outcome.metric is None
    np.testing.assert_array_equal(outcome.curve, trace.mean_simple_regret)
    np.testing.assert_array_equal(outcome.curve_inbox, trace.regret_in_box)
    # Far off the centre the base maximum is not inside: its regret cannot be zero.
    assert (outcome.curve > outcome.curve_inbox).all()
    assert outcome.curve_regret is None
    assert outcome.site_finals is None


def metric_record(**changes):
    record = {
        "mean_metric": [0.5, 0.75],
        "metric": {"name": "AUC", "unit": "", "goal": "max"},
        "best_value": [[0.5, 0.5], [0.75, 0.75]],
    }
    return record | changes


def test_a_metric_is_the_main_curve_and_a_regret_stands_beside_it():
    outcome = parse_outcome(metric_record(mean_simple_regret=[0.4, 0.15]))
    assert outcome.curve.tolist() == [0.5, 0.75]
    assert outcome.final == 0.75
    assert outcome.metric == {"name": "AUC", "unit": "", "direction": "max"}
    assert outcome.curve_regret.tolist() == [0.4, 0.15]
    assert outcome.curve_inbox is None
    assert outcome.site_finals.tolist() == [0.75, 0.75]
    assert parse_outcome(metric_record()).curve_regret is None


@pytest.mark.parametrize(
    "form",
    [
        metric_record(),
        metric_record(mean_simple_regret=[0.4, 0.15], held_out=[0.7, 0.6]),
        metric_record(metric={"name": "loss", "unit": "kg", "goal": "min"}),
        metric_record(source="a table", code={"guidefbo": "1"}),
        {"mean_simple_regret": [2.0, 1.0], "regret_inbox": [1.5, 0.5]},
        {"mean_simple_regret": [2.0, 1.0], "cumulative_regret": [0.0, 7.5]},
        {"similarity": 0.5, "environment": {"guidefbo": "0.1.0"}},
    ],
)
def test_a_pack_says_what_the_record_says(form):
    one = parse_outcome(form)
    other = parse_outcome(json.loads(json.dumps(outcome_entry(one))))
    assert outcome_entry(other) == outcome_entry(one)
    curves = ("curve", "curve_regret", "curve_inbox", "curve_cumulative")
    for name in (*curves, "site_finals", "held_out"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    for name in ("metric", "source", "similarity", "parts"):
        assert getattr(other, name) == getattr(one, name)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"mean_metric": []},
        {"mean_metric": [1.0, None]},
        {"mean_metric": "high", "metric": {"name": "AUC"}},
        {"metric": {"name": "AUC"}},
        {"regret_inbox": [1.0]},
    ],
)
def test_without_a_curve_there_is_no_outcome(form):
    assert parse_outcome(form) is None


@pytest.mark.parametrize(
    ("change", "name", "expected"),
    [
        ({"metric": 3}, "metric", {"name": "value", "unit": "", "direction": "max"}),
        ({"best_value": [[1, "x"]]}, "site_finals", None),
        ({"best_value": 3}, "site_finals", None),
        ({"best_value": []}, "site_finals", None),
        ({"held_out": {}}, "held_out", None),
        ({"regret_inbox": [None]}, "curve_inbox", None),
        ({"cumulative_regret": "much"}, "curve_cumulative", None),
        ({"mean_simple_regret": 1}, "curve_regret", None),
    ],
)
def test_a_malformed_field_counts_as_not_there(change, name, expected):
    assert getattr(parse_outcome(metric_record(**change)), name) == expected


def test_a_study_of_ones_own_problem_and_its_pack(tmp_path):
    path = plugin_of(tmp_path, TASKS, "tasks.py")
    run_study(own_study(path), tmp_path / "out", jobs=1)
    folder = read_study(tmp_path / "out")
    pack = tmp_path / "p.json.gz"
    pack.write_bytes(pack_study(folder))
    packed = read_study(pack)
    assert pack_study(packed) == pack_study(folder)
    runs = json.loads(gzip.decompress(pack.read_bytes()))["runs"]
    for row in folder.rows:
        entry, outcome = runs[row.key], packed.outcomes[row.key]
        if row.spec["problem"] == "sphere":
            assert entry.keys() >= {"mean_simple_regret", "regret_inbox"}
            assert outcome.metric is None
        else:
            assert entry["mean_metric"] == outcome.curve.tolist()
            assert "mean_simple_regret" not in entry
            assert outcome.metric == {"name": "loss", "unit": "", "direction": "min"}
            assert outcome.site_finals.mean() == pytest.approx(outcome.final)


def test_a_similarity_has_no_curve(tmp_path):
    grid = {"problem": "sphere", "dim": 2, "num_agents": 2}
    form = {"measure": "similarity", "repetitions": 1, "grid": [grid]}
    run_study(parse_study(form), tmp_path, jobs=1)
    (outcome,) = read_study(tmp_path).outcomes.values()
    assert outcome.curve is None
    with pytest.raises(gf.FedBOError, match="has no curve"):
        _ = outcome.final
