"""Optimise a user's own functions together, one agent each."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.checks import is_finite_number, require_count, shown
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.space import Space
from guidefbo.methods.default import DEFAULT_METHOD
from guidefbo.methods.record import Method
from guidefbo.server.exchange import exchange
from guidefbo.server.side import ServerSide
from guidefbo.simulation.federation import site_name
from guidefbo.simulation.result import Evaluation, Failure, OptimizeResult
from guidefbo.site.agent import Agent
from guidefbo.site.trial import Trial

Objective = Callable[[dict[str, Any]], float]
"""Takes a dict of values, returns a number."""
MAX_EVALUATIONS = 10_000
"""Most initial evaluations, and most rounds."""
MAX_REASON = 300
"""Characters kept of what a function says when it raises."""


def optimize(
    functions: Sequence[Objective],
    space: Space,
    *,
    goal: str,
    method: str | Method = DEFAULT_METHOD,
    initial: int = 10,
    rounds: int = 30,
    noise: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, Sequence[float]], None] | None = None,
) -> OptimizeResult:
    """Optimise several related functions at once, one agent for each.

    An evaluation that raises, or returns no finite number, is told as a failure: the
    run goes on, and the result lists it under `failures`. Ctrl-C ends the run and
    returns what there is, `interrupted`.

    >>> from guidefbo import Float, Space, optimize
    >>> shifted = [lambda v, c=c: (v["x"] - c) ** 2 for c in (0.4, 0.5)]
    >>> result = optimize(shifted, Space(x=Float(0, 1)), goal="min", rounds=5)
    >>> abs(result.best[0].values["x"] - 0.4) < 0.1
    True

    Args:
        functions: One objective per site; each takes a dict and returns a float.
        space: The common search space.
        goal: "max" or "min".
        method: Name of a method, or a record.
        initial: Initial evaluations of each function.
        rounds: Rounds after that; every function is evaluated once per round.
        noise: Standard deviation of one evaluation, or None to fit it.
        seed: Root of all randomness.
        settings: Settings of the method that differ from the defaults.
        progress: Called after every round with the round and the best values so far,
            not-a-number for a function that gave none yet.
    """
    _check_arguments(functions, space, initial, rounds)
    agents = [
        Agent(
            space,
            goal=goal,
            method=method,
            seed=seed,
            noise=noise,
            initial=initial,
            agent_id=n,
            num_agents=len(functions),
            settings=settings,
            site=site_name(n),
            # The method weighs the others anew in every round, as in the studies.
            patience=0,
        )
        for n in range(len(functions))
    ]
    server, name = agents[0].setup.server_side(), str(agents[0].setup.method)
    history: list[Evaluation] = []
    failures: list[Failure] = []

    def evaluate(n: int, trial: Trial, t: int) -> None:
        values = dict(trial.values)
        outcome = _call(functions[n], values)
        if isinstance(outcome, str):
            agents[n].tell(trial, failed=outcome)
            failures.append(Failure(agent=n, round=t, values=values, reason=outcome))
            return
        agents[n].tell(trial, outcome)
        history.append(Evaluation(agent=n, round=t, values=values, value=outcome))

    def result(*, interrupted: bool = False) -> OptimizeResult:
        return OptimizeResult.of(
            goal,
            name,
            space,
            history,
            num_agents=len(agents),
            failures=failures,
            interrupted=interrupted,
        )

    try:
        for n, agent in enumerate(agents):
            for trial in agent.ask(initial):
                evaluate(n, trial, 0)
        for t in range(1, rounds + 1):
            if server is not None:
                _exchange(agents, server, t, seed)
            for n, trial in enumerate([agent.ask() for agent in agents]):
                evaluate(n, trial, t)
            if progress is not None:
                best = result().best
                progress(t, [math.nan if e is None else e.value for e in best])
    except KeyboardInterrupt:
        # What was evaluated is worth more than the traceback.
        return result(interrupted=True)
    return result()


def _exchange(agents: Sequence[Agent], server: ServerSide, t: int, seed: int) -> None:
    """Hand every agent's message to the server and its packet back."""
    messages = {site_name(n): agent.upload() for n, agent in enumerate(agents)}
    uploads = {n: m.to_bytes() for n, m in messages.items() if m is not None}
    answer = exchange(server, uploads, t=t, seed=seed, is_run=True)
    for name, packet in answer.packets.items():
        agents[int(name)].receive(packet)


def _call(function: Objective, values: dict[str, Any]) -> float | str:
    """Return what a function makes of a point, or why that is no value."""
    try:
        returned: Any = function(dict(values))
    except Exception as error:
        said = " ".join(str(error).split())
        # As it is printed: no control characters, however the error was worded.
        text = said if said.isprintable() else ascii(said)[1:-1]
        kind = type(error).__name__
        return f"{kind}: {text[:MAX_REASON]}" if text else kind
    if not is_finite_number(returned) or abs(float(returned)) > MAX_VALUE:
        return (
            f"expected a finite number of at most {MAX_VALUE:g} in size, got "
            f"{shown(returned)}"
        )
    return float(returned)


def _check_arguments(
    functions: Sequence[Objective],
    space: Space,
    initial: int,
    rounds: int,
) -> None:
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
        require_count(name, value, low, MAX_EVALUATIONS)
