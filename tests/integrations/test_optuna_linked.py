"""Studies of Optuna at sites of a federation: real letters, HTTP and a folder."""

import json
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from tests.connect.answerer import Answerer, serving
from tests.fences import fences

import guidefbo as gf
from guidefbo.core.errors import GuidanceWarning, SettingsError, SpaceError
from guidefbo.integrations.optuna import FederatedSampler
from guidefbo.integrations.optuna.seen import ASKED
from guidefbo.site.trial import TrialState as Ours

SPACE = gf.Space(
    dose=gf.Float(0.1, 10, log=True), days=gf.Int(1, 9), drug=gf.Choice("a", "b")
)


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def effect(values, best):
    return 1.0 - (values["dose"] / best - 1) ** 2 / 9 + 0.2 * (values["drug"] == "b")


def objective(best):
    def run(trial):
        values = {
            "dose": trial.suggest_float("dose", 0.1, 10, log=True),
            "days": trial.suggest_int("days", 1, 9),
            # Another order of the options than the federation's.
            "drug": trial.suggest_categorical("drug", ["b", "a"]),
        }
        return effect(values, best) + 0.01 * values["days"]

    return run


def make_coordinator(**options):
    return Answerer(space=SPACE, **options)


def test_a_correction_at_the_site_stays(tmp_path):
    """The study still has what was misread; the file does not take it again."""
    file = tmp_path / "site.json"
    gf.Agent(gf.Space(x=gf.Float(0, 1)), goal="max", seed=1).save(file)
    study = optuna.create_study(direction="maximize", sampler=FederatedSampler(file))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + 100 * (t.number == 1), 3)
    with gf.Agent.update(file) as agent:
        agent.tell(2, agent.trials[1].value - 100.0)
    study.optimize(lambda t: t.suggest_float("x", 0, 1), 1)
    agent = gf.Agent.load(file)
    assert len(agent.trials) == 4
    assert max(trial.value for trial in agent.trials) < 1.0


def studies(coordinator, where, folder, sites, **options):
    made = {}
    for site in sites:
        code = coordinator.invite(site)
        link = gf.connect(folder / f"{site}.json", where, code=code)
        sampler = FederatedSampler(link, **options)
        made[site] = optuna.create_study(direction="maximize", sampler=sampler)
    return made


def own_campaign(coordinator, where, folder, sites, rounds):
    links = {
        s: gf.connect(folder / f"{s}.json", where, code=coordinator.invite(s))
        for s in sites
    }
    asked = {site: [] for site in sites}
    for _ in range(rounds):
        for k, (site, link) in enumerate(links.items()):
            link.sync()
            with gf.Agent.update(link.places.file) as agent:
                trial = agent.ask()
                value = effect(trial.values, 2.0 + k) + 0.01 * trial.values["days"]
                agent.tell(trial, value)
                asked[site].append((dict(trial.values), trial.guided))
    return asked


def test_the_same_campaign_as_with_our_own_loop(tmp_path):
    """One line in the study, and the sites ask what our own loop asks."""
    sites, rounds = ("north", "south", "west"), 9
    ours, theirs = make_coordinator(), make_coordinator()
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    with serving(ours) as where:
        expected = own_campaign(ours, where, tmp_path / "ours", sites, rounds)
    with serving(theirs) as where:
        made = studies(theirs, where, tmp_path / "theirs", sites)
        for _ in range(rounds):
            for k, study in enumerate(made.values()):
                study.optimize(objective(2.0 + k), n_trials=1)
    found = {
        site: [(t.params, t.system_attrs[ASKED]["guided"]) for t in study.trials]
        for site, study in made.items()
    }
    assert found == expected
    assert [guided for _, guided in found["west"]].count(True) >= 2
    # The same uploads arrived in the same order.
    assert ours.applied == theirs.applied


def test_through_a_folder(tmp_path):
    coordinator, shared = make_coordinator(), tmp_path / "shared"
    shared.mkdir()
    made = {}
    for site in ("north", "south"):
        file, code = tmp_path / f"{site}.json", coordinator.invite(site)
        with pytest.raises(gf.FedBOError, match="has not come yet"):
            gf.connect(file, f"folder:{shared}", code=code, patience=0.0)
        coordinator.turn(shared)
        link = gf.connect(file, f"folder:{shared}", code=code, patience=0.0)
        made[site] = optuna.create_study(
            direction="maximize", sampler=FederatedSampler(link)
        )
    for _ in range(9):
        for study in made.values():
            study.optimize(objective(2.0), n_trials=1)
            coordinator.turn(shared)
    assert made["south"].trials[-1].system_attrs[ASKED]["guided"]


def test_nothing_but_the_upload_leaves(tmp_path):
    coordinator = make_coordinator()
    with serving(coordinator) as where:
        study = studies(coordinator, where, tmp_path, ["north"])["north"]
        study.optimize(objective(2.0), n_trials=7)
        study.sampler.sync(study)
    # The last exchange hands over what was learnt from all seven.
    assert [sequence for _, sequence, _ in coordinator.applied][-1] == 7
    seen = b"".join(coordinator.seen)
    for trial in study.trials:
        assert repr(trial.value).encode() not in seen


def test_results_go_into_the_file_once(tmp_path):
    """Whatever process tells them, and however often."""
    coordinator = make_coordinator()
    with serving(coordinator) as where:
        study = studies(coordinator, where, tmp_path, ["north"])["north"]
        study.enqueue_trial({"dose": 1.0, "days": 3, "drug": "a"})
        study.enqueue_trial({"dose": 1.0, "days": 3, "drug": "a"})
        study.optimize(objective(2.0), n_trials=5)

        def broken(trial):
            objective(2.0)(trial)
            raise ArithmeticError

        study.optimize(broken, n_trials=1, catch=ArithmeticError)
        file = tmp_path / "north.json"

        def check():
            trials = gf.Agent.load(file).trials
            told = [t for t in trials if t.state in (Ours.DONE, Ours.FAILED)]
            assert [t for t in trials if t.state == Ours.PENDING] == []
            assert sorted(str(dict(t.values)) for t in told) == sorted(
                str({name: t.params[name] for name in SPACE.parameters})
                for t in study.trials
            )
            assert [t.state for t in told].count(Ours.FAILED) == 1

        check()
        study.sampler.sync(study)
        again = FederatedSampler(file)
        again.sync(study)
        check()
        # A new study at the same site goes on with what the file knows.
        fresh = optuna.create_study(direction="maximize", sampler=again)
        fresh.optimize(objective(2.0), n_trials=1)
    assert len(gf.Agent.load(file).trials) == 7


def test_a_result_of_another_program_at_the_same_site_stays(tmp_path):
    coordinator = make_coordinator()
    with serving(coordinator) as where:
        study = studies(coordinator, where, tmp_path, ["north"])["north"]
        with gf.Agent.update(tmp_path / "north.json") as agent:
            agent.tell({"dose": 1.7, "days": 2, "drug": "b"}, 0.5)
        study.optimize(objective(2.0), n_trials=2)
    assert len(gf.Agent.load(tmp_path / "north.json").trials) == 3


def test_partly_fixed_and_running_trials_are_pending_where_they_are(tmp_path):
    coordinator = make_coordinator()
    with serving(coordinator) as where:
        study = studies(coordinator, where, tmp_path, ["north"])["north"]
        study.enqueue_trial({"days": 8})
        study.enqueue_trial({"dose": 5.0, "days": 8, "drug": "b"})
        first = study.ask()
        first.suggest_float("dose", 0.1, 10, log=True)
        second = study.ask()
        objective(2.0)(second)
        third = study.ask()
        objective(2.0)(third)
    pending = [
        dict(t.values)
        for t in gf.Agent.load(tmp_path / "north.json").trials
        if t.state == Ours.PENDING
    ]
    assert {"dose": 5.0, "days": 8, "drug": "b"} in pending
    assert len(pending) == 3
    assert [p["days"] for p in pending].count(8) == 2


def test_offline_the_study_goes_on_and_the_next_exchange_catches_up(tmp_path):
    coordinator = make_coordinator()
    with serving(coordinator) as where:
        study = studies(coordinator, where, tmp_path, ["north"])["north"]
        port = int(where.rpartition(":")[2])
    with pytest.warns(GuidanceWarning, match="goes on with what is known here"):
        study.optimize(objective(2.0), n_trials=3)
    assert len(study.trials) == 3
    with serving(coordinator, port=port):
        study.optimize(objective(2.0), n_trials=1)
    assert [sequence for _, sequence, _ in coordinator.applied][-1] == 3


def test_without_exchanges_only_the_file_is_touched(tmp_path):
    coordinator = make_coordinator()
    with serving(coordinator) as where:
        study = studies(coordinator, where, tmp_path, ["north"], exchange=False)[
            "north"
        ]
        before = len(coordinator.seen)
        study.optimize(objective(2.0), n_trials=3)
        assert len(coordinator.seen) == before
    assert len(gf.Agent.load(tmp_path / "north.json").trials) == 3


def test_a_site_may_join_and_leave_while_its_study_runs(tmp_path):
    coordinator, file = make_coordinator(), tmp_path / "north.json"
    setup = {"goal": "max", "method": "shape-ucb", "seed": 1, "initial": 2}
    gf.Agent(SPACE, **setup).save(file)
    study = optuna.create_study(direction="maximize", sampler=FederatedSampler(file))
    study.optimize(objective(2.0), n_trials=3)
    with pytest.raises(SettingsError, match="works alone"):
        study.sampler.sync(study)
    with serving(coordinator) as where:
        link = gf.connect(file, where, code=coordinator.invite("north"))
        study.optimize(objective(2.0), n_trials=1)
        assert [sequence for _, sequence, _ in coordinator.applied] == [3]
        link.leave()
        study.optimize(objective(2.0), n_trials=1)
        assert len(coordinator.applied) == 1
    assert len(gf.Agent.load(file).trials) == 5


def test_an_objective_that_does_not_fit_the_federation(tmp_path):
    coordinator = make_coordinator()
    with serving(coordinator) as where:
        study = studies(coordinator, where, tmp_path, ["north"])["north"]

        def wide(trial):
            return trial.suggest_float("dose", 20, 30)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.optimize(wide, n_trials=1)
        texts = [str(w.message) for w in caught if w.category is GuidanceWarning]
        assert any("cannot be suggested" in text for text in texts)
        assert any("is not told to" in text for text in texts)
        assert study.trials[0].state == TrialState.COMPLETE
        minimising = optuna.create_study(sampler=study.sampler)
        with pytest.raises(SettingsError, match="direction='maximize'"):
            minimising.optimize(objective(2.0), n_trials=1)
        with pytest.raises(SettingsError, match="leave them out"):
            FederatedSampler(tmp_path / "north.json", seed=3)
    trials = gf.Agent.load(tmp_path / "north.json").trials
    assert all(t.value is None for t in trials)


WORKER = """
import sys, optuna
from guidefbo.integrations.optuna import FederatedSampler
from tests.integrations.test_optuna_linked import objective

optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.load_study(
    study_name="s", storage=sys.argv[1], sampler=FederatedSampler(sys.argv[2])
)
study.optimize(objective(2.0), n_trials=4)
"""


@pytest.mark.slow
def test_workers_in_several_processes_share_the_file(tmp_path):
    coordinator = make_coordinator()
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    file = tmp_path / "north.json"
    optuna.create_study(study_name="s", storage=storage, direction="maximize")
    with serving(coordinator) as where:
        gf.connect(file, where, code=coordinator.invite("north"))

        def work(_):
            return subprocess.run(
                [sys.executable, "-c", WORKER, storage, str(file)],
                capture_output=True,
                text=True,
            )

        with ThreadPoolExecutor(3) as pool:
            for done in pool.map(work, range(3)):
                assert done.returncode == 0, done.stderr
    study = optuna.load_study(study_name="s", storage=storage)
    agent = gf.Agent.load(file)
    told = sorted(json.dumps(dict(t.values)) for t in agent.trials)
    names = list(SPACE.parameters)
    assert told == sorted(
        json.dumps({n: t.params[n] for n in names}) for t in study.trials
    )
    # The file is held while a point is chosen: no two workers get the same one.
    assert len(set(told)) == len(told) == 12
    assert all(t.state == Ours.DONE for t in agent.trials)


def test_begin_enters_a_point_of_ones_own_as_pending():
    agent = gf.Agent(SPACE, goal="max", seed=1)
    trial = agent.begin({"dose": 1, "days": 3.0, "drug": "a"})
    assert (trial.state, str(trial.origin)) == (Ours.PENDING, "own")
    assert trial.values == {"dose": 1.0, "days": 3, "drug": "a"}
    assert agent.tell({"dose": 1.0, "days": 3, "drug": "a"}, 0.5).id == trial.id
    with pytest.raises(SpaceError, match="Expected a number"):
        agent.begin({"dose": 11, "days": 3, "drug": "a"})


def test_the_page_runs_as_it_stands(tmp_path, monkeypatch):
    """Its coordinator is the test's; everything else is as written."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "integrations" / "optuna.md"
    blocks = fences(page.read_text(encoding="utf-8"))
    code = "\n".join(b["text"] for b in blocks if b["language"] == "python")
    coordinator = make_coordinator()
    names = {}
    with serving(coordinator) as where:
        assert "https://host:8443" in code
        code = code.replace("https://host:8443", where)
        code = code.replace("ABCD-EFGH", coordinator.invite("north"))
        exec(compile(code, str(page), "exec"), names)
        names["study"].optimize(objective(2.0), n_trials=1)
    assert len(gf.Agent.load("site.json").trials) == 1
