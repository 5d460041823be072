"""What `optimize` returns: every evaluation, and the best of each agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from guidefbo.core.html import lines_html, table_html
from guidefbo.core.space.space import Space
from guidefbo.site.labels import shown_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One call of one function."""

    agent: int
    """Index of the function."""
    round: int
    """0 for the initial design."""
    values: dict[str, Any]
    """Parameter values."""
    value: float
    """What the function returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One call of one function that gave no value."""

    agent: int
    """Index of the function."""
    round: int
    """0 for the initial design."""
    values: dict[str, Any]
    """Parameter values."""
    reason: str
    """What was raised, or what was returned instead of a finite number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeResult:
    """The outcome of `optimize`."""

    goal: str
    """Either max or min."""
    method: str
    """Method that was run."""
    space: Space
    """Search space."""
    best: tuple[Evaluation | None, ...]
    """Best evaluation of every agent, by the value it returned; None without any."""
    history: tuple[Evaluation, ...]
    """All evaluations that gave a value, in the order they were made."""
    failures: tuple[Failure, ...] = ()
    """Those that gave none, in the order they were made."""
    interrupted: bool = False
    """Whether Ctrl-C ended the run before its last round."""

    @classmethod
    def of(
        cls,
        goal: str,
        method: str,
        space: Space,
        history: Sequence[Evaluation],
        *,
        num_agents: int,
        failures: Sequence[Failure] = (),
        interrupted: bool = False,
    ) -> Self:
        """Collect the evaluations and pick each agent's best."""
        better = max if goal == "max" else min
        best: list[Evaluation | None] = []
        for n in range(num_agents):
            own = [e for e in history if e.agent == n]
            best.append(better(own, key=lambda e: e.value) if own else None)
        return cls(
            goal=goal,
            method=method,
            space=space,
            best=tuple(best),
            history=tuple(history),
            failures=tuple(failures),
            interrupted=interrupted,
        )

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw every agent's best value over its evaluations; needs `guidefbo[plot]`.

        Args:
            path: Where to save the figure, by its ending; None to only return it.
        """
        from guidefbo.simulation.figures import draw_result

        return draw_result(self, path)

    def __str__(self) -> str:
        made = (*self.history, *self.failures)
        counts = [sum(e.agent == n for e in made) for n in range(len(self.best))]
        each = f"{counts[0]} evaluations each"
        if len(set(counts)) > 1:
            each = f"{min(counts)} to {max(counts)} evaluations each"
        failed = f", {len(self.failures)} of them failed" if self.failures else ""
        stopped = "; interrupted" if self.interrupted else ""
        head = (
            f"{self.method}, goal {self.goal}: {len(self.best)} agents, "
            f"{each}{failed}{stopped}"
        )
        return "\n".join([head, *map(self._row, range(len(self.best)))])

    def _repr_html_(self) -> str:
        names = list(self.space.parameters)
        rows = [
            [
                str(n),
                *(shown_value(best.values[name]) if best else "" for name in names),
                f"{best.value:.6g}" if best else "",
                str(best.round) if best else "",
            ]
            for n, best in enumerate(self.best)
        ]
        head = str(self).partition("\n")[0]
        return lines_html(head) + table_html(["agent", *names, "best", "round"], rows)

    def _row(self, n: int) -> str:
        best = self.best[n]
        if best is not None:
            values = ", ".join(f"{k}={shown_value(v)}" for k, v in best.values.items())
            return f"  agent {n}: {best.value:.6g} at {values} (round {best.round})"
        reasons = [failure.reason for failure in self.failures if failure.agent == n]
        if not reasons:
            return f"  agent {n}: not evaluated"
        return (
            f"  agent {n}: no value, all {len(reasons)} evaluations failed, the last "
            f"with: {reasons[-1]}"
        )
