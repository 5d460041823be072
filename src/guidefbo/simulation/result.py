"""What `optimize` returns: every evaluation, and the best of each agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from guidefbo.core.space.space import Space
from guidefbo.site.trial import shown_value


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
class OptimizeResult:
    """The outcome of `optimize`."""

    goal: str
    """Either max or min."""
    method: str
    """Method that was run."""
    space: Space
    """Search space."""
    best: tuple[Evaluation, ...]
    """Best evaluation of every agent, by the value it returned."""
    history: tuple[Evaluation, ...]
    """All evaluations in the order they were made."""

    @classmethod
    def of(
        cls, goal: str, method: str, space: Space, history: Sequence[Evaluation]
    ) -> Self:
        """Collect the evaluations and pick each agent's best."""
        better = max if goal == "max" else min
        agents = sorted({evaluation.agent for evaluation in history})
        best = tuple(
            better((e for e in history if e.agent == n), key=lambda e: e.value)
            for n in agents
        )
        return cls(
            goal=goal, method=method, space=space, best=best, history=tuple(history)
        )

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw every agent's best value over its evaluations; needs `guidefbo[plot]`.

        Args:
            path: Where to save the figure, by its ending; None to only return it.
        """
        from guidefbo.simulation.figures import draw_result

        return draw_result(self, path)

    def __str__(self) -> str:
        count = len(self.history) // len(self.best)
        head = (
            f"{self.method}, goal {self.goal}: {len(self.best)} agents, "
            f"{count} evaluations each"
        )
        rows = [
            f"  agent {e.agent}: {e.value:.6g} at "
            + ", ".join(f"{k}={shown_value(v)}" for k, v in e.values.items())
            + f" (round {e.round})"
            for e in self.best
        ]
        return "\n".join([head, *rows])
