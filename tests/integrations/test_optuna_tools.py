"""What stands around Optuna: its dashboard, its hub, and our example.

The dashboard and the hub need the `oracle` extra: `pytest -m oracle`.
"""

import json
import subprocess
import sys
from pathlib import Path
from wsgiref.util import setup_testing_defaults

import optuna
import pytest
from tests.integrations.test_optuna import make, objective

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "integrations" / "optuna_study.py"
HUB = ROOT / "examples" / "optunahub" / "package"


def get(app, path):
    """Return what a web application answers, without a network."""
    environ, answered = {"PATH_INFO": path}, []
    setup_testing_defaults(environ)
    body = b"".join(app(environ, lambda status, *_: answered.append(status)))
    assert answered == ["200 OK"], body
    return body


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_the_dashboard_shows_a_study(tmp_path):
    from optuna_dashboard import wsgi

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.create_study(storage=storage, study_name="ours", sampler=make())
    study.optimize(objective, n_trials=6)
    study.ask().suggest_float("share", 0.0, 1.0)
    app = wsgi(storage)
    listed = json.loads(get(app, "/api/studies"))["study_summaries"]
    assert [entry["study_name"] for entry in listed] == ["ours"]
    shown = json.loads(get(app, f"/api/studies/{study._study_id}"))
    assert len(shown["trials"]) == 7
    by_name = {p["name"]: p for p in shown["trials"][3]["params"]}
    assert by_name.keys() == study.trials[3].params.keys()
    assert float(by_name["share"]["param_external_value"]) == pytest.approx(
        study.trials[3].params["share"]
    )


@pytest.mark.oracle
def test_the_hub_loads_the_package():
    import optunahub

    module = optunahub.load_local_module(
        package="samplers/guidefbo", registry_root=str(HUB)
    )
    study = optuna.create_study(sampler=module.FederatedSampler(seed=0, initial=2))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    assert study.trials[3].system_attrs["guidefbo:asked"]["origin"] == "model"


@pytest.mark.slow
def test_the_example_of_three_teams():
    command = [sys.executable, "-W", "error", str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["north", "south", "west"]
    for line in lines:
        words = line.split()
        assert float(words[4]) < 0.2
        assert int(words[6].strip("(")) >= 5  # guided trials
