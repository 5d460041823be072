"""Every federated method against the plain rule it builds on, at the same beta."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.families import ceiling_of, is_federated, plain_of
from guidefbo.reports.formats import MISSING, factor, in_box_notes, number, p_text
from guidefbo.reports.frame import Frame
from guidefbo.reports.paper import BETA_REMARK
from guidefbo.reports.sections.regret import papers_regret
from guidefbo.reports.shares import COLUMN as SHARE
from guidefbo.reports.shares import Share, share_cell, share_notes, share_of
from guidefbo.reports.statistics import (
    Comparison,
    can_be_significant,
    compare,
    least_p,
    log_ratio,
    signed_rank_p,
)
from guidefbo.reports.table import Cell, Section, Table, words

NAME = "matched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A contender and what it is compared with."""

    who: Contender
    """The one in question."""
    other: Contender
    """Its plain rule."""

    @property
    def label(self) -> str:
        """Both names."""
        return f"{self.who.label} / {self.other.label}"


def matched_section(frame: Frame) -> Section | None:
    """Return the comparison per level and per function."""
    tables: list[Table] = []
    found = {c: pairs_under(frame, c) for c in frame.conditions}
    found = {c: pairs for c, pairs in found.items() if pairs}
    if not found:
        return None
    tables.append(_summary_table(frame, found))
    tables += [
        _function_table(frame, conditions, pairs) for conditions, pairs in found.items()
    ]
    opening = (
        "Each method that adds something to a plain rule against that rule alone, at "
        "the same beta, on the same tasks and the same initial points. A ratio below 1 "
        "says the method's regret is lower. Pairs are (function, seed); the p-values "
        "are those of the two-sided Wilcoxon signed-rank test of the log ratios. Pairs "
        "of one function are alike, so that the test over all of them describes these "
        "functions and not others."
    )
    return Section(
        name=NAME,
        title="Against the plain rule at the same beta",
        blocks=(opening, *tables),
    )


def pairs_under(frame: Frame, conditions: Conditions) -> list[Pair]:
    """Return the comparisons that the contenders allow."""
    contenders = frame.contenders(conditions)
    pairs: list[Pair] = []
    for who in contenders:
        other = plain_of(who, contenders)
        if other is not None and who.note is not None and not who.note.is_plain:
            pairs.append(Pair(who=who, other=other))
    return pairs


def compare_pair(frame: Frame, conditions: Conditions, pair: Pair) -> Comparison:
    """Compare the final regrets of a pair over all problems and seeds."""
    return compare_regrets(frame, conditions, pair.who, pair.other)


def compare_regrets(
    frame: Frame,
    conditions: Conditions,
    who: Contender,
    other: Contender,
    *,
    is_papers: bool = False,
) -> Comparison:
    """Compare the final regrets of two contenders over all problems and seeds."""
    ours, theirs = (
        {
            p: frame.regrets(conditions, p, k, is_papers=is_papers)
            for p in frame.problems(conditions)
        }
        for k in (who, other)
    )
    return compare(ours, theirs)


def share_under(frame: Frame, conditions: Conditions, pair: Pair) -> Share | None:
    """Return which share of what sharing everything brings a method brings.

    In logarithms of the regret, over the functions' means.
    """
    ceiling = ceiling_of(pair.who, frame.contenders(conditions))
    if ceiling is None or not is_federated(pair.who):
        return None
    ours, most = (
        {
            p: -sum(ratios) / len(ratios)
            for p, ratios in compare_regrets(
                frame, conditions, who, pair.other
            ).by_problem.items()
        }
        for who in (pair.who, ceiling)
    )
    return share_of(ours, most, ceiling=ceiling, plain=pair.other)


def _summary_table(frame: Frame, found: dict[Conditions, list[Pair]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    shares = {
        (c, pair): share_under(frame, c, pair) for c, ps in found.items() for pair in ps
    }
    has_shares = any(share is not None for share in shares.values())
    left_out, has_paper = 0, False
    for conditions, pairs in found.items():
        for pair in pairs:
            comparison = compare_pair(frame, conditions, pair)
            left_out += comparison.left_out
            papers = papers_ratios(conditions, pair, list(comparison.by_problem))
            has_paper |= bool(papers)
            rows.append(_summary_row(frame, conditions, pair, comparison, papers))
    if not has_paper:
        rows = [row[:-2] for row in rows]
    if has_shares:
        cells = map(share_cell, shares.values())
        rows = [(*row, cell) for row, cell in zip(rows, cells, strict=True)]
    notes = [
        "Geometric mean of the ratios over all (function, seed) pairs, functions with "
        "equal weight; a function counts as lower where its geometric mean ratio over "
        "the seeds is below 1."
        + " The paper's are by its tabulated means over the same functions."
        * has_paper
    ]
    notes += [BETA_REMARK] if has_paper else []
    notes += list(dict.fromkeys(n for c in found for n in in_box_notes(frame, c)))
    notes += share_notes(shares.values(), unit=", in logarithms of the regret,")
    if left_out:
        notes.append(f"{left_out} pairs are left out: one of the regrets is zero.")
    return Table(
        name=NAME,
        title="Against the plain rule, by level",
        columns=(
            "conditions",
            "method / plain rule",
            "functions lower",
            "mean ratio",
            "Wilcoxon, all pairs",
            *(("paper: functions lower", "paper: mean ratio") if has_paper else ()),
            *((SHARE,) if has_shares else ()),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _summary_row(
    frame: Frame,
    conditions: Conditions,
    pair: Pair,
    comparison: Comparison,
    papers: list[float],
) -> tuple[Cell, ...]:
    ratio = ratio_cell(comparison)
    if papers and any(place[0] == conditions for place in frame.in_box):
        as_papers = compare_regrets(
            frame, conditions, pair.who, pair.other, is_papers=True
        )
        told = f"{ratio_cell(as_papers).text} by the paper's reference"
        ratio = replace(ratio, under=told)
    return (
        words(conditions.label),
        words(pair.label),
        lower_cell(comparison),
        ratio,
        p_cell(comparison.pairs),
        *_papers_cells(papers),
    )


def lower_cell(comparison: Comparison) -> Cell:
    """Return on how many functions the first of a pair is lower."""
    total = len(comparison.by_problem)
    if not total:
        return Cell(text=MISSING)
    lower = comparison.lower
    data = (("lower", lower), ("functions", total))
    return Cell(text=f"{lower} of {total}", value=lower / total, data=data)


def ratio_cell(comparison: Comparison) -> Cell:
    """Return the geometric mean of the ratios."""
    summary = comparison.summary
    if summary is None:
        return Cell(text=MISSING)
    ratio = math.exp(summary.mean)
    data = (("ratio", ratio), ("log", summary.mean), ("log error", summary.error))
    return Cell(text=factor(ratio), value=ratio, data=data)


def p_cell(differences: Sequence[float]) -> Cell:
    """Return the signed-rank test of log ratios."""
    p = signed_rank_p(differences)
    data = (("p", p), ("pairs", len(differences)))
    return Cell(text=p_text(p, differences), value=p, data=data)


def papers_ratios(
    conditions: Conditions, pair: Pair, problems: Sequence[str]
) -> list[float]:
    """Return the paper's log ratios of a pair, where it has both."""
    ratios: list[float] = []
    for problem in problems:
        ours = papers_regret(conditions, problem, pair.who)
        theirs = papers_regret(conditions, problem, pair.other)
        if ours is not None and theirs is not None:
            ratio = log_ratio(ours, theirs)
            ratios += [] if ratio is None else [ratio]
    return ratios


def _papers_cells(ratios: list[float]) -> tuple[Cell, Cell]:
    if not ratios:
        return Cell(text=MISSING), Cell(text=MISSING)
    lower = sum(ratio < 0.0 for ratio in ratios)
    mean = math.exp(sum(ratios) / len(ratios))
    return (
        Cell(
            text=f"{lower} of {len(ratios)}",
            value=lower / len(ratios),
            data=(("lower", lower), ("functions", len(ratios))),
        ),
        Cell(text=factor(mean), value=mean, data=(("ratio", mean),)),
    )


def _function_table(
    frame: Frame, conditions: Conditions, pairs: Sequence[Pair]
) -> Table:
    compared = [compare_pair(frame, conditions, pair) for pair in pairs]
    counts = {len(v) for c in compared for v in c.by_problem.values()}
    notes = [
        "Geometric mean ratio over the seeds both have; below it the number of seeds "
        "on which the method is lower, and the p-value over the seeds."
    ]
    few = sorted(count for count in counts if not can_be_significant(count))
    notes += [
        f"With {n} pair{'s' * (n != 1)} no p-value can be below "
        f"{number(least_p(n), 2)}: no single function can be significant at 0.05."
        for n in few
    ]
    return Table(
        name=f"{NAME}-{conditions.slug}",
        title=f"Against the plain rule, function by function, {conditions.label}",
        columns=(conditions.word, *(pair.label for pair in pairs)),
        rows=tuple(
            (words(p), *(_seeds_cell(c.by_problem.get(p, [])) for c in compared))
            for p in frame.problems(conditions)
        ),
        notes=tuple(notes),
    )


def _seeds_cell(ratios: Sequence[float]) -> Cell:
    if not ratios:
        return Cell(text=MISSING)
    ratio = math.exp(sum(ratios) / len(ratios))
    lower = sum(r < 0.0 for r in ratios)
    p = signed_rank_p(ratios)
    shown = "no difference" if p is None else f"p {number(p, 2)}"
    data = (("ratio", ratio), ("lower", lower), ("pairs", len(ratios)), ("p", p))
    under = f"{lower} of {len(ratios)} lower, {shown}"
    return Cell(text=factor(ratio), under=under, value=ratio, data=data)
