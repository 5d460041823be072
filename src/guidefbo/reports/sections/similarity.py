"""Task similarity beside the paper's."""

from collections.abc import Sequence
from dataclasses import replace

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.drawings import Dot, Stand, draw_stands
from guidefbo.reports.formats import MISSING, value_cell
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.paper import similarity
from guidefbo.reports.statistics import summarise
from guidefbo.reports.table import Cell, Figure, Section, Table, words

NAME = "similarity"
PAPERS_SIZE = ("dim", "num_agents", "common_shift")


def similarity_section(frame: Frame) -> Section | None:
    """Return a table with three columns for each set of conditions."""
    problems = frame.problems
    means = {v.conditions: [_values(v, p) for p in problems] for v in frame.views}
    found = [c for c, listed in means.items() if any(values for values, _ in listed)]
    if not found:
        return None
    rows = [
        (words(p), *(x for c in found for x in _cells(c, p, *means[c][i])))
        for i, p in enumerate(problems)
    ]
    table = Table(
        name=NAME,
        title="Task similarity",
        columns=("function", *(name for c in found for name in _columns(c))),
        rows=tuple(rows),
        footer=(_overall(found, means),),
        notes=(
            "Mean over task realisations (seeds) ± standard error. The two differ by "
            "chance: the random shifts and rotations are not the same.",
        ),
    )
    opening = (
        "Mean pairwise Spearman correlation between the agents' noise-free objectives: "
        "1 says all agents rank all points alike."
    )
    blocks = (opening, _figure(found, problems, means), table)
    return Section(name=NAME, title="Task similarity", blocks=blocks)


def _figure(
    found: Sequence[Conditions],
    problems: Sequence[str],
    means: dict[Conditions, list[tuple[list[float], int]]],
) -> Figure:
    stands: list[Stand] = []
    for conditions in found:
        dots: dict[str, Dot] = {}
        for problem, (values, _) in zip(problems, means[conditions], strict=True):
            summary = summarise(values)
            if summary is not None:
                papers = _papers(conditions, problem)
                place, error = summary.mean, summary.error
                dots[problem] = Dot(place=place, error=error, papers=papers)
        label = "mean rank correlation"
        stands.append(Stand(title=conditions.label, dots=dots, x_label=label))
    return Figure(
        name=NAME,
        title="Task similarity by function",
        draw=lambda: draw_stands(stands, problems),
        notes=("Error bars: one standard error over task realisations (seeds).",),
    )


def _values(view: View, problem: str) -> tuple[list[float], int]:
    """Return the similarities of a problem, and how many were asked for."""
    everyone = view.contenders
    found = [o.similarity for who in everyone for o in view.outcomes(problem, who)]
    asked = sum(len(view.samples(problem, who)) for who in everyone)
    return [value for value in found if value is not None], asked


def _columns(conditions: Conditions) -> tuple[str, str, str]:
    label = conditions.label
    return label, f"{label}: paper", f"{label}: difference"


def _is_papers(conditions: Conditions) -> bool:
    usual = Conditions()
    return all(getattr(conditions, n) == getattr(usual, n) for n in PAPERS_SIZE)


def _papers(conditions: Conditions, problem: str) -> float | None:
    return similarity(problem, conditions.level) if _is_papers(conditions) else None


def _cells(
    conditions: Conditions, problem: str, values: Sequence[float], asked: int
) -> tuple[Cell, Cell, Cell]:
    summary = summarise(values)
    papers = _papers(conditions, problem)
    theirs = value_cell(papers, "z.3f")
    if summary is None:
        text = f"{MISSING} (0 of {asked} seeds)" if asked else ""
        return Cell(text=text), theirs, Cell(text=MISSING)
    text = f"{summary.mean:z.3f}"
    if summary.error is not None:
        text += f" ± {summary.error:.3f}"
    if summary.count < asked:
        text += f" ({summary.count} of {asked} seeds)"
    data = (("mean", summary.mean), ("error", summary.error), ("seeds", summary.count))
    ours = Cell(text=text, value=summary.mean, data=data)
    gap = None if papers is None else summary.mean - papers
    return ours, theirs, value_cell(gap, "+z.3f")


def _overall(
    found: Sequence[Conditions],
    means: dict[Conditions, list[tuple[list[float], int]]],
) -> tuple[Cell, ...]:
    """Return the mean over the problems, of those that are there."""
    cells = [words("overall")]
    for conditions in found:
        summaries = [summarise(values) for values, _ in means[conditions]]
        present = [summary.mean for summary in summaries if summary is not None]
        is_whole = len(present) == len(summaries) == 12
        mean = sum(present) / len(present)
        papers = _papers(conditions, "overall") if is_whole else None
        note = "" if is_whole else f" ({len(present)} functions)"
        gap = None if papers is None else mean - papers
        ours = value_cell(mean, "z.3f")
        cells += [replace(ours, text=f"{ours.text}{note}"), value_cell(papers, "z.3f")]
        cells.append(value_cell(gap, "+z.3f"))
    return tuple(cells)
