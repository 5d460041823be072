"""Convergence: mean values over the rounds, each curve named at its end."""

import math
from collections.abc import Sequence

import numpy as np

from guidefbo.core.arrays import Values
from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.formats import in_box_notes, join
from guidefbo.reports.frame import Frame
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
    figures = [_figure(frame, c) for c in frame.conditions if frame.has_run(c)]
    if not figures:
        return None
    opening = (
        "Means after the initial design (round 0) and after every round, averaged over "
        "the seeds that are there. Every curve is named where it ends, in the order of "
        "the final values; the colour tells the strategy, the dash the rule."
    )
    return Section(name=NAME, title="Convergence", blocks=(opening, *figures))


def mean_curve(
    frame: Frame, conditions: Conditions, problem: str, who: Contender
) -> Curve | None:
    """Return the mean curve of a cell, None without a run."""
    curves = list(frame.curves(conditions, problem, who).values())
    if not curves:
        return None
    length = min(map(len, curves))
    table = np.stack([curve[:length] for curve in curves])
    error = np.zeros(length)
    if len(table) > 1:
        error = table.std(axis=0, ddof=1) / math.sqrt(len(table))
    return np.arange(length, dtype=np.float64), table.mean(axis=0), error


def _figure(frame: Frame, conditions: Conditions) -> Figure:
    panels = _panels(frame, conditions)
    return Figure(
        name=f"{NAME}-{conditions.slug}",
        title=f"Convergence, {conditions.label}",
        draw=lambda: draw_panels(panels, "round"),
        notes=_notes(frame, conditions, panels),
    )


def _panels(frame: Frame, conditions: Conditions) -> list[Panel]:
    looks = looks_of(frame.contenders())
    panels: list[Panel] = []
    for problem in frame.problems(conditions):
        measure = frame.measure(conditions, problem)
        lines = [
            Line(who.label, *curve, looks[who])
            for who in frame.contenders(conditions)
            if (curve := mean_curve(frame, conditions, problem, who)) is not None
        ]
        if lines:
            view = _view(lines, measure == REGRET)
            label = measure.label
            panels.append(Panel(title=problem, lines=lines, y_label=label, view=view))
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


def _notes(
    frame: Frame, conditions: Conditions, panels: Sequence[Panel]
) -> tuple[str, ...]:
    notes: list[str] = []
    counts = [len(panel.lines) for panel in panels]
    if min(counts) <= MOST_BANDS:
        notes.append("Bands: one standard error of the mean on either side.")
    if max(counts) > MOST_BANDS:
        notes.append(
            f"Where more than {MOST_BANDS} curves share a panel no errors are drawn: "
            "they are in the tables."
        )
    measures = {frame.measure(conditions, panel.title) for panel in panels}
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
    notes += in_box_notes(frame, conditions)
    others = [w.label for c, _, w in frame.others if c == conditions]
    if others:
        names = join(sorted(set(others)))
        notes.append(f"Computed in part by other code than would run now: {names}.")
    return (*notes, *_partial(frame, conditions))


def _partial(frame: Frame, conditions: Conditions) -> tuple[str, ...]:
    partial: dict[str, int] = {}
    for problem in frame.problems(conditions):
        for who in frame.contenders(conditions):
            has_run = bool(frame.finals(conditions, problem, who))
            if has_run and not frame.is_complete(conditions, problem, who):
                partial[who.label] = partial.get(who.label, 0) + 1
    if not partial:
        return ()
    told = [f"{who} on {n} problem{'s' * (n != 1)}" for who, n in partial.items()]
    return (f"Over fewer seeds than asked for: {join(told)}.",)
