"""What an agent sends and receives in a round."""

from collections.abc import Callable, Mapping, Sequence

from guidefbo.experiments.outcome import Outcome
from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Dot, Stand, draw_stands
from guidefbo.reports.formats import MISSING, number
from guidefbo.reports.frame import Frame
from guidefbo.reports.paper import scalars
from guidefbo.reports.statistics import summarise
from guidefbo.reports.table import Cell, Figure, Section, Table, words

NAME = "communication"
UP, DOWN = "up_per_agent_round", "down_per_agent_round"
PAPERS_SIZE = "10 dimensions"
"""Of the paper's table."""
Reader = Callable[[Outcome], Mapping[str, float]]


def communication_section(frame: Frame) -> Section | None:
    """Return a table for each dimension, and for each task."""
    sizes = dict.fromkeys(_size(c, p) for c, p, _ in frame.cells)
    tables = [_table(frame, size) for size in sizes]
    found = [table for table in tables if table.rows]
    if not found:
        return None
    opening = (
        "Scalars and bytes per agent and round, counted from the encoded messages of "
        "the runs and averaged over them; beside them the paper's way of counting "
        "applied to our settings"
    )
    opening += ", and the paper's own table." if PAPERS_SIZE in sizes else "."
    blocks = (_figure(found), opening, *found)
    return Section(name=NAME, title="Communication", blocks=blocks)


def _figure(tables: Sequence[Table]) -> Figure:
    """Return the scalars up and down, those who send none left out."""
    stands = [
        Stand(
            title=f"{table.title.rpartition(', ')[2]}: {way}",
            dots={
                row[0].text: Dot(place=row[place].value or 0.0, error=None)
                for row in table.rows
                if row[place].value
            },
            x_label="scalars per agent and round",
            is_log=True,
        )
        for table in tables
        for place, way in ((1, "up"), (2, "down"))
    ]
    names = list(dict.fromkeys(row[0].text for t in tables for row in t.rows))
    return Figure(
        name=NAME,
        title="Scalars per agent and round",
        draw=lambda: draw_stands(stands, names),
        notes=("Who has no dot sends, or receives, nothing.",),
    )


def _size(conditions: Conditions, problem: str) -> str:
    """Return what runs have in common that send alike."""
    return problem if conditions.is_task else f"{conditions.dim} dimensions"


def _table(frame: Frame, size: str) -> Table:
    has_paper = size == PAPERS_SIZE
    rows: list[tuple[Cell, ...]] = []
    for who in frame.contenders:
        outcomes = [
            outcome
            for (c, p, k), samples in frame.cells.items()
            if _size(c, p) == size and k == who
            for outcome in samples.values()
            if outcome is not None and outcome.curve is not None
        ]
        if outcomes:
            rows.append(_row(who, outcomes, has_paper))
    papers = ("paper's table: up", "paper's table: down") if has_paper else ()
    note = (
        "The paper's table gives the most that GUIDE receives; a packet is smaller "
        "while there are fewer components than it may hold."
    )
    return Table(
        name=f"{NAME}-{size.replace(' dimensions', 'd')}",
        title=f"Per agent and round, {size}",
        columns=(
            "method",
            "scalars up",
            "scalars down",
            "paper's counting: up",
            "paper's counting: down",
            *papers,
            "bytes up",
            "bytes down",
        ),
        rows=tuple(rows),
        notes=(note,) if has_paper else (),
    )


def _row(
    who: Contender, outcomes: Sequence[Outcome], has_paper: bool
) -> tuple[Cell, ...]:
    strategy = None if who.note is None else who.note.paper_strategy
    papers = scalars(strategy) if strategy else (None, None)
    return (
        words(who.label),
        *_cells(outcomes, lambda outcome: outcome.scalars),
        *_cells(outcomes, lambda outcome: outcome.scalars_paper),
        *((_count(value) for value in papers) if has_paper else ()),
        *_cells(outcomes, lambda outcome: outcome.num_bytes),
    )


def _cells(outcomes: Sequence[Outcome], read: Reader) -> tuple[Cell, Cell]:
    up, down = (
        summarise([read(o)[name] for o in outcomes if name in read(o)])
        for name in (UP, DOWN)
    )
    return _count(up and up.mean), _count(down and down.mean)


def _count(value: float | None) -> Cell:
    if value is None:
        return Cell(text=MISSING)
    text = f"{int(value)}" if float(value).is_integer() else number(value)
    return Cell(text=text, value=value, data=(("", value),))
