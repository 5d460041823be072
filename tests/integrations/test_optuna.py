"""Studies of Optuna driven by an agent: the points of our own loop, in any storage."""

import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import optuna
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState

import guidefbo as gf
from guidefbo.core.errors import FedBOError, SettingsError
from guidefbo.integrations.optuna import FederatedSampler
from guidefbo.integrations.optuna.axes import Axes, Axis
from guidefbo.integrations.optuna.seen import ASKED
from guidefbo.methods.default import LONE_METHOD

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "share": FloatDistribution(0.0, 1.0),
    "width": IntDistribution(1, 64, log=True),
    "kind": CategoricalDistribution(["a", "b", "c"]),
    "warm": CategoricalDistribution([True, False]),
}
SPACE = gf.Space(
    rate=gf.Float(1e-4, 1.0, log=True),
    share=gf.Float(0, 1),
    width=gf.Int(1, 64, log=True),
    kind=gf.Choice("a", "b", "c"),
    warm=gf.Bool(),
)


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def cost(values):
    bonus = {"a": 0.3, "b": 0.0, "c": 0.6}[values["kind"]]
    off = (np.log10(values["rate"]) + 2) ** 2 + (values["share"] - 0.4) ** 2
    return float(
        off + np.log2(values["width"] / 8) ** 2 / 9 + bonus - 0.1 * values["warm"]
    )


def objective(trial):
    return cost(
        {
            "rate": trial.suggest_float("rate", 1e-4, 1.0, log=True),
            "share": trial.suggest_float("share", 0.0, 1.0),
            "width": trial.suggest_int("width", 1, 64, log=True),
            "kind": trial.suggest_categorical("kind", ["a", "b", "c"]),
            "warm": trial.suggest_categorical("warm", [True, False]),
        }
    )


def make(**options):
    return FederatedSampler(
        **({"space": DISTRIBUTIONS, "seed": 3, "initial": 4} | options)
    )


def points(study):
    return [trial.params for trial in study.trials]


def own_loop(count, **options):
    agent = gf.Agent(
        SPACE,
        goal="min",
        **({"method": LONE_METHOD, "seed": 3, "initial": 4} | options),
    )
    for _ in range(count):
        trial = agent.ask()
        agent.tell(trial, cost(trial.values))
    return [dict(trial.values) for trial in agent.trials]


@pytest.mark.parametrize("space", [DISTRIBUTIONS, SPACE], ids=["optuna", "guidefbo"])
def test_the_same_points_as_our_own_loop(space):
    study = optuna.create_study(sampler=make(space=space))
    study.optimize(objective, n_trials=9)
    assert points(study) == own_loop(9)
    origins = [t.system_attrs[ASKED]["origin"] for t in study.trials]
    assert origins == ["design"] * 4 + ["model"] * 5


def test_direction_and_method_are_the_agents():
    study = optuna.create_study(
        direction="maximize", sampler=make(method="nei", settings={"num_raw": 16})
    )
    study.optimize(lambda trial: -objective(trial), n_trials=6)
    assert points(study) == own_loop(6, method="nei", settings={"num_raw": 16})


def test_without_a_space_what_trials_have_in_common_is_decided_together():
    sampler = FederatedSampler(seed=3, initial=2)
    study = optuna.create_study(sampler=sampler)

    def narrow(trial):
        value = objective(trial)
        if trial.number % 2:
            value += trial.suggest_float("extra", 0, 1)
        return value + trial.suggest_float("moving", 0, 1 + trial.number)

    study.optimize(narrow, n_trials=5)
    asked = [t.system_attrs.get(ASKED, {}).get("values", {}) for t in study.trials]
    # Nothing is known at first; `extra` and `moving` are never common.
    assert asked[0] == {}
    assert (
        {"rate", "share", "width", "kind", "warm"} == asked[2].keys() == asked[4].keys()
    )
    found = [t.params for t in study.trials]
    assert found[4]["rate"] == asked[4]["rate"]
    assert found[4]["kind"] == "abc"[int(asked[4]["kind"])]


def test_it_finds_better_points_than_chance():
    ours = optuna.create_study(sampler=FederatedSampler(seed=0))
    chance = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    ours.optimize(objective, n_trials=35)
    chance.optimize(objective, n_trials=35)
    assert ours.best_value < 0.5 * chance.best_value - 0.05


def test_steps_of_floats_and_whole_numbers_and_odd_options():
    options = [None, 1, True, 1.5, "a=b,\n"]

    def stepped(trial):
        a = trial.suggest_float("a, b", 0.1, 0.75, step=0.05)
        n = trial.suggest_int("n=", -10, 10, step=4)
        kind = trial.suggest_categorical("kind", options)
        far = trial.suggest_int("far", -(10**15), 10**15)
        return (a - 0.4) ** 2 + n**2 / 100 + (kind is None) + far / 10**15

    study = optuna.create_study(sampler=FederatedSampler(seed=1, initial=3))
    study.optimize(stepped, n_trials=12)
    for trial in study.trials:
        assert round((trial.params["a, b"] - 0.1) / 0.05, 6).is_integer()
        assert trial.params["n="] in (-10, -6, -2, 2, 6, 10)
        assert type(trial.params["n="]) is int
    # Kept are the positions of options, as text, and of steps, not what was suggested.
    last = study.trials[-1]
    kind = next(k for k, o in enumerate(options) if o is last.params["kind"])
    assert last.system_attrs[ASKED]["values"] == {
        "a, b": round((last.params["a, b"] - 0.1) / 0.05),
        "n=": (last.params["n="] + 10) // 4,
        "kind": str(kind),
    }


def number_distributions():
    low = st.integers(-1000, 1000)
    span = st.integers(1, 2000)
    step = st.sampled_from([1, 2, 3, 7])
    ints = st.builds(
        lambda a, n, s: IntDistribution(a, a + n * s, step=s), low, span, step
    )
    fine = st.sampled_from([0.1, 0.25, 0.3, 1e-3, 7.5])
    floats = st.builds(
        lambda a, n, s: FloatDistribution(a * s, a * s + n * s, step=s), low, span, fine
    )
    plain = st.builds(lambda a, n: FloatDistribution(a, a + n), low, span)
    logs = st.builds(
        lambda a, n: FloatDistribution(10.0**-a, 10.0**n, log=True),
        st.integers(0, 9),
        st.integers(1, 9),
    )
    return st.one_of(ints, floats, plain, logs)


@pytest.mark.filterwarnings("ignore:The distribution is specified")
@given(number_distributions(), st.floats(0, 1))
def test_values_there_and_back(distribution, u):
    assume(not distribution.single())  # Optuna may cut the last step off
    axis = Axis.of(distribution)
    ours = axis.parameter.from_unit(u)
    theirs = axis.to_optuna(ours)
    assert distribution._contains(distribution.to_internal_repr(theirs))
    assert axis.to_site(theirs) == ours


def test_what_an_agent_cannot_have_is_left_to_chance():
    wide = {
        "huge": FloatDistribution(-1e300, 1e300),
        "many": CategoricalDistribution([str(k) for k in range(2000)]),
        "long": IntDistribution(0, 10**15),
    }
    assert Axes.of(wide) is None
    study = optuna.create_study(sampler=FederatedSampler(seed=0, space=wide))
    for _ in range(3):
        trial = study.ask(wide)
        study.tell(trial, 1.0)
    assert len({t.params["huge"] for t in study.trials}) == 3


def test_ask_and_tell_of_many_at_once_gives_different_points():
    study = optuna.create_study(sampler=make())
    for _ in range(2):
        trials = [study.ask(DISTRIBUTIONS) for _ in range(5)]
        for trial in trials:
            study.tell(trial, cost(trial.params))
    assert len({json.dumps(p) for p in points(study)}) == 10
    with_agent = gf.Agent(SPACE, goal="min", method=LONE_METHOD, seed=3, initial=4)
    for _ in range(2):
        batch = with_agent.ask(5)
        for trial in batch:
            with_agent.tell(trial, cost(trial.values))
    assert points(study) == [dict(t.values) for t in with_agent.trials]


def test_a_running_trial_counts_before_its_values_are_suggested():
    study = optuna.create_study(sampler=make(initial=1))
    study.optimize(objective, n_trials=3)
    first, second = study.ask(), study.ask()
    # Only one of its five values has been read when the other worker begins.
    first.suggest_float("rate", 1e-4, 1.0, log=True)
    second.suggest_float("rate", 1e-4, 1.0, log=True)
    assert first.params["rate"] != second.params["rate"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_jobs_in_threads(n_jobs):
    study = optuna.create_study(sampler=make(space=None))
    study.optimize(objective, n_trials=12, n_jobs=n_jobs)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len({json.dumps(p) for p in points(study)}) == 12


def test_enqueued_trials_are_run_and_learnt_from():
    study = optuna.create_study(sampler=make())
    best = {"rate": 1e-2, "share": 0.4, "width": 8, "kind": "b", "warm": True}
    study.enqueue_trial(best)
    study.enqueue_trial({"rate": 0.5})
    study.optimize(objective, n_trials=3)
    assert points(study)[0] == best
    assert points(study)[1]["rate"] == 0.5
    agent = gf.Agent(SPACE, goal="min", method=LONE_METHOD, seed=3, initial=4)
    agent.tell(best, cost(best))
    second = points(study)[1]
    # The rest of the second is the first point of the design.
    assert second == dict(agent.ask().values) | {"rate": 0.5}


def test_waiting_trials_are_kept_away_from():
    lone = {"x": CategoricalDistribution(["a", "b", "c"])}
    study = optuna.create_study(sampler=FederatedSampler(space=lone, seed=0, initial=9))
    study.enqueue_trial({"x": "b"})
    # What an agent is asked beside it is one of the two others.
    waiting = study.get_trials(deepcopy=False)[0]
    assert waiting.state == TrialState.WAITING
    other = study._storage.create_new_trial(study._study_id)
    trial = study._storage.get_trial(other)
    found = study.sampler.sample_relative(study, trial, lone)
    assert found["x"] in ("a", "c")


def test_failed_and_pruned_trials_and_infinite_values_are_kept_away_from():
    outcomes = ["fail", "prune", "inf", "huge"]
    space = {"x": FloatDistribution(0, 1)}
    study = optuna.create_study(
        sampler=FederatedSampler(space=space, seed=0, initial=1)
    )

    def rough(trial):
        x = trial.suggest_float("x", 0, 1)
        if 0 < trial.number <= 4:
            what = outcomes[trial.number - 1]
            if what == "fail":
                raise ArithmeticError(what)
            if what == "prune":
                trial.report(0.1, 0)
                raise optuna.TrialPruned
            return float("inf") if what == "inf" else 1e200
        return (x - 0.3) ** 2

    study.optimize(rough, n_trials=8, catch=ArithmeticError)
    xs = np.array([t.params["x"] for t in study.trials])
    for k in range(1, 5):
        others = np.delete(xs, k)
        assert np.abs(others - xs[k]).min() > 0.004
    # Our own loop, told the same, asks the same.
    agent = gf.Agent(
        gf.Space(x=gf.Float(0, 1)), goal="min", method=LONE_METHOD, seed=0, initial=1
    )
    for k in range(8):
        trial = agent.ask()
        if 0 < k <= 4:
            agent.tell(trial, failed="no value")
        else:
            agent.tell(trial, (trial.values["x"] - 0.3) ** 2)
    assert xs.tolist() == [t.values["x"] for t in agent.trials]


def test_a_trial_whose_worker_is_gone_is_given_up():
    space = {"x": CategoricalDistribution(["a", "b"])}
    study = optuna.create_study(
        sampler=FederatedSampler(space=space, seed=0, initial=99)
    )
    dead = study.ask(space)
    met = set()
    for _ in range(60):
        trial = study.ask(space)
        met.add((trial.params["x"], trial.number > 50))
        study.tell(trial, 0.5 + 0.01 * trial.number)
    assert (dead.params["x"], False) not in met
    assert (dead.params["x"], True) in met


STEP = """
import sys, optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from tests.integrations.test_optuna import make, objective

optuna.logging.set_verbosity(optuna.logging.WARNING)
where, count = sys.argv[1], int(sys.argv[2])
storage = where
if where.endswith(".log"):
    storage = JournalStorage(JournalFileBackend(where))
study = optuna.create_study(
    storage=storage, study_name="s", load_if_exists=True, sampler=make()
)
study.optimize(objective, n_trials=count)
import json
print(json.dumps([t.params for t in study.trials]))
"""


def run_step(where, count, hash_seed):
    done = subprocess.run(
        [sys.executable, "-c", STEP, str(where), str(count)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("storage", ["rdb", "journal"])
def test_another_process_goes_on_where_the_first_one_stopped(storage, tmp_path):
    where = tmp_path / "study.log"
    if storage == "rdb":
        where = f"sqlite:///{tmp_path / 'study.db'}"
    first = run_step(where, 5, hash_seed=1)
    whole = run_step(where, 4, hash_seed=2)
    assert whole[:5] == first
    assert whole == own_loop(9)


@pytest.mark.slow
def test_two_processes_on_one_storage(tmp_path):
    where = f"sqlite:///{tmp_path / 'study.db'}"
    run_step(where, 2, hash_seed=0)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda k: run_step(where, 5, hash_seed=k), range(2)))
    study = optuna.load_study(study_name="s", storage=where)
    assert [t.number for t in study.trials] == list(range(12))
    assert all(t.state == TrialState.COMPLETE for t in study.trials)


def test_random_parts_differ_between_trials_and_repeat_with_the_seed():
    def draw(seed):
        study = optuna.create_study(sampler=FederatedSampler(seed=seed))
        trials = [study.ask() for _ in range(4)]
        return [t.suggest_float("x", 0, 1) for t in trials]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert len(set(draw(1))) == 4
    assert draw(None) != draw(None)


def test_a_sampler_can_be_sent_to_another_process():
    sampler = pickle.loads(pickle.dumps(make()))
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=2)
    assert points(study) == own_loop(2)


def test_a_storage_with_something_else_in_the_attribute():
    study = optuna.create_study(sampler=make())
    trial = study.ask()
    for nonsense in (7, {"values": 3, "origin": []}, {"values": {"rate": "x"}}):
        study._storage.set_trial_system_attr(trial._trial_id, ASKED, nonsense)
        other = study.ask(DISTRIBUTIONS)
        study.tell(other, cost(other.params))
    assert points(study)[1:] == own_loop(3)


def test_wrong_arguments_are_refused_at_once():
    with pytest.raises(SettingsError, match="There is no method"):
        FederatedSampler(method="gess")
    with pytest.raises(FedBOError, match="seed must be"):
        FederatedSampler(seed=-1)
    with pytest.raises(SettingsError, match="noise must be"):
        FederatedSampler(noise=-1.0)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=make())
    with pytest.raises(ValueError, match="one objective, got one with 2"):
        study.ask(DISTRIBUTIONS)
    with pytest.raises(SettingsError, match="works alone"):
        make().sync(study)
