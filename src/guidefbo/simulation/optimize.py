"""Optimise a user's own functions together, one agent each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.checks import is_finite_number, require_count, shown
from guidefbo.core.errors import DataError, SettingsError
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Purpose, Streams
from guidefbo.server.side import ServerSide
from guidefbo.simulation.result import Evaluation, OptimizeResult
from guidefbo.site.agent import Agent
from guidefbo.site.trial import Trial
from guidefbo.wire.codec import decode, encode

Objective = Callable[[dict[str, Any]], float]
"""Takes a dict of values, returns a number."""


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
        )
        for n in range(len(functions))
    ]
    server = agents[0].setup.server_side()
    history: list[Evaluation] = []

    def evaluate(n: int, trial: Trial, t: int) -> None:
        values = dict(trial.values)
        value = _call(functions[n], n, values)
        agents[n].tell(trial, value)
        history.append(Evaluation(agent=n, round=t, values=values, value=value))

    for n, agent in enumerate(agents):
        for trial in agent.ask(initial):
            evaluate(n, trial, 0)
    for t in range(1, rounds + 1):
        if server is not None:
            _exchange(agents, server, t, seed)
        for n, trial in enumerate([agent.ask() for agent in agents]):
            evaluate(n, trial, t)
        if progress is not None:
            best = OptimizeResult.of(goal, method, space, history).best
            progress(t, [evaluation.value for evaluation in best])
    return OptimizeResult.of(goal, method, space, history)


def _exchange(agents: Sequence[Agent], server: ServerSide, t: int, seed: int) -> None:
    """Hand every agent's message to the server and its packet back."""
    messages = {n: agent.upload() for n, agent in enumerate(agents)}
    uploads = {
        n: decode(encode(message), server.upload_type)
        for n, message in messages.items()
        if message is not None
    }
    stream = Streams(seed).at(Purpose.DISPATCH, t=t)
    for n, packet in server.aggregate(uploads, t, stream).items():
        agents[n].receive(encode(packet))


def _call(function: Objective, n: int, values: dict[str, Any]) -> float:
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
        require_count(name, value, low)
