"""The evaluations of a run: made in this process or in several, and kept."""

import multiprocessing
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values
from guidefbo.core.plugin import Plugin
from guidefbo.core.streams import Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.metrics.regret import best_so_far
from guidefbo.problems.files import code_of, is_file, take_code
from guidefbo.problems.library import make_problem
from guidefbo.problems.problem import Measured, Problem
from guidefbo.simulation.spec import RunSpec

Measure = Callable[[NDArray[np.float64], int], list[Measured]]
"""(points of every agent (agents, k, d), round) -> what each agent's came to."""


class Evaluations:
    """Every evaluation of a run, in the order it was made."""

    def __init__(self, measure: Measure) -> None:
        """Begin with none.

        Args:
            measure: Evaluates points of all agents.
        """
        self._measure = measure
        self._queries: list[NDArray[np.float64]] = []
        self._values: list[NDArray[np.float64]] = []
        self._observed: list[NDArray[np.float64]] = []

    def make(self, X: NDArray[np.float64], t: int) -> NDArray[np.float64]:
        """Evaluate the points of round t, (agents, k, d), and return what is observed.

        The initial design is round 0.
        """
        measured = self._measure(X, t)
        observed = np.stack([m.observed for m in measured])
        self._queries.append(X)
        self._values.append(np.stack([m.values for m in measured]))
        self._observed.append(observed)
        return observed

    def one_each(self, queries: Points, t: int) -> Values:
        """Evaluate one query of every agent and return what is observed."""
        return self.make(queries[:, None, :], t)[:, 0]

    @property
    def queries(self) -> NDArray[np.float64]:
        """Unit-cube points, (agents, evaluations, dim)."""
        return np.concatenate(self._queries, axis=1)

    @property
    def values(self) -> NDArray[np.float64]:
        """Noise-free raw values, larger is better, (agents, evaluations)."""
        return np.concatenate(self._values, axis=1)

    @property
    def observed(self) -> NDArray[np.float64]:
        """What the agents were told, (agents, evaluations)."""
        return np.concatenate(self._observed, axis=1)

    @property
    def best(self) -> NDArray[np.float64]:
        """Best value so far after the design and every round, (rounds + 1, agents)."""
        return best_so_far(np.stack([values.max(axis=1) for values in self._values]))


def build_problem(spec: RunSpec) -> Problem:
    """Return the problem of a run."""
    return make_problem(
        spec.problem,
        num_agents=spec.num_agents,
        streams=Streams(spec.seed),
        **spec.variation,
    )


@contextmanager
def measuring(
    spec: RunSpec, problem: Problem, jobs: int
) -> Generator[Measure, None, None]:
    """Provide what evaluates points, in so many processes.

    What is measured does not depend on their number: randomness is addressed.
    """
    if jobs == 1:
        streams = Streams(spec.seed)

        def measure(X: NDArray[np.float64], t: int) -> list[Measured]:
            return [
                task.measure(x, streams.at(Purpose.NOISE, agent=n, t=t))
                for n, (task, x) in enumerate(zip(problem.tasks, X, strict=True))
            ]

        yield measure
        return
    code = code_of(spec.problem) if is_file(spec.problem) else None
    # Not forked: a fork copies the locks of threads it does not copy.
    context = multiprocessing.get_context("spawn")
    # Any method: workers only evaluate, and need no method of one's own.
    bare = replace(spec, method="ucb", settings={})
    with ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_begin, initargs=(bare, code)
    ) as pool:

        def share(X: NDArray[np.float64], t: int) -> list[Measured]:
            return list(pool.map(_measure, range(len(X)), X, [t] * len(X)))

        yield share


_given: list[tuple[Problem, Streams]] = []
"""The problem of a worker process and its randomness, built when it begins."""


def _begin(spec: RunSpec, code: Plugin | None) -> None:
    if code is not None:
        take_code(code)
    _given.append((build_problem(spec), Streams(spec.seed)))


def _measure(n: int, X: Points, t: int) -> Measured:
    problem, streams = _given[0]
    with single_blas_thread():
        return problem.tasks[n].measure(X, streams.at(Purpose.NOISE, agent=n, t=t))


def final_choices(observed: NDArray[np.float64]) -> Sequence[int]:
    """Return which evaluation each agent would go on with: the best it observed."""
    return [int(n) for n in np.argmax(observed, axis=1)]
