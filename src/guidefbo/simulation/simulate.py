"""Run a method on a built-in or registered test problem.

All agents run in this process.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values
from guidefbo.core.errors import refuse_unknown
from guidefbo.core.streams import Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.methods.registry import find_method
from guidefbo.metrics.regret import best_so_far, mean_simple_regret
from guidefbo.problems.library import make_problem
from guidefbo.problems.problem import Problem
from guidefbo.simulation.assemble import assemble
from guidefbo.simulation.spec import RunSpec
from guidefbo.simulation.trace import Trace

Progress = Callable[[int, float], None]
"""Called with (round, mean simple regret), round 0 for the initial design."""


def simulate(
    problem: str = "ackley",
    *,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **spec: Any,
) -> Trace:
    """Run one method on one catalogue problem and return its trace.

    >>> trace = simulate("sphere", dim=2, num_agents=2, num_initial=4, num_rounds=1)
    >>> trace.mean_simple_regret.shape
    (2,)

    Args:
        problem: Name in the problem catalogue.
        settings: Settings of the method that differ from the defaults.
        progress: Called after the initial design and after every round.
        **spec: Fields of `RunSpec`: level, method, seed, dim, num_agents, ...
    """
    known = {f.name for f in fields(RunSpec)}
    for name in spec.keys() - known:
        refuse_unknown("argument of simulate", name, known)
    given = dict(settings or {})
    return run(RunSpec(problem=problem, settings=given, **spec), progress)


def run(spec: RunSpec, progress: Progress | None = None) -> Trace:
    """Run a spec and return its trace."""
    streams = Streams(spec.seed)
    problem = make_problem(
        spec.problem,
        dim=spec.dim,
        num_agents=spec.num_agents,
        level=spec.level,
        common_shift=spec.common_shift,
        noise=spec.noise,
        noise_units=spec.noise_units,
        streams=streams,
    )
    with single_blas_thread():
        return _run(spec, problem, streams, progress)


def _run(
    spec: RunSpec, problem: Problem, streams: Streams, progress: Progress | None
) -> Trace:
    def observe(n: int, X: Points, t: int = 0) -> Values:
        return problem.tasks[n].observe(X, streams.at(Purpose.NOISE, agent=n, t=t))

    def evaluate(n: int, x: Points, t: int) -> float:
        return float(observe(n, x, t)[0])

    def report(t: int) -> None:
        if progress is not None:
            progress(t, float(np.mean(problem.maximum - best[-1][:num_honest])))

    method, settings = find_method(spec.method), spec.settings
    liars = method.liars(settings, spec.num_agents, spec.num_rounds)
    num_honest = spec.num_agents - (liars.count if liars else 0)
    size = spec.num_agents, spec.num_initial, spec.dim
    design = method.design(settings, size, streams)
    federation = assemble(
        method,
        settings,
        design,
        observe,
        noise_std=problem.noise_std,
        streams=streams,
        liars=liars,
    )
    best: list[Values] = [_noise_free(problem, design).max(axis=1)]
    report(0)
    for t in range(1, spec.num_rounds + 1):
        queries = federation.round(t, evaluate)
        reached = _noise_free(problem, queries[:, None, :])[:, 0]
        best.append(best_so_far(np.stack([best[-1], reached]))[-1])
        report(t)
    exchanges = spec.num_agents * spec.num_rounds
    best_value = np.stack(best)
    honest = best_value[:, :num_honest]
    return Trace(
        spec=spec,
        best_value=best_value,
        mean_simple_regret=mean_simple_regret(honest, problem.maximum),
        scalars=federation.traffic.scalars_per_agent_round(exchanges),
        scalars_paper=method.paper_scalars(settings, spec.dim),
        num_bytes=federation.traffic.bytes_per_agent_round(exchanges),
        seconds=federation.clock.seconds(),
    )


def _noise_free(problem: Problem, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (num_agents, num_points) raw values of every agent's own points."""
    return np.stack(
        [task.evaluate(x) for task, x in zip(problem.tasks, X, strict=True)]
    )
