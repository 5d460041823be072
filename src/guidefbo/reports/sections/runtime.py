"""Seconds of a run, by method and function, beside the paper's."""

from collections.abc import Sequence

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Dot, Stand, draw_stands
from guidefbo.reports.families import REFERENCE, reference_of
from guidefbo.reports.formats import MISSING, factor, number
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.paper import column_of
from guidefbo.reports.paper import seconds as papers_seconds
from guidefbo.reports.statistics import summarise
from guidefbo.reports.table import Cell, Figure, Section, Table, words

NAME = "runtime"
PROCESSOR, CLOCK = "processor", "total"
"""Which seconds of a record: those of the processor, which other work on the machine
hardly changes, or those that went by, where a record has no others."""
WORDS = {PROCESSOR: "Processor seconds", CLOCK: "Wall-clock seconds"}


def runtime_section(frame: Frame) -> Section | None:
    """Return a table for each set of conditions."""
    which = _told_by_all(frame)
    tables = [_table(view, which) for view in frame.views]
    found = [t for t in tables if any(c.value is not None for r in t.rows for c in r)]
    if not found:
        return None
    opening = f"{WORDS[which]} of one run, mean over seeds."
    lines = [c.under for table in found for row in table.rows for c in row if c.under]
    reference = reference_of(frame.contenders)
    if lines and reference is not None:
        opening += f" Below: how many times those of {reference.label}."
    if any("paper" in line for line in lines):
        opening += (
            " The last line of a cell is the paper's seconds and its own ratio to its "
            "ucb (its table is for Level 2 and another machine: compare the ratios)."
        )
    blocks = (_figure(found), opening, *found)
    return Section(name=NAME, title="Run time", blocks=blocks)


def _figure(tables: Sequence[Table]) -> Figure:
    """Return the seconds of every contender, averaged over the problems."""
    names = list(dict.fromkeys(name for t in tables for name in t.columns[1:]))
    stands: list[Stand] = []
    for table in tables:
        dots: dict[str, Dot] = {}
        for place, name in enumerate(table.columns[1:], 1):
            seconds = [row[place].value for row in table.rows]
            summary = summarise([value for value in seconds if value is not None])
            if summary is not None:
                dots[name] = Dot(place=summary.mean, error=summary.error)
        title, label = table.title.partition(", ")[2], "seconds of a run"
        stands.append(Stand(title=title, dots=dots, x_label=label, is_log=True))
    return Figure(
        name=NAME,
        title="Seconds of a run",
        draw=lambda: draw_stands(stands, names),
        notes=("Mean over the problems; error bars: one standard error over them.",),
    )


def _told_by_all(frame: Frame) -> str:
    """Return which seconds a whole report can have: one kind, to be compared."""
    told = (
        outcome.seconds
        for view in frame.views
        for problem in view.problems
        for who in view.contenders
        for outcome in view.outcomes(problem, who)
    )
    return PROCESSOR if all(PROCESSOR in seconds for seconds in told) else CLOCK


def _seconds(view: View, problem: str, who: Contender, which: str) -> float | None:
    """Return the mean seconds of the runs of a cell, None where none is there."""
    told = (outcome.seconds for outcome in view.outcomes(problem, who))
    summary = summarise([seconds[which] for seconds in told if which in seconds])
    return None if summary is None else summary.mean


def _table(view: View, which: str) -> Table:
    contenders, conditions = view.contenders, view.conditions
    rows = tuple(
        (words(problem), *(_cell(view, [problem], who, which) for who in contenders))
        for problem in view.problems
    )
    whole = [
        problem
        for problem in view.problems
        if all(_seconds(view, problem, who, which) is not None for who in contenders)
    ]
    footer: tuple[tuple[Cell, ...], ...] = ()
    if whole:
        means = (_cell(view, whole, who, which) for who in contenders)
        footer = ((words(f"mean over {len(whole)} {conditions.word}s"), *means),)
    note = f"The mean is over the {conditions.word}s that every contender ran."
    return Table(
        name=f"{NAME}-{conditions.slug}",
        title=f"Seconds per run, {conditions.label}",
        columns=(conditions.word, *(who.label for who in contenders)),
        rows=rows,
        footer=footer,
        notes=(note,) if footer else (),
    )


def _cell(view: View, problems: Sequence[str], who: Contender, which: str) -> Cell:
    mean = _mean([_seconds(view, p, who, which) for p in problems])
    if mean is None:
        return Cell(text=MISSING)
    data: list[tuple[str, float]] = [("seconds", mean)]
    under: list[str] = []
    reference = reference_of(view.contenders)
    if reference is not None and who is not reference:
        base = _mean([_seconds(view, p, reference, which) for p in problems])
        if base:
            data.append(("ratio", mean / base))
            under.append(f"{factor(mean / base)} of {reference.label}")
    papers, papers_base = _papers(view.conditions, problems, who)
    if papers is not None and papers_base is not None:
        data += [("paper", papers), ("paper ratio", papers / papers_base)]
        under.append(f"paper {number(papers)}, {factor(papers / papers_base)}")
    text = number(mean, 3)
    return Cell(text=text, under="\n".join(under), value=mean, data=tuple(data))


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, None where a value is missing."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found and len(found) == len(values) else None


def _papers(
    conditions: Conditions, problems: Sequence[str], who: Contender
) -> tuple[float | None, float | None]:
    method = column_of(who)
    if method is None or not conditions.is_papers or conditions.level != 2:
        return None, None
    return (
        _mean([papers_seconds(p, method) for p in problems]),
        _mean([papers_seconds(p, REFERENCE) for p in problems]),
    )
