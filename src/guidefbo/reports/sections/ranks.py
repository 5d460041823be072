"""Average ranks of the contenders, beside the paper's over the same methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guidefbo.metrics.ranks import average_ranks
from guidefbo.reports.contenders import Contender
from guidefbo.reports.formats import join, rank_cell
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.paper import (
    PLAIN_BETA,
    column_of,
    final_regret,
    published_rank,
)
from guidefbo.reports.table import Cell, Section, Table, words

NAME = "ranks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Ranks under one set of conditions."""

    ours: dict[Contender, float]
    """Average rank among all contenders with a run."""
    among_papers: dict[Contender, float]
    """Average rank among those the paper has."""
    papers: dict[Contender, float]
    """The paper's average rank among those, over the same functions."""
    problems: tuple[str, ...]
    """Problems on which every contender is complete."""
    asked: int
    """Problems that were asked for."""
    absent: tuple[Contender, ...]
    """Contenders without any run."""


def ranks_section(frame: Frame) -> Section | None:
    """Return a table of average ranks for each set of conditions."""
    found = [view for view in frame.views if len(view.contenders) > 1]
    if not found:
        return None
    opening = (
        "Average rank over the problems, 1 is best; ranks within each by the mean over "
        "seeds, ties averaged. A problem counts where every contender has all its "
        "seeds."
    )
    tables = [_table(view) for view in found]
    if any(len(table.columns) > 2 for table in tables):
        opening += (
            " The paper's rank is recomputed from its table among the same methods and "
            "functions; its published rank is among its twelve methods on twelve "
            "functions."
        )
    return Section(name=NAME, title="Average ranks", blocks=(opening, *tables))


def rank(view: View) -> Ranking:
    """Rank the contenders under one set of conditions."""
    asked, conditions = view.problems, view.conditions
    absent = tuple(
        who for who in view.contenders if not any(view.finals(p, who) for p in asked)
    )
    present = [who for who in view.contenders if who not in absent]
    problems = tuple(p for p in asked if view.complete(p) >= set(present))
    known = papers_own(present) if conditions.is_papers else {}
    theirs = [
        [final_regret(conditions.level, p, method) for method in known]
        for p in problems
    ]
    is_comparable = len(known) > 1 and all(None not in row for row in theirs)
    papers = ranked(list(known.values()), theirs) if is_comparable else {}
    chosen = list(known.values()) if is_comparable else []
    return Ranking(
        ours=ranked(present, mean_table(view, problems, present)),
        among_papers=ranked(chosen, mean_table(view, problems, chosen)),
        papers=papers,
        problems=problems,
        asked=len(asked),
        absent=absent,
    )


def papers_own(contenders: Sequence[Contender]) -> dict[str, Contender]:
    """Return for each of the paper's methods the contender closest to its runs."""
    chosen: dict[str, Contender] = {}
    for who in contenders:
        method = column_of(who)
        # As run for the paper's tables: its column, and not its name.
        is_closer = who.settings.get("beta") == PLAIN_BETA or who.method != method
        if method is not None and (method not in chosen or is_closer):
            chosen[method] = who
    return chosen


def mean_table(
    view: View, problems: Sequence[str], contenders: Sequence[Contender]
) -> list[list[float]]:
    """Return the mean over seeds so that lower is better, a row per problem."""

    def cost(problem: str, who: Contender) -> float:
        mean = float(np.mean([*view.finals(problem, who).values()]))
        return view.measure(problem).cost(mean)

    return [[cost(problem, who) for who in contenders] for problem in problems]


def ranked(
    contenders: Sequence[Contender], table: Sequence[Sequence[float | None]]
) -> dict[Contender, float]:
    """Return the average rank of each contender, nothing for an empty table."""
    if not contenders or not table:
        return {}
    ranks = average_ranks(np.array(table, dtype=np.float64))
    return dict(zip(contenders, map(float, ranks), strict=True))


def _table(view: View) -> Table:
    ranking, conditions = rank(view), view.conditions
    contenders = [who for who in view.contenders if who not in ranking.absent]
    is_subset = set(ranking.among_papers) != set(ranking.ours)
    columns = ["method", "rank"]
    if ranking.papers:
        columns += ["rank among the paper's"] * is_subset
        columns += ["paper, same methods", "paper, published"]
    ordered = sorted(contenders, key=lambda who: ranking.ours.get(who, 0.0))
    rows: list[tuple[Cell, ...]] = []
    for who in ordered:
        cells = [words(who.label), rank_cell(ranking.ours.get(who))]
        if ranking.papers:
            if is_subset:
                cells.append(rank_cell(ranking.among_papers.get(who)))
            method = column_of(who)
            published = None
            if who in ranking.papers and method is not None:
                published = published_rank(conditions.level, method)
            cells += [rank_cell(ranking.papers.get(who)), rank_cell(published)]
        rows.append(tuple(cells))
    return Table(
        name=f"{NAME}-{conditions.slug}",
        title=f"Average ranks, {conditions.label}",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=_notes(ranking, is_subset, conditions.word),
    )


def _notes(ranking: Ranking, is_subset: bool, word: str) -> tuple[str, ...]:
    notes = [
        f"Over {len(ranking.problems)} of {ranking.asked} {word}s: those on which "
        f"all {len(ranking.ours) or 'the'} contenders are complete."
    ]
    if ranking.absent:
        names = join([who.label for who in ranking.absent])
        notes.append(f"Without any run and therefore left out: {names}.")
    if ranking.papers and is_subset:
        names = join([who.label for who in ranking.among_papers])
        notes.append(f"Compared with the paper's: {names}.")
    return tuple(notes)
