"""The files of a study, and what they say.

    DIR/study.json                what was asked for: one row per run, with its spec
    DIR/runs/KEY.json             one record per finished run
    DIR/runs/KEY.npz              its evaluations
    DIR/runs/KEY.failed.json      why a run failed
    FILE.json.gz                  a pack: all of it in one small file, mean curves only

Whoever reports reads these and nothing else. A record that is cut off, malformed or
about another run is no result: the row stays missing. A key is made of the run and of
the code that computes it; where there is no record of the code that was asked for, one
of the same run by other code stands for it, and is told apart.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from guidefbo.core.errors import DataError
from guidefbo.core.files import read_file
from guidefbo.core.run_record import RUN_FORMAT, table_of
from guidefbo.experiments.keys import Code, base_of, holds_all, with_code
from guidefbo.experiments.outcome import Outcome, outcome_entry, parse_outcome
from guidefbo.experiments.pack import read_pack, write_pack
from guidefbo.experiments.study_json import VERSION, Asked, Row, fields_of, is_current

FAILURE_FORMAT = "guidefbo-failure"
SIMILARITY_FORMAT = "guidefbo-similarity"
RECORD_FORMATS = (RUN_FORMAT, SIMILARITY_FORMAT)
MAX_RECORD = 64 << 20
"""Bytes of study.json or of a record in a study's folder."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudyResults(Asked):
    """What was asked for and what is there."""

    outcomes: Mapping[str, Outcome]
    """Finished runs by key."""
    failures: Mapping[str, str]
    """The error of each failed run by key."""
    folder: Path | None = None
    """The folder they were read from, as it was named; None of a pack."""
    other_code: Mapping[str, str] = field(default_factory=dict[str, str])
    """What made each result that is not of the study's code, by key; none where the
    files do not say which code was asked for."""

    @property
    def missing(self) -> tuple[Row, ...]:
        """Rows without a result."""
        return tuple(row for row in self.rows if row.key not in self.outcomes)


def read_study(path: str | Path) -> StudyResults:
    """Read a study's folder or its pack."""
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    if path.is_file():
        study, outcomes, failures = read_pack(path)
        return _results(fields_of(study, path), outcomes, failures)
    found = f"{path} is neither" if path.exists() else f"there is no folder {path}"
    raise DataError(
        f"Expected a study's folder or its pack, and {found}. "
        "Make one with: guidefbo study run NAME --out DIR"
    )


def read_outcomes(folder: Path, rows: Iterable[Row]) -> dict[str, Outcome]:
    """Return the outcomes of finished rows by key, of other code where need be."""
    found = keys_by_run(folder)
    outcomes: dict[str, Outcome] = {}
    for row in rows:
        others = [key for key in found.get(base_of(row.key), ()) if key != row.key]
        for key in (row.key, *others):
            outcome = read_record(folder / "runs" / f"{key}.json", key, row.spec)
            if outcome is not None:
                outcomes[row.key] = outcome
                break
    return outcomes


def keys_by_run(folder: Path) -> dict[str, list[str]]:
    """Return the keys of all files in a study's folder, by run."""
    found: dict[str, list[str]] = {}
    names = {path.name for path in (folder / "runs").glob("*-*.*")}
    for key in sorted({name.partition(".")[0] for name in names}):
        found.setdefault(base_of(key), []).append(key)
    return found


def read_record(path: Path, key: str, spec: Mapping[str, Any]) -> Outcome | None:
    """Return what a record says, or None where it is no whole record of that run."""
    form = load_form(path)
    if form is None or form.get("key", key) != key:
        return None
    if form.get("format") not in RECORD_FORMATS or not is_current(form):
        return None
    if not _is_same(table_of(form.get("spec")), spec):
        return None
    if (form["format"] == RUN_FORMAT) is not ("method" in spec):
        return None
    outcome = parse_outcome(form)
    return None if outcome is None else replace(outcome, file=path)


def pack_study(results: StudyResults) -> bytes:
    """Return the pack of a study."""
    return write_pack(results, results.outcomes, results.failures)


def record_of(outcome: Outcome, row: Row) -> dict[str, Any]:
    """Return a record that says what a pack kept of a run, under its own key."""
    key = with_code(base_of(row.key), outcome.parts)
    is_run = outcome.similarity is None
    return {
        "format": RUN_FORMAT if is_run else SIMILARITY_FORMAT,
        "version": VERSION,
        "spec": dict(row.spec),
        "key": key,
        **outcome_entry(outcome),
    }


def _read_folder(folder: Path) -> StudyResults:
    form = load_form(folder / "study.json")
    if form is None:
        raise DataError(
            f"{folder} has no readable study.json. Name a folder that "
            "`guidefbo study run` wrote."
        )
    fields = fields_of(form, folder)
    outcomes = read_outcomes(folder, fields["rows"])
    failures: dict[str, str] = {}
    for row in fields["rows"]:
        if row.key in outcomes:
            continue
        failure = load_form(folder / "runs" / f"{row.key}.failed.json")
        if failure is not None and failure.get("format") == FAILURE_FORMAT:
            failures[row.key] = str(failure.get("error"))
    return _results(fields | {"folder": folder}, outcomes, failures)


def _results(
    fields: Mapping[str, Any],
    outcomes: Mapping[str, Outcome],
    failures: Mapping[str, str],
) -> StudyResults:
    results = StudyResults(**fields, outcomes=outcomes, failures=failures)
    others = {
        row.key: outcomes[row.key].code
        for row in results.rows
        if row.key in outcomes and _is_other(outcomes[row.key].parts, row, results.code)
    }
    return replace(results, other_code=others)


def _is_other(parts: Code, row: Row, code: Code) -> bool:
    """Whether a result is not of the code that a study is to be of."""
    if not code or not parts:
        return bool(code)
    base = base_of(row.key)
    # The first has a version that is not the newest, the second lacks a file.
    return not holds_all(code, parts) or (
        base != row.key and with_code(base, parts) != row.key
    )


def load_form(path: Path) -> dict[str, Any] | None:
    """Return the JSON table in a file, None where there is none."""
    try:
        form = json.loads(read_file(path, MAX_RECORD))
    except (OSError, ValueError, RecursionError):
        return None
    return cast(dict[str, Any], form) if isinstance(form, dict) else None


def _is_same(stored: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """Whether a record's spec is the row's; settings at their default may be absent."""
    given, asked = table_of(stored.get("settings")), table_of(spec.get("settings"))
    return all(stored.get(k) == v for k, v in spec.items() if k != "settings") and all(
        given.get(k) == v for k, v in asked.items()
    )
