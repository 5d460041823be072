"""What an agent sends and receives in a round."""

from collections.abc import Callable, Mapping, Sequence

from guidefbo.experiments.results import Outcome
from guidefbo.reports.contenders import Contender
from guidefbo.reports.formats import MISSING, number
from guidefbo.reports.frame import Frame
from guidefbo.reports.paper import scalars
from guidefbo.reports.statistics import summarise
from guidefbo.reports.table import Cell, Section, Table, words

NAME = "communication"
UP, DOWN = "up_per_agent_round", "down_per_agent_round"
Reader = Callable[[Outcome], Mapping[str, float]]


def communication_section(frame: Frame) -> Section | None:
    """Return a table for each dimension."""
    dims = dict.fromkeys(c.dim for c in frame.conditions)
    tables = [_table(frame, dim) for dim in dims]
    found = [table for table in tables if table.rows]
    if not found:
        return None
    opening = (
        "Scalars and bytes per agent and round, counted from the encoded messages of "
        "the runs and averaged over them; beside them the paper's way of counting "
        "applied to our settings, and the paper's own table (10 dimensions)."
    )
    return Section(name=NAME, title="Communication", blocks=(opening, *found))


def _table(frame: Frame, dim: object) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for who in frame.contenders():
        outcomes = [
            outcome
            for (c, _, k), samples in frame.cells.items()
            if c.dim == dim and k == who
            for outcome in samples.values()
            if outcome is not None and outcome.curve is not None
        ]
        if outcomes:
            rows.append(_row(who, outcomes, has_paper=dim == 10))
    return Table(
        name=f"{NAME}-{dim}d",
        title=f"Per agent and round, {dim} dimensions",
        columns=(
            "method",
            "scalars up",
            "scalars down",
            "paper's counting: up",
            "paper's counting: down",
            "paper's table: up",
            "paper's table: down",
            "bytes up",
            "bytes down",
        ),
        rows=tuple(rows),
        notes=(
            "The paper's table gives the most that GUIDE receives; a packet is smaller "
            "while there are fewer components than it may hold.",
        ),
    )


def _row(
    who: Contender, outcomes: Sequence[Outcome], has_paper: bool
) -> tuple[Cell, ...]:
    strategy = None if who.note is None else who.note.paper_strategy
    papers = scalars(strategy) if has_paper and strategy else (None, None)
    return (
        words(who.label),
        *_cells(outcomes, lambda outcome: outcome.scalars),
        *_cells(outcomes, lambda outcome: outcome.scalars_paper),
        *(_count(value) for value in papers),
        *_cells(outcomes, lambda outcome: outcome.num_bytes),
    )


def _cells(outcomes: Sequence[Outcome], read: Reader) -> tuple[Cell, Cell]:
    up, down = (
        summarise([read(o)[name] for o in outcomes if name in read(o)])
        for name in (UP, DOWN)
    )
    return (
        _count(None if up is None else up.mean),
        _count(None if down is None else down.mean),
    )


def _count(value: float | None) -> Cell:
    if value is None:
        return Cell(text=MISSING)
    is_whole = float(value).is_integer()
    text = f"{int(value)}" if is_whole else number(value)
    return Cell(text=text, value=value, data=(("", value),))
