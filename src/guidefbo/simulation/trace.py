"""The outcome of a simulated run, and its record on disk."""

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import guidefbo
from guidefbo.core.arrays import Matrix, Values
from guidefbo.core.files import write_atomically
from guidefbo.core.run_record import RunRecord
from guidefbo.simulation.spec import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """One run: its spec, its curves, its traffic and its time."""

    spec: RunSpec
    """What was run."""
    best_value: Matrix
    """(num_rounds + 1, num_agents) best noise-free value so far, raw units."""
    mean_simple_regret: Values
    """(num_rounds + 1,) mean over the honest agents, after the initial design and each
    round."""
    scalars: dict[str, float]
    """Mean scalars per agent and round, up and down."""
    scalars_paper: dict[str, int] | None
    """What the paper counts for the method, up and down; None: it has no count."""
    num_bytes: dict[str, float]
    """Mean bytes per agent and round, up and down."""
    seconds: dict[str, float]
    """Wall-clock seconds in total and per stage."""

    def to_record(self) -> dict[str, Any]:
        """Return the run record as JSON values."""
        record = RunRecord(
            curve=self.mean_simple_regret,
            best_value=self.best_value,
            scalars=self.scalars,
            scalars_paper=self.scalars_paper or {},
            num_bytes=self.num_bytes,
            seconds=self.seconds,
            environment={
                "guidefbo": guidefbo.__version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scipy": scipy.__version__,
            },
        )
        return record.to_form(self.spec.to_dict())

    def save(self, path: str | Path) -> None:
        """Write the run record as JSON, atomically."""
        text = json.dumps(self.to_record(), indent=1, allow_nan=False)
        write_atomically(Path(path), text + "\n")

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the regret of every agent and their mean; needs `guidefbo[plot]`.

        Args:
            path: Where to save the figure, by its ending; None to only return it.
        """
        from guidefbo.simulation.figures import draw_trace

        return draw_trace(self, path)

    def __str__(self) -> str:
        s, regret = self.spec, self.mean_simple_regret
        middle = len(regret) // 2
        return "\n".join(
            [
                f"{s.method} on {s.problem}, level {s.level}, seed {s.seed}: "
                f"{s.num_agents} agents, {s.num_initial} + {s.num_rounds} evaluations",
                f"  mean simple regret  {regret[0]:.4g} at the start, "
                f"{regret[middle]:.4g} after round {middle}, "
                f"{regret[-1]:.4g} at the end",
                f"  scalars per agent and round  {self.scalars['up_per_agent_round']:g}"
                f" up, {self.scalars['down_per_agent_round']:g} down",
                f"  seconds  {self.seconds['total']:.1f}",
            ]
        )
