"""The full method beside itself with one part replaced."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Bar, draw_relative
from guidefbo.reports.formats import (
    MISSING,
    factor,
    final_cell,
    mark_best,
    other_code_notes,
    problem_cell,
)
from guidefbo.reports.frame import Frame
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
    found = [c for c in frame.conditions if _variants(frame, c)]
    if not found:
        return None
    losses = [_losses(frame, conditions) for conditions in found]
    losses = [loss for loss in losses if loss.by_variant]
    blocks: list[Block] = [_sentence(loss) for loss in losses]
    if losses:
        blocks.append(_figure(losses))
    else:
        blocks.append(
            f"No run of a variant called {FULL!r} to compare the others with."
        )
    tables = [_table(frame, conditions) for conditions in found]
    told = (
        "Final mean values of the variants, mean over seeds ± standard error. Best and "
        "second-best of a row are marked among variants with all their seeds."
    )
    if any("paper" in dict(c.data) for t in tables for row in t.rows for c in row):
        told += " The second line is the paper's number and the ratio ours / paper."
    blocks += [told, *tables]
    return Section(name=NAME, title="Ablation", blocks=tuple(blocks))


def _variants(frame: Frame, conditions: Conditions) -> list[Contender]:
    return [w for w in frame.contenders(conditions) if w.variant is not None]


def _papers(conditions: Conditions, problem: str, who: Contender) -> float | None:
    if not conditions.is_papers or who.variant is None:
        return None
    return ablation(conditions.level, problem, who.variant)


def _table(frame: Frame, conditions: Conditions) -> Table:
    variants = _variants(frame, conditions)
    problems = frame.problems(conditions)
    rows: list[tuple[Cell, ...]] = []
    whole: list[str] = []
    for problem in problems:
        cells = {
            who: final_cell(
                frame, conditions, problem, who, _papers(conditions, problem, who)
            )
            for who in variants
        }
        complete = {w for w in variants if frame.is_complete(conditions, problem, w)}
        whole += [problem] if len(complete) == len(variants) else []
        marked = mark_best(cells, complete, frame.measure(conditions, problem))
        rows.append((problem_cell(frame, conditions, problem), *marked))
    footer = _rank_rows(frame, conditions, variants, whole)
    ranks = (
        f"Ranks over {len(whole)} of {len(problems)} {conditions.word}s: those on "
        "which every variant is complete."
    )
    if len(footer) > 1:
        ranks += (
            " The paper's ranks below ours are recomputed over the same variants and "
            "functions, and its published ones follow."
        )
    notes = [seeds_sentence(frame, conditions), ranks]
    if len(footer) > 1 and any(who.variant == VANILLA for who in variants):
        notes.append(BETA_REMARK)
    notes += reference_notes(frame, conditions)
    notes += other_code_notes(frame, conditions)
    return Table(
        name=f"{NAME}-{conditions.slug}",
        title=f"Ablation, {conditions.label}",
        columns=(conditions.word, *(who.label for who in variants)),
        rows=tuple(rows),
        footer=footer,
        notes=tuple(notes),
    )


def _rank_rows(
    frame: Frame,
    conditions: Conditions,
    variants: Sequence[Contender],
    problems: Sequence[str],
) -> tuple[tuple[Cell, ...], ...]:
    if not problems or len(variants) < 2:
        return ()
    ours = ranked(variants, mean_table(frame, conditions, problems, variants))
    rows = [(words("average rank"), *map(_rank_cell, ours.values()))]
    theirs = [[_papers(conditions, p, w) for w in variants] for p in problems]
    if all(value is not None for row in theirs for value in row):
        ranks = ranked(variants, theirs).values()
        rows.append((words("paper's, same variants"), *map(_rank_cell, ranks)))
        published = [_papers(conditions, "average_rank", w) for w in variants]
        rows.append((words("paper's, published"), *map(_rank_cell, published)))
    return tuple(rows)


def _rank_cell(value: float | None) -> Cell:
    if value is None:
        return Cell(text=MISSING)
    return Cell(text=f"{value:.2f}", value=value, data=(("mean", value),))


def _losses(frame: Frame, conditions: Conditions) -> Losses:
    variants = _variants(frame, conditions)
    problems = frame.problems(conditions)
    finals = {
        who: {p: frame.regrets(conditions, p, who) for p in problems}
        for who in variants
    }
    full = next((who for who in variants if who.variant == FULL), None)
    compared = {
        who: compare(finals[who], finals[full])
        for who in variants
        if full is not None and who is not full
    }
    found = {who: c for who, c in compared.items() if c.by_problem}
    return Losses(conditions=conditions, by_variant=found)


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
