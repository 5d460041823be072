"""Whole runs on catalogue problems."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.simulation.light import known_to

from guidefbo.agent.strategies.consensus.aim import AIMS
from guidefbo.core.designs import interlocking_design
from guidefbo.core.errors import FedBOError, SettingsError, UnknownNameError
from guidefbo.core.streams import Streams
from guidefbo.methods.registry import find_method, method_names
from guidefbo.metrics.timing import StageClock
from guidefbo.problems.library import make_problem
from guidefbo.server.strategies.consensus.settings import FUSIONS
from guidefbo.simulation import simulate as simulate_module
from guidefbo.simulation.simulate import simulate

METHODS = method_names()

SMALL = {"dim": 3, "num_agents": 3, "num_initial": 6, "num_rounds": 3}
LIGHT = {
    "num_paths": 60,
    "num_features": 64,
    "num_candidates": 120,
    "num_raw": 24,
    "num_starts": 4,
    "num_iterations": 8,
}
"""Settings that make a run cheap; what they leave out is tested elsewhere."""


def small(problem="ackley", settings=None, method="guide-ucb", **changes):
    given = {**known_to(method, LIGHT), **(settings or {})}
    changes = {**SMALL, **changes}
    return simulate(problem, method=method, settings=given, **changes)


def stable(record):
    """Return the parts of a record that the spec determines, as text."""
    kept = {k: v for k, v in record.items() if k not in ("seconds", "environment")}
    return json.dumps(kept)


@pytest.mark.parametrize("method", ["guide-ucb", "consensus-ucb", "shape-ucb", "fts"])
def test_agents_exchange_in_every_few_rounds(method):
    """Seven rounds, three exchanges: in rounds 1, 4 and 7."""
    often, seldom, once = (
        small(method=method, num_rounds=7, exchange_interval=every)
        for every in (1, 3, 7)
    )
    assert stable(often.to_record()) == stable(
        small(method=method, num_rounds=7).to_record()
    )
    assert "exchange_interval" not in often.to_record()["spec"]
    assert seldom.to_record()["spec"]["exchange_interval"] == 3
    for way in ("up_per_agent_round", "down_per_agent_round"):
        sent = [trace.num_bytes[way] for trace in (often, seldom, once)]
        assert 0.36 < sent[1] / sent[0] < 0.52  # 3 of 7; later packets may be longer
        assert 0.08 < sent[2] / sent[0] < 0.2  # 1 of 7
    # The first query follows an exchange in all three; the second does not in two.
    first, second = SMALL["num_initial"], SMALL["num_initial"] + 1
    assert (often.queries[:, first] == seldom.queries[:, first]).all()
    assert (seldom.queries[:, second] == once.queries[:, second]).all()
    assert (often.queries != seldom.queries).any()
    assert (seldom.queries != once.queries).any()


def test_what_was_heard_once_goes_on_to_count():
    """A method whose packet is used only in the round it came in would end as alone."""
    heard = small(method="placebo-ucb", exchange_interval=3)
    assert (heard.queries == small(method="placebo-ucb").queries).all()
    assert (heard.queries != small(method="ucb").queries).any()


def test_rounds_between_exchanges_are_counted():
    for wrong in (0, -1, 1.5, "often", True):
        with pytest.raises(SettingsError, match="exchange_interval"):
            small(exchange_interval=wrong)


RUN = """
import json, sys
from guidefbo import simulate
for given in map(json.loads, sys.argv[1:]):
    record = simulate("ackley", **given).to_record()
    del record["seconds"], record["environment"]
    print(json.dumps(record))
"""


def test_fresh_processes_give_the_same_bytes():
    """Whatever the hash seed; nothing depends on the order of a set or on `hash`."""
    methods = ["guide-ucb", "guide-nei", "guide-ts", "ucb", "consensus-ucb"]
    outputs = []
    calls = [
        json.dumps({**SMALL, "method": method, "settings": known_to(method, LIGHT)})
        for method in methods
    ]
    for hash_seed in ("1", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", RUN, *calls],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert [json.loads(line)["spec"]["method"] for line in outputs[0].splitlines()] == (
        methods
    )
    # And this process, with its shape checks, agrees with them.
    here = stable(small(method="guide-nei").to_record())
    assert json.loads(here) == json.loads(outputs[0].splitlines()[1])


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_run_and_other_seed_another(method):
    first, again, other = (
        small(method=method, num_rounds=1, seed=seed) for seed in (3, 3, 4)
    )
    assert stable(first.to_record()) == stable(again.to_record())
    assert not np.array_equal(first.best_value, other.best_value)


def test_all_methods_see_the_same_tasks_and_initial_points():
    alike = [
        method
        for method in METHODS
        if find_method(method).strategy.design is interlocking_design
    ]
    # Regions of its own are the idea of one method.
    assert set(METHODS) - set(alike) == {"fts-de", "fts-de-as-run"}
    traces = [small(method=method, level=3, seed=5, num_rounds=1) for method in alike]
    streams = Streams(5)
    problem = make_problem("ackley", dim=3, num_agents=3, level=3, streams=streams)
    design = interlocking_design(None, (3, 6, 3), streams)
    expected = [
        task.evaluate(X).max() for task, X in zip(problem.tasks, design, strict=True)
    ]
    for trace in traces:
        assert trace.best_value[0].tolist() == expected


def test_an_added_agent_leaves_the_tasks_of_the_others_alone():
    few = make_problem("ackley", dim=3, num_agents=2, level=3, streams=Streams(5))
    many = make_problem("ackley", dim=3, num_agents=4, level=3, streams=Streams(5))
    X = np.full((1, 3), 0.3)
    for n in range(2):
        assert few.tasks[n].evaluate(X) == many.tasks[n].evaluate(X)


PARTS = {
    "belief": "single-gaussian",
    "reweighting": "mass-only",
    "merging": "none",
    "dispatch": "broadcast",
    "intervention": "uniform",
    "covariance": "full",
    "sampler": "exact",
    "schedule": "constant",
    "fit": "likelihood",
}


@pytest.mark.parametrize(
    ("method", "part"),
    [
        *(("guide-ucb", {name: value}) for name, value in PARTS.items()),
        ("guide-ucb", {"belief": "single-gaussian", "covariance": "full"}),
        # What the other rules see of a part is the posterior.
        ("guide-nei", {"intervention": "uniform"}),
        ("guide-nei", {"covariance": "full"}),
        ("guide-ts", {"intervention": "uniform"}),
        ("guide-ts", {"covariance": "full"}),
        ("nei", {"fit": "likelihood"}),
        *(("consensus-ucb", {"fusion": name}) for name in FUSIONS),
        ("consensus-ucb", {"place": "process"}),
        *(("consensus-ucb", {"aim": name}) for name in AIMS),
        ("consensus-ucb", {"groups": "one"}),
        ("consensus-ucb", {"consensus_schedule": "decaying"}),
        ("consensus-ucb", {"lie": "respond", "num_liars": 1}),
        ("consensus-ts", {"lie": "drift", "num_liars": 2}),
        ("consensus-nei", {"intervention": "uniform", "min_spread": 0}),
    ],
    ids=str,
)
def test_every_ablation_runs_by_name(method, part):
    trace = small(method=method, settings=part, num_rounds=2)
    assert trace.best_value.shape == (3, 3)
    assert np.isfinite(trace.best_value).all()
    assert trace.spec.settings == {**known_to(method, LIGHT), **part}
    spread = 6 if part.get("covariance") == "full" else 3
    is_silent = find_method(method).strategy.is_plain
    scalars = 0 if is_silent else 2 + 3 + spread
    assert trace.scalars["up_per_agent_round"] == scalars


@pytest.mark.parametrize("method", METHODS)
def test_no_rounds(method):
    trace = small(method=method, num_rounds=0)
    assert trace.best_value.shape == (1, 3)
    assert len(trace.mean_simple_regret) == 1
    assert trace.scalars == {"up_per_agent_round": 0, "down_per_agent_round": 0}
    assert "0 evaluations" in str(trace)


@pytest.mark.parametrize("method", METHODS)
def test_one_agent(method):
    trace = small(method=method, num_agents=1, num_rounds=2)
    assert trace.best_value.shape == (3, 1)
    if method.startswith("guide"):
        assert trace.scalars == {"up_per_agent_round": 8, "down_per_agent_round": 7}
    if method.startswith("consensus"):
        # Nobody else speaks: the packet is empty, and the agent works alone.
        assert trace.scalars == {"up_per_agent_round": 8, "down_per_agent_round": 0}
        rule = find_method(method).rule.name
        alone = small(method=rule, num_agents=1, num_rounds=2)
        assert np.array_equal(trace.best_value, alone.best_value)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_initial": 1},
        {"dim": 1},
        {"noise": 0.0},
        {"noise": 50.0},
        {"noise_units": "raw"},
        {"common_shift": 0.3},
        {"level": 1},
    ],
    ids=str,
)
def test_edges_of_the_spec(changes):
    for method in ("guide-ucb", "consensus-ucb", "guide-nei", "guide-ts"):
        if not method.endswith("ucb") and not changes.keys() & {"num_initial", "noise"}:
            continue
        trace = small(method=method, **{**changes, "num_rounds": 2})
        assert np.isfinite(trace.best_value).all()


@pytest.mark.parametrize("method", METHODS)
def test_smallest_settings(method):
    """Every number at its limit, or at zero; liars aside, who would be everybody."""
    known = find_method(method).settings
    least = {name: s.low for name, s in known.items() if not s.names}
    trace = small(method=method, settings=least, num_rounds=1)
    assert np.isfinite(trace.best_value).all()


def test_finding_the_reference_is_not_on_the_clock(monkeypatch):
    """For some functions it takes longer than the run."""
    order = []

    def noted(module, name):
        found = getattr(module, name)

        def call(*given):
            order.append(name)
            return found(*given)

        monkeypatch.setattr(module, name, call)

    noted(simulate_module, "optima_in_box")
    noted(StageClock, "seconds")
    small()
    assert order == ["seconds", "optima_in_box"]


def test_record_has_the_documented_fields():
    record = small().to_record()
    assert list(record) == [
        "format",
        "version",
        "spec",
        "mean_simple_regret",
        "regret_inbox",
        "cumulative_regret",
        "best_value",
        "optima",
        "environment",
        "scalars",
        "scalars_paper",
        "bytes",
        "seconds",
        "space",
        "maximum",
        "num_honest",
    ]
    assert (record["format"], record["version"]) == ("guidefbo-run", 1)
    assert list(record["spec"]) == [
        "problem",
        "dim",
        "level",
        "common_shift",
        "noise",
        "noise_units",
        "method",
        "num_agents",
        "num_initial",
        "num_rounds",
        "seed",
        "settings",
    ]
    versions = {"guidefbo", "python", "numpy", "scipy"}
    assert set(record["environment"]) == versions | {"machine"}
    per_round = {"up_per_agent_round", "down_per_agent_round"}
    assert set(record["scalars"]) == set(record["bytes"]) == per_round
    assert set(record["seconds"]) == {
        "total",
        "processor",
        "fit",
        "belief",
        "server",
        "decide",
        "evaluate",
    }
    assert len(record["mean_simple_regret"]) == SMALL["num_rounds"] + 1
    assert np.shape(record["best_value"]) == (SMALL["num_rounds"] + 1, 3)
    assert json.loads(json.dumps(record)) == record


def test_scalars_for_ten_dimensions():
    """E38: 22 up; five components of 21 numbers down once there are five."""
    trace = small(dim=10, num_agents=6, num_rounds=1, settings={"merging": "none"})
    assert trace.scalars == {"up_per_agent_round": 22, "down_per_agent_round": 105}
    assert small(method="ucb").scalars == {
        "up_per_agent_round": 0,
        "down_per_agent_round": 0,
    }


def test_regret_is_the_distance_of_the_best_values_from_the_maximum():
    """E33, E34."""
    trace = small("styblinski-tang")
    problem = make_problem("styblinski-tang", dim=3, level=2, streams=Streams(0))
    expected = problem.maximum - trace.best_value.mean(axis=1)
    assert trace.mean_simple_regret == pytest.approx(expected, rel=1e-12)
    assert (np.diff(trace.best_value, axis=0) >= 0.0).all()


def test_cumulative_regret_adds_up_what_the_honest_agents_asked():
    """Each query counts once, a lie of others and the initial design do not."""
    lying = {"lie": "corner", "num_liars": 1}
    trace = small(method="consensus-ucb", settings=lying, num_agents=4)
    initial = trace.spec.num_initial
    total = np.zeros(4)
    for n in range(3):
        for t in range(1, 4):
            gap = trace.optima[n] - trace.values[n, initial + t - 1]
            total[t:] += gap / 3
    assert trace.num_honest == 3
    assert trace.mean_cumulative_regret == pytest.approx(total, rel=1e-12)
    assert trace.to_record()["cumulative_regret"][0] == 0.0


def test_guidance_of_strength_zero_is_the_plain_rule():
    """E16: S = 1, so not a bit of a query changes."""
    plain = small(method="ucb")
    guided = small(method="guide-ucb", settings={"max_strength": 0})
    assert np.array_equal(plain.best_value, guided.best_value)


def test_progress_is_told_every_round():
    seen = []
    trace = small(progress=lambda t, regret: seen.append((t, regret)))
    assert [t for t, _ in seen] == [0, 1, 2, 3]
    assert [regret for _, regret in seen] == pytest.approx(trace.mean_simple_regret)


def test_saved_record_is_the_record(tmp_path):
    trace = small()
    trace.save(tmp_path / "run.json")
    record = json.loads((tmp_path / "run.json").read_text())
    for name in ("queries", "observations", "values", "chosen"):
        assert record.pop(name) == getattr(trace, name).tolist()
    assert record == trace.to_record()
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_trace_reads_well_and_draws(tmp_path):
    trace = small(seed=2)
    text = str(trace)
    assert "guide-ucb on ackley, level 2, seed 2: 3 agents, 6 + 3 evaluations" in text
    assert f"{trace.mean_simple_regret[-1]:.4g} at the end" in text
    assert "8 up" in text
    figure = trace.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    axes = figure.axes[0]
    assert axes.lines[-2].get_ydata() == pytest.approx(trace.mean_simple_regret)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_rounds": -1}, r"num_rounds must be .* at least 0, got -1"),
        ({"num_rounds": 2.5}, r"num_rounds must be a whole number .* got 2\.5"),
        ({"num_rounds": True}, r"num_rounds must be a whole number .* got True"),
        ({"num_initial": 0}, r"num_initial must be .* at least 1, got 0"),
        ({"num_agents": 0}, r"num_agents must be .* at least 1, got 0"),
        ({"num_agents": 1.5}, r"num_agents must be a whole number .* got 1\.5"),
        ({"dim": 0}, r"dim must be .* at least 1, got 0"),
        ({"dim": 2.5}, r"dim must be a whole number .* got 2\.5"),
        ({"seed": -1}, r"seed must be .* at least 0, got -1"),
        ({"seed": "0"}, r"seed must be a whole number .* got '0'"),
        ({"level": 4}, r"level must be 1, 2 or 3, got 4"),
        ({"level": "2"}, r"level must be 1, 2 or 3, got "),
        ({"noise": -0.1}, r"noise must be .* got -0\.1"),
        ({"noise": float("nan")}, r"noise must be .* got nan"),
        ({"noise": "0.1"}, r"noise must be"),
        ({"noise_units": "furlongs"}, r"noise_units must be .* got 'furlongs'"),
        ({"common_shift": 0.6}, r"common_shift must lie between 0 and 0\.5, got 0\.6"),
        ({"common_shift": float("nan")}, r"common_shift must lie .* got nan"),
        ({"settings": {"beta": "abc"}}, r"beta must be a finite number .* got 'abc'"),
        ({"settings": {"beta": -1}}, r"beta must be .* from 0 to .*, got -1"),
        ({"settings": {"beta": float("inf")}}, r"beta must be .* got inf"),
        ({"settings": {"beta": 10**400}}, r"beta must be"),
        ({"settings": {"beta": True}}, r"beta must be .* got True"),
        ({"settings": {"num_paths": 0}}, r"num_paths must be a whole number .* got 0"),
        ({"settings": {"num_paths": 1.5}}, r"num_paths must be a whole .* got 1\.5"),
        ({"settings": {"belief": "none"}}, r"belief must be one of dpgmm, single-gau"),
        ({"settings": {"belief": ["dpgmm"]}}, r"belief must be one of"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_specs_are_refused(changes, words):
    with pytest.raises(SettingsError, match=words):
        simulate("ackley", **{**SMALL, **changes})


@pytest.mark.parametrize(
    ("changes", "nearest"),
    [
        ({"problem": "akley"}, "'ackley'"),
        ({"method": "guide-ubc"}, "'guide-ucb'"),
        ({"settings": {"bta": 1}}, "'beta'"),
    ],
)
def test_unknown_names_name_the_nearest(changes, nearest):
    with pytest.raises(UnknownNameError, match=f"Did you mean.*{nearest}"):
        simulate(**{**SMALL, **changes})


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("ucb", {"num_paths": 100}),
        ("guide-ts", {"beta": 1}),
        ("fts", {"mode": "as-run"}),
        ("consensus-ucb", {"schedule": "constant"}),
    ],
    ids=str,
)
def test_settings_of_other_methods_are_refused(method, settings):
    (name,) = settings
    with pytest.raises(UnknownNameError, match=f"no setting of {method} '{name}'"):
        simulate(method=method, settings=settings, **SMALL)


def test_plot_refuses_an_unknown_ending(tmp_path):
    trace = small(num_rounds=0)
    with pytest.raises(FedBOError, match="ending"):
        trace.plot(tmp_path / "run.docx")
