"""Every evaluation of a study in one table: in memory, run by run, or as a CSV file.

    study = gf.read_study("results/quick")
    frame = study.to_frame()

The CSV file is written run by run, so that it needs little memory however many runs
there are. `evaluation_rows.py` lists the columns.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from guidefbo.core.errors import DataError
from guidefbo.core.files import open_atomically
from guidefbo.core.html import lines_html, table_html
from guidefbo.core.run_record import WEIGHT, is_number, table_of
from guidefbo.core.table_text import cell_text
from guidefbo.experiments import results as files
from guidefbo.experiments.evaluation_rows import (
    MEASURED,
    QUERY,
    WHOSE,
    Column,
    RunFile,
    joined,
    read_run,
    rows_of,
)
from guidefbo.experiments.results import StudyResults
from guidefbo.experiments.study_json import Row

FIELDS = (
    *("problem", "method", "seed", "level", "common_shift", "noise", "noise_units"),
    *("dim", "num_agents", "num_initial", "num_rounds", "exchange_interval"),
)
"""Fields of a run, in the order of their columns."""
EXCHANGES = "exchange_interval"
"""The field that is left out of a run where sites exchange in every round."""
SETTING = "settings."
"""Before the name of a setting."""


def read_study(path: str | Path) -> "StudyTable":
    """Read a study's folder, or its pack, which has no evaluations.

    Args:
        path: Folder that `guidefbo study run` wrote, or a pack.
    """
    return StudyTable(files.read_study(path))


@dataclass(frozen=True)
class StudyTable:
    """A study's results, and every evaluation of its runs as rows of a table."""

    results: StudyResults
    """What was asked for and what is there, with the mean curve of every run."""

    def to_frame(self) -> Any:
        """Return the whole table: a row for each run, agent and evaluation.

        A pandas DataFrame where pandas is installed, and else a dictionary of columns.
        A number that is not known is NaN. All of it is held in memory, some 300 bytes a
        row: go through `runs` where a study is too large for that.
        """
        pieces = list(self.runs())
        frame = {
            name: joined(piece[name] for piece in pieces)
            if pieces
            else np.empty(0, dtype=object)
            for name in self.columns
        }
        if find_spec("pandas") is None:
            return frame
        return import_module("pandas").DataFrame(frame)

    def runs(self) -> Iterator[dict[str, Column]]:
        """Yield the table of each run after the other, as a dictionary of columns."""
        for run in self._files():
            yield self._columns_of(run)

    def to_csv(self, path: str | Path) -> int:
        """Write the whole table as a CSV file, run by run; return the number of rows.

        A number that is not known is an empty cell.
        """
        names, count = self.columns, 0
        with open_atomically(Path(path)) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(_cell(name) for name in names)
            for columns in self.runs():
                listed = [_cells(columns[name]) for name in names]
                writer.writerows(zip(*listed, strict=True))
                count += len(listed[0])
            text.flush()
            text.detach()
        return count

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: runs of other problems have other parameters."""
        parameters: dict[str, None] = {}
        models: dict[str, None] = {}
        for run in self._files():
            parameters |= dict.fromkeys(run.parameters)
            models |= dict.fromkeys(run.models)
        settings = {name for row in self.results.rows for name in _settings_of(row)}
        return (
            "run",
            *("variant", "group"),
            *FIELDS,
            *(f"{SETTING}{name}" for name in sorted(settings)),
            *("code", "is_other_code"),
            *WHOSE,
            *(f"{QUERY}{name}" for name in parameters),
            *MEASURED,
            *(f"{WEIGHT}{name}" for name in models),
        )

    @cached_property
    def without_evaluations(self) -> tuple[str, ...]:
        """Keys of finished runs of which nothing is kept but the mean."""
        kept = {run.row.key for run in self._files()}
        return tuple(key for key in self.results.outcomes if key not in kept)

    def _repr_html_(self) -> str:
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in self.results.rows:
            what = str(row.spec.get("problem")), str(row.spec.get("method", "-"))
            groups.setdefault(what, []).append(row)
        outcomes, failures = self.results.outcomes, self.results.failures
        rows = [
            [
                *what,
                str(len(asked)),
                str(sum(row.key in outcomes for row in asked)),
                str(sum(row.key in failures for row in asked)),
            ]
            for what, asked in groups.items()
        ]
        head = f"study {self.results.name}: {len(self.results.rows)} runs"
        header = ["problem", "method", "runs", "finished", "failed"]
        return lines_html(head) + table_html(header, rows)

    def _files(self) -> Iterator[RunFile]:
        """Yield the runs whose evaluations are there; equal runs once."""
        rows = {row.key: row for row in reversed(self.results.rows)}
        for key, row in reversed(rows.items()):
            outcome = self.results.outcomes.get(key)
            run = None if outcome is None else read_run(row, outcome)
            if run is not None:
                yield run

    def _columns_of(self, run: RunFile) -> dict[str, Column]:
        found = rows_of(run)
        size = len(found["agent"])
        file = run.outcome.file
        same = self._same_of(run.row) | {
            # The name of the record that was read: other code has another one.
            "run": run.row.key if file is None else file.stem,
            "code": run.outcome.code,
            "is_other_code": run.row.key in self.results.other_code,
        }
        columns: dict[str, Column] = {}
        for name in self.columns:
            if name in found:
                columns[name] = found[name]
            else:
                value = _scalar(same.get(name))
                is_text = value is None or isinstance(value, str)
                columns[name] = np.full(size, value, dtype=object if is_text else None)
        return columns

    def _same_of(self, row: Row) -> dict[str, Any]:
        """Return what all evaluations of a run share."""
        note = self.results.methods.get(str(row.spec.get("method")))
        settings = dict(note.settings) if note else {}
        settings |= _settings_of(row)
        return {
            "variant": row.variant,
            "group": row.group,
            **{name: _field_of(row, name) for name in FIELDS},
            **{f"{SETTING}{name}": value for name, value in settings.items()},
        }


def require_evaluations(table: StudyTable) -> None:
    """Refuse a study of which no evaluation is kept."""
    if not table.results.outcomes:
        raise DataError(
            f"The study {table.results.name} has no finished run, and "
            f"{len(table.results.failures)} that failed. There is nothing to write."
        )
    if len(table.without_evaluations) == len(table.results.outcomes):
        raise DataError(
            f"No run of the study {table.results.name} has its evaluations: they are "
            "in a study's folder, not in its pack. Name the folder that `guidefbo "
            "study run` wrote."
        )


def _field_of(row: Row, name: str) -> Any:
    value = row.spec.get(name)
    return 1 if value is None and name == EXCHANGES else value


def _settings_of(row: Row) -> dict[str, Any]:
    return table_of(row.spec.get("settings"))


def _scalar(value: Any) -> Any:
    """Return a value of a file as something that a cell can hold."""
    is_plain = value is None or isinstance(value, str | bool) or is_number(value)
    return value if is_plain else str(value)


def _cells(column: Column) -> list[Any]:
    listed: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return ["" if value != value else value for value in listed]
    return [_cell(value) for value in listed] if column.dtype == object else listed


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return "" if value is None else value
    return cell_text(value)
