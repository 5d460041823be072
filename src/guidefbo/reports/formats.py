"""Numbers as text, and the cells that hold them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from guidefbo.experiments.outcome import Outcome
from guidefbo.reports.contenders import Contender
from guidefbo.reports.frame import View
from guidefbo.reports.measure import REGRET, Measure
from guidefbo.reports.statistics import (
    Difference,
    Summary,
    can_be_significant,
    least_p,
    summarise,
)
from guidefbo.reports.table import Cell, Table

MISSING = "-"
OTHER_CODE = "†"
"""Behind a number that other code computed."""
PAPERS_LINE = " The second line is the paper's number and the ratio ours / paper."
"""What is said of tables in which the paper's numbers stand."""
MOST_DECIMALS = 6
BEATEN = 1e-6
"""How far below zero a regret is, relative to the first one, that is no rounding."""


def number(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits.

    >>> number(19.478912), number(0.0), number(1234567.0)
    ('19.48', '0', '1.235e+06')
    """
    if value == 0.0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{_decimals(value, digits)}f}"


def with_error(summary: Summary) -> str:
    """Return the mean and its standard error, both to the mean's last digit.

    >>> with_error(Summary(mean=19.4789, error=0.1234, count=3))
    '19.48 ± 0.12'
    """
    text = number(summary.mean)
    if summary.error is None:
        return text
    if "e" in text or summary.mean == 0.0:
        return f"{text} ± {number(summary.error, 2)}"
    error = f"{summary.error:.{_decimals(summary.mean, 4)}f}"
    if summary.error > 0.0 and float(error) == 0.0:
        error = number(summary.error, 1)
    return f"{text} ± {error}"


def with_fine_error(summary: Summary) -> str:
    """Return the mean to the second digit of its standard error.

    Metrics of methods often differ in their fourth digit only.

    >>> with_fine_error(Summary(mean=0.80661234, error=0.000312, count=3))
    '0.80661 ± 0.00031'
    """
    if not summary.error:
        return with_error(summary)
    places = _fine_decimals(summary.error)
    return f"{summary.mean:.{places}f} ± {summary.error:.{places}f}"


def gain_text(gain: Difference) -> str:
    """Return a difference with its sign to the second digit of its standard error.

    >>> gain_text(Difference(mean=0.00123, error=0.00041, pairs=5, p=0.04))
    '+0.00123 ± 0.00041'
    """
    if not gain.error:
        return f"{gain.mean:+z.4g}"
    places = _fine_decimals(gain.error)
    return f"{gain.mean:+z.{places}f} ± {gain.error:.{places}f}"


def _fine_decimals(error: float) -> int:
    return min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(error))))


def factor(value: float) -> str:
    """Return a ratio, as in ×0.93."""
    return f"×{number(value, 3)}"


def p_text(p: float | None, differences: Sequence[float]) -> str:
    """Return a p-value with its number of pairs, and what so few cannot show."""
    total, pairs = len(differences), sum(d != 0.0 for d in differences)
    if total == 0:
        return MISSING
    counted = f"{total} pair{'s' * (total != 1)}"
    if 0 < pairs < total:
        counted += f", {pairs} of them unequal"
    if p is None:
        return f"no difference ({counted})"
    text = f"p {number(p, 2)} ({counted})"
    if not can_be_significant(pairs):
        text += f"; cannot be below {number(least_p(pairs), 2)}"
    return text


def value_cell(value: float | None, form: str, name: str = "") -> Cell:
    """Return a cell with one number, or a missing one.

    Args:
        value: The number.
        form: How it is written, as in `format`.
        name: Its name in a CSV file.
    """
    if value is None:
        return Cell(text=MISSING)
    return Cell(text=format(value, form), value=value, data=((name, value),))


def rank_cell(value: float | None, name: str = "") -> Cell:
    """Return a cell with an average rank."""
    return value_cell(value, ".2f", name)


def count_cell(value: int) -> Cell:
    """Return a cell with a whole number."""
    return Cell(text=str(value), value=float(value), data=(("", value),))


def final_cell(view: View, problem: str, who: Contender, papers: float | None) -> Cell:
    """Return the final value of one contender on one problem beside the paper's."""
    asked = len(view.samples(problem, who))
    cell = mean_cell(list(view.finals(problem, who).values()), asked, papers)
    if (problem, who) in view.others:
        cell = replace(cell, text=f"{cell.text} {OTHER_CODE}")
    return cell


def final_rows(
    view: View,
    contenders: Sequence[Contender],
    papers: Callable[[str, Contender], float | None],
) -> list[tuple[Cell, ...]]:
    """Return a row of final values for each problem, the best two of it marked.

    Under the paper's conditions regrets are against the reference of its tables.

    Args:
        view: The runs.
        contenders: The columns.
        papers: The paper's number of a problem and a contender, None where none is.
    """
    view = replace(view, is_papers=view.conditions.is_papers)
    rows: list[tuple[Cell, ...]] = []
    for p in view.problems:
        cells = {who: final_cell(view, p, who, papers(p, who)) for who in contenders}
        whole = view.complete(p) & set(contenders)
        marked = mark_best(cells, whole, view.measure(p))
        rows.append((problem_cell(view, p), *marked))
    return rows


def has_papers(tables: Iterable[Table]) -> bool:
    """Whether a number of the paper stands in any cell."""
    return any("paper" in dict(c.data) for t in tables for row in t.rows for c in row)


def other_code_notes(view: View, problems: Sequence[str] | None = None) -> list[str]:
    """Return the footnotes on results of other code, where there are any.

    Args:
        view: The runs.
        problems: Those in question; None: all.
    """
    chosen = view.problems if problems is None else problems
    if not any(problem in chosen for problem, _ in view.others):
        return left_out_notes(view, chosen)
    return [
        f"{OTHER_CODE} Computed, at least in part, by other code than the one that "
        "would run now. To make such runs again: guidefbo study run NAME --redo.",
        *left_out_notes(view, chosen),
    ]


def left_out_notes(view: View, problems: Sequence[str]) -> list[str]:
    """Return which runs are left out because their values are something else."""
    notes: list[str] = []
    for problem in problems:
        runs = [
            f"{who.label} (seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))})"
            for who, seeds in view.left_out(problem).items()
        ]
        if runs:
            measure = view.measure(problem)
            notes.append(
                f"Left out on {problem}, since their values are not {measure.label}, "
                f"{measure.better}: {join(runs)}. The file of the problem has changed; "
                "make them again with --redo."
            )
    return notes


def beaten_notes(view: View, problems: Sequence[str]) -> list[str]:
    """Return on which problems a regret is below zero."""
    cells = ((problem, who) for problem in problems for who in view.contenders)
    found = (p for p, who in cells if any(map(_is_beaten, view.outcomes(p, who))))
    named = list(dict.fromkeys(found))
    if not named:
        return []
    return [
        f"On {join(named)} a run was better than the optimum that the problem states, "
        "so that its regret is below zero: correct the stated optima."
    ]


def _is_beaten(outcome: Outcome) -> bool:
    regret = outcome.curve_regret
    return regret is not None and bool(regret[-1] < -BEATEN * max(1.0, abs(regret[0])))


def in_box_notes(view: View) -> list[str]:
    """Return what regrets are measured against, where there are two references."""
    inside = view.in_box
    if not inside:
        return []
    which = "" if len(inside) == len(view.problems) else join(inside)
    return [
        f"Regret{f' on {which}' if which else ''} is against the best point inside the "
        "box. The paper's reference, the maximum of the base function, lies outside of "
        "it for many agents, which compresses every ratio."
    ]


def mean_cell(values: Sequence[float], asked: int, papers: float | None) -> Cell:
    """Return a mean with its error, the number of seeds where some are missing."""
    summary = summarise(values)
    beside = "" if papers is None else f"paper {number(papers)}"
    if asked == 0:
        return Cell(text="", under=beside)
    data: dict[str, float | int | None] = {"mean": None, "error": None}
    data |= {"seeds": len(values), "asked": asked}
    if papers is not None:
        data |= {"paper": papers, "ratio": None}
    if summary is None:
        text = f"{MISSING} (0 of {asked} seeds)"
        return Cell(text=text, under=beside, data=tuple(data.items()))
    data |= {"mean": summary.mean, "error": summary.error}
    text = with_error(summary)
    if summary.count < asked:
        text += f" ({summary.count} of {asked} seeds)"
    if papers:
        data["ratio"] = summary.mean / papers
        beside += f", {factor(summary.mean / papers)}"
    return Cell(text=text, under=beside, value=summary.mean, data=tuple(data.items()))


def mark_best(
    cells: Mapping[Contender, Cell], eligible: set[Contender], measure: Measure
) -> list[Cell]:
    """Return the cells with the best and the second-best eligible value marked."""
    values = {cells[who].value for who in eligible} - {None}
    ordered = sorted((v for v in values if v is not None), key=measure.cost)
    if len(eligible) < 2 or len(ordered) < 2:
        return list(cells.values())
    marks = {ordered[0]: "best", ordered[1]: "second"}
    return [
        replace(cell, mark=marks.get(cell.value, ""))
        if who in eligible and cell.value is not None
        else cell
        for who, cell in cells.items()
    ]


def problem_cell(view: View, problem: str) -> Cell:
    """Return the name of a problem, and what its values are if no regret."""
    measure = view.measure(problem)
    if measure == REGRET:
        return Cell(text=problem)
    return Cell(text=problem, under=f"{measure.label}, {measure.better}")


def join(names: Sequence[str]) -> str:
    """Return names in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _decimals(value: float, digits: int) -> int:
    rounded = float(f"{value:.{digits - 1}e}")
    return max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
