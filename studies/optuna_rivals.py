"""Optuna's samplers as rivals: the methods `optuna-tpe` and `optuna-gp`.

    pip install torch==2.13.0 optuna greenlet
    guidefbo study run realworld
    guidefbo run suzuki --method optuna-gp --plugin studies/optuna_rivals.py

This plugin puts a sampler in the place of every agent of a simulated run, alone at
its site. Parameters are of Optuna's own kinds, so that a choice is a choice to it. The
initial design is the one of every other method in the run and takes the place of the
trials that a sampler would draw at random; all else is as Optuna ships it.

The GP sampler climbs from its starts together where the package greenlet is installed,
else from one after the other, which takes two to four times as long. On one thread its
small matrices take a tenth of the processor's time. Neither changes what it asks.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import guidefbo as gf
from guidefbo.agent.dataset import Dataset
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.levels import Levels
from guidefbo.core.streams import Streams

PACKAGES = ("optuna", "torch")
"""What computes the runs beside this file: their versions stand in the runs' keys."""
RULES = {
    "tpe": "Optuna's tree-structured Parzen estimator",
    "gp": "Optuna's Gaussian process",
}


@dataclass(frozen=True)
class NoSettings:
    """Nothing of it can be set: it is as Optuna ships it."""

    def build(self, *given: Any) -> Any:
        """Refuse: there is no agent of ours in this strategy."""
        raise SettingsError("Optuna's samplers take part in simulated runs only.")


class OptunaSite:
    """One site's study in Optuna, in memory."""

    def __init__(self, space: gf.Space, data: Dataset, *, rule: str, seed: int) -> None:
        """Begin with a site's initial observations.

        Args:
            space: Search space.
            data: Initial points in the unit cube, and values to be maximised.
            rule: Either tpe or gp.
            seed: Of the sampler, below 2^32.
        """
        optuna = _optuna()
        self._space = space
        self._distributions = to_distributions(space)
        self._asked: tuple[Any, Any] | None = None
        with _quiet(optuna):
            sampler = _sampler(optuna, rule, seed)
            self._study = optuna.create_study(direction="maximize", sampler=sampler)
            for x, y in zip(data.X, data.y, strict=True):
                self._add(x, float(y))

    def ask(self) -> np.ndarray:
        """Return the sampler's next point in the unit cube."""
        with _quiet(_optuna()):
            trial = self._study.ask(self._distributions)
        x = self._space.to_unit(trial.params)
        self._asked = trial, x
        return x

    def tell(self, x: np.ndarray, y: float) -> None:
        """Take the value observed at a point, the last one asked or any other."""
        with _quiet(_optuna()):
            if self._asked is not None and np.array_equal(self._asked[1], x):
                self._study.tell(self._asked[0], float(y))
                self._asked = None
            else:
                self._add(x, float(y))

    def _add(self, x: np.ndarray, y: float) -> None:
        trial = _optuna().trial.create_trial(
            params=self._space.from_unit(x),
            distributions=self._distributions,
            value=y,
        )
        self._study.add_trial(trial)


def make_site(
    space: gf.Space,
    data: Dataset,
    *,
    rule: str,
    agent_id: int,
    seed: int,
    settings: Mapping[str, Any],
) -> OptunaSite:
    """Return a site's sampler, with randomness of the run's seed and its own id."""
    del settings
    if space.constraints:
        limits = "; ".join(map(str, space.constraints))
        raise SettingsError(
            "Optuna's samplers know no constraints between parameters, got a space "
            f"with {limits}. Leave optuna-{rule} out of this problem."
        )
    own = int(Streams(seed).at("optuna", agent=agent_id).integers(2**32))
    return OptunaSite(space, data, rule=rule, seed=own)


def to_distributions(space: gf.Space) -> dict[str, Any]:
    """Return the parameters of a space as Optuna's kinds."""
    kinds = _optuna().distributions

    def convert(parameter: Any) -> Any:
        match parameter:
            case gf.Choice():
                return kinds.CategoricalDistribution(parameter.options)
            case gf.Bool():
                return kinds.CategoricalDistribution((False, True))
            case Levels():
                return kinds.CategoricalDistribution(parameter.values)
            case gf.Int():
                low, high = int(parameter.low), int(parameter.high)
                return kinds.IntDistribution(low, high, log=parameter.log)
            case _:
                low, high = float(parameter.low), float(parameter.high)
                return kinds.FloatDistribution(low, high, log=parameter.log)

    return {name: convert(p) for name, p in space.parameters.items()}


def _sampler(optuna: Any, rule: str, seed: int) -> Any:
    """Return the sampler; the initial design stands for its own first trials."""
    if rule == "tpe":
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=0)
    _need("torch").set_num_threads(1)
    return optuna.samplers.GPSampler(
        seed=seed, n_startup_trials=0, deterministic_objective=False
    )


def _optuna() -> Any:
    return _need("optuna")


def _need(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise SettingsError(
            f"Optuna's samplers need {name}, which is not installed: "
            "pip install torch==2.13.0 optuna greenlet"
        ) from error


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna's warnings and its lines about every trial away."""
    former = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        optuna.logging.set_verbosity(former)


TPE, GP = (
    gf.Rule(name=name, text=text, settings=NoSettings, is_general=False, dash=dash)
    for (name, text), dash in zip(RULES.items(), ("dashed", "solid"), strict=True)
)
OPTUNA = gf.Strategy(
    name="optuna",
    text="another tool alone at every site, nothing is exchanged",
    agent=NoSettings,
    rules=tuple(RULES),
    solver=make_site,
    site_refusal="it is another tool; use Optuna itself",
    seconds=80.0,
    colour="grey",
)
