"""The picture of an agent: progress, slices of its model, importance.

The numbers behind it come from pure functions; drawing changes nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import scale_of
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.core import pictures
from guidefbo.core.arrays import OtherValues, Point, Points, Values
from guidefbo.core.goal import SIGNS
from guidefbo.core.parameters import Bool, Choice, Float, Int, Parameter
from guidefbo.core.pictures import caption
from guidefbo.core.space import SLACK, Space
from guidefbo.site.agent import NUMERICAL, Agent
from guidefbo.site.guidance import GuidanceState
from guidefbo.site.trial import Best, Origin, Trial, TrialState
from guidefbo.wire.guide import GuidancePacket

NUM_GRID = 101
"""Values of a number at which its slice is computed, the recommended one besides."""
MAX_PANELS = 9
"""Most slices in one figure."""
MAX_POINTS = 16
"""Up to this many whole numbers or options are drawn as points."""
ORIGINS = (
    (Origin.DESIGN, "initial design", "grey square"),
    (Origin.MODEL, "model", "blue disc"),
    (Origin.FALLBACK, "space filling", "purple triangle"),
    (Origin.OWN, "own", "green diamond"),
)
"""How results are marked by where they come from."""
NO_RESULTS = "No results yet: the model is drawn once a value was told."
NO_MODEL = "No model could be fitted to these results."


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The model along one parameter, the others at the recommended point."""

    name: str
    """The parameter's name."""
    parameter: Parameter
    """Its kind and bounds."""
    x: Values
    """(n,) values of the parameter; of a choice or a bool, positions from 0."""
    labels: tuple[str, ...]
    """(n,) options of a choice or a bool, none of a number."""
    mean: Values
    """(n,) posterior mean, in the site's units."""
    std: Values
    """(n,) its standard deviation: how well the mean is known, noise left out."""
    feasible: NDArray[np.bool_]
    """(n,) whether the constraints hold there."""
    guidance: Values | None
    """(n,) the field G between 0 and 1, None where no guidance is active."""
    at: int
    """Which of them is the recommended value."""
    observed_x: OtherValues
    """(m,) where each result lies, as x."""
    observed: OtherValues
    """(m,) what was told of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """How much each parameter moves the model, as shares."""

    names: tuple[str, ...]
    """The parameters, the most important first."""
    shares: Values
    """At least 0, and one in sum."""


def slices_of(agent: Agent) -> tuple[Slice, ...]:
    """Return a slice for every parameter through the recommended point.

    None without a result, or where no model can be fitted. Under an equality no
    parameter moves alone: the others make room, each by the same part of its range.
    """
    gp, best = _model_of(agent), agent.best()
    if gp is None or best is None:
        return ()
    done, sign, field = _in_state(agent, TrialState.DONE), SIGNS[agent.goal], None
    told = np.array([trial.value for trial in done], dtype=np.float64)
    shift, scale = scale_of(sign * told)
    guidance, x = agent.guidance, agent.space.to_unit(best.values)
    if guidance.state == GuidanceState.ACTIVE and isinstance(
        guidance.packet, GuidancePacket
    ):
        field = GuidanceField.of(guidance.packet.components)
    slices: list[Slice] = []
    for name, parameter in agent.space.parameters.items():
        seen = [trial.values[name] for trial in done]
        values = _grid(parameter, best.values[name], seen)
        X, feasible = _line(agent.space, x, name, values)
        mean, std = gp.predict(X)
        labels: tuple[str, ...] = ()
        places: list[Any] = values
        if isinstance(parameter, Choice | Bool):
            labels, places = tuple(map(str, values)), list(range(len(values)))
            seen = [values.index(v) if v in values else np.nan for v in seen]
        slices.append(
            Slice(
                name=name,
                parameter=parameter,
                x=np.array(places, dtype=np.float64),
                labels=labels,
                mean=sign * (shift + scale * mean),
                std=scale * std,
                feasible=feasible,
                guidance=None if field is None else field(X),
                at=values.index(best.values[name]),
                observed_x=np.array(seen, dtype=np.float64),
                observed=told,
            )
        )
    return tuple(slices)


def importance_of(agent: Agent) -> Importance | None:
    """Return each parameter's share of the sum of 1 / lengthscale; None: no model.

    A choice's coordinates share one lengthscale, which counts once. A lengthscale is
    the part of a parameter's range over which the model changes, so the share says how
    quickly it changes along the range that was given: other bounds, another share. It
    says nothing of the size or the sign of an effect, counts wiggles more than a
    straight slope, and compares a choice, whose options are all equally far apart, with
    a number only roughly. After few results it is mostly the prior's.
    """
    gp = _model_of(agent)
    if gp is None:
        return None
    places = agent.space.places
    rates = np.array([1.0 / gp.hyper.lengthscales[p.start] for p in places.values()])
    order = np.argsort(-rates, kind="stable")
    names = tuple(list(places)[int(i)] for i in order)
    return Importance(names=names, shares=rates[order] / rates.sum())


def draw_agent(agent: Agent, path: str | Path | None = None) -> Any:
    """Draw an agent's progress, slices of its model and the parameters' importance.

    Args:
        agent: The agent; it is left as it is.
        path: Where to save the figure, by its ending; None to only return it.

    Returns:
        A matplotlib figure.
    """
    slices, importance = slices_of(agent), importance_of(agent)
    top = importance.names[:MAX_PANELS] if importance else ()
    shown = [piece for piece in slices if piece.name in top]
    num_columns = 2 if len(shown) in (2, 4) else min(3, max(1, len(shown)))
    num_rows = -(-len(shown) // num_columns)
    heights = [3.4, max(0.8, 0.5 + 2.6 * num_rows)]
    figure = pictures.new_figure(path, 11.0, 0.4 + sum(heights))
    figure.suptitle(_title(agent), fontsize=13, fontweight="bold")
    above, below = figure.subfigures(2, 1, height_ratios=heights)
    progress, bars = above.subplots(1, 2, width_ratios=[3.0, 1.0])
    _draw_progress(progress, agent, agent.best())
    if importance is None:
        bars.set_axis_off()
        message = below.add_subplot()
        message.set_axis_off()
        pictures.say(message, NO_MODEL if agent.best() else NO_RESULTS)
        return pictures.save_figure(figure, path)
    names, shares = list(top), importance.shares[: len(top)]
    if len(top) < len(slices):
        names.append(f"{len(slices) - len(top)} others")
        shares = np.append(shares, importance.shares[len(top) :].sum())
    pictures.draw_shares(bars, names, shares, "importance (from lengthscales)")
    below.suptitle(_legend(agent, len(shown)), fontsize=9, color="0.25")
    grid = below.subplots(num_rows, num_columns, sharey=True, squeeze=False)
    for axes, piece in zip(grid.flat, shown, strict=False):
        _draw_slice(axes, piece)
    for axes in grid[:, 0]:
        axes.set_ylabel("value")
    for axes in list(grid.flat)[len(shown) :]:
        axes.remove()
    return pictures.save_figure(figure, path)


def _model_of(agent: Agent) -> GaussianProcess | None:
    if not _in_state(agent, TrialState.DONE):
        return None
    try:
        gp = agent._fit().posterior  # pyright: ignore[reportPrivateUsage]
        return gp if np.isfinite(gp.predict_mean(gp.X)).all() else None
    except NUMERICAL:
        return None


def _in_state(agent: Agent, state: TrialState) -> list[Trial]:
    return [trial for trial in agent.trials if trial.state == state]


def _grid(parameter: Parameter, recommended: Any, seen: list[Any]) -> list[Any]:
    """Return the values to compute a slice at, in order, the recommended among them."""
    if isinstance(parameter, Choice):
        # Of very many options those tried most; the model cannot tell the others apart.
        tried = Counter([recommended] * (len(seen) + 1) + seen).most_common(MAX_POINTS)
        few = parameter.size <= MAX_POINTS
        return [o for o in parameter.options if few or o in dict(tried)]
    if isinstance(parameter, Bool):
        return [False, True]
    if isinstance(parameter, Int) and parameter.num_levels <= NUM_GRID:
        return list(range(parameter.low, parameter.high + 1))
    units = np.linspace(0.0, 1.0, NUM_GRID).tolist()
    return sorted({recommended, *map(parameter.from_unit, units)})


def _line(
    space: Space, x: Point, name: str, values: Sequence[Any]
) -> tuple[Points, NDArray[np.bool_]]:
    """Return x with other values of a parameter, and which points are allowed."""
    parameter, place, domain = space.parameters[name], space.places[name], space.domain
    X = np.tile(x, (len(values), 1))
    X[:, place] = np.array([parameter.to_unit(v) for v in values]).reshape(len(X), -1)
    polytope, columns = domain.polytope, domain.columns
    if polytope is None or place.start not in columns:
        return X, np.ones(len(X), dtype=np.bool_)
    k = int(np.flatnonzero(columns == place.start)[0])
    along = polytope.basis @ polytope.basis[k]
    if along[k] > 1e-9:
        moved = X[:, place] - x[place]
        others = np.arange(len(columns)) != k
        X[:, columns[others]] += moved * (along[others] / along[k])
    # A told point may miss a constraint a little; it is then as good as allowed.
    is_exact = polytope.contains(x[columns][None])[0]
    tolerance = 1e-9 if is_exact else SLACK * np.sqrt(len(columns))
    return X, polytope.contains(X[:, columns], tolerance)


def _title(agent: Agent) -> str:
    num_done = len(_in_state(agent, TrialState.DONE))
    counts = [f"{num_done} result{'' if num_done == 1 else 's'}"]
    for state in (TrialState.FAILED, TrialState.PENDING):
        number = len(_in_state(agent, state))
        counts += [f"{number} {state}"] if number else []
    return f"{agent.setup.method}, goal: {agent.goal}, {', '.join(counts)}"


def _legend(agent: Agent, num_shown: int) -> str:
    num_all = len(agent.space.parameters)
    parts = [
        "Model along each parameter through the recommended point (star)",
        ": mean ± 2 std, noise left out; dots: results.\n",
        "Strip: guidance G from other sites, 0 to 1.",
        " Dashed: outside the constraints." if agent.space.constraints else "",
        f" Shown: the {num_shown} most important of {num_all} parameters."
        if num_shown < num_all
        else "",
    ]
    return "".join(parts)


def _draw_progress(axes: Any, agent: Agent, best: Best | None) -> None:
    """Draw the newest value told of every trial against the trial's number."""
    done = _in_state(agent, TrialState.DONE)
    for origin, word, look in ORIGINS:
        part = [trial for trial in done if trial.origin == origin]
        reach = np.array([2.0 * (trial.std or 0.0) for trial in part])
        pictures.draw_marks(axes, *_told(part), word, look, reach)
    guided = _told([trial for trial in done if trial.guided])
    pictures.draw_marks(axes, *guided, "guided", "ring")
    # What has no value stands at the end of the axis that is not wanted.
    is_top = agent.goal == "min"
    for state, look in ((TrialState.FAILED, "cross"), (TrialState.PENDING, "tick")):
        ids, _ = _told(_in_state(agent, state))
        pictures.draw_on_edge(axes, ids, state, look, is_top)
    if best is None:
        axes.set_yticks([])
    else:
        ids, told = _told(done)
        running = np.maximum if agent.goal == "max" else np.minimum
        pictures.draw_steps(
            axes, ids, running.accumulate(told), len(agent.trials), "best so far"
        )
        spread = f"{best.mean:.4g} ± {2.0 * best.std:.2g}"
        word = f"recommended: trial {best.trial.id}, {spread}"
        pictures.draw_star(axes, best.trial.id, best.mean, 2.0 * best.std, word)
    pictures.finish_history(axes, len(agent.trials), "trial", "value")


def _told(trials: list[Trial]) -> tuple[Values, Values]:
    ids = np.array([trial.id for trial in trials], dtype=np.float64)
    return ids, np.array([trial.value for trial in trials], dtype=np.float64)


def _draw_slice(axes: Any, piece: Slice) -> None:
    parameter, at, note = piece.parameter, piece.at, ""
    kind = "points" if piece.labels else "line"
    if isinstance(parameter, Int):
        kind = "points" if len(piece.x) <= MAX_POINTS else "steps"
    elif isinstance(parameter, Choice) and len(piece.x) < parameter.size:
        note = f" ({len(piece.x)} of {parameter.size} options)"
    pictures.draw_dots(axes, piece.observed_x, piece.observed, bool(piece.labels))
    pictures.draw_function(
        axes, piece.x, piece.mean, 2.0 * piece.std, piece.feasible, kind
    )
    pictures.draw_star(axes, float(piece.x[at]), float(piece.mean[at]))
    if isinstance(parameter, Float | Int):
        pictures.number_ticks(axes, piece.x, parameter.log, isinstance(parameter, Int))
    else:
        pictures.name_ticks(axes, piece.labels)
    pictures.draw_strip(axes, piece.x, piece.guidance, kind, "G", "no guidance")
    digits = ".4g" if isinstance(parameter, Float) else ".0f"
    value = piece.labels[at] if piece.labels else f"{piece.x[at]:{digits}}"
    title = f"{caption(piece.name, 26)} = {caption(value, 18)}{note}"
    axes.set_title(title, fontsize=9.5)
