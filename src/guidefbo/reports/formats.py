"""Numbers as text, and the cells that hold them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.frame import Frame
from guidefbo.reports.statistics import Summary, can_be_significant, least_p, summarise
from guidefbo.reports.table import Cell

MISSING = "-"


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


def plain_cell(value: float | None, digits: int = 4) -> Cell:
    """Return a cell with one number, or a missing one."""
    if value is None:
        return Cell(text=MISSING)
    return Cell(text=number(value, digits), value=value, data=(("", value),))


def count_cell(value: int) -> Cell:
    """Return a cell with a whole number."""
    return Cell(text=str(value), value=float(value), data=(("", value),))


def regret_cell(
    frame: Frame,
    conditions: Conditions,
    problem: str,
    who: Contender,
    papers: float | None,
) -> Cell:
    """Return the final regret of one contender on one problem beside the paper's."""
    asked = len(frame.samples(conditions, problem, who))
    finals = frame.finals(conditions, problem, who)
    return mean_cell(list(finals.values()), asked, papers)


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


def mark_lowest(
    cells: Mapping[Contender, Cell], eligible: set[Contender]
) -> list[Cell]:
    """Return the cells with the lowest and the second-lowest eligible value marked."""
    values = {cells[who].value for who in eligible} - {None}
    ordered = sorted(value for value in values if value is not None)
    if len(eligible) < 2 or len(ordered) < 2:
        return list(cells.values())
    marks = {ordered[0]: "best", ordered[1]: "second"}
    return [
        replace(cell, mark=marks.get(cell.value, ""))
        if who in eligible and cell.value is not None
        else cell
        for who, cell in cells.items()
    ]


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
