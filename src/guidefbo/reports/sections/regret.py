"""Final values of every contender on every problem, beside the paper's."""

import statistics
from dataclasses import replace
from functools import partial

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.formats import (
    PAPERS_LINE,
    beaten_notes,
    factor,
    final_rows,
    has_papers,
    in_box_notes,
    other_code_notes,
)
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.measure import REGRET
from guidefbo.reports.paper import BETA_REMARK, column_of, final_regret
from guidefbo.reports.table import Cell, Section, Table, words

NAME = "regret"


def regret_section(frame: Frame) -> Section | None:
    """Return a table of final values for each set of conditions."""
    tables = [_table(view) for view in frame.views]
    if not tables:
        return None
    measures = set(frame.measures.values()) or {REGRET}
    title = "Final regret" if measures == {REGRET} else "Final values"
    told = "regret" if measures == {REGRET} else "value"
    better = ", lower is better" if measures == {REGRET} else ""
    opening = (
        f"Final mean {told}: mean over seeds ± its standard error{better}. The best of "
        "a row is bold, the second-best underlined, among contenders with all their "
        "seeds."
    )
    opening += PAPERS_LINE if has_papers(tables) else ""
    return Section(name=NAME, title=title, blocks=(opening, *tables))


def papers_regret(conditions: Conditions, problem: str, who: Contender) -> float | None:
    """Return the paper's number for a contender, if the setting is the paper's."""
    method = column_of(who)
    if not conditions.is_papers or method is None:
        return None
    return final_regret(conditions.level, problem, method)


def seeds_sentence(view: View) -> str:
    """Return how many seeds were asked for."""
    cells = ((p, who) for p in view.problems for who in view.contenders)
    counts = {len(view.samples(*cell)) for cell in cells} - {0}
    low, high = min(counts), max(counts)
    asked = str(low) if low == high else f"{low} to {high}"
    return f"Seeds asked for per cell: {asked}."


def reference_notes(view: View) -> list[str]:
    """Return what the regrets of a table beside the paper's are measured against."""
    if not view.conditions.is_papers:
        return in_box_notes(view)
    if not view.in_box:
        return []
    return [
        "Regret is against the maximum of the base function, as in the paper's tables, "
        "also where that lies outside of the box."
    ]


def _table(view: View) -> Table:
    conditions, contenders = view.conditions, view.contenders
    rows = final_rows(view, contenders, partial(papers_regret, conditions))
    is_regret = all(view.measure(problem) == REGRET for problem in view.problems)
    table = Table(
        name=f"{NAME}-{conditions.slug}",
        title=f"Final {'regret' if is_regret else 'values'}, {conditions.label}",
        columns=(conditions.word, *(who.label for who in contenders)),
        rows=tuple(rows),
    )
    has_paper = has_papers([table])
    notes = (
        seeds_sentence(view),
        *([BETA_REMARK] if has_paper else []),
        *reference_notes(view),
        *beaten_notes(view, view.problems),
        *other_code_notes(view),
    )
    return replace(table, footer=(_medians(rows),) if has_paper else (), notes=notes)


def _medians(rows: list[tuple[Cell, ...]]) -> tuple[Cell, ...]:
    """Return the row of median ratios to the paper."""
    cells = [words("median ratio ours / paper")]
    for column in list(zip(*rows, strict=True))[1:]:
        ratios = [dict(cell.data).get("ratio") for cell in column]
        found = [r for r in ratios if isinstance(r, float)]
        if not found:
            cells.append(Cell(text=""))
            continue
        median = statistics.median(found)
        cells.append(
            Cell(
                text=factor(median),
                under=f"{len(found)} functions",
                value=median,
                data=(("ratio", median),),
            )
        )
    return tuple(cells)
