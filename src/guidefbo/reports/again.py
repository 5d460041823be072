"""How to make a study and its report again, as far as its files tell."""

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from guidefbo.core.checks import is_finite_number, is_whole_number
from guidefbo.experiments.results import Call, Row, StudyResults
from guidefbo.experiments.shipped import shipped_files
from guidefbo.reports.frame import settings_of
from guidefbo.reports.paper import paper_tables

DECISIVE = ("measure", "first_seed", "common", "grid", "variants")
"""Entries of a study that decide which runs it has; repetitions are said."""
AXES = (
    "problem",
    "level",
    "method",
    "variant",
    "group",
    "common_shift",
    "noise",
    "noise_units",
    "dim",
    "num_agents",
    "num_initial",
    "num_rounds",
)
"""Fields by which a study may have been narrowed, settings aside."""


def introduction(results: StudyResults) -> str:
    """Return the sentence before the commands, with what is not known."""
    text = "To make this study and this report again"
    if not is_shipped(results):
        text += (
            f", with the file that describes it in place of {results.name}.toml (it "
            "does not come with guidefbo)"
        )
    if not results.calls and _is_doubtful(results):
        text += (
            "; how it was narrowed is not recorded but worked out from its rows, and "
            "the commands may ask for more runs than there are here"
        )
    return f"{text}:"


def commands(results: StudyResults) -> tuple[str, ...]:
    """Return the commands that run the study and write its report."""
    name = results.name if is_shipped(results) else f"{results.name}.toml"
    folder, out = f"results/{results.name}", f"reports/{results.name}"
    return (
        *(_run(name, call, folder) for call in results.calls or _worked_out(results)),
        shlex.join(["guidefbo", "study", "report", folder, "--out", out]),
    )


def is_shipped(results: StudyResults) -> bool:
    """Whether the study comes with guidefbo, and with the same runs."""
    path = shipped_files().get(results.name)
    if path is None:
        return False
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    return all(written.get(k) == results.definition.get(k) for k in DECISIVE)


def _is_doubtful(results: StudyResults) -> bool:
    """Whether a study was narrowed, or may have been by a setting's default."""
    calls, written = _worked_out(results), _written(results.definition)
    is_narrowed = len(calls) > 1 or any(call.where for call in calls)
    scanned = [axis for axis in written if len(written[axis]) > 1]
    return is_narrowed or any(axis.startswith("settings.") for axis in scanned)


def _run(name: str, call: Call, folder: str) -> str:
    where = [word for condition in call.where for word in ("--where", condition)]
    seeds = ["--repetitions", str(call.repetitions)]
    words = ["guidefbo", "study", "run", name, *where, *seeds, "--out", folder]
    return shlex.join(words)


def _worked_out(results: StudyResults) -> list[Call]:
    """Return a call for all rows that have the same seeds."""
    kinds: dict[str, list[Row]] = {}
    for row in results.rows:
        spec = {name: value for name, value in row.spec.items() if name != "seed"}
        kind = json.dumps([row.variant, row.group, spec], sort_keys=True, default=str)
        kinds.setdefault(kind, []).append(row)
    alike: dict[tuple[str, ...], list[Row]] = {}
    for rows in kinds.values():
        seeds = sorted({str(row.spec.get("seed")) for row in rows})
        alike.setdefault(tuple(seeds), []).extend(rows)
    return [_call(results.definition, rows) for rows in alike.values()]


def _call(definition: Mapping[str, Any], rows: Sequence[Row]) -> Call:
    where = _conditions(definition, rows)
    listed = [row.spec.get("seed") for row in rows]
    seeds = {cast(int, seed) for seed in listed if is_whole_number(seed)}
    first = definition.get("first_seed", 0)
    first = cast(int, first) if is_whole_number(first) else 0
    asked = range(first, max(seeds, default=first) + 1)
    if seeds < set(asked):
        where.append(f"seed={','.join(map(str, sorted(seeds)))}")
    return Call(where=tuple(where), repetitions=max(len(asked), 1))


def _conditions(definition: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """Return the conditions under which fewer rows were asked for than written."""
    found: list[str] = []
    for axis, written in _written(definition).items():
        values = [_value(row, axis) for row in rows]
        present = dict.fromkeys(_text(value) for value in values)
        # A row without a value would not meet a condition on it.
        if None not in values and set(present) < written:
            found.append(f"{axis}={','.join(present)}")
    return found


def _written(definition: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the values that a study gives on each axis."""
    grids = _as_list(definition.get("grid", []))
    tables = [
        cast(Mapping[str, Any], table)
        for table in (definition.get("common"), *grids)
        if isinstance(table, Mapping)
    ]
    written: dict[str, set[str]] = {axis: set() for axis in AXES}
    for table in tables:
        settings = table.get("settings")
        if isinstance(settings, Mapping):
            for name, value in cast(Mapping[str, Any], settings).items():
                axis = f"settings.{name}"
                written.setdefault(axis, set()).update(map(_text, _as_list(value)))
        for axis in AXES:
            key = "name" if axis == "group" else axis
            written[axis].update(map(_text, _as_list(table.get(key, []))))
    if "all" in written["problem"]:
        written["problem"] = set(paper_tables()["task_similarity"]) - {"overall"}
    return written


def _value(row: Row, axis: str) -> Any:
    if axis in ("variant", "group"):
        return getattr(row, axis)
    if axis.startswith("settings."):
        return settings_of(row).get(axis.removeprefix("settings."))
    return row.spec.get(axis)


def _text(value: Any) -> str:
    """Return a value as it is written in a condition; equal numbers are alike."""
    if is_finite_number(value):
        return repr(float(value)).removesuffix(".0")
    return str(value)


def _as_list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else [value]
