"""A table of a site's own results: all of its rows are told, or none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guidefbo.cli.reading import is_shown_as, meant, read_number, read_values
from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError, FedBOError
from guidefbo.core.table_text import read_cells
from guidefbo.site.agent import Agent
from guidefbo.site.trial import Trial

VALUE = "value"
OPTIONAL = ("std", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One result of a table."""

    number: int
    """As a spreadsheet counts, the header being 1."""
    values: dict[str, Any]
    """Parameter values."""
    value: float | None
    """The observation, None where it failed."""
    std: float | None
    """Its standard deviation, where it is known."""
    failed: str | None
    """Why it failed."""


def tell_table(agent: Agent, path: Path, *, repeats: bool) -> list[Trial]:
    """Tell every row of a table; after an error the agent is not to be saved.

    Args:
        agent: Who is told.
        path: The table.
        repeats: Whether a row may say what an earlier trial says already.
    """
    rows = _read_rows(path, agent)
    if not repeats:
        _refuse_repeats(rows, path, agent)
    told: list[Trial] = []
    for row in rows:
        try:
            trial = meant(agent, row.values)
            told.append(agent.tell(trial, row.value, std=row.std, failed=row.failed))
        except FedBOError as error:
            raise DataError(f"{path}, row {row.number}: {error}") from error
    return told


def _refuse_repeats(rows: list[Row], path: Path, agent: Agent) -> None:
    numbers = [
        row.number
        for row in rows
        if any(
            (row.value, row.std, row.failed) == (trial.value, trial.std, trial.failed)
            and is_shown_as(trial, row.values)
            for trial in agent.trials
        )
    ]
    if numbers:
        some = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
        raise DataError(
            f"{path}, row {some}: the same values with the same result were told "
            "before. Nothing was changed. Remove these rows, or say --repeats if they "
            "were measured again."
        )


def _read_rows(path: Path, agent: Agent) -> list[Row]:
    lines = read_cells(path, {*agent.space.parameters, VALUE, *OPTIONAL})
    header = [name.strip() for name in lines[0]] if lines else []
    _check_header(header, path, agent)
    rows: list[Row] = []
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        try:
            rows.append(_read_row(number, header, cells, agent))
        except FedBOError as error:
            raise DataError(f"{path}, row {number}: {error}") from error
    if not rows:
        raise DataError(f"Expected results below the header of {path}, got none.")
    return rows


def _check_header(header: list[str], path: Path, agent: Agent) -> None:
    names = list(agent.space.parameters)
    if VALUE in names:
        raise DataError(
            f"A parameter is named {VALUE!r}, so that a table cannot name the result. "
            "Tell the results one by one."
        )
    required = {*names, VALUE}
    missing = [name for name in (*names, VALUE) if name not in header]
    unknown = [name for name in header if name not in required | {*OPTIONAL}]
    if missing or unknown or len(set(header)) != len(header):
        raise DataError(
            f"Expected {path} to begin with a header of {', '.join((*names, VALUE))} "
            f"and perhaps {', '.join(OPTIONAL)}, each once; got {shown(header)}, "
            f"missing {missing}, unknown {shown(unknown)}."
        )


def _read_row(number: int, header: list[str], cells: list[str], agent: Agent) -> Row:
    if len(cells) != len(header):
        raise DataError(f"Expected {len(header)} cells, got {len(cells)}.")
    names = agent.space.parameters
    texts = dict(zip(header, (cell.strip() for cell in cells), strict=True))
    values = read_values({name: texts[name] for name in names}, agent.space)
    # A parameter of that name leaves no room for the column.
    std = None if "std" in names else texts.get("std")
    failed = None if "failed" in names else texts.get("failed")
    if not texts[VALUE] and not failed:
        raise DataError("Expected a value, or a reason in the column failed, got none.")
    return Row(
        number=number,
        values=values,
        value=read_number(texts[VALUE], VALUE) if texts[VALUE] else None,
        std=read_number(std, "std") if std else None,
        failed=failed or None,
    )
