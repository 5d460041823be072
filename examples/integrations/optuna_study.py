"""Three teams tune with Optuna; one line makes them a federation.

Each team has its own study and its own objective. First every team works alone; then
the same teams are linked to a coordinator on this machine, and nothing else of their
loops changes. Nobody shows anybody a value.

    pip install 'guidefbo[optuna,service]'
    python examples/integrations/optuna_study.py
"""

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import optuna

import guidefbo as gf
from guidefbo.integrations.optuna import FederatedSampler

TEAMS = {"north": 0.0, "south": 0.15, "west": -0.1}
NUM_TRIALS = 16
COMMAND = [sys.executable, "-m", "guidefbo"]
SPACE = """
[parameters.rate]
type = "float"
low = 1e-4
high = 1.0
log = true

[parameters.depth]
type = "int"
low = 1
high = 12

[parameters.kind]
type = "choice"
options = ["linear", "forest", "boosting"]
"""


def make_objective(shift):
    """Return the error of a team's model: a formula in the place of a training run."""

    def objective(trial):
        rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
        depth = trial.suggest_int("depth", 1, 12)
        kind = trial.suggest_categorical("kind", ["boosting", "forest", "linear"])
        base = {"linear": 0.3, "forest": 0.12, "boosting": 0.08}[kind]
        off = (rate ** (1 / 6) - 0.45 - shift) ** 2 + ((depth - 6) / 12 - shift) ** 2
        return base + off

    return objective


def host(*words):
    """Run a command of who hosts the federation; return what it prints."""
    done = subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=True
    )
    return done.stdout


@contextmanager
def coordinator(folder):
    """Create the federation and serve it; yield how to invite a team."""
    (folder / "space.toml").write_text(SPACE)
    store = f"sqlite:///{folder / 'guidefbo.db'}"
    words = ["federation", "create", "models", str(folder / "space.toml")]
    terms = ["--goal", "min", "--method", "shape-nei", "--min-sites", "2"]
    host(*words, *terms, "--store", store)
    # The teams do in a minute what takes days: no limit to how often they call.
    words = ["serve", "--port", "0", "--rate-site", "0", "--rate-address", "0"]
    with (folder / "serve.log").open("w") as log:
        service = subprocess.Popen(
            [*COMMAND, *words, "--store", store],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        lines = (line.split() for line in service.stdout)
        where = next(words[-1] for words in lines if words[:1] == ["listening"])

        def invite(team):
            words = ["federation", "invite", "models", team, "--store", store]
            return where, host(*words).split()[0]

        yield invite
    finally:
        service.terminate()
        service.wait()
        service.stdout.close()


def main():
    """Run the teams alone and together, and print what each has reached."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    alone, together = {}, {}
    for k, (team, shift) in enumerate(TEAMS.items()):
        alone[team] = optuna.create_study(sampler=FederatedSampler(seed=k))
        alone[team].optimize(make_objective(shift), n_trials=NUM_TRIALS)

    with tempfile.TemporaryDirectory() as name, coordinator(Path(name)) as invite:
        for team in TEAMS:
            where, code = invite(team)
            link = gf.connect(Path(name) / f"{team}.json", where, code=code)
            together[team] = optuna.create_study(sampler=FederatedSampler(link))
        for _ in range(NUM_TRIALS):
            for team, study in together.items():
                study.optimize(make_objective(TEAMS[team]), n_trials=1)

    for team, study in together.items():
        guided = sum(t.system_attrs["guidefbo:asked"]["guided"] for t in study.trials)
        print(
            f"{team}: error {alone[team].best_value:.4f} alone, "
            f"{study.best_value:.4f} together ({guided} of {NUM_TRIALS} trials guided)"
        )


if __name__ == "__main__":
    main()
