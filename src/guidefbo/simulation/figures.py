"""Pictures of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from guidefbo.agent.side import OTHERS
from guidefbo.canvas import new_figure, tidy
from guidefbo.canvas.file import save_figure

if TYPE_CHECKING:
    from guidefbo.simulation.result import OptimizeResult
    from guidefbo.simulation.trace import Trace


def draw_trace(trace: "Trace", path: str | Path | None) -> Any:
    """Draw each agent's regret or best value, thin, and their mean, thick.

    Where the method compares models, a dotted line on the right says how likely that of
    the others was, on average.
    """
    figure = new_figure(path)
    axes = figure.add_subplot()
    s, mean = trace.spec, trace.curve
    each = trace.best_value
    if trace.metric is not None and trace.optima is not None:
        each = np.abs(trace.optima - each)
    elif trace.mean_simple_regret is not None:
        # The maximum is the mean regret plus the mean best value, at any round.
        each = mean[0] + each[0, : trace.num_honest].mean() - each
    rounds = np.arange(len(mean))
    axes.plot(rounds, each, color="C0", alpha=0.25, linewidth=0.8)
    axes.plot(rounds, mean, color="C0", linewidth=2.2, label=f"mean of {s.method}")
    axes.plot([], [], color="C0", alpha=0.4, linewidth=0.8, label="one agent each")
    axes.set_xlabel("round")
    axes.set_ylabel(trace.curve_name.removeprefix("mean "))
    level = "" if s.level is None else f", level {s.level}"
    axes.set_title(f"{s.problem}{level}: {s.num_agents} agents, seed {s.seed}")
    _draw_weight(axes, trace)
    return _finish(figure, axes, path)


def _draw_weight(axes: Any, trace: "Trace") -> None:
    """Draw the mean weight of the others' model over the honest agents."""
    weights = trace.weights.get(OTHERS)
    if weights is None or np.isnan(honest := weights[:, : trace.num_honest]).any():
        return
    right = axes.twinx()
    mean = honest.mean(axis=1)
    right.plot(np.arange(1, len(mean) + 1), mean, color="C1", linestyle="dotted")
    right.set_ylim(0.0, 1.0)
    right.set_ylabel("how likely the others' model is, mean")
    axes.plot([], [], color="C1", linestyle="dotted", label="the others' model (right)")


def draw_result(result: "OptimizeResult", path: str | Path | None) -> Any:
    """Draw the best value of every agent against its number of evaluations."""
    figure = new_figure(path)
    axes = figure.add_subplot()
    running = np.maximum if result.goal == "max" else np.minimum
    for n in range(len(result.best)):
        values = [e.value for e in result.history if e.agent == n]
        if not values:
            axes.plot([], [], label=f"agent {n}: no value")
            continue
        axes.step(
            np.arange(1, len(values) + 1),
            running.accumulate(values),
            where="post",
            label=f"agent {n}",
        )
    axes.set_xlabel("evaluations of each agent")
    axes.set_ylabel(f"best value so far (goal: {result.goal})")
    axes.set_title(result.method)
    return _finish(figure, axes, path)


def _finish(figure: Any, axes: Any, path: str | Path | None) -> Any:
    tidy(axes)
    axes.legend(frameon=False)
    return save_figure(figure, path)
