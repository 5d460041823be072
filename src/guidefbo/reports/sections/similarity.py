"""Task similarity beside the paper's."""

from collections.abc import Sequence

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.drawings import Dot, Stand, draw_stands
from guidefbo.reports.formats import MISSING
from guidefbo.reports.frame import Frame
from guidefbo.reports.paper import similarity
from guidefbo.reports.statistics import summarise
from guidefbo.reports.table import Cell, Figure, Section, Table, words

NAME = "similarity"
PAPERS_SIZE = ("dim", "num_agents", "common_shift")


def similarity_section(frame: Frame) -> Section | None:
    """Return a table with three columns for each set of conditions."""
    found = [c for c in frame.conditions if _is_measured(frame, c)]
    if not found:
        return None
    problems = frame.problems()
    means = {c: [_values(frame, c, p) for p in problems] for c in found}
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


def _is_measured(frame: Frame, conditions: Conditions) -> bool:
    return any(
        outcome is not None and outcome.similarity is not None
        for (c, _, _), samples in frame.cells.items()
        if c == conditions
        for outcome in samples.values()
    )


def _values(
    frame: Frame, conditions: Conditions, problem: str
) -> tuple[list[float], int]:
    """Return the similarities of a problem, and how many were asked for."""
    values: list[float] = []
    asked = 0
    for (c, p, _), samples in frame.cells.items():
        if c == conditions and p == problem:
            asked += len(samples)
            found = [o.similarity for o in samples.values() if o is not None]
            values += [value for value in found if value is not None]
    return values, asked


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
    theirs = _cell(papers, f"{papers:z.3f}" if papers is not None else MISSING)
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
    if papers is None:
        return ours, theirs, Cell(text=MISSING)
    gap = summary.mean - papers
    return ours, theirs, _cell(gap, f"{gap:+z.3f}")


def _cell(value: float | None, text: str) -> Cell:
    data = () if value is None else (("", value),)
    return Cell(text=text, value=value, data=data)


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
        cells.append(_cell(mean, f"{mean:z.3f}{note}"))
        cells.append(_cell(papers, MISSING if papers is None else f"{papers:z.3f}"))
        gap = None if papers is None else mean - papers
        cells.append(_cell(gap, MISSING if gap is None else f"{gap:+z.3f}"))
    return tuple(cells)
