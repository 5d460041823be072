"""The picture of an agent and the numbers behind it; read-only."""

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo import canvas
from guidefbo.canvas.file import save_figure
from guidefbo.core.arrays import Values
from guidefbo.core.space.constraints import SumTo
from guidefbo.core.space.parameters import Choice, Float, Int
from guidefbo.site.agent import Agent
from guidefbo.site.guidance import Guidance, GuidanceState
from guidefbo.site.helping import help_of
from guidefbo.site.labels import Labels
from guidefbo.site.outcome import Outcome
from guidefbo.site.slices import (
    MAX_POINTS,
    Slice,
    importance_of,
    in_state,
    possible,
    slices_of,
    told_of,
)
from guidefbo.site.trial import Best, Origin, Trial, TrialState

MAX_PANELS = 9
"""Most slices in one figure."""
RESULTS_EACH = 2
"""Results a parameter below which importance is mostly the prior's, and not shown."""
LINE = 150
"""Letters of a line above the slices."""
ORIGINS = (
    (Origin.DESIGN, "initial design", "grey square"),
    (Origin.MODEL, "model", "blue disc"),
    (Origin.FALLBACK, "space filling", "purple triangle"),
    (Origin.OWN, "own", "green diamond"),
)
"""How results are marked by where they come from."""


def draw_agent(agent: Agent, path: str | Path | None = None) -> Any:
    """Return a matplotlib figure of an agent's progress, model and importance.

    Args:
        agent: The agent; it is left as it is.
        path: Where to save the figure, by its ending; None to only return it.
    """
    slices, importance = slices_of(agent), importance_of(agent)
    top = importance.names[:MAX_PANELS] if importance else ()
    shown = [piece for piece in slices if piece.name in top]
    heights = [3.4, 0.7 + 2.7 * canvas.panel_shape(len(shown))[0]]
    figure = canvas.new_figure(path, 11.0, 0.4 + sum(heights))
    figure.suptitle(_title(agent), fontsize=13, fontweight="bold")
    above, below = figure.subfigures(2, 1, height_ratios=heights)
    progress, bars = above.subplots(1, 2, width_ratios=[3.0, 1.0])
    _draw_progress(progress, agent, agent.best())
    if importance is None:
        bars.set_axis_off()
        why = "could be fitted to these results" if agent.best() else "yet"
        below.text(0.5, 0.5, f"No model {why}.", ha="center")
        return save_figure(figure, path)
    enough = RESULTS_EACH * len(agent.space.parameters)
    if len(in_state(agent, TrialState.DONE)) < enough:
        bars.set_axis_off()
        canvas.say(bars, f"importance: after\n{enough} results")
    else:
        title = "importance (from lengthscales)\n± standard error, by refits"
        canvas.draw_shares(bars, *importance.top(MAX_PANELS), title)
    helped = help_of(agent)
    guidance = agent.guidance
    words = [_wrapped(line) for line in helped.lines(agent.setup.labels)]
    legend = "\n".join([_legend(agent, len(shown)), *words])
    below.suptitle(legend, fontsize=9, color="0.25")
    labels = agent.setup.labels
    panels = canvas.panels(below, len(shown), canvas.caption(labels.column, 24))
    for axes, piece in zip(panels, shown, strict=True):
        _draw_slice(axes, piece, guidance, labels)
        axes.set_ylim(_limits(shown))
    return save_figure(figure, path)


def _wrapped(line: str) -> str:
    # A dollar would start a formula.
    return fill(line, LINE).replace("$", r"\$")


def _title(agent: Agent) -> str:
    num_done = len(in_state(agent, TrialState.DONE))
    results = "1 result" if num_done == 1 else f"{num_done} results"
    setup = agent.setup
    name = canvas.caption(setup.labels.column, 40)
    text = f"{setup.site}: {agent.goal} {name} ({setup.method}), {results}"
    for state in (TrialState.FAILED, TrialState.PENDING):
        if number := len(in_state(agent, state)):
            text += f", {number} {state}"
    return text


def _legend(agent: Agent, num_shown: int) -> str:
    constraints, num_all = agent.space.constraints, len(agent.space.parameters)
    text = (
        "Model along each parameter through the recommended point (star): mean ± 2 "
        "std, noise left out; dots: results, faint where far from the slice.\n"
        "Strip: guidance G from other sites, with your own results weighed in where "
        "the method does that; the other parameters are where it is strongest."
    )
    if constraints:
        text += " Dashed: outside the constraints."
    if any(isinstance(constraint, SumTo) for constraint in constraints):
        text += " Where a sum is fixed, the others make room."
    if num_shown < num_all:
        text += f" Shown: the {num_shown} most important of {num_all} parameters."
    return text


def _draw_progress(axes: Any, agent: Agent, best: Best | None) -> None:
    """Draw the newest value told of every trial against the trial's number."""
    done = in_state(agent, TrialState.DONE)
    for origin, word, look in ORIGINS:
        part = [trial for trial in done if trial.origin == origin]
        ids, told = told_of(part)
        stds = np.array([trial.std or 0.0 for trial in part])
        canvas.draw_marks(axes, ids, told, word, look, _reach(agent, told, stds))
    guided = told_of([trial for trial in done if trial.guided])
    canvas.draw_marks(axes, *guided, "guided", "ring")
    for state, look in ((TrialState.FAILED, "cross"), (TrialState.PENDING, "tick")):
        ids, _ = told_of(in_state(agent, state))
        # At the end of the axis that is not wanted.
        canvas.draw_on_edge(axes, ids, state, look, is_top=agent.goal == "min")
    limits = agent.setup.outcomes
    kept = [t for t in done if all(_keeps(t, outcome) for outcome in limits)]
    missed = told_of([trial for trial in done if trial not in kept])
    canvas.draw_marks(axes, *missed, "beyond a limit", "bar")
    if best is None:
        axes.set_yticks([])
        canvas.say(axes, "no results yet")
    else:
        ids, told = told_of(kept)
        running = np.maximum if agent.goal == "max" else np.minimum
        held, end = running.accumulate(told), len(agent.trials)
        if kept:
            canvas.draw_steps(axes, ids, held, end, "best so far")
        k, mean, std = best.trial.id, best.mean, best.std or 0.0
        spread = "" if best.std is None else f" (std {std:.2g})"
        word = f"recommended: trial {k}, {mean:.4g}{spread}"
        reach = _reach(agent, np.array([mean]), np.array([std]))
        canvas.draw_star(axes, k, mean, reach, word)
    label = canvas.caption(agent.setup.labels.column, 30)
    canvas.finish_history(axes, len(agent.trials), "trial", label)


def _reach(agent: Agent, values: Values, stds: Values) -> NDArray[np.float64]:
    """Return how far error bars of 2 std reach down and up, not beyond the possible."""
    down = values - possible(agent, values - 2.0 * stds)
    up = possible(agent, values + 2.0 * stds) - values
    return np.maximum([down, up], 0.0)


def _keeps(trial: Trial, outcome: Outcome) -> bool:
    value = trial.outcomes.get(outcome.name)
    return value is not None and outcome.slack(value) >= 0.0


def _limits(slices: list[Slice]) -> tuple[float, float]:
    """Return limits that show all results, and of the bands not more than as much."""
    low = min(piece.low.min() for piece in slices)
    high = max(piece.high.max() for piece in slices)
    first, last = slices[0].observed.min(), slices[0].observed.max()
    room = last - first if last > first else np.inf
    low, high = max(low, first - room), min(high, last + room)
    low, high = min(low, first), max(high, last)
    return float(low - 0.05 * (high - low)), float(high + 0.05 * (high - low))


def _draw_slice(axes: Any, piece: Slice, guidance: Guidance, labels: Labels) -> None:
    parameter, at, note, kind = piece.parameter, piece.at, "", "line"
    if not isinstance(parameter, Float):
        kind = "points" if len(piece.x) <= MAX_POINTS else "steps"
    if isinstance(parameter, Choice) and len(piece.x) < parameter.size:
        note = f" ({len(piece.x)} of {parameter.size} options)"
    dots = piece.observed_x, piece.observed, bool(piece.labels), piece.near
    canvas.draw_dots(axes, *dots)
    band = piece.x, piece.mean, piece.low, piece.high, piece.feasible
    canvas.draw_function(axes, *band, kind)
    canvas.draw_star(axes, float(piece.x[at]), float(piece.mean[at]))
    why = "" if guidance.state == GuidanceState.NONE else f" ({guidance.state})"
    empty = f"no guidance{why}"
    if guidance.state == GuidanceState.ACTIVE:
        empty = "guidance active: a function or a model, no place to draw"
    field = piece.guidance, kind, "G", empty
    strip = canvas.draw_strip(axes, piece.x, *field)
    if isinstance(parameter, Float | Int):
        canvas.number_ticks(axes, piece.x, parameter.log, isinstance(parameter, Int))
    else:
        canvas.name_ticks(strip, piece.labels)
    value = piece.labels[at] if piece.labels else f"{piece.x[at]:.5g}"
    unit = labels.units.get(piece.name)
    value = value if unit is None else f"{value} {unit}"
    name, value = canvas.caption(piece.name, 26), canvas.caption(value, 18)
    axes.set_title(f"{name} = {value}{note}", fontsize=9.5)
