"""A study's folder.

Records are written atomically, and one process at a time may run the study.
"""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guidefbo.core.errors import DataError
from guidefbo.core.files import OutputError, write_atomically
from guidefbo.core.lock import LockedError, exclusive
from guidefbo.experiments.notes import notes_on
from guidefbo.experiments.plan import merge_rows
from guidefbo.experiments.results import (
    FAILURE_FORMAT,
    Call,
    Outcome,
    Row,
    StudyResults,
    read_record,
    read_study,
    record_of,
    study_form,
)
from guidefbo.experiments.study import Study


@dataclass(frozen=True, slots=True)
class Store:
    """Where a study keeps its records."""

    folder: Path
    """The study's folder."""

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """Keep other processes from running the same study in the same folder."""
        try:
            (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"Cannot make the folder {self.folder}: {error.strerror}."
            ) from error
        try:
            with exclusive(self.folder / "study.json", wait=0.0):
                yield
        except LockedError as error:
            raise LockedError(
                f"Another process is running the study in {self.folder}. Wait for it, "
                "or name another folder with --out."
            ) from error

    def describe(self, study: Study, rows: Sequence[Row], call: Call) -> None:
        """Write what is asked for into study.json, beside what was asked before."""
        form = self.folder / "study.json"
        former = read_study(self.folder) if form.exists() else None
        if former is not None and former.name != study.name:
            raise DataError(
                f"{self.folder} holds the study {former.name!r}, not "
                f"{study.name!r}. Name another folder with --out."
            )
        merged = merge_rows(study, former.rows if former else (), rows)
        described = StudyResults(
            name=study.name,
            title=study.title,
            text=study.text,
            sections=study.sections,
            rows=merged,
            outcomes={},
            failures={},
            definition=study.definition,
            calls=_calls(study, former, rows, merged, call),
            methods={**(former.methods if former else {}), **notes_on(rows)},
        )
        text = json.dumps(study_form(described), indent=1, allow_nan=False)
        write_atomically(form, text + "\n")

    def done(self, rows: Iterable[Row]) -> dict[str, Outcome]:
        """Return the outcomes of finished rows by key. Half a file is no outcome."""
        outcomes: dict[str, Outcome] = {}
        for row in rows:
            outcome = read_record(self._record(row.key), row.key, row.spec)
            if outcome is not None:
                outcomes[row.key] = outcome
        return outcomes

    def save(self, key: str, record: Mapping[str, Any]) -> bool:
        """Write a record atomically; return whether it is that of a finished run."""
        is_failure = record.get("format") == FAILURE_FORMAT
        path = self._failure(key) if is_failure else self._record(key)
        # One line: a study has thousands of records and people read its report.
        text = json.dumps(record, separators=(",", ":"), allow_nan=False)
        write_atomically(path, text + "\n")
        if not is_failure:
            self._failure(key).unlink(missing_ok=True)
        return not is_failure

    def adopt(self, results: StudyResults, rows: Iterable[Row]) -> int:
        """Take over the finished runs of another folder or pack; return how many."""
        listed = {row.key: row for row in rows}
        done = self.done(listed.values())
        missing = {key: row for key, row in listed.items() if key not in done}
        count = 0
        for key, row in missing.items():
            outcome = results.outcomes.get(key)
            if outcome is not None:
                self.save(key, record_of(outcome, row))
                count += 1
        return count

    def _record(self, key: str) -> Path:
        return self.folder / "runs" / f"{key}.json"

    def _failure(self, key: str) -> Path:
        return self.folder / "runs" / f"{key}.failed.json"


def _calls(
    study: Study,
    former: StudyResults | None,
    asked: Sequence[Row],
    merged: Sequence[Row],
    call: Call,
) -> tuple[Call, ...]:
    """Return the calls that ask for former and new rows, none where not known."""
    if former is None or len(merged) == len(asked):
        return (call,)
    if not former.calls or former.definition != study.definition:
        return ()
    adds = len(merged) > len(former.rows)
    return (*former.calls, call) if adds else former.calls
