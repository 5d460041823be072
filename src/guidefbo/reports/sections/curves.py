"""Convergence: mean regret over the rounds with a band of one standard error."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.drawings import Line, draw_panels
from guidefbo.reports.formats import join
from guidefbo.reports.frame import Frame
from guidefbo.reports.looks import looks_of
from guidefbo.reports.table import Figure, Section

NAME = "curves"


def curves_section(frame: Frame) -> Section | None:
    """Return one figure for each set of conditions, a panel per function."""
    figures = [
        _figure(frame, conditions)
        for conditions in frame.conditions
        if any(o is not None and o.curve is not None for o in _found(frame, conditions))
    ]
    if not figures:
        return None
    opening = (
        "Mean simple regret after the initial design (round 0) and after every round, "
        "averaged over the seeds that are there; bands are ±1 standard error of the "
        "mean. The scale is logarithmic where the curves span more than a factor of 4."
    )
    return Section(name=NAME, title="Convergence", blocks=(opening, *figures))


def mean_curve(frame: Frame, conditions: Conditions, problem: str, who: Contender):
    """Return rounds, mean and standard error of a cell, None without a run."""
    samples = frame.samples(conditions, problem, who).values()
    curves = [o.curve for o in samples if o is not None and o.curve is not None]
    if not curves:
        return None
    length = min(map(len, curves))
    table = np.stack([curve[:length] for curve in curves])
    error = np.zeros(length)
    if len(table) > 1:
        error = table.std(axis=0, ddof=1) / math.sqrt(len(table))
    return np.arange(length, dtype=np.float64), table.mean(axis=0), error


def _found(frame: Frame, conditions: Conditions) -> list[Any]:
    return [
        outcome
        for (c, _, _), samples in frame.cells.items()
        if c == conditions
        for outcome in samples.values()
    ]


def _figure(frame: Frame, conditions: Conditions) -> Figure:
    panels, partial = _panels(frame, conditions)
    notes: list[str] = []
    if partial:
        notes.append(f"Over fewer seeds than asked for: {join(partial)}.")
    return Figure(
        name=f"{NAME}-{conditions.slug}",
        title=f"Convergence, {conditions.label}",
        draw=lambda: draw_panels(panels, "round", "mean simple regret"),
        notes=tuple(notes),
    )


def _panels(
    frame: Frame, conditions: Conditions
) -> tuple[Mapping[str, list[Line]], list[str]]:
    looks = looks_of(frame.contenders())
    panels: dict[str, list[Line]] = {}
    partial: dict[str, int] = {}
    for problem in frame.problems(conditions):
        lines: list[Line] = []
        for who in frame.contenders(conditions):
            curve = mean_curve(frame, conditions, problem, who)
            if curve is None:
                continue
            x, mean, error = curve
            lines.append(Line(who.label, x, mean, error, looks[who]))
            if not frame.is_complete(conditions, problem, who):
                partial[who.label] = partial.get(who.label, 0) + 1
        if lines:
            panels[problem] = lines
    return panels, [f"{who} on {n} functions" for who, n in partial.items()]
