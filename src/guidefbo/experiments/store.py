"""A study's folder.

Records are written atomically, and one process at a time may run the study.
"""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guidefbo.core.errors import DataError
from guidefbo.core.files import OutputError, write_atomically
from guidefbo.core.lock import LockedError, exclusive
from guidefbo.experiments.evaluations_file import (
    ENDING,
    EVALUATIONS,
    RunEvaluations,
    read_evaluations,
)
from guidefbo.experiments.keys import base_of, is_same_code, spec_key
from guidefbo.experiments.notes import notes_on
from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.plan import merge_rows
from guidefbo.experiments.results import (
    FAILURE_FORMAT,
    StudyResults,
    keys_by_run,
    load_form,
    read_outcomes,
    read_study,
    record_of,
)
from guidefbo.experiments.study import Study
from guidefbo.experiments.study_json import Asked, Call, Row


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
        described = Asked(
            name=study.name,
            title=study.title,
            text=study.text,
            sections=study.sections,
            rows=merged,
            definition=study.definition,
            calls=_calls(study, former, rows, merged, call),
            methods={**(former.methods if former else {}), **notes_on(rows)},
            code=_code(former, rows),
        )
        text = json.dumps(described.to_form(), indent=1, allow_nan=False)
        write_atomically(form, text + "\n")

    def done(self, rows: Iterable[Row]) -> dict[str, Outcome]:
        """Return the outcomes of finished rows by key. Half a file is no outcome."""
        return read_outcomes(self.folder, rows)

    def save(
        self, key: str, record: Mapping[str, Any], former: Iterable[str] = ()
    ) -> bool:
        """Write a record atomically; return whether it is that of a finished run.

        Args:
            key: Name of the record.
            record: What it says, or the record of a failure.
            former: Keys of the same run by other code. Where the run is finished, their
                files are gone.
        """
        is_failure = record.get("format") == FAILURE_FORMAT
        path = self._failure(key) if is_failure else self._record(key)
        form = {name: value for name, value in record.items() if name != EVALUATIONS}
        if EVALUATIONS in record:
            # Before the record, which says that the run is finished.
            RunEvaluations.of(record[EVALUATIONS]).write(path.with_suffix(ENDING))
        # One line: a study has thousands of records and people read its report.
        text = json.dumps(form, separators=(",", ":"), allow_nan=False)
        write_atomically(path, text + "\n")
        if not is_failure:
            self._failure(key).unlink(missing_ok=True)
            for other in former:
                if other != key:
                    self._failure(other).unlink(missing_ok=True)
                    self._record(other).unlink(missing_ok=True)
                    self._record(other).with_suffix(ENDING).unlink(missing_ok=True)
        return not is_failure

    def adopt(self, outcomes: Mapping[str, Outcome], rows: Iterable[Row]) -> int:
        """Take over finished runs of other folders or packs; return how many.

        Args:
            outcomes: By key of the row they stand for. One of other code does not
                replace a record that is there.
            rows: Rows that are asked for.
        """
        listed = {row.key: row for row in rows if row.key in outcomes}
        done, former = self.done(listed.values()), keys_by_run(self.folder)
        count = 0
        for key, row in listed.items():
            outcome = outcomes[key]
            if key not in done or is_better(outcome, done[key], row):
                record = whole_record(outcome, row)
                self.save(record["key"], record, former.get(base_of(key), ()))
                count += 1
        return count

    def _record(self, key: str) -> Path:
        return self.folder / "runs" / f"{key}.json"

    def _failure(self, key: str) -> Path:
        return self.folder / "runs" / f"{key}.failed.json"


def known_outcomes(results: StudyResults, rows: Iterable[Row]) -> dict[str, Outcome]:
    """Return what another folder or pack has of some rows, by key of the row."""
    found = {
        spec_key(row.spec): results.outcomes[row.key]
        for row in results.rows
        if row.key in results.outcomes
    }
    listed = {row.key: found.get(base_of(row.key)) for row in rows}
    return {key: outcome for key, outcome in listed.items() if outcome is not None}


def whole_record(outcome: Outcome, row: Row) -> dict[str, Any]:
    """Return the record of a run from elsewhere: all of it, or what a pack kept."""
    record = record_of(outcome, row)
    form = None if outcome.file is None else load_form(outcome.file)
    if outcome.file is None or form is None:
        return record
    record = form | {"key": record["key"]}
    with suppress(DataError):
        arrays = read_evaluations(outcome.file.with_suffix(ENDING), row.spec)
        record[EVALUATIONS] = arrays.arrays
    return record


def is_better(outcome: Outcome, former: Outcome, row: Row) -> bool:
    """Whether an outcome is of the code that is asked for and another one is not."""
    is_asked = is_same_code(outcome.parts, row.code)
    return is_asked and not is_same_code(former.parts, row.code)


def _code(former: StudyResults | None, rows: Iterable[Row]) -> dict[str, str]:
    """Return the newest version of all code that was asked for."""
    code = dict(former.code if former else {})
    for row in rows:
        code |= row.code
    return code


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
