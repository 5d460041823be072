"""A run as a table: one row for each agent and evaluation.

Columns are named as below; `query.NAME` is a parameter in its own unit.

    run, problem, method, ..., settings.NAME      what was run
    code, is_other_code                           what code made it
    agent, site, is_honest, round, evaluation     whose evaluation it is
    query.NAME, observation, value                what was asked and answered
    best, inferred                                the best value so far, the choice's
    simple_regret, inference_regret, cumulative_regret, and the same with _inbox
    weight.NAME                                   how likely a model was for the query
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import is_whole_number
from guidefbo.core.errors import DataError, SpaceError
from guidefbo.core.run_record import WEIGHT, is_number, list_of, numbers_of, texts
from guidefbo.core.space.form import space_from_form
from guidefbo.core.space.parameters import Choice
from guidefbo.core.space.space import Space
from guidefbo.experiments.evaluations_file import (
    ENDING,
    RunEvaluations,
    read_evaluations,
)
from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.results import load_form
from guidefbo.experiments.study_json import Row
from guidefbo.metrics.regret import (
    best_so_far,
    cumulative_regret,
    inference_regret,
    simple_regret,
)

Column = NDArray[Any]
QUERY = "query."
"""Before the name of a parameter."""
WHOSE = ("agent", "site", "is_honest", "round", "evaluation")
ANSWERS = ("observation", "value", "best", "inferred")
REGRETS = ("simple_regret", "inference_regret", "cumulative_regret")
INBOX = "_inbox"
"""Behind the name of a regret against the best point inside the box."""
MEASURED = (*ANSWERS, *REGRETS, *(f"{name}{INBOX}" for name in REGRETS))
"""Columns of numbers that the evaluations are read for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunFile:
    """What a record says of the evaluations of its run."""

    row: Row
    """The run that was asked for."""
    outcome: Outcome
    """What was read of it for reports."""
    evaluations: RunEvaluations | None
    """Its evaluations; None where they were not kept."""
    best: NDArray[np.float64]
    """(rounds + 1, agents) best value so far, own unit."""
    space: Space | None
    """What coordinates stand for; None where the record does not say."""
    sites: tuple[str, ...]
    """Names of the sites, none where they are only numbered."""
    num_honest: int
    """Agents that do not lie, the first ones."""
    sign: float
    """1 where larger values are better, -1 where smaller ones are."""
    maximum: float | None
    """Value of the base function's maximum, the paper's reference."""
    optima: NDArray[np.float64] | None
    """(agents,) the best value that each agent can reach."""

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters."""
        if self.evaluations is None:
            return []
        if self.space is not None:
            return list(self.space.parameters)
        return [f"x{k}" for k in range(self.evaluations.queries.shape[2])]

    @property
    def models(self) -> list[str]:
        """Names of the models that agents compared."""
        return [] if self.evaluations is None else list(self.evaluations.weights)


def read_run(row: Row, outcome: Outcome) -> RunFile | None:
    """Return a run with its evaluations, None where nothing of its agents was kept."""
    form = None if outcome.file is None else load_form(outcome.file)
    if outcome.file is None or form is None:
        return None
    path = outcome.file.with_suffix(ENDING)
    evaluations = read_evaluations(path, row.spec) if path.exists() else None
    sign = -1.0 if texts(form.get("metric")).get("goal") == "min" else 1.0
    best = _best(form, evaluations, row, sign)
    if best is None:
        return None
    agents = best.shape[1]
    honest, maximum = form.get("num_honest"), form.get("maximum")
    optima = numbers_of(form.get("optima"))
    return RunFile(
        row=row,
        outcome=outcome,
        evaluations=evaluations,
        best=best,
        space=_space(form, evaluations),
        sites=_sites(form, agents),
        num_honest=int(cast(int, honest)) if is_whole_number(honest) else agents,
        sign=sign,
        maximum=float(cast(float, maximum)) if is_number(maximum) else None,
        optima=optima if optima is not None and len(optima) == agents else None,
    )


def rows_of(run: RunFile) -> dict[str, Column]:
    """Return the columns about the evaluations of a run, agent by agent."""
    rounds, agents = len(run.best) - 1, run.best.shape[1]
    kept = run.evaluations
    # Without the evaluations there is a row for each round, the design being one.
    initial = 1 if kept is None else kept.values.shape[1] - rounds
    per_agent = initial + rounds
    number = np.arange(per_agent, dtype=np.intp)
    t = np.maximum(number - initial + 1, 0)
    who = np.repeat(np.arange(agents, dtype=np.intp), per_agent)
    sites = np.array(run.sites or [None] * agents, dtype=object)
    nothing = np.full(agents * per_agent, np.nan)
    columns: dict[str, Column] = {
        "agent": who,
        "site": sites[who],
        "is_honest": who < run.num_honest,
        "round": np.tile(t, agents),
        "evaluation": nothing if kept is None else np.tile(number, agents),
        **_queries(run),
        **dict.fromkeys(MEASURED, nothing),
    }
    if kept is None:
        columns["best"] = run.best.T.ravel()
    else:
        columns["observation"] = kept.observations.ravel()
        columns["value"] = kept.values.ravel()
        oriented = best_so_far(run.sign * kept.values.T)
        columns["best"] = (run.sign * oriented).T.ravel()
        inferred = kept.values[np.arange(agents), kept.chosen]
        columns["inferred"] = _by_round(inferred, initial)
        for name, weights in kept.weights.items():
            columns[f"{WEIGHT}{name}"] = _by_query(weights, initial)
    main = run.optima if run.maximum is None else run.maximum
    if main is not None:
        columns |= _regrets(run, columns["best"], run.sign * main, initial)
    if run.maximum is not None and run.optima is not None:
        inside = _regrets(run, columns["best"], run.sign * run.optima, initial)
        columns |= {f"{name}{INBOX}": column for name, column in inside.items()}
    return columns


def _regrets(
    run: RunFile,
    best: Column,
    maximum: float | NDArray[np.float64],
    initial: int,
) -> dict[str, Column]:
    agents, kept = run.best.shape[1], run.evaluations
    by_agent = run.sign * best.reshape(agents, -1).T
    simple = simple_regret(by_agent, maximum)
    columns: dict[str, Column] = {"simple_regret": simple.T.ravel()}
    if kept is not None:
        values = run.sign * kept.values
        inferred = inference_regret(values, kept.chosen, maximum)
        total = cumulative_regret(values, initial, maximum)
        columns["inference_regret"] = _by_round(inferred, initial)
        columns["cumulative_regret"] = _by_round(total, initial)
    return columns


def _by_round(numbers: NDArray[np.float64], initial: int) -> Column:
    """Return numbers of (rounds + 1, agents) as a column of evaluations.

    Within the initial design only its last evaluation has one.
    """
    design = np.full((numbers.shape[1], initial - 1), np.nan)
    return np.hstack([design, numbers.T]).ravel()


def _by_query(numbers: NDArray[np.float64], initial: int) -> Column:
    """Return numbers of (rounds, agents) as a column of evaluations; none of a design.

    What is told of a round is what its query was decided on.
    """
    design = np.full((numbers.shape[1], initial), np.nan)
    return np.hstack([design, numbers.T]).ravel()


def _queries(run: RunFile) -> dict[str, Column]:
    """Return the parameters of all queries in their own units."""
    if run.evaluations is None:
        return {}
    X = run.evaluations.queries.reshape(-1, run.evaluations.queries.shape[2])
    if run.space is None:
        names = run.parameters
        return {f"{QUERY}{name}": X[:, k] for k, name in enumerate(names)}
    columns: dict[str, Column] = {}
    for name, parameter in run.space.parameters.items():
        block = X[:, run.space.places[name]]
        if isinstance(parameter, Choice):
            options = np.array(parameter.options, dtype=object)
            columns[f"{QUERY}{name}"] = options[np.argmax(block, axis=1)]
        else:
            numbers = [parameter.from_unit(u) for u in block[:, 0].tolist()]
            columns[f"{QUERY}{name}"] = np.array(numbers)
    return columns


def _best(
    form: Mapping[str, Any], kept: RunEvaluations | None, row: Row, sign: float
) -> NDArray[np.float64] | None:
    """Return the best values so far, None where the record does not have them."""
    if kept is not None:
        initial = int(row.spec["num_initial"])
        best = best_so_far(sign * kept.values.T)[initial - 1 :]
        return sign * best
    rows = [numbers_of(item) for item in list_of(form.get("best_value"))]
    whole = [item for item in rows if item is not None]
    if len(whole) < len(rows) or len({len(item) for item in whole}) != 1:
        return None
    return np.stack(whole)


def _space(form: Mapping[str, Any], kept: RunEvaluations | None) -> Space | None:
    try:
        space = space_from_form(form.get("space"), is_problem=True)
    except (SpaceError, DataError):
        return None
    return space if kept is None or space.dim == kept.queries.shape[2] else None


def _sites(form: Mapping[str, Any], num_agents: int) -> tuple[str, ...]:
    sites = tuple(map(str, list_of(form.get("sites"))))
    return sites if len(sites) == num_agents else ()


def joined(pieces: Iterable[Column]) -> Column:
    """Return one column from those of several runs; what is not there is a NaN."""
    listed = list(pieces)
    kinds = {piece.dtype.kind for piece in listed}
    if kinds <= set("biuf") or len(kinds) == 1:
        return np.concatenate(listed)
    numeric = [p for p in listed if p.dtype.kind in "iuf" or _is_nothing(p)]
    if len(numeric) == len(listed):
        return np.concatenate(
            [np.full(len(p), np.nan) if _is_nothing(p) else p for p in listed]
        )
    return np.concatenate([piece.astype(object) for piece in listed])


def _is_nothing(piece: Column) -> bool:
    return piece.dtype == object and all(item is None for item in piece)
