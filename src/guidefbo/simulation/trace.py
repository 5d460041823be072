"""The outcome of a simulated run, and its record on disk."""

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

import guidefbo
from guidefbo.core.arrays import Matrix, Values
from guidefbo.core.files import write_atomically
from guidefbo.core.html import lines_html, table_html
from guidefbo.core.machine import machine
from guidefbo.core.run_record import RUN_FORMAT, RUN_VERSION, WEIGHT
from guidefbo.core.space.form import space_to_form
from guidefbo.core.space.space import Space
from guidefbo.metrics.regret import cumulative_regret, mean_simple_regret
from guidefbo.problems.problem import Metric
from guidefbo.simulation.spec import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """One run: its spec, its curves, its traffic and its time."""

    spec: RunSpec
    """What was run."""
    best_value: Matrix
    """(num_rounds + 1, num_agents) best noise-free value so far, raw units."""
    mean_simple_regret: Values | None
    """(num_rounds + 1,) mean over the honest agents, after the initial design and each
    round; None where no optimum is known."""
    metric: Metric | None
    """What the values are called; None for those of a synthetic problem."""
    queries: NDArray[np.float64]
    """(num_agents, num_initial + num_rounds, dim) points of the unit cube."""
    values: Matrix
    """(num_agents, num_initial + num_rounds) noise-free values there, raw units."""
    observations: Matrix
    """(num_agents, num_initial + num_rounds) what was observed there, raw units."""
    chosen: NDArray[np.intp]
    """(num_rounds + 1, num_agents) which of its evaluations each agent takes for the
    best, by its posterior mean."""
    weights: Mapping[str, Matrix]
    """(num_rounds, num_agents) how likely each model was for an agent's query, by name,
    where the method compares models; not-a-number where it was not compared."""
    num_honest: int
    """Agents that do not lie, the first ones."""
    space: Space
    """What the coordinates of the queries stand for."""
    sites: tuple[str, ...]
    """Names of the agents' sites; none where they are only numbered."""
    maximum: float | None
    """Largest value of a synthetic problem's base function, the paper's reference."""
    optima: NDArray[np.float64] | None
    """(num_agents,) the best value of each task, where it is known: of a synthetic task
    the best inside its box."""
    held_out: NDArray[np.float64] | None
    """(num_agents,) score of the final choice on data that the objective never saw."""
    source: str
    """Where the numbers of the problem come from."""
    scalars: dict[str, float]
    """Mean scalars per agent and round, up and down."""
    scalars_paper: dict[str, int] | None
    """What the paper counts for the method, up and down; None: it has no count."""
    num_bytes: dict[str, float]
    """Mean bytes per agent and round, up and down."""
    seconds: dict[str, float]
    """Wall-clock seconds in total and per stage, and processor seconds in total."""

    @property
    def mean_metric(self) -> Values | None:
        """(num_rounds + 1,) mean best value over the honest agents."""
        if self.metric is None:
            return None
        return self.best_value[:, : self.num_honest].mean(axis=1)

    @property
    def regret_in_box(self) -> Values | None:
        """(num_rounds + 1,) mean regret against the best points inside the box.

        None where tasks have no box to leave: there is one reference only.
        """
        if self.metric is not None or self.optima is None:
            return None
        honest = slice(self.num_honest)
        return mean_simple_regret(self.best_value[:, honest], self.optima[honest])

    @property
    def mean_cumulative_regret(self) -> Values | None:
        """(num_rounds + 1,) regret of all queries since round 1, mean of the honest.

        Against the best value that each agent can reach, where that is known, and else
        against the base function's; None where neither is.
        """
        best = self.maximum if self.optima is None else self.optima[: self.num_honest]
        if best is None:
            return None
        sign = 1.0 if self.metric is None else self.metric.sign
        values = sign * self.values[: self.num_honest]
        total = cumulative_regret(values, self.spec.num_initial, sign * best)
        return total.mean(axis=1)

    @property
    def curve(self) -> Values:
        """The mean simple regret, or the mean of the metric where there is none."""
        curve = self.mean_simple_regret
        curve = self.mean_metric if curve is None else curve
        assert curve is not None  # a problem has one of the two
        return curve

    @property
    def curve_name(self) -> str:
        """What the curve shows."""
        if self.mean_simple_regret is not None or self.metric is None:
            return "mean simple regret"
        unit = f" ({self.metric.unit})" if self.metric.unit else ""
        return f"mean best {self.metric.name}{unit}"

    def to_record(self) -> dict[str, Any]:
        """Return the run record as JSON values, without what is not known."""
        arrays = {
            "mean_simple_regret": self.mean_simple_regret,
            "regret_inbox": self.regret_in_box,
            "cumulative_regret": self.mean_cumulative_regret,
            "mean_metric": self.mean_metric,
            "best_value": self.best_value,
            "optima": self.optima,
            "held_out": self.held_out,
        }
        others = {
            "environment": {
                "guidefbo": guidefbo.__version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "machine": machine(),
            },
            "metric": None if self.metric is None else asdict(self.metric),
            "scalars": self.scalars,
            "scalars_paper": self.scalars_paper,
            "bytes": self.num_bytes,
            "seconds": self.seconds,
            "space": space_to_form(self.space),
            "maximum": self.maximum,
            "num_honest": self.num_honest,
            "sites": list(self.sites) or None,
            "source": self.source or None,
        }
        return {
            "format": RUN_FORMAT,
            "version": RUN_VERSION,
            "spec": self.spec.to_dict(),
            **{name: a.tolist() for name, a in arrays.items() if a is not None},
            **{name: value for name, value in others.items() if value is not None},
        }

    @property
    def evaluations(self) -> dict[str, NDArray[Any]]:
        """Every evaluation of every agent, and which of them it takes for the best.

        Beside them `weight.NAME` of every model that was compared.
        """
        weights = {f"{WEIGHT}{name}": array for name, array in self.weights.items()}
        return {
            "queries": self.queries,
            "observations": self.observations,
            "values": self.values,
            "chosen": self.chosen,
            **weights,
        }

    def save(self, path: str | Path) -> None:
        """Write the run record with its evaluations as JSON, atomically."""
        lists = {name: _listed(array) for name, array in self.evaluations.items()}
        form = self.to_record() | lists
        text = json.dumps(form, indent=1, allow_nan=False)
        write_atomically(Path(path), text + "\n")

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the regret of every agent and their mean; needs `guidefbo[plot]`.

        Args:
            path: Where to save the figure, by its ending; None to only return it.
        """
        from guidefbo.simulation.figures import draw_trace

        return draw_trace(self, path)

    def _repr_html_(self) -> str:
        rows = [
            [str(t), f"{mean:.6g}", f"{row.min():.6g}", f"{row.max():.6g}"]
            for t, (mean, row) in enumerate(
                zip(self.curve, self.best_value, strict=True)
            )
        ]
        header = ["round", self.curve_name, "lowest best value", "highest best value"]
        return lines_html(str(self)) + table_html(header, rows)

    def __str__(self) -> str:
        s, curve = self.spec, self.curve
        middle = len(curve) // 2
        level = "" if s.level is None else f" level {s.level},"
        lines = [
            f"{s.method} on {s.problem},{level} seed {s.seed}: "
            f"{s.num_agents} agents, {s.num_initial} + {s.num_rounds} evaluations",
            f"  {self.curve_name}  {curve[0]:.4g} at the start, "
            f"{curve[middle]:.4g} after round {middle}, {curve[-1]:.4g} at the end",
        ]
        if self.metric is not None and self.mean_simple_regret is not None:
            final = self.best_value[-1, : self.num_honest].mean()
            lines.append(f"  {self.metric.name}  {final:.6g} at the end")
        if self.held_out is not None:
            mean = self.held_out[: self.num_honest].mean()
            lines.append(f"  on data held out  {mean:.6g}")
        up, down = self.scalars.values()
        lines += [
            f"  scalars per agent and round  {up:g} up, {down:g} down",
            f"  seconds  {self.seconds['total']:.1f}",
        ]
        return "\n".join(lines)


def _listed(array: NDArray[Any]) -> list[Any]:
    """Return an array as lists; what is not a number is None."""
    if array.dtype.kind != "f" or not np.isnan(array).any():
        return array.tolist()
    rows: list[list[float]] = array.tolist()
    return [[None if math.isnan(x) else x for x in row] for row in rows]
