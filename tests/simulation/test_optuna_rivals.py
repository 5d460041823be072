"""Optuna's samplers in the place of our agents, by the plugin of the study realworld.

What needs Optuna itself is run with `pytest -m oracle`.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import guidefbo as gf
from guidefbo.agent.dataset import Dataset
from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Streams
from guidefbo.experiments.fingerprint import Codes
from guidefbo.methods.plugins import Plugin, load_plugin
from guidefbo.methods.registry import find_method

FILE = Path(__file__).parents[2] / "studies" / "optuna_rivals.py"
REACTION = f"{Path(__file__).parents[1] / 'problems' / 'own_tasks.py'}:reaction"
SPACE = gf.Space(
    dose=gf.Float(0.1, 10, log=True),
    tilt=gf.Float(-1, 1),
    days=gf.Int(1, 30, log=True),
    count=gf.Int(0, 4),
    drug=gf.Choice("a", "b", "c"),
    size=gf.Choice(1, 2.5, 7),
    is_cold=gf.Bool(),
)


@pytest.fixture(scope="module")
def rivals():
    spec = spec_from_file_location("optuna_rivals", FILE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def initial(space, num_points=6):
    stream = Streams(0).at("test")
    U = stream.random((num_points, space.domain.num_parameters))
    X = space.domain.place(U, stream)
    return Dataset(X=X, y=-((X - 0.3) ** 2).sum(axis=1))


def make(rivals, rule="tpe", *, space=SPACE, agent_id=0, seed=0):
    return rivals.make_site(
        space, initial(space), rule=rule, agent_id=agent_id, seed=seed, settings={}
    )


def follow(site, num_rounds=3):
    queries = []
    for _ in range(num_rounds):
        x = site.ask()
        queries.append(x.tolist())
        site.tell(x, -float(((x - 0.3) ** 2).sum()))
    return queries


def test_plugin_brings_two_methods():
    assert set(load_plugin(Plugin.read(FILE))) == {"optuna", "tpe", "gp"}
    for name in ("optuna-tpe", "optuna-gp"):
        method = find_method(name)
        assert method.strategy.solver is not None
        assert method.server({}) is None
    assert {"optuna", "torch"} <= Codes().of(
        {"problem": "suzuki", "method": name}
    ).keys()


def test_constraints_are_refused(rivals):
    space = gf.Space(a=gf.Float(0, 1), b=gf.Float(0, 1))
    space = space.subject_to(gf.SumTo(1.0, "a", "b"))
    with pytest.raises(SettingsError, match=r"know no constraints .* got .*a \+ b"):
        make(rivals, space=space)


@pytest.mark.parametrize("rule", ["tpe", "gp"])
def test_what_is_missing_is_named(rivals, rule, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SettingsError, match=r"need optuna, .* pip install"):
        make(rivals, rule)


@pytest.mark.oracle
def test_parameters_are_of_optunas_own_kinds(rivals):
    import optuna.distributions as kinds

    assert rivals.to_distributions(SPACE) == {
        "dose": kinds.FloatDistribution(0.1, 10.0, log=True),
        "tilt": kinds.FloatDistribution(-1.0, 1.0),
        "days": kinds.IntDistribution(1, 30, log=True),
        "count": kinds.IntDistribution(0, 4),
        "drug": kinds.CategoricalDistribution(("a", "b", "c")),
        "size": kinds.CategoricalDistribution((1, 2.5, 7)),
        "is_cold": kinds.CategoricalDistribution((False, True)),
    }


@pytest.mark.oracle
@pytest.mark.parametrize("rule", ["tpe", "gp"])
def test_queries_depend_on_seed_and_site_alone(rivals, rule):
    first = follow(make(rivals, rule))
    assert follow(make(rivals, rule)) == first
    assert follow(make(rivals, rule, seed=1)) != first
    assert follow(make(rivals, rule, agent_id=1)) != first
    rows = np.array(first)
    assert np.allclose(rows, SPACE.domain.snap(rows))


@pytest.mark.oracle
def test_initial_design_is_what_the_sampler_knows(rivals):
    site, data = make(rivals), initial(SPACE)
    known = site._study.trials
    assert [trial.value for trial in known] == data.y.tolist()
    for trial, x in zip(known, data.X, strict=True):
        assert SPACE.to_unit(trial.params) == pytest.approx(x)
    x = site.ask()
    site.tell(x, 1.0)
    # A value at a point that was not asked is a trial as well.
    site.tell(data.X[0], 2.0)
    assert [trial.value for trial in site._study.trials[6:]] == [1.0, 2.0]
    assert site._study.best_value == 2.0


@pytest.mark.oracle
@pytest.mark.parametrize("rule", ["tpe", "gp"])
def test_a_run_is_paired_and_repeatable(rule):
    load_plugin(Plugin.read(FILE))
    trace = gf.simulate(REACTION, method=f"optuna-{rule}", num_rounds=2, seed=3)
    again = gf.simulate(REACTION, method=f"optuna-{rule}", num_rounds=2, seed=3)
    ours = gf.simulate(REACTION, method="ucb", num_rounds=2, seed=3)
    assert trace.queries.tolist() == again.queries.tolist()
    initial = trace.queries.shape[1] - 2
    assert (trace.queries[:, :initial] == ours.queries[:, :initial]).all()
    assert (trace.values[:, :initial] == ours.values[:, :initial]).all()
    assert trace.scalars["up_per_agent_round"] == 0.0
