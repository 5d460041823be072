"""Optimise a user's own functions together, one agent each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.arrays import Points, Values
from guidefbo.core.errors import DataError, SettingsError
from guidefbo.core.numbers import is_finite_number, require_count, shown
from guidefbo.core.space import Space
from guidefbo.core.streams import Streams
from guidefbo.methods.catalog import find_method
from guidefbo.methods.settings import Settings
from guidefbo.simulation.assemble import assemble, initial_design
from guidefbo.simulation.result import Evaluation, OptimizeResult
from guidefbo.simulation.threads import single_blas_thread

Objective = Callable[[dict[str, float]], float]
"""Takes a dict of values, returns a number."""

SIGNS = {"max": 1.0, "min": -1.0}


def optimize(
    functions: Sequence[Objective],
    space: Space,
    *,
    goal: str,
    method: str = "guide-ucb",
    initial: int = 10,
    rounds: int = 30,
    noise: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, Sequence[float]], None] | None = None,
) -> OptimizeResult:
    """Optimise several related functions at once, one agent for each.

    >>> from guidefbo import Float, Space, optimize
    >>> shifted = [lambda v, c=c: (v["x"] - c) ** 2 for c in (0.4, 0.5)]
    >>> result = optimize(shifted, Space(x=Float(0, 1)), goal="min", rounds=5)
    >>> abs(result.best[0].values["x"] - 0.4) < 0.1
    True

    Args:
        functions: One objective per site; each takes a dict and returns a float.
        space: The common search space.
        goal: "max" or "min".
        method: Name in the method catalogue.
        initial: Initial evaluations of each function.
        rounds: Rounds after that; every function is evaluated once per round.
        noise: Standard deviation of one evaluation, or None to fit it.
        seed: Root of all randomness.
        settings: Settings of the method that differ from the defaults.
        progress: Called after every round with the round and the best values so far.
    """
    _check_arguments(functions, space, goal, initial, rounds, noise)
    chosen, options = find_method(method), Settings.of(settings or {})
    streams, sign = Streams(seed), SIGNS[goal]
    history: list[Evaluation] = []

    def evaluate(n: int, x: Points, t: int) -> float:
        values = space.from_unit(x[0])
        value = _call(functions[n], n, values)
        history.append(Evaluation(agent=n, round=t, values=values, value=value))
        return sign * value

    def observe(n: int, X: Points) -> Values:
        return np.array([evaluate(n, x[None], 0) for x in X])

    with single_blas_thread():
        design = initial_design(len(functions), initial, space.dim, streams)
        federation = assemble(
            chosen,
            options,
            design,
            observe,
            noise_std=noise,
            is_standardised=True,
            streams=streams,
        )
        for t in range(1, rounds + 1):
            federation.round(t, evaluate)
            if progress is not None:
                best = OptimizeResult.of(goal, method, space, history).best
                progress(t, [evaluation.value for evaluation in best])
    return OptimizeResult.of(goal, method, space, history)


def _call(function: Objective, n: int, values: dict[str, float]) -> float:
    returned: Any = function(dict(values))
    if not is_finite_number(returned) or abs(float(returned)) > MAX_VALUE:
        raise DataError(
            f"Function {n} must return a finite number, got {shown(returned)} at "
            f"{values}. Return a bad but finite value where an evaluation fails."
        )
    return float(returned)


def _check_arguments(
    functions: Sequence[Objective],
    space: Space,
    goal: str,
    initial: int,
    rounds: int,
    noise: float | None,
) -> None:
    if goal not in SIGNS:
        raise SettingsError(f"goal must be 'max' or 'min', got {goal!r}.")
    is_list = isinstance(functions, Sequence) and len(functions) > 0
    if not is_list or not all(map(callable, functions)):
        raise SettingsError(
            "functions must be a list of at least one callable, got "
            f"{shown(functions)}. Write [f] for a single function."
        )
    if not isinstance(space, Space):
        raise SettingsError(
            f"space must be a guidefbo.Space, got {shown(space)}. For example "
            "Space(dose=Float(0, 1))."
        )
    for name, value, low in (("initial", initial, 1), ("rounds", rounds, 0)):
        require_count(name, value, low)
    if noise is not None and not (is_finite_number(noise) and noise >= 0.0):
        raise SettingsError(
            f"noise must be None or a finite standard deviation, got {shown(noise)}."
        )
