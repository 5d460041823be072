"""A table of a site's own results: its rows are told, all or none, or the good ones."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guidefbo.cli.reading import is_shown_as, meant, read_number, read_values
from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError, FedBOError, OutsideWarning, SettingsError
from guidefbo.core.space.labels import labelled
from guidefbo.core.space.parameters import Choice, Parameter
from guidefbo.core.table_text import as_written, read_cells
from guidefbo.site.agent import Agent
from guidefbo.site.as_run import KEEP
from guidefbo.site.labels import Labels
from guidefbo.site.trial import Trial, TrialState

VALUE = "value"
OPTIONAL = ("std", "failed")
MAX_NAMED = 1000
"""Most bad rows that are named one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a table is read."""

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its columns by the names that are expected, where they differ."""
    ignores_extra: bool = False
    """Whether other columns may be there."""
    skips_bad: bool = False
    """Whether rows that cannot be used are left out."""
    repeats: bool = False
    """Whether a row may say what an earlier trial says already."""
    outside: str = KEEP
    """Whether values a little outside their bounds are kept or refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One result of a table."""

    values: dict[str, Any]
    """Parameter values."""
    value: float | None
    """The observation, None where it failed."""
    std: float | None
    """Its standard deviation, where it is known."""
    failed: str | None
    """Why it failed."""
    outcomes: dict[str, float]
    """Further outcomes that were measured."""


def read_columns(pairs: list[str]) -> dict[str, str]:
    """Return columns by name from words such as `value=yield`."""
    columns: dict[str, str] = {}
    for pair in pairs:
        name, separator, column = (part.strip() for part in pair.partition("="))
        if not (name and separator and column) or name in columns:
            raise SettingsError(
                "Expected --column NAME=COLUMN, each name once, as in --column "
                f"value=yield, got {shown(pair)}."
            )
        columns[name] = column
    return columns


def tell_rows(
    agent: Agent, path: Path, reading: Reading, say: Callable[[str], object]
) -> list[Trial]:
    """Tell the rows of a table; after an error the agent is not to be saved.

    Args:
        agent: Who is told.
        path: The table.
        reading: How it is read.
        say: Called with a line for each row that is left out, and for all results
            that lack an outcome with a limit.
    """
    names = agent.space.parameters
    labels = agent.setup.labels
    expected = [reading.columns.get(n, n) for n in (*names, VALUE, *OPTIONAL)]
    expected += [labels.column, labels.objective, *map(labels.parameter, names)]
    expected += [word for o in agent.setup.outcomes for word in (o.name, o.label)]
    lines = read_cells(path, set(expected))
    header = _header(lines[0] if lines else [], path, agent, reading)
    before, told = agent.trials, list[Trial]()
    bad: dict[int, str] = {}
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        try:
            if len(cells) != len(lines[0]):
                raise DataError(f"Expected {len(lines[0])} cells, got {len(cells)}.")
            row = _read_row(header, cells, agent)
            if not reading.repeats:
                _refuse_repeat(row, before, labels)
            told.append(_tell(agent, row, reading.outside, f"{path}, row {number}"))
        except FedBOError as error:
            bad[number] = str(error)
    if bad and not reading.skips_bad:
        raise DataError(_refusal(path, bad, len(told)))
    for number, why in bad.items():
        say(f"{path}, row {number} is left out: {why}")
    if not told:
        why = "of the rows below it can be used, so that nothing was changed"
        rest = f"none {why}" if bad else "none"
        raise DataError(f"Expected results below the header of {path}, got {rest}.")
    _say_unmeasured(told, [o.name for o in agent.setup.outcomes], say)
    return told


def _say_unmeasured(
    told: list[Trial], outcomes: list[str], say: Callable[[str], object]
) -> None:
    """Remind once of outcomes: a result without them is never the recommended one."""
    done = [trial for trial in told if trial.state == TrialState.DONE]
    short = [t for t in done if any(name not in t.outcomes for name in outcomes)]
    if not short:
        return
    missing = [n for n in outcomes if any(n not in t.outcomes for t in short)]
    first = short[0]
    words = " ".join(f"{n}=..." for n in missing if n not in first.outcomes)
    say(
        f"{len(short)} of {len(done)} results count as keeping no limit until "
        f"{', '.join(missing)} is told too, in a column of the table or as in: tell "
        f"{first.id} {first.value!r} {words}"
    )


def _tell(agent: Agent, row: Row, outside: str, where: str) -> Trial:
    target = meant(agent, row.values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trial = agent.tell(
            target,
            row.value,
            std=row.std,
            failed=row.failed,
            outcomes=row.outcomes,
            outside=outside,
        )
    for warning in caught:
        warnings.warn(f"{where}: {warning.message}", OutsideWarning, stacklevel=2)
    return trial


def _refuse_repeat(row: Row, trials: tuple[Trial, ...], labels: Labels) -> None:
    outcome = row.value, row.std, row.failed
    for trial in trials:
        is_same = outcome == (trial.value, trial.std, trial.failed)
        if is_same and is_shown_as(trial, row.values, labels):
            raise DataError(
                f"the same values with the same result were told before, as trial "
                f"{trial.id}. Remove the row, or say --repeats if it was measured "
                "again."
            )


def _refusal(path: Path, bad: dict[int, str], num_good: int) -> str:
    """Return a sentence about every bad row."""
    lines = [f"row {number}: {why}" for number, why in bad.items()]
    if len(lines) == 1:
        return f"{path}, {lines[0]} Nothing was changed."
    more = [f"and {len(lines) - MAX_NAMED} more."] if len(lines) > MAX_NAMED else []
    head = (
        f"{path}: {len(bad)} of {len(bad) + num_good} rows cannot be used. Nothing was "
        "changed; --skip-bad tells the others."
    )
    return "\n".join([head, *lines[:MAX_NAMED], *more])


def _header(
    cells: list[str], path: Path, agent: Agent, reading: Reading
) -> dict[str, int]:
    """Return where the column of each name is."""
    names, found = list(agent.space.parameters), [as_written(c.strip()) for c in cells]
    if VALUE in names:
        raise DataError(
            f"A parameter is named {VALUE!r}, so that a table cannot name the result. "
            "Tell the results one by one."
        )
    required = [*names, VALUE]
    # A parameter of that name leaves no room for the column.
    optional = [name for name in OPTIONAL if name not in names]
    optional += [outcome.name for outcome in agent.setup.outcomes]
    if unknown := reading.columns.keys() - {*required, *optional}:
        raise DataError(
            f"Expected columns for {', '.join((*required, *optional))}, got "
            f"{', '.join(sorted(unknown))}."
        )
    column = {n: _column(n, found, agent, reading) for n in (*required, *optional)}
    _refuse_shared({n: c for n, c in column.items() if c in found}, path)
    missing = [column[name] for name in required if column[name] not in found]
    missing += [
        column[n] for n in reading.columns if n in optional and column[n] not in found
    ]
    unknown = [cell for cell in found if cell not in column.values()]
    used = [cell for cell in found if cell in column.values()]
    if missing or (unknown and not reading.ignores_extra) or len({*used}) != len(used):
        wanted = ", ".join(column[name] for name in required)
        hint = " Say --ignore-extra to leave the others out." if unknown else ""
        raise DataError(
            f"Expected {path} to begin with a header of {wanted} and perhaps "
            f"{', '.join(column[name] for name in optional)}, each once; got "
            f"{shown(found)}, missing {missing}, unknown {shown(unknown)}. Where a "
            f"column has another name, say --column NAME=COLUMN.{hint}"
        )
    return {n: found.index(c) for n, c in column.items() if c in found}


def _refuse_shared(column: Mapping[str, str], path: Path) -> None:
    """Refuse a column that two names would be read from."""
    for shared in column.values():
        names = [name for name, c in column.items() if c == shared]
        if len(names) > 1:
            raise DataError(
                f"Expected a column of its own for each name, got {shown(shared)} of "
                f"{path} for {', '.join(names)}. Say --column NAME=COLUMN with "
                "another column for one of them, or rename the column in the table."
            )


def _column(name: str, found: list[str], agent: Agent, reading: Reading) -> str:
    """Return the column of a name: as it was said, by its name, or with its unit."""
    labels = agent.setup.labels
    units = {**labels.units, **labels.outcomes}
    with_unit = labels.column if name == VALUE else labelled(name, units.get(name))
    bare = labels.objective if name == VALUE else name
    said = as_written(reading.columns.get(name, name))
    for known in (said, with_unit, bare):
        if known in found or name in reading.columns:
            return known
    return name


def _text(cell: str, parameter: Parameter | None) -> str:
    """Return what a cell says, without blank ends unless an option has them."""
    text = as_written(cell)
    if isinstance(parameter, Choice) and text in parameter.options:
        return text
    return as_written(cell.strip())


def _read_row(header: dict[str, int], cells: list[str], agent: Agent) -> Row:
    names = agent.space.parameters
    texts = {name: _text(cells[k], names.get(name)) for name, k in header.items()}
    values = read_values({name: texts[name] for name in names}, agent.space)
    std = None if "std" in names else texts.get("std")
    failed = None if "failed" in names else texts.get("failed")
    if not texts[VALUE] and not failed:
        raise DataError("Expected a value, or a reason in the column failed, got none.")
    return Row(
        values=values,
        value=read_number(texts[VALUE], VALUE) if texts[VALUE] else None,
        std=read_number(std, "std") if std else None,
        failed=failed or None,
        outcomes={
            o.name: read_number(texts[o.name], o.name)
            for o in agent.setup.outcomes
            if texts.get(o.name)
        },
    )
