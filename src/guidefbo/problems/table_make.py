"""From a table of results to its description: columns, kind, emulators."""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from guidefbo.core.checks import is_plain_text, shown
from guidefbo.core.errors import DataError
from guidefbo.core.space.goal import require_goal
from guidefbo.core.space.space import Space
from guidefbo.core.table_text import read_text
from guidefbo.problems.emulator import MAX_ROWS, fit_emulator, groups_of
from guidefbo.problems.table import digest, is_complete, make_tasks
from guidefbo.problems.table_data import Table, parse_table
from guidefbo.problems.table_form import EMULATED, EXACT, Description, Fitted
from guidefbo.problems.table_space import count_settings, infer, settings_of

NUM_INITIAL, NUM_ROUNDS = 10, 30
"""Evaluations where a run does not say how many, of a table with many settings."""


def describe_table(
    path: Path,
    *,
    site: str,
    value: str,
    choices: Collection[str] = (),
    logs: Collection[str] = (),
    ignore: Collection[str] = (),
    goal: str = "max",
    metric: str | None = None,
    unit: str = "",
    emulate: bool = False,
) -> tuple[Description, Table]:
    """Return the description of a table, with emulators where it is not complete.

    Args:
        path: The table, a CSV file.
        site: Column that names the site.
        value: Column of the results.
        choices: Columns of numbers that have no order.
        logs: Columns of numbers on a logarithmic scale.
        ignore: Columns that are no parameters.
        goal: Either max or min.
        metric: What the results are called; None: as their column.
        unit: Their unit.
        emulate: Whether a complete table is emulated all the same.
    """
    require_goal(goal)
    if not is_plain_text(path.name):
        raise DataError(f"The name of the table cannot be printed: {shown(path.name)}.")
    table = parse_table(read_text(path), path, site=site, value=value, ignore=ignore)
    space = infer(table, path, choices=choices, logs=logs, is_exact=True)
    is_exact = not emulate and is_complete(space, table)
    if not is_exact:
        space = infer(table, path, choices=choices, logs=logs, is_exact=False)
    few = count_settings(space) if is_exact else None
    description = Description(
        kind=EXACT if is_exact else EMULATED,
        table=path.name,
        sha256=digest(path),
        site=site,
        value=value,
        ignore=tuple(ignore),
        goal=goal,
        metric=value if metric is None else metric,
        unit=unit,
        # Of a small table at most half: a search that sees all of it finds the best.
        num_initial=NUM_INITIAL if few is None else max(1, min(NUM_INITIAL, few // 6)),
        num_rounds=NUM_ROUNDS if few is None else max(1, min(NUM_ROUNDS, few // 3)),
        space=space,
        emulators=() if is_exact else _fit(space, table, path),
    )
    # What is written can be read: errors are told now, not in a run.
    make_tasks(description, table)
    return description, table


def unseen(space: Space, table: Table) -> dict[str, list[str]]:
    """Return, by site, options that none of its rows has."""
    found: dict[str, list[str]] = {}
    settings = settings_of(space, table)
    for name in table.site_names:
        rows = [settings[place] for place in table.rows_of(name)]
        missing = [
            f"{key}={option}"
            for key, parameter in space.parameters.items()
            for option in getattr(parameter, "options", ())
            if all(row[key] != option for row in rows)
        ]
        if missing:
            found[name] = missing
    return found


def _fit(space: Space, table: Table, path: Path) -> list[Fitted]:
    X = np.array([space.to_unit(row) for row in settings_of(space, table)])
    fitted: list[Fitted] = []
    for name in table.site_names:
        rows = table.rows_of(name)
        try:
            made = fit_emulator(X[rows], table.values[rows], groups_of(space))
        except DataError as error:
            many = len(rows) > MAX_ROWS
            hint = " A table of all combinations needs no emulator." if many else ""
            raise DataError(f"{path}, site {name}: {error}{hint}") from error
        error = made.cross_validated_error()
        fitted.append(Fitted(site=name, rows=len(rows), hyper=made.hyper, error=error))
    return fitted
