"""Final values of every contender on every problem, beside the paper's."""

import statistics

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.formats import (
    factor,
    final_cell,
    in_box_notes,
    mark_best,
    other_code_notes,
    problem_cell,
)
from guidefbo.reports.frame import Frame
from guidefbo.reports.measure import REGRET
from guidefbo.reports.paper import BETA_REMARK, column_of, final_regret
from guidefbo.reports.table import Cell, Section, Table, words

NAME = "regret"


def regret_section(frame: Frame) -> Section | None:
    """Return a table of final values for each set of conditions."""
    tables = [_table(frame, conditions) for conditions in frame.conditions]
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
    if any("paper" in dict(c.data) for t in tables for row in t.rows for c in row):
        opening += " The second line is the paper's number and the ratio ours / paper."
    return Section(name=NAME, title=title, blocks=(opening, *tables))


def papers_regret(conditions: Conditions, problem: str, who: Contender) -> float | None:
    """Return the paper's number for a contender, if the setting is the paper's."""
    method = column_of(who)
    if not conditions.is_papers or method is None:
        return None
    return final_regret(conditions.level, problem, method)


def seeds_sentence(frame: Frame, conditions: Conditions) -> str:
    """Return how many seeds were asked for under these conditions."""
    counts = {len(s) for (c, _, _), s in frame.cells.items() if c == conditions}
    low, high = min(counts), max(counts)
    asked = str(low) if low == high else f"{low} to {high}"
    return f"Seeds asked for per cell: {asked}."


def reference_notes(frame: Frame, conditions: Conditions) -> list[str]:
    """Return what the regrets of a table beside the paper's are measured against."""
    if not conditions.is_papers:
        return in_box_notes(frame, conditions)
    if not any(place[0] == conditions for place in frame.in_box):
        return []
    return [
        "Regret is against the maximum of the base function, as in the paper's tables, "
        "also where that lies outside of the box."
    ]


def _table(frame: Frame, conditions: Conditions) -> Table:
    contenders = frame.contenders(conditions)
    rows: list[tuple[Cell, ...]] = []
    for problem in frame.problems(conditions):
        cells = {
            who: final_cell(
                frame, conditions, problem, who, papers_regret(conditions, problem, who)
            )
            for who in contenders
        }
        whole = {w for w in contenders if frame.is_complete(conditions, problem, w)}
        marked = mark_best(cells, whole, frame.measure(conditions, problem))
        rows.append((problem_cell(frame, conditions, problem), *marked))
    notes = [seeds_sentence(frame, conditions)]
    has_paper = any("paper" in dict(cell.data) for row in rows for cell in row)
    if has_paper:
        notes.append(BETA_REMARK)
    notes += reference_notes(frame, conditions)
    notes += other_code_notes(frame, conditions)
    is_regret = all(
        frame.measure(conditions, p) == REGRET for p in frame.problems(conditions)
    )
    return Table(
        name=f"{NAME}-{conditions.slug}",
        title=f"Final {'regret' if is_regret else 'values'}, {conditions.label}",
        columns=(conditions.word, *(who.label for who in contenders)),
        rows=tuple(rows),
        footer=(_medians(rows),) if has_paper else (),
        notes=tuple(notes),
    )


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
