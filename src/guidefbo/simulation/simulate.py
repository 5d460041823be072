"""Run a method on a problem of the catalogue, or of one's own.

All agents run in this process.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from guidefbo.core.arrays import Matrix, Values
from guidefbo.core.errors import OptimumWarning, refuse_unknown
from guidefbo.core.streams import Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.methods.registry import find_method
from guidefbo.metrics.regret import mean_simple_regret
from guidefbo.problems.problem import Problem
from guidefbo.problems.synthetic.inbox import optima_in_box
from guidefbo.simulation.assemble import assemble, lay_out
from guidefbo.simulation.evaluation import (
    Evaluations,
    Measure,
    build_problem,
    final_choices,
    measuring,
)
from guidefbo.simulation.spec import RunSpec
from guidefbo.simulation.trace import Trace

Progress = Callable[[int, float], None]
"""Called with (round, mean), round 0 for the initial design: the mean simple regret, or
the mean of the metric where no regret is known."""

BEATEN = 1e-6
"""By how much a value, relative to its size, must be better than a stated optimum."""


def simulate(
    problem: str = "ackley",
    *,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    **spec: Any,
) -> Trace:
    """Run one method on one problem and return its trace.

    >>> trace = simulate("sphere", dim=2, num_agents=2, num_initial=4, num_rounds=1)
    >>> trace.mean_simple_regret.shape
    (2,)

    Args:
        problem: Name in the problem catalogue, or the file it is in: FILE.py:NAME.
        settings: Settings of the method that differ from the defaults.
        progress: Called after the initial design and after every round.
        jobs: Processes that evaluate, for problems whose evaluations take long. The
            result does not depend on it.
        **spec: Fields of `RunSpec`: level, method, seed, dim, num_agents, ...
    """
    known = {f.name for f in fields(RunSpec)}
    for name in spec.keys() - known:
        refuse_unknown("argument of simulate", name, known)
    given = dict(settings or {})
    return run(RunSpec(problem=problem, settings=given, **spec), progress, jobs)


def run(spec: RunSpec, progress: Progress | None = None, jobs: int = 1) -> Trace:
    """Run a spec and return its trace."""
    problem = build_problem(spec)
    with single_blas_thread(), measuring(spec, problem, jobs) as measure:
        return _run(spec, problem, measure, progress)


def _run(
    spec: RunSpec, problem: Problem, measure: Measure, progress: Progress | None
) -> Trace:
    streams, method = Streams(spec.seed), find_method(spec.method)
    given = {k: v for k, v in problem.settings.items() if k in method.run_settings}
    settings = method.check_run(given | spec.settings)
    liars = method.liars(settings, spec.num_agents, spec.num_rounds)
    num_honest = spec.num_agents - (liars.count if liars else 0)
    evaluations = Evaluations(measure)

    def report(t: int) -> None:
        if progress is not None:
            honest = evaluations.best[-1:, :num_honest]
            progress(t, float(_curve(problem, honest)[0]))

    design = lay_out(method, settings, problem, spec.num_initial, streams)
    federation = assemble(
        method,
        settings,
        problem,
        design,
        evaluations.make(design, 0),
        streams=streams,
        liars=liars,
        every=spec.exchange_interval or 1,
    )
    report(0)
    chosen, judged = [federation.choices()], list[list[Mapping[str, float]]]()
    for t in range(1, spec.num_rounds + 1):
        federation.round(t, evaluations.one_each)
        judged.append(federation.judgements())
        chosen.append(federation.choices())
        report(t)
    # What the tasks' own best points are is no part of a run: it is found once.
    seconds = federation.clock.seconds()
    _warn_of_beaten(problem, evaluations.best[-1])
    exchanges = spec.num_agents * spec.num_rounds
    best, sign = evaluations.best, problem.metric.sign
    honest = best[:, :num_honest]
    is_regret = problem.maximum is not None or problem.optima is not None
    return Trace(
        spec=spec,
        best_value=sign * best,
        mean_simple_regret=_curve(problem, honest) if is_regret else None,
        metric=None if problem.is_synthetic else problem.metric,
        queries=evaluations.queries,
        values=sign * evaluations.values,
        observations=sign * problem.output_scale * evaluations.observed,
        chosen=np.array(chosen),
        weights=_weights(judged),
        num_honest=num_honest,
        space=problem.space,
        sites=problem.sites,
        maximum=problem.maximum,
        optima=optima_in_box(problem) if problem.is_synthetic else problem.optima,
        held_out=_held_out(problem, evaluations),
        source=problem.source,
        scalars=federation.traffic.scalars_per_agent_round(exchanges),
        scalars_paper=method.paper_scalars(settings, problem.dim),
        num_bytes=federation.traffic.bytes_per_agent_round(exchanges),
        seconds=seconds,
    )


def _curve(problem: Problem, best: np.ndarray[Any, np.dtype[np.float64]]) -> Values:
    """Return the mean regret of every row of best values, or the mean of the metric."""
    sign = problem.metric.sign
    if problem.maximum is not None:
        return mean_simple_regret(best, problem.maximum)
    if problem.optima is not None:
        return mean_simple_regret(best, sign * problem.optima[: best.shape[1]])
    return sign * best.mean(axis=1)


def _warn_of_beaten(problem: Problem, best: Values) -> None:
    """Say where a site reached more than the optimum that is stated for it."""
    if problem.optima is None:
        return
    sign = problem.metric.sign
    for name, stated, reached in zip(
        problem.sites, problem.optima, sign * best, strict=True
    ):
        if sign * (reached - stated) > BEATEN * max(1.0, abs(stated)):
            warnings.warn(
                f"{problem.name}: {name} reached {reached:.6g}, better than its stated "
                f"optimum {stated:.6g}, so that its regret is below zero. Correct "
                "`optima`, or leave it out.",
                OptimumWarning,
                stacklevel=4,
            )


def _weights(judged: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, Matrix]:
    """Return (rounds, agents) weights by name, not-a-number where there was none."""
    names = dict.fromkeys(name for row in judged for each in row for name in each)
    return {
        name: np.array([[each.get(name, np.nan) for each in row] for row in judged])
        for name in names
    }


def _held_out(problem: Problem, evaluations: Evaluations) -> Values | None:
    """Return the score of each agent's final choice on data nobody optimised on."""
    if problem.held_out is None:
        return None
    choices = zip(
        problem.held_out,
        evaluations.queries,
        final_choices(evaluations.observed),
        strict=True,
    )
    return np.array([f(problem.space.from_unit(X[i])) for f, X, i in choices])
