"""All trials of an agent as one table: a row a trial, for spreadsheets and programs."""

import csv
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.space.goal import SIGNS
from guidefbo.core.space.parameters import Bool, Choice, Int
from guidefbo.core.table_text import cell_text
from guidefbo.site.agent import Agent
from guidefbo.site.trial import Basis, Trial, TrialState

Column = list[Any]
"""One value a trial; None where there is none."""
UNKNOWN = float("nan")
"""A number that is not known, in a table of numbers."""


def columns_of(agent: Agent, *, has_predictions: bool = True) -> dict[str, Column]:
    """Return the table, column by column.

    Columns of a parameter are what was run; `asked_` and its name what was asked. A
    parameter with the name of another column is called `parameter_` and its name.

    Args:
        agent: The agent; it is left as it is.
        has_predictions: Whether the columns of what the model says now are there; they
            need the model.
    """
    trials, setup = agent.trials, agent.setup

    def each(read: Callable[[Trial], Any]) -> Column:
        return [read(trial) for trial in trials]

    def of_basis(read: Callable[[Basis], Any]) -> Column:
        return each(lambda t: None if t.basis is None else read(t.basis))

    before: dict[str, Column] = {
        "site": each(lambda t: str(setup.site)),
        "goal": each(lambda t: t.goal),
        "trial": each(lambda t: t.id),
        "state": each(lambda t: str(t.state)),
        "origin": each(lambda t: str(t.origin)),
        "guided": each(lambda t: t.guided),
        "asked_at": each(lambda t: t.asked_at),
        "told_at": each(lambda t: t.records[-1].told_at if t.records else None),
    }
    after: dict[str, Column] = {
        "value": each(lambda t: t.value),
        "std": each(lambda t: t.std),
        "failed": each(lambda t: t.failed),
        **{
            outcome.name: [trial.outcomes.get(outcome.name) for trial in trials]
            for outcome in setup.outcomes
        },
        "corrections": each(lambda t: max(len(t.records) - 1, 0)),
        "expected_mean": of_basis(lambda b: b.mean),
        "expected_std": of_basis(lambda b: b.std),
        "packet_round": of_basis(lambda b: b.round),
        "packet_uploads": of_basis(lambda b: b.num_uploads),
    }
    if has_predictions:
        after["predicted_mean"], after["predicted_std"] = _predictions(agent)
    names = list(agent.space.parameters)
    taken = {*before, *after, *(f"asked_{name}" for name in names)}
    word = {n: f"parameter_{n}" if n in taken else n for n in names}
    run = {word[n]: [t.as_run[n] for t in trials] for n in names}
    asked = {f"asked_{word[n]}": [t.values[n] for t in trials] for n in names}
    return {**before, **run, **asked, **after}


def _predictions(agent: Agent) -> tuple[Column, Column]:
    """Return what the model says now of every trial's point, where there is one."""
    nothing: Column = [None] * len(agent.trials)
    fitted = agent.fitted
    if fitted is None:
        return nothing, nothing
    space, sign = agent.space, SIGNS[agent.goal]
    gp, _, units = fitted
    X = np.array([space.to_unit(t.as_run, overshoot=np.inf) for t in agent.trials])
    mean, std = gp.predict(X)
    middle = units.to_site(mean)
    y = [t.value for t in agent.trials if t.state == TrialState.DONE]
    # Results without a spread show no scale to measure by.
    has_scale = len(set(y)) > 1
    stds: Column = (std / units.slope(middle)).tolist()
    return (sign * middle).tolist(), stds if has_scale else nothing


def frame_of(agent: Agent) -> Any:
    """Return the table as a pandas DataFrame, or as columns where there is no pandas.

    Numbers that are not known are NaN, texts that are not there are empty.
    """
    kinds = {name: type(p) for name, p in agent.space.parameters.items()}
    frame = {
        name: _array(name, column, kinds.get(_bare(name, kinds), object))
        for name, column in columns_of(agent).items()
    }
    if find_spec("pandas") is None:
        return frame
    table, labels = import_module("pandas").DataFrame(frame), agent.setup.labels
    table.attrs["objective"] = labels.column
    table.attrs["units"] = {n: unit for n, unit in labels.units.items() if unit}
    return table


def _bare(column: str, names: Iterable[str]) -> str:
    """Return the parameter a column is of, the column where it is of none."""
    bare = column.removeprefix("asked_").removeprefix("parameter_")
    return bare if bare in names else column


TEXTS = frozenset({"site", "goal", "state", "origin", "asked_at", "told_at", "failed"})
"""Columns of texts."""
EXACT = {"guided": np.bool_, "trial": np.int64, "corrections": np.int64}
"""Columns that are always filled, and what they hold."""


def _array(name: str, column: Column, kind: type) -> NDArray[Any]:
    if issubclass(kind, Choice):
        # Numbers and texts side by side stay what they are.
        mixed = np.empty(len(column), dtype=object)
        mixed[:] = column
        return mixed
    if name in TEXTS:
        return np.array(["" if v is None else v for v in column], dtype=object)
    exact = np.bool_ if issubclass(kind, Bool) else np.int64
    if name in EXACT or issubclass(kind, Bool | Int):
        return np.array(column, dtype=EXACT.get(name, exact))
    return np.array([UNKNOWN if v is None else v for v in column], dtype=np.float64)


def csv_of(agent: Agent, *, has_predictions: bool = True) -> str:
    """Return the table as CSV text that a spreadsheet shows and does not compute.

    Numbers are written with all their digits, units stand in the header, as `heat
    [degC]`, and the column of the results has the objective's name. A text that a
    spreadsheet would take for a formula gets an apostrophe before it, and so does one
    that begins with an apostrophe.

    Args:
        agent: The agent; it is left as it is.
        has_predictions: Whether it says what the model says now.
    """
    columns = columns_of(agent, has_predictions=has_predictions)
    names = agent.space.parameters
    labels = agent.setup.labels
    header: list[str] = []
    for name in columns:
        bare = _bare(name, names)
        prefix = name.removesuffix(bare)
        header.append(prefix + labels.parameter(bare) if bare in names else name)
    header[list(columns).index("value")] = labels.column
    for outcome in agent.setup.outcomes:
        header[list(columns).index(outcome.name)] = outcome.label
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(cell_text, header))
    writer.writerows(map(_cell, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return cell_text(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)
