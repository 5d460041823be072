"""How much of a study is there, with what it was made, and how to make it again."""

from collections import Counter
from collections.abc import Mapping, Sequence

from guidefbo.experiments.results import StudyResults
from guidefbo.experiments.study_json import Row
from guidefbo.reports.again import commands, introduction
from guidefbo.reports.formats import count_cell
from guidefbo.reports.frame import Frame
from guidefbo.reports.table import (
    Block,
    Cell,
    Commands,
    Points,
    Section,
    Table,
    words,
)

NAME = "bookkeeping"
SHOWN_FAILURES = 50
"""Failures that are listed one by one."""


def bookkeeping_section(frame: Frame, unknown: Sequence[str] = ()) -> Section:
    """Return the closing section of a study.

    Args:
        frame: The study's runs.
        unknown: Sections it asks for that this version cannot write.
    """
    results = frame.results
    blocks: list[Block] = [_counts(results)]
    if unknown:
        blocks.append(f"Sections this version does not know: {', '.join(unknown)}.")
    blocks.append(_progress_table(frame))
    failures = _failures(results)
    if failures:
        blocks += [f"Failed runs ({len(results.failures)}):", Points(items=failures)]
    blocks += [_versions(results), *_other_code(results), introduction(results)]
    blocks.append(Commands(lines=commands(results)))
    return Section(name=NAME, title="Bookkeeping", blocks=tuple(blocks))


def missing_sentence(results: StudyResults) -> str | None:
    """Return how much of a study is not there, None where all of it is."""
    keys = {row.key for row in results.rows}
    finished = len(keys & results.outcomes.keys())
    if finished == len(keys):
        return None
    return (
        f"{len(keys) - finished} of the {len(keys)} runs are not there yet, or failed: "
        "what follows is about the rest."
    )


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
    for view in frame.views:
        for who in view.contenders:
            asked = sum(len(view.samples(p, who)) for p in view.problems)
            done = sum(len(view.outcomes(p, who)) for p in view.problems)
            counts = map(count_cell, (asked, done, asked - done))
            rows.append((words(view.conditions.label), words(who.label), *counts))
    return Table(
        name="progress",
        title="Runs by method",
        columns=("conditions", "method", "asked", "finished", "not there"),
        rows=tuple(rows),
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
    level = spec.get("level")
    where = [] if level is None else [f"level {level}"]
    parts = [str(spec.get("problem")), *where, str(name), f"seed {spec.get('seed')}"]
    return ", ".join(parts)


def _other_code(results: StudyResults) -> list[str]:
    count = len(results.outcomes.keys() & set(results.other_code))
    if not count:
        return []
    return [
        f"{count} of the results were computed by other code than the one that would "
        "run now; they are marked in the tables."
    ]


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
