"""Convergence: mean values over the rounds, each curve named at its end."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from guidefbo.core.arrays import Values
from guidefbo.reports.contenders import Contender
from guidefbo.reports.formats import in_box_notes, join, left_out_notes
from guidefbo.reports.frame import Frame, View
from guidefbo.reports.lines import LOG_FROM, MOST_BANDS, Line, Panel, draw_panels
from guidefbo.reports.looks import looks_of
from guidefbo.reports.measure import REGRET
from guidefbo.reports.table import Figure, Section

NAME = "curves"
START = 0.2
"""Share of the rounds after which the view of a metric begins."""
Curve = tuple[Values, Values, Values]
"""Rounds, mean over the seeds, its standard error."""


def curves_section(frame: Frame) -> Section | None:
    """Return one figure for each set of conditions, a panel per problem."""
    figures = [_figure(view) for view in frame.views if view.has_run]
    if not figures:
        return None
    opening = (
        "Means after the initial design (round 0) and after every round, averaged over "
        "the seeds that are there. Every curve is named where it ends, in the order of "
        "the final values; the colour tells the strategy, the dash the rule."
    )
    return Section(name=NAME, title="Convergence", blocks=(opening, *figures))


def mean_curve(view: View, problem: str, who: Contender) -> Curve | None:
    """Return the mean curve of a cell, None without a run."""
    curves = list(view.curves(problem, who).values())
    if not curves:
        return None
    length = min(map(len, curves))
    table = np.stack([curve[:length] for curve in curves])
    error = np.zeros(length)
    if len(table) > 1:
        error = table.std(axis=0, ddof=1) / math.sqrt(len(table))
    return np.arange(length, dtype=np.float64), table.mean(axis=0), error


def _figure(view: View) -> Figure:
    panels = _panels(view)
    return Figure(
        name=f"{NAME}-{view.conditions.slug}",
        title=f"Convergence, {view.conditions.label}",
        draw=lambda: draw_panels(panels, "round"),
        notes=_notes(view, panels),
    )


def _panels(view: View) -> list[Panel]:
    looks = looks_of(view.frame.contenders)
    panels: list[Panel] = []
    for problem in view.problems:
        measure = view.measure(problem)
        lines = [
            Line(who.label, *curve, looks[who])
            for who in view.contenders
            if (curve := mean_curve(view, problem, who)) is not None
        ]
        if lines:
            shown, label = _view(lines, measure == REGRET), measure.label
            panels.append(Panel(title=problem, lines=lines, y_label=label, view=shown))
    return panels


def _view(lines: Sequence[Line], is_regret: bool) -> tuple[float, float]:
    """Return the values that are shown."""
    ends: list[float] = []
    for line in lines:
        # What a metric gains first would leave no room for what tells methods apart.
        start = 0 if is_regret else math.ceil(START * (len(line.mean) - 1))
        ends += [float(line.mean[start:].min()), float(line.mean[start:].max())]
        if len(lines) <= MOST_BANDS:
            last, error = float(line.mean[-1]), float(line.error[-1])
            band = (last - error, last + error)
            ends += [end for end in band if end > 0.0 or not is_regret]
    return min(ends), max(ends)


def _notes(view: View, panels: Sequence[Panel]) -> tuple[str, ...]:
    notes: list[str] = []
    counts = [len(panel.lines) for panel in panels]
    if min(counts) <= MOST_BANDS:
        notes.append("Bands: one standard error of the mean on either side.")
    if max(counts) > MOST_BANDS:
        notes.append(
            f"Where more than {MOST_BANDS} curves share a panel no errors are drawn: "
            "they are in the tables."
        )
    measures = {view.measure(panel.title) for panel in panels}
    if REGRET in measures:
        notes.append(
            "A regret's scale is logarithmic where the values span more than a factor "
            f"of {LOG_FROM:g}."
        )
    if measures - {REGRET}:
        notes.append(
            f"The axis of a metric shows the values after {START:.0%} of the rounds; "
            "what lies before may begin outside of it."
        )
    notes += in_box_notes(view)
    others = {who.label for _, who in view.others}
    if others:
        names = join(sorted(others))
        notes.append(f"Computed in part by other code than would run now: {names}.")
    notes += left_out_notes(view, view.problems)
    return (*notes, *_partial(view))


def _partial(view: View) -> tuple[str, ...]:
    partial = Counter(
        who.label
        for problem in view.problems
        for who in view.contenders
        if view.finals(problem, who) and not view.is_complete(problem, who)
    )
    if not partial:
        return ()
    told = [f"{who} on {n} problem{'s' * (n != 1)}" for who, n in partial.items()]
    return (f"Over fewer seeds than asked for: {join(told)}.",)
