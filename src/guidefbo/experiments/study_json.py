"""study.json: what a study was asked for, one row per run.

It may come from anywhere: a field that is malformed counts as not there. A study
without its rows is none.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from guidefbo.core.checks import is_whole_number, shown
from guidefbo.core.errors import DataError
from guidefbo.core.run_record import list_of, table_of, texts
from guidefbo.experiments.keys import Code

STUDY_FORMAT = "guidefbo-study"
VERSION = 1


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
class Asked:
    """A study and every run that was asked for."""

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
    definition: Mapping[str, Any]
    """The study as it was written."""
    calls: tuple[Call, ...] = ()
    """Calls that ask for just these rows; none where they are not known."""
    methods: Mapping[str, MethodNote] = field(default_factory=dict[str, MethodNote])
    """What is known of the methods of the rows, by name."""
    code: Code = field(default_factory=dict[str, str])
    """Code that was asked for last, by part; nothing where that is not known."""

    def to_form(self) -> dict[str, Any]:
        """Return what stands in study.json."""
        calls = [_call_form(call) for call in self.calls]
        return {
            "format": STUDY_FORMAT,
            "version": VERSION,
            "name": self.name,
            "title": self.title,
            "text": self.text,
            "sections": list(self.sections),
            "rows": [_row_form(row) for row in self.rows],
            "definition": dict(self.definition),
            "methods": {name: _note_form(note) for name, note in self.methods.items()},
            **({"calls": calls} if calls else {}),
            **({"code": dict(self.code)} if self.code else {}),
        }


def fields_of(form: Mapping[str, Any], where: Path) -> dict[str, Any]:
    """Return the fields of `Asked` that a study.json says.

    Args:
        form: What stands in it.
        where: The file, for errors.
    """
    return {
        "name": str(form.get("name", "study")),
        "title": str(form.get("title", "")),
        "text": str(form.get("text", "")),
        "sections": tuple(map(str, list_of(form.get("sections")))),
        "rows": _rows(form, where),
        "definition": table_of(form.get("definition")),
        "calls": _calls(form.get("calls")),
        "methods": _methods(form.get("methods")),
        "code": texts(form.get("code")),
    }


def is_current(form: Mapping[str, Any]) -> bool:
    """Whether a file is of the version that is read."""
    version = form.get("version")
    return type(version) is int and version == VERSION


def _note_form(note: MethodNote) -> dict[str, Any]:
    """Return a note on a method as JSON values, as in packs that knew less."""
    form = asdict(note)
    for name in ("is_ceiling", "is_silent"):
        if not form[name]:
            del form[name]
    return form


def _call_form(call: Call) -> dict[str, Any]:
    form: dict[str, Any] = {"where": [*call.where], "repetitions": call.repetitions}
    return form | {"change": [*call.change]} if call.change else form


def _row_form(row: Row) -> dict[str, Any]:
    named = {"variant": row.variant, "group": row.group}
    form: dict[str, Any] = {"key": row.key, "spec": dict(row.spec)}
    return form | {name: text for name, text in named.items() if text is not None}


def _rows(form: Mapping[str, Any], where: Path) -> tuple[Row, ...]:
    listed = form.get("rows")
    if form.get("format") != STUDY_FORMAT or not isinstance(listed, list):
        raise DataError(f"{where} does not describe a study: its rows are missing.")
    if not is_current(form):
        raise DataError(
            f"{where} has version {shown(form.get('version'))}, this guidefbo reads "
            f"version {VERSION}. Use the guidefbo that wrote it."
        )
    rows: list[Row] = []
    for item in cast(list[Any], listed):
        row = table_of(item)
        key, spec = row.get("key"), row.get("spec")
        is_plain = isinstance(key, str) and key.replace("-", "").isalnum()
        if not is_plain or not isinstance(spec, dict):
            raise DataError(f"{where} has a row without key or spec: {shown(item)}.")
        variant, group = map(_text_or_none, (row.get("variant"), row.get("group")))
        rows.append(
            Row(key=str(key), spec=table_of(spec), variant=variant, group=group)
        )
    return tuple(rows)


def _calls(listed: Any) -> tuple[Call, ...]:
    """Return the calls of a study, none where one of them is malformed."""
    calls: list[Call] = []
    for form in map(table_of, list_of(listed)):
        where, change = form.get("where"), form.get("change", [])
        seeds = form.get("repetitions")
        are_lists = isinstance(where, list) and isinstance(change, list)
        if not are_lists or not is_whole_number(seeds):
            return ()
        calls.append(
            Call(
                where=tuple(map(str, list_of(where))),
                repetitions=cast(int, seeds),
                change=tuple(map(str, list_of(change))),
            )
        )
    return tuple(calls)


def _methods(listed: Any) -> dict[str, MethodNote]:
    """Return the notes on methods that are well-formed."""
    found: dict[str, MethodNote] = {}
    for name, form in ((k, table_of(v)) for k, v in table_of(listed).items()):
        strategy, rule = form.get("strategy"), form.get("rule")
        if isinstance(strategy, str) and isinstance(rule, str):
            found[name] = MethodNote(
                strategy=strategy,
                rule=rule,
                is_plain=form.get("is_plain") is True,
                is_control=form.get("is_control") is True,
                is_ceiling=form.get("is_ceiling") is True,
                is_silent=form.get("is_silent") is True,
                alone=table_of(form.get("alone")),
                settings=table_of(form.get("settings")),
                paper=_text_or_none(form.get("paper")),
                paper_strategy=_text_or_none(form.get("paper_strategy")),
                colour=_text_or_none(form.get("colour")),
                dash=str(form.get("dash", "solid")),
            )
    return found


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)
