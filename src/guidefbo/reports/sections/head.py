"""What a study is, how much of it is there, and how to make it again."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from guidefbo.experiments.results import Row, StudyResults
from guidefbo.reports.formats import count_cell
from guidefbo.reports.frame import Frame
from guidefbo.reports.paper import paper_tables
from guidefbo.reports.table import (
    Block,
    Cell,
    Commands,
    Points,
    Prose,
    Section,
    Table,
    words,
)

NAME = "overview"
AXES = ("problem", "level", "method", "variant", "common_shift", "noise", "dim")
"""Fields by which a study may have been narrowed."""
SHOWN_FAILURES = 50
"""Failures that are listed one by one."""


def head_section(frame: Frame, unknown: Sequence[str] = ()) -> Section:
    """Return the opening section of a study.

    Args:
        frame: The study's runs.
        unknown: Sections it asks for that this version cannot write.
    """
    results = frame.results
    blocks: list[Block] = []
    if results.text:
        blocks.append(Prose(text=results.text))
    blocks.append(_counts(results))
    if unknown:
        blocks.append(f"Sections this version does not know: {', '.join(unknown)}.")
    blocks.append(_progress_table(frame))
    failures = _failures(results)
    if failures:
        blocks += [f"Failed runs ({len(results.failures)}):", Points(items=failures)]
    blocks += [_versions(results), "To make this study and this report again:"]
    blocks.append(Commands(lines=commands(results)))
    return Section(name=NAME, title="Overview", blocks=tuple(blocks))


def commands(results: StudyResults) -> tuple[str, ...]:
    """Return the commands that run the study and write its report."""
    name = shlex.quote(results.name)
    folder = shlex.quote(f"results/{results.name}")
    out = shlex.quote(f"reports/{results.name}")
    seeds = {str(row.spec.get("seed")) for row in results.rows}
    where = "".join(f" --where {shlex.quote(text)}" for text in _conditions(results))
    return (
        f"guidefbo study run {name}{where} --repetitions {len(seeds)} --out {folder}",
        f"guidefbo study report {folder} --out {out}",
    )


def _conditions(results: StudyResults) -> list[str]:
    """Return the conditions under which fewer rows were asked for than written."""
    definition = results.definition
    tables = [definition.get("common"), *_as_list(definition.get("grid", []))]
    found: list[str] = []
    for axis in AXES:
        listed = [_as_list(cast(Any, t)[axis]) for t in tables if _has(t, axis)]
        written = {str(value) for values in listed for value in values}
        if axis == "problem" and "all" in written:
            written = set(paper_tables()["task_similarity"]) - {"overall"}
        present = dict.fromkeys(
            str(row.variant if axis == "variant" else row.spec.get(axis))
            for row in results.rows
        )
        present.pop("None", None)
        if set(present) < written:
            found.append(f"{axis}={','.join(present)}")
    return found


def _has(table: object, axis: str) -> bool:
    return isinstance(table, Mapping) and axis in table


def _as_list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else [value]


def _counts(results: StudyResults) -> str:
    keys = {row.key for row in results.rows}
    finished = len(keys & results.outcomes.keys())
    failed = len(keys & results.failures.keys())
    missing = len(keys) - finished - failed
    doubled = len(results.rows) - len(keys)
    text = (
        f"Study {results.name}: {len(keys)} runs asked for, {finished} finished, "
        f"{failed} failed, {missing} missing."
    )
    if doubled:
        text += f" {doubled} more rows share their run with another row."
    return text


def _progress_table(frame: Frame) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for conditions in frame.conditions:
        for who in frame.contenders(conditions):
            samples = [
                outcome
                for (c, _, k), found in frame.cells.items()
                if c == conditions and k == who
                for outcome in found.values()
            ]
            done = sum(outcome is not None for outcome in samples)
            modes = Counter(o.mode for o in samples if o is not None)
            rows.append(
                (
                    words(conditions.label),
                    words(who.label),
                    count_cell(len(samples)),
                    count_cell(done),
                    count_cell(len(samples) - done),
                    words(", ".join(sorted(modes))),
                )
            )
    return Table(
        name="progress",
        title="Runs by method",
        columns=("conditions", "method", "asked", "finished", "not there", "mode"),
        rows=tuple(rows),
        notes=(
            "Mode method: as the method's own authors define it. Mode as-run: as "
            "behind the paper's tables.",
        ),
    )


def _failures(results: StudyResults) -> tuple[str, ...]:
    named = {row.key: row for row in results.rows}
    found = [
        f"{_told(named[key])}: {error}"
        for key, error in results.failures.items()
        if key in named
    ]
    rest = len(found) - SHOWN_FAILURES
    listed = found[:SHOWN_FAILURES]
    return tuple([*listed, f"... and {rest} more"] if rest > 0 else listed)


def _told(row: Row) -> str:
    spec: Mapping[str, object] = row.spec
    name = row.variant or spec.get("method", "")
    return (
        f"{spec.get('problem')}, level {spec.get('level')}, {name}, "
        f"seed {spec.get('seed')}"
    )


def _versions(results: StudyResults) -> str:
    environments = Counter(
        ", ".join(f"{name} {version}" for name, version in o.environment.items())
        for o in results.outcomes.values()
        if o.environment
    )
    if not environments:
        return "No run says with which versions it was made."
    told = [f"{text} ({n} runs)" for text, n in environments.most_common()]
    return f"Made with {'; '.join(told)}."
