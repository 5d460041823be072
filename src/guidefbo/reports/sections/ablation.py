"""The full method beside itself with one part replaced."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Bar, draw_relative
from guidefbo.reports.formats import (
    PAPERS_LINE,
    factor,
    final_rows,
    has_papers,
    other_code_notes,
    rank_cell,
)
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.paper import BETA_REMARK, ablation
from guidefbo.reports.sections.ranks import mean_table, ranked
from guidefbo.reports.sections.regret import reference_notes, seeds_sentence
from guidefbo.reports.statistics import Comparison, compare
from guidefbo.reports.table import Block, Cell, Figure, Section, Table, words

NAME = "ablation"
FULL = "full"
"""The variant that all others are compared with."""
VANILLA = "vanilla-ucb"
"""The variant without any federation; it is no part of the method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What every variant loses against the full method."""

    conditions: Conditions
    by_variant: Mapping[Contender, Comparison]


def ablation_section(frame: Frame) -> Section | None:
    """Return a table for each set of conditions, and one figure."""
    found = [view for view in frame.views if _variants(view)]
    if not found:
        return None
    losses = [_losses(view) for view in found]
    losses = [loss for loss in losses if loss.by_variant]
    blocks: list[Block] = [_sentence(loss) for loss in losses]
    if losses:
        blocks.append(_figure(losses))
    else:
        blocks.append(
            f"No run of a variant called {FULL!r} to compare the others with."
        )
    tables = [_table(view) for view in found]
    told = (
        "Final mean values of the variants, mean over seeds ± standard error. Best and "
        "second-best of a row are marked among variants with all their seeds."
    )
    told += PAPERS_LINE if has_papers(tables) else ""
    blocks += [told, *tables]
    return Section(name=NAME, title="Ablation", blocks=tuple(blocks))


def _variants(view: View) -> list[Contender]:
    return [who for who in view.contenders if who.variant is not None]


def _papers(conditions: Conditions, problem: str, who: Contender) -> float | None:
    if not conditions.is_papers or who.variant is None:
        return None
    return ablation(conditions.level, problem, who.variant)


def _table(view: View) -> Table:
    variants, conditions = _variants(view), view.conditions
    rows = final_rows(view, variants, partial(_papers, conditions))
    whole = [p for p in view.problems if view.complete(p) >= set(variants)]
    footer = _rank_rows(view, variants, whole)
    ranks = (
        f"Ranks over {len(whole)} of {len(view.problems)} {conditions.word}s: those on "
        "which every variant is complete."
    )
    if len(footer) > 1:
        ranks += (
            " The paper's ranks below ours are recomputed over the same variants and "
            "functions, and its published ones follow."
        )
    notes = [seeds_sentence(view), ranks]
    if len(footer) > 1 and any(who.variant == VANILLA for who in variants):
        notes.append(BETA_REMARK)
    notes += [*reference_notes(view), *other_code_notes(view)]
    return Table(
        name=f"{NAME}-{conditions.slug}",
        title=f"Ablation, {conditions.label}",
        columns=(conditions.word, *(who.label for who in variants)),
        rows=tuple(rows),
        footer=footer,
        notes=tuple(notes),
    )


def _rank_rows(
    view: View, variants: Sequence[Contender], problems: Sequence[str]
) -> tuple[tuple[Cell, ...], ...]:
    if not problems or len(variants) < 2:
        return ()
    papers = partial(_papers, view.conditions)
    ours = ranked(variants, mean_table(view, problems, variants))
    rows = {"average rank": list[float | None](ours.values())}
    theirs = [[papers(p, who) for who in variants] for p in problems]
    if all(value is not None for row in theirs for value in row):
        rows["paper's, same variants"] = [*ranked(variants, theirs).values()]
        rows["paper's, published"] = [papers("average_rank", w) for w in variants]
    return tuple(
        (words(name), *(rank_cell(value, "mean") for value in ranks))
        for name, ranks in rows.items()
    )


def _losses(view: View) -> Losses:
    variants = _variants(view)
    full = next((who for who in variants if who.variant == FULL), None)
    compared = {
        who: compare(view.regrets(who), view.regrets(full))
        for who in variants
        if full is not None and who is not full
    }
    found = {who: c for who, c in compared.items() if c.by_problem}
    return Losses(conditions=view.conditions, by_variant=found)


def _figure(losses: Sequence[Losses]) -> Figure:
    groups: dict[str, dict[str, Bar]] = {}
    for loss in losses:
        bars = groups.setdefault(loss.conditions.label, {})
        for who, comparison in loss.by_variant.items():
            summary = comparison.summary
            if summary is not None:
                bars[who.label] = Bar(gain=-summary.mean, error=summary.error)
    return Figure(
        name=NAME,
        title="Regret of each variant relative to the full method",
        draw=lambda: draw_relative(groups, f"regret above {FULL} [%]"),
        notes=(
            "Geometric mean over functions of the ratio to the full method, paired by "
            "seed; above zero the variant is worse. Lines: one standard error over "
            "functions.",
        ),
    )


def _sentence(loss: Losses) -> str:
    """Return which part matters most, by the mean log ratio to the full method."""
    means = {
        who: comparison.summary.mean
        for who, comparison in loss.by_variant.items()
        if comparison.summary is not None and who.variant != VANILLA
    }
    if not means:
        return f"{loss.conditions.label}: no part to judge."
    worst = max(means, key=lambda who: means[who])
    comparison = loss.by_variant[worst]
    where = f"{loss.conditions.label}: "
    told = (
        f"{factor(math.exp(means[worst]))} the full method's regret on average, "
        f"higher on {len(comparison.by_problem) - comparison.lower} of "
        f"{len(comparison.by_problem)} functions"
    )
    if means[worst] <= 0.0:
        return f"{where}no variant is worse than the full method on average."
    return f"{where}the part that matters most is the one {worst.label} lacks: {told}."
