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

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from guidefbo.core.checks import is_whole_number, shown
from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, read_file
from guidefbo.core.run_record import MAX_NUMBER, RUN_FORMAT, texts
from guidefbo.experiments.keys import Code, base_of, holds_all, with_code
from guidefbo.experiments.outcome import Outcome, outcome_entry, parse_outcome

STUDY_FORMAT = "guidefbo-study"
PACK_FORMAT = "guidefbo-pack"
FAILURE_FORMAT = "guidefbo-failure"
SIMILARITY_FORMAT = "guidefbo-similarity"
RECORD_FORMATS = (RUN_FORMAT, SIMILARITY_FORMAT)
VERSION = 1
MAX_PACKED = 32 << 20
"""Bytes a pack may unfold to: 30 000 runs of 50 rounds fit."""
MAX_COMPRESSED = 16 << 20
"""Bytes a pack may have itself; they shrink to a sixth as a rule."""
MAX_RECORD = 64 << 20
"""Bytes of study.json or of a record in a study's folder."""
CHUNK = 1 << 20
"""Bytes unfolded at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run that was asked for."""

    key: str
    """Name of its record; equal specs have equal keys if the code is the same."""
    spec: Mapping[str, Any]
    """Fields of the run, settings without those at their default."""
    code: Code = field(default_factory=dict[str, str], compare=False)
    """Code that is to compute it; known while a study is run, and not kept."""
    variant: str | None = None
    """What the study calls this kind of run, where it has a name for it."""
    group: str | None = None
    """The part of the study the row belongs to, where it has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodNote:
    """What a report needs to know of a method, taken from its record by the run."""

    strategy: str
    """Name of its strategy."""
    rule: str
    """Name of its rule."""
    is_plain: bool = False
    """Whether agents work alone."""
    is_control: bool = False
    """Whether it only pretends to exchange."""
    is_ceiling: bool = False
    """Whether it shares all raw observations."""
    is_silent: bool = False
    """Whether agents work alone, with more than a plain rule."""
    alone: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings under which nothing of the other agents is used."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Defaults of all its settings, by name."""
    paper: str | None = None
    """Its column in the paper's tables."""
    paper_strategy: str | None = None
    """Its strategy's name in the paper's table of what is sent."""
    colour: str | None = None
    """Colour of its lines."""
    dash: str = "solid"
    """Dash of its lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that asked for rows of a study."""

    where: tuple[str, ...]
    """Its conditions, as they were written."""
    repetitions: int
    """Seeds."""
    change: tuple[str, ...] = ()
    """What it changed in all runs of the study, as texts `key=value`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudyResults:
    """What was asked for and what is there."""

    name: str
    """Name of the study."""
    title: str
    """One line."""
    text: str
    """What the study is for."""
    sections: tuple[str, ...]
    """Sections of its report."""
    rows: tuple[Row, ...]
    """Every run that was asked for, in order."""
    outcomes: Mapping[str, Outcome]
    """Finished runs by key."""
    failures: Mapping[str, str]
    """The error of each failed run by key."""
    definition: Mapping[str, Any]
    """The study as it was written."""
    calls: tuple[Call, ...] = ()
    """Calls that ask for just these rows; none where they are not known."""
    methods: Mapping[str, MethodNote] = field(default_factory=dict[str, MethodNote])
    """What is known of the methods of the rows, by name."""
    code: Code = field(default_factory=dict[str, str])
    """Code that was asked for last, by part; nothing where that is not known."""
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
        return _read_pack(path)
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
    if form.get("format") not in RECORD_FORMATS or not _is_current(form):
        return None
    stored = form.get("spec")
    if not isinstance(stored, dict) or not _is_same(cast(dict[str, Any], stored), spec):
        return None
    if (form["format"] == RUN_FORMAT) is not ("method" in spec):
        return None
    outcome = parse_outcome(form)
    return None if outcome is None else replace(outcome, file=path)


def pack_study(results: StudyResults) -> bytes:
    """Return the pack: the study, and of every finished run the mean curve."""
    runs: dict[str, Any] = {}
    for row in results.rows:
        if row.key in results.outcomes:
            runs[row.key] = outcome_entry(results.outcomes[row.key])
    form = {
        "format": PACK_FORMAT,
        "version": VERSION,
        "study": study_form(results),
        "runs": runs,
        "failures": dict(results.failures),
    }
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    if len(text) > MAX_PACKED:
        raise DataError(
            f"The pack would unfold to {len(text)} bytes, and at most {MAX_PACKED} are "
            "read again. Pack parts of the study."
        )
    # No name and no time in the head: equal studies give equal bytes.
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def study_form(results: StudyResults) -> dict[str, Any]:
    """Return what stands in study.json."""
    calls = [_call_form(call) for call in results.calls]
    return {
        "format": STUDY_FORMAT,
        "version": VERSION,
        "name": results.name,
        "title": results.title,
        "text": results.text,
        "sections": list(results.sections),
        "rows": [_row_form(row) for row in results.rows],
        "definition": dict(results.definition),
        "methods": {name: _note_form(note) for name, note in results.methods.items()},
        **({"calls": calls} if calls else {}),
        **({"code": dict(results.code)} if results.code else {}),
    }


def _note_form(note: MethodNote) -> dict[str, Any]:
    """Return a note as JSON values, without marks that older packs do not have."""
    form = asdict(note)
    for mark in ("is_ceiling", "is_silent"):
        if not form[mark]:
            del form[mark]
    return form


def _call_form(call: Call) -> dict[str, Any]:
    form: dict[str, Any] = {"where": [*call.where], "repetitions": call.repetitions}
    return form | {"change": [*call.change]} if call.change else form


def _row_form(row: Row) -> dict[str, Any]:
    form: dict[str, Any] = {"key": row.key, "spec": dict(row.spec)}
    if row.variant is not None:
        form["variant"] = row.variant
    if row.group is not None:
        form["group"] = row.group
    return form


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
    rows = _rows(form, folder)
    outcomes = read_outcomes(folder, rows)
    failures: dict[str, str] = {}
    for row in rows:
        if row.key in outcomes:
            continue
        failure = load_form(folder / "runs" / f"{row.key}.failed.json")
        if failure is not None and failure.get("format") == FAILURE_FORMAT:
            failures[row.key] = str(failure.get("error"))
    return _results(form, rows, outcomes, failures)


def _read_pack(path: Path) -> StudyResults:
    form = _load_pack(path)
    study = form.get("study") if form else None
    runs = form.get("runs") if form else None
    is_pack = form is not None and form.get("format") == PACK_FORMAT
    if not is_pack or not isinstance(study, dict) or not isinstance(runs, dict):
        raise DataError(
            f"{path} is no pack of a study. Make one with: guidefbo study pack DIR FILE"
        )
    rows = _rows(cast(dict[str, Any], study), path)
    outcomes: dict[str, Outcome] = {}
    for key, entry in cast(dict[str, Any], runs).items():
        is_table = isinstance(entry, dict)
        outcome = parse_outcome(cast(dict[str, Any], entry)) if is_table else None
        if outcome is None:
            # Nobody writes half a pack: one such run and the rest is as doubtful.
            raise DataError(
                f"{path} holds no result of the run {shown(key)}: expected a curve, or "
                f"a similarity, of finite numbers of at most {MAX_NUMBER:g} in size. "
                "Pack the study again."
            )
        outcomes[key] = outcome
    failures = texts(cast(dict[str, Any], form).get("failures"))
    return _results(cast(dict[str, Any], study), rows, outcomes, failures)


def _results(
    form: Mapping[str, Any],
    rows: tuple[Row, ...],
    outcomes: Mapping[str, Outcome],
    failures: Mapping[str, str],
) -> StudyResults:
    sections = form.get("sections")
    definition = form.get("definition")
    code = texts(form.get("code"))
    return StudyResults(
        name=str(form.get("name", "study")),
        title=str(form.get("title", "")),
        text=str(form.get("text", "")),
        sections=tuple(map(str, cast(list[Any], sections)))
        if isinstance(sections, list)
        else (),
        rows=rows,
        outcomes=outcomes,
        failures=failures,
        definition=cast(dict[str, Any], definition)
        if isinstance(definition, dict)
        else {},
        calls=_calls(form.get("calls")),
        methods=_methods(form.get("methods")),
        code=code,
        other_code={
            row.key: outcomes[row.key].code
            for row in rows
            if row.key in outcomes and _is_other(outcomes[row.key].parts, row, code)
        },
    )


def _is_other(parts: Code, row: Row, code: Code) -> bool:
    """Whether a result is not of the code that a study is to be of."""
    if not code or not parts:
        return bool(code)
    base = base_of(row.key)
    # The first has a version that is not the newest, the second lacks a file.
    return not holds_all(code, parts) or (
        base != row.key and with_code(base, parts) != row.key
    )


def _methods(listed: Any) -> dict[str, MethodNote]:
    """Return the notes on methods that are well-formed."""
    found: dict[str, MethodNote] = {}
    for name, item in _table(listed).items():
        form = _table(item)
        texts = {k: form.get(k) for k in ("strategy", "rule")}
        if not all(isinstance(text, str) for text in texts.values()):
            continue
        found[name] = MethodNote(
            strategy=str(texts["strategy"]),
            rule=str(texts["rule"]),
            is_plain=form.get("is_plain") is True,
            is_control=form.get("is_control") is True,
            is_ceiling=form.get("is_ceiling") is True,
            is_silent=form.get("is_silent") is True,
            alone=_table(form.get("alone")),
            settings=_table(form.get("settings")),
            paper=_text_or_none(form.get("paper")),
            paper_strategy=_text_or_none(form.get("paper_strategy")),
            colour=_text_or_none(form.get("colour")),
            dash=str(form.get("dash", "solid")),
        )
    return found


def _table(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _calls(listed: Any) -> tuple[Call, ...]:
    """Return the calls of a study, none where one of them is malformed."""
    if not isinstance(listed, list):
        return ()
    calls: list[Call] = []
    for item in cast(list[Any], listed):
        form = cast(dict[str, Any], item) if isinstance(item, dict) else {}
        where, seeds = form.get("where"), form.get("repetitions")
        change = form.get("change", [])
        are_lists = isinstance(where, list) and isinstance(change, list)
        if not are_lists or not is_whole_number(seeds):
            return ()
        calls.append(
            Call(
                where=tuple(map(str, cast(list[Any], where))),
                repetitions=cast(int, seeds),
                change=tuple(map(str, cast(list[Any], change))),
            )
        )
    return tuple(calls)


def _rows(form: Mapping[str, Any], where: Path) -> tuple[Row, ...]:
    listed = form.get("rows")
    if form.get("format") != STUDY_FORMAT or not isinstance(listed, list):
        raise DataError(f"{where} does not describe a study: its rows are missing.")
    if not _is_current(form):
        raise DataError(
            f"{where} has version {shown(form.get('version'))}, this guidefbo reads "
            f"version {VERSION}. Use the guidefbo that wrote it."
        )
    rows: list[Row] = []
    for item in cast(list[Any], listed):
        row = cast(dict[str, Any], item) if isinstance(item, dict) else {}
        key, spec = row.get("key"), row.get("spec")
        is_plain = isinstance(key, str) and key.replace("-", "").isalnum()
        if not is_plain or not isinstance(spec, dict):
            raise DataError(f"{where} has a row without key or spec: {shown(item)}.")
        rows.append(
            Row(
                key=cast(str, key),
                spec=cast(dict[str, Any], spec),
                variant=_text_or_none(row.get("variant")),
                group=_text_or_none(row.get("group")),
            )
        )
    return tuple(rows)


def load_form(path: Path) -> dict[str, Any] | None:
    """Return the JSON table in a file, None where there is none."""
    try:
        form = json.loads(read_file(path, MAX_RECORD))
    except (OSError, ValueError, RecursionError):
        return None
    return cast(dict[str, Any], form) if isinstance(form, dict) else None


def _load_pack(path: Path) -> dict[str, Any] | None:
    try:
        data = read_file(path, MAX_COMPRESSED)
    except InputError as error:
        raise DataError(f"Cannot read {path}: {error}.") from error
    try:
        form = json.loads(_unfold(data, path))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        return None
    return cast(dict[str, Any], form) if isinstance(form, dict) else None


def _unfold(data: bytes, path: Path) -> bytearray:
    """Return what a pack unfolds to, a piece at a time, or refuse it half-way."""
    pieces = bytearray()
    with gzip.GzipFile(fileobj=BytesIO(data)) as file:
        while piece := file.read(CHUNK):
            pieces += piece
            if len(pieces) > MAX_PACKED:
                raise DataError(
                    f"{path} unfolds to more than {MAX_PACKED} bytes, the most a pack "
                    "may. Pack parts of the study, or report on its folder."
                )
    return pieces


def _is_same(stored: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """Whether a record's spec is the row's; settings at their default may be absent."""
    given, asked = _table(stored.get("settings")), _table(spec.get("settings"))
    return all(stored.get(k) == v for k, v in spec.items() if k != "settings") and all(
        given.get(k) == v for k, v in asked.items()
    )


def _is_current(form: Mapping[str, Any]) -> bool:
    version = form.get("version")
    return type(version) is int and version == VERSION


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)
