"""The opening of a comparison: how every contender stands, in one figure and table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Dot, Stand, draw_stands
from guidefbo.reports.families import reference_of
from guidefbo.reports.formats import (
    MISSING,
    OTHER_CODE,
    factor,
    in_box_notes,
    number,
    other_code_notes,
    p_text,
)
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.looks import looks_of
from guidefbo.reports.paper import BETA_REMARK
from guidefbo.reports.sections.matched import Pair, compare_pair, papers_ratios
from guidefbo.reports.sections.ranks import rank
from guidefbo.reports.statistics import (
    LEVEL_OF_SIGNIFICANCE,
    Comparison,
    signed_rank_p,
)
from guidefbo.reports.table import Block, Cell, Figure, Points, Section, Table, words

NAME = "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The contenders under one set of conditions, measured by one of them."""

    view: View
    reference: Contender
    """What the others are measured by."""
    compared: Mapping[Contender, Comparison]
    """Every other contender with a run against the reference."""
    ranks: Mapping[Contender, float]
    """Average ranks, empty where no problem is complete."""
    papers: Mapping[Contender, float]
    """The paper's mean log ratios, where it has them."""

    @property
    def conditions(self) -> Conditions:
        """Those of its runs."""
        return self.view.conditions

    def gain(self, who: Contender) -> float | None:
        """Return the logarithm of how many times lower a contender's regret is."""
        if who == self.reference:
            return 0.0
        summary = self.compared[who].summary if who in self.compared else None
        return None if summary is None else -summary.mean


def results_section(frame: Frame) -> Section | None:
    """Return the figure and the table, None where nothing can be compared."""
    found = map(_standing, frame.views)
    standings = [standing for standing in found if standing is not None]
    if not standings:
        return None
    ordered = _ordered(standings)
    blocks: tuple[Block, ...] = (
        Points(items=tuple(map(_headline, standings))),
        _figure(frame, standings, ordered),
        _table(standings, ordered),
    )
    return Section(name=NAME, title="Results", blocks=blocks)


def _standing(view: View) -> Standing | None:
    ran = [who for who in view.contenders if any(view.regrets(who).values())]
    reference = reference_of(ran)
    if reference is None or len(ran) < 2:
        return None
    compared: dict[Contender, Comparison] = {}
    papers: dict[Contender, float] = {}
    for who in ran:
        pair = Pair(who=who, other=reference)
        comparison = compare_pair(view, pair)
        if who == reference or not comparison.by_problem:
            continue
        compared[who] = comparison
        ratios = papers_ratios(view.conditions, pair, list(comparison.by_problem))
        if ratios:
            papers[who] = sum(ratios) / len(ratios)
    return Standing(
        view=view,
        reference=reference,
        compared=compared,
        ranks=rank(view).ours,
        papers=papers,
    )


def _ordered(standings: list[Standing]) -> list[Contender]:
    """Return all contenders, those with the largest mean gain first."""
    gains: dict[Contender, list[float]] = {}
    for standing in standings:
        for who in (standing.reference, *standing.compared):
            gain = standing.gain(who)
            gains.setdefault(who, []).extend([] if gain is None else [gain])
    means = {w: sum(g) / len(g) if g else -math.inf for w, g in gains.items()}
    return sorted(means, key=lambda who: -means[who])


def _headline(standing: Standing) -> str:
    """Return who is ahead under one set of conditions."""
    told = {w: standing.gain(w) for w in (standing.reference, *standing.compared)}
    gains = {who: gain for who, gain in told.items() if gain is not None}
    best = max(gains, key=lambda who: gains[who])
    where, reference = standing.conditions.label, standing.reference.label
    if best == standing.reference:
        return f"{where}: no contender has a lower regret than {reference} on average."
    comparison = standing.compared[best]
    text = (
        f"{where}: {best.label} has the lowest regret, "
        f"{factor(math.exp(-gains[best]))} that of {reference} on average, lower on "
        f"{comparison.lower} of {len(comparison.by_problem)} "
        f"{standing.conditions.word}s"
    )
    means = comparison.problem_means
    p = signed_rank_p(means)
    if p is None or p > LEVEL_OF_SIGNIFICANCE:
        told = p_text(p, means).replace("pair", standing.conditions.word)
        return f"{text}: not told apart from it, {told}."
    rest = {who: gain for who, gain in gains.items() if who != best}
    second = max(rest, key=lambda who: rest[who])
    if second != standing.reference:
        text += f"; next is {second.label}, {factor(math.exp(-rest[second]))}"
    return f"{text}."


def _figure(
    frame: Frame, standings: list[Standing], ordered: list[Contender]
) -> Figure:
    looks = looks_of(frame.contenders)
    stands = [
        Stand(
            title=standing.conditions.label,
            dots={
                who.label: _dot(standing, who, looks[who]["color"])
                for who in ordered
                if standing.gain(who) is not None
            },
        )
        for standing in standings
    ]
    names = [who.label for who in ordered]
    references = dict.fromkeys(standing.reference.label for standing in standings)
    notes = [
        f"Final regret measured by that of {' or '.join(references)} (the line): "
        "geometric mean over the problems, paired by seed; to the right is better, ÷2 "
        "means half the regret. Error bars: one standard error over the problems."
    ]
    if any(standing.papers for standing in standings):
        notes.append("Squares: the same from the paper's tables.")
    return Figure(
        name=NAME,
        title="How the contenders stand",
        draw=lambda: draw_stands(stands, names),
        notes=tuple(notes),
    )


def _dot(standing: Standing, who: Contender, colour: str) -> Dot:
    summary = standing.compared[who].summary if who in standing.compared else None
    papers = standing.papers.get(who)
    return Dot(
        place=0.0 if summary is None else -summary.mean,
        error=None if summary is None else summary.error,
        papers=None if papers is None else -papers,
        colour=colour,
    )


def _table(standings: list[Standing], ordered: list[Contender]) -> Table:
    columns = [_column(standing, ordered) for standing in standings]
    has_rank = any(standing.ranks for standing in standings)
    second = ", the average rank" if has_rank else ""
    notes = [
        "Geometric mean over problems and seeds of the ratio of final regrets, below 1 "
        "is lower; in a second line the standard error over problems as a share"
        f"{second} and the problems on which it is lower."
    ]
    if any(standing.papers for standing in standings):
        notes.append(f"Third line: the paper's. {BETA_REMARK}")
    for standing in standings:
        notes += [*in_box_notes(standing.view), *other_code_notes(standing.view)]
    references = dict.fromkeys(standing.reference.label for standing in standings)
    return Table(
        name=NAME,
        title=f"Regret relative to {' or '.join(references)}",
        columns=("method", *(standing.conditions.label for standing in standings)),
        rows=tuple(
            (words(who.label), *(column[n] for column in columns))
            for n, who in enumerate(ordered)
        ),
        notes=tuple(dict.fromkeys(notes)),
    )


def _column(standing: Standing, ordered: list[Contender]) -> list[Cell]:
    """Return the cells of one set of conditions, best and second-best marked."""
    others = {who for _, who in standing.view.others}
    cells = [_cell(standing, who, who in others) for who in ordered]
    values = sorted({cell.value for cell in cells if cell.value is not None})
    marks = dict(zip(values, ("best", "second"), strict=False))
    return [
        cell if cell.value is None else replace(cell, mark=marks.get(cell.value, ""))
        for cell in cells
    ]


def _cell(standing: Standing, who: Contender, is_other_code: bool) -> Cell:
    gain = standing.gain(who)
    if gain is None:
        return Cell(text=MISSING)
    ratio, place = math.exp(-gain), standing.ranks.get(who)
    comparison = standing.compared.get(who)
    summary = None if comparison is None else comparison.summary
    told: list[str] = []
    if summary is not None and summary.error is not None:
        told.append(f"± {math.expm1(summary.error):.0%}")
    if place is not None:
        told.append(f"rank {place:.2f}")
    if comparison is not None:
        told.append(f"lower on {comparison.lower} of {len(comparison.by_problem)}")
    under = ", ".join(told)
    papers = standing.papers.get(who)
    if papers is not None:
        under += f"\npaper {factor(math.exp(papers))}"
    text = factor(ratio) if comparison is not None else number(ratio, 3)
    return Cell(
        text=f"{text} {OTHER_CODE}" if is_other_code else text,
        under=under,
        value=ratio,
        data=(
            ("ratio", ratio),
            ("log error", None if summary is None else summary.error),
            ("rank", place),
            ("paper ratio", None if papers is None else math.exp(papers)),
        ),
    )
