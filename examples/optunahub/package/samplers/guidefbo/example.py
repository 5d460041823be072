"""One study with the sampler from OptunaHub, here from a folder and offline.

pip install 'guidefbo[optuna]' optunahub
python example.py
"""

from pathlib import Path

import optuna
import optunahub

REGISTRY = Path(__file__).resolve().parents[2]


def objective(trial):
    """Return a bowl in two parameters."""
    x = trial.suggest_float("x", -5, 5)
    n = trial.suggest_int("n", 1, 9)
    return (x - 1.5) ** 2 + (n - 4) ** 2


if __name__ == "__main__":
    module = optunahub.load_local_module(
        package="samplers/guidefbo", registry_root=str(REGISTRY)
    )
    study = optuna.create_study(sampler=module.FederatedSampler(seed=1))
    study.optimize(objective, n_trials=20)
    print(study.best_params, study.best_value)
