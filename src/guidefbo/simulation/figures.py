"""Pictures of a run; matplotlib is loaded only here and only when asked for."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from guidefbo.core.errors import FedBOError
from guidefbo.core.files import write_atomically

if TYPE_CHECKING:
    from guidefbo.simulation.result import OptimizeResult
    from guidefbo.simulation.trace import Trace


def draw_trace(trace: "Trace", path: str | Path | None) -> Any:
    """Draw each agent's simple regret, thin, and their mean, thick."""
    figure, axes = _new_figure(path)
    s, mean = trace.spec, trace.mean_simple_regret
    # The maximum is the mean regret plus the mean of the best values, at any round.
    maximum = float(mean[0] + trace.best_value[0].mean())
    regret = maximum - trace.best_value
    rounds = np.arange(len(mean))
    axes.plot(rounds, regret, color="C0", alpha=0.25, linewidth=0.8)
    axes.plot(rounds, mean, color="C0", linewidth=2.2, label=f"mean of {s.method}")
    axes.plot([], [], color="C0", alpha=0.4, linewidth=0.8, label="one agent each")
    axes.set_xlabel("round")
    axes.set_ylabel("simple regret")
    axes.set_title(
        f"{s.problem}, level {s.level}: {s.num_agents} agents, seed {s.seed}"
    )
    return _finish(figure, axes, path)


def draw_result(result: "OptimizeResult", path: str | Path | None) -> Any:
    """Draw the best value of every agent against its number of evaluations."""
    figure, axes = _new_figure(path)
    running = np.maximum if result.goal == "max" else np.minimum
    for best in result.best:
        values = [e.value for e in result.history if e.agent == best.agent]
        axes.step(
            np.arange(1, len(values) + 1),
            running.accumulate(values),
            where="post",
            label=f"agent {best.agent}",
        )
    axes.set_xlabel("evaluations of each agent")
    axes.set_ylabel(f"best value so far (goal: {result.goal})")
    axes.set_title(result.method)
    return _finish(figure, axes, path)


def require_matplotlib(path: str | Path | None = None) -> None:
    """Refuse to start what could not be drawn or saved under that ending."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise FedBOError(
            "Drawing needs matplotlib, which is not installed. Install it with: "
            "pip install 'guidefbo[plot]'"
        ) from error
    endings = FigureCanvasBase.get_supported_filetypes()
    if path is not None and Path(path).suffix[1:].lower() not in endings:
        raise FedBOError(
            f"Expected a picture's ending, one of {', '.join(sorted(endings))}, got "
            f"{Path(path).name!r}."
        )


def _new_figure(path: str | Path | None) -> tuple[Any, Any]:
    require_matplotlib(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    return figure, figure.add_subplot()


def _finish(figure: Any, axes: Any, path: str | Path | None) -> Any:
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if path is not None:
        picture = BytesIO()
        figure.savefig(picture, dpi=150, format=Path(path).suffix[1:].lower())
        write_atomically(Path(path), picture.getvalue())
    return figure
