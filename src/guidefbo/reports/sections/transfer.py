"""How much of a gain comes from the exchange, and how much from the control.

For every problem and seed the log ratio to the plain rule is the sum of two: that of
the control (guidance in the middle of the box that nobody sent) to the plain rule, and
that of the method to the control. Only the second needs other agents (unless the method
has a better local model of its own).
"""

import math
from dataclasses import dataclass, replace

from guidefbo.reports.conditions import Conditions, Field
from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Bar, Split, draw_splits
from guidefbo.reports.families import control_of, is_federated, plain_of
from guidefbo.reports.formats import MISSING, factor, in_box_notes, number, p_text
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.sections.matched import lower_cell, ratio_cell
from guidefbo.reports.statistics import (
    LEVEL_OF_SIGNIFICANCE,
    Comparison,
    compare,
    signed_rank_p,
)
from guidefbo.reports.table import Cell, Figure, Points, Section, Table, words

NAME = "transfer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One method under one set of conditions, on the runs all three have."""

    view: View
    who: Contender
    to_plain: Comparison
    """The method against the plain rule."""
    to_control: Comparison
    """The method against the control."""
    control_to_plain: Comparison
    """The control against the plain rule."""

    @property
    def conditions(self) -> Conditions:
        """Those of its runs."""
        return self.view.conditions


def transfer_section(frame: Frame) -> Section | None:
    """Return the table and the figure of what the exchange adds."""
    found = find_transfers(frame)
    if not found:
        return None
    opening = (
        "Whoever widens an agent's uncertainty in the middle of the box helps it on "
        "functions whose optimum lies there, with or without other agents. The control "
        "(placebo) does just that and exchanges nothing. So the gain over the plain "
        "rule is split: what the control gives, and what the exchange adds on top of "
        "it. Only the second part is transfer between agents."
    )
    how = (
        "Log ratios of final regrets, paired by function and seed, over the pairs that "
        "the method, its control and its plain rule all have. The mean is that of the "
        "functions' means over seeds, and its standard error is over functions: seeds "
        "of one function are not independent evidence about functions."
    )
    blocks = (
        opening,
        _figure(found),
        how,
        _table(found),
        Points(items=tuple(_verdict(transfer) for transfer in found)),
    )
    return Section(name=NAME, title="What the exchange adds", blocks=blocks)


def find_transfers(frame: Frame) -> list[Transfer]:
    """Return every method that has both a plain rule and a control."""
    found: list[Transfer] = []
    for view in frame.views:
        contenders = view.contenders
        for who in filter(is_federated, contenders):
            plain, control = plain_of(who, contenders), control_of(who, contenders)
            if plain is not None and control is not None:
                transfer = _transfer(view, who, plain, control)
                found += [transfer] if transfer.to_control.by_problem else []
    return found


def _transfer(
    view: View, who: Contender, plain: Contender, control: Contender
) -> Transfer:
    three = [view.regrets(k) for k in (who, plain, control)]
    # The two parts add up to the whole only over the same pairs.
    ours, plains, controls = (_common(table, three) for table in three)
    return Transfer(
        view=view,
        who=who,
        to_plain=compare(ours, plains),
        to_control=compare(ours, controls),
        control_to_plain=compare(controls, plains),
    )


def _common(
    table: dict[str, dict[Field, float]], tables: list[dict[str, dict[Field, float]]]
) -> dict[str, dict[Field, float]]:
    """Return the entries that all tables have, all of them above zero."""
    return {
        problem: {
            seed: value
            for seed, value in values.items()
            if all(other[problem].get(seed, 0.0) > 0.0 for other in tables)
        }
        for problem, values in table.items()
    }


def _table(found: list[Transfer]) -> Table:
    return Table(
        name=NAME,
        title="The gain over the plain rule, split",
        columns=(
            "conditions",
            "method",
            "method / plain",
            "functions lower",
            "Wilcoxon",
            "control / plain",
            "method / control",
            "functions lower than control",
            "Wilcoxon against control",
        ),
        rows=tuple(
            (
                words(transfer.conditions.label),
                words(transfer.who.label),
                _ratio_cell(transfer.to_plain),
                lower_cell(transfer.to_plain.problem_means),
                _test_cell(transfer.to_plain),
                _ratio_cell(transfer.control_to_plain),
                _ratio_cell(transfer.to_control),
                lower_cell(transfer.to_control.problem_means),
                _test_cell(transfer.to_control),
            )
            for transfer in found
        ),
        notes=(
            "Ratios are geometric means, below 1 is a gain; the second line is the "
            "mean log ratio ± its standard error over functions. Tests: over all "
            "(function, seed) pairs, and below over the functions' means.",
            *dict.fromkeys(note for t in found for note in in_box_notes(t.view)),
        ),
    )


def _ratio_cell(comparison: Comparison) -> Cell:
    cell, summary = ratio_cell(comparison), comparison.summary
    if summary is None:
        return cell
    error = "" if summary.error is None else f" ± {number(summary.error, 2)}"
    under = f"log {number(summary.mean, 3)}{error}"
    return Cell(text=cell.text, under=under, value=cell.value, data=cell.data)


def _test_cell(comparison: Comparison) -> Cell:
    pairs, means = comparison.pairs, comparison.problem_means
    p, over_functions = signed_rank_p(pairs), signed_rank_p(means)
    under = p_text(over_functions, means).replace("pair", "function")
    return Cell(
        text=p_text(p, pairs),
        under=under,
        value=p,
        data=(
            ("p", p),
            ("pairs", len(pairs)),
            ("p functions", over_functions),
            ("functions", len(means)),
        ),
    )


def _figure(found: list[Transfer]) -> Figure:
    groups: dict[str, list[Split]] = {}
    for transfer in found:
        groups.setdefault(transfer.conditions.label, []).append(_split(transfer))
    # Levels of one kind stand in one column.
    kinds = {replace(transfer.conditions, level=None) for transfer in found}
    columns = len(kinds) if len(groups) > 2 and len(groups) % len(kinds) == 0 else 1
    return Figure(
        name=NAME,
        title="What a fixed component gives, and what the exchange adds on top",
        draw=lambda: draw_splits(groups, columns),
        notes=(
            "Grey: what guidance in the middle of the box gives, without any exchange. "
            "Colour: what exchanging adds to that (or takes away). The two add up to "
            "the gain over the plain rule (diamond). ÷2 means half the regret. Error "
            "bars: one standard error over functions.",
        ),
    )


def _split(transfer: Transfer) -> Split:
    return Split(
        word=transfer.who.label,
        control=_bar(transfer.control_to_plain),
        exchange=_bar(transfer.to_control),
        total=_bar(transfer.to_plain),
    )


def _bar(comparison: Comparison) -> Bar:
    summary = comparison.summary
    if summary is None:
        return Bar(gain=0.0, error=None)
    return Bar(gain=-summary.mean, error=summary.error)


def _verdict(transfer: Transfer) -> str:
    """Return a sentence on what the exchange adds."""
    comparison, summary = transfer.to_control, transfer.to_control.summary
    if summary is None:
        return MISSING
    ratio = math.exp(summary.mean)
    p = signed_rank_p(comparison.problem_means)
    size = f"{abs(1.0 - ratio):.0%} {'lower' if ratio < 1.0 else 'higher'}"
    told = p_text(p, comparison.problem_means).replace("pair", "function")
    if p is None or p > LEVEL_OF_SIGNIFICANCE:
        claim = "not told apart from the control"
    elif ratio < 1.0:
        claim = "better than the control"
    else:
        claim = "worse than the control, which exchanges nothing"
    return (
        f"{transfer.conditions.label}, {transfer.who.label}: {factor(ratio)} of the "
        f"control's regret ({size}), lower on {comparison.lower} of "
        f"{len(comparison.by_problem)} functions, {told} over functions: {claim}."
    )
