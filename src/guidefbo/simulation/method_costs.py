"""Scalars and bytes each method sends, counted in a small run."""

from collections.abc import Iterator
from dataclasses import dataclass

from guidefbo.methods.registry import find_method, method_names
from guidefbo.simulation.simulate import run
from guidefbo.simulation.spec import RunSpec

NUM_AGENTS = 8
NUM_INITIAL = 12
NUM_ROUNDS = 2
"""Size of the run: messages do not depend on it, but for CGP, which sends what it has
accepted, and GUIDE, whose packets hold at most one component per agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCost:
    """Scalars and bytes of one method, per agent and round."""

    method: str
    """Name in the catalogue."""
    scalars: tuple[float, float]
    """Counted, up and down."""
    num_bytes: tuple[float, float]
    """Counted, up and down, envelopes included."""
    paper: tuple[int, int] | None
    """The paper's own accounting, up and down; None: it has none."""


def measure_costs(dim: int) -> Iterator[MethodCost]:
    """Yield the cost of every method, each from a run of its own.

    Another tool alone at every site sends nothing, and is not run for that.
    """
    for name in method_names():
        if find_method(name).strategy.solver is not None:
            continue
        spec = RunSpec(
            problem="sphere",
            method=name,
            dim=dim,
            num_agents=NUM_AGENTS,
            num_initial=NUM_INITIAL,
            num_rounds=NUM_ROUNDS,
        )
        trace = run(spec)
        up, down = trace.scalars.values()
        paper = trace.scalars_paper
        bytes_up, bytes_down = trace.num_bytes.values()
        yield MethodCost(
            method=name,
            scalars=(up, down),
            num_bytes=(bytes_up, bytes_down),
            paper=None if paper is None else _pair(paper),
        )


def _pair(counts: dict[str, int]) -> tuple[int, int]:
    up, down = counts.values()
    return up, down
