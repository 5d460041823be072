"""The problems by name, and how to make one."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

import numpy as np

from guidefbo.core.checks import require_count
from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.core.names import require_name
from guidefbo.core.streams import Streams
from guidefbo.problems.files import code_of, is_file, read_tasks
from guidefbo.problems.own import Tasks
from guidefbo.problems.problem import Metric, OwnTask, Problem
from guidefbo.problems.realworld.entries import REAL_PROBLEMS
from guidefbo.problems.synthetic.function import SyntheticFunction
from guidefbo.problems.synthetic.functions import FUNCTIONS
from guidefbo.problems.synthetic.make import Variation, make_synthetic


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemEntry:
    """One line of the catalogue."""

    name: str
    """Name to ask for."""
    description: str
    """What it is, in one line."""
    function: SyntheticFunction | None = None
    """Base function of a synthetic problem."""
    tasks: Callable[[int], Tasks] | None = None
    """Makes the tasks of any other problem, from a seed."""
    num_agents: int = 16
    """Sites where a run does not say how many; of a problem with tasks, the most."""
    num_initial: int = 30
    """Initial evaluations where a run does not say how many."""
    num_rounds: int = 50
    """Rounds where a run does not say how many."""
    is_costly: bool = False
    """Whether evaluations take most of the time of a run."""
    digest: str = ""
    """Fingerprint of the file it is in, empty for none."""


def _entry(function: SyntheticFunction) -> ProblemEntry:
    low, high = function.domain
    text = f"{function.landscape}; box [{low:.5g}, {high:.5g}]"
    if function.min_dim > 1:
        text += f", {function.min_dim} dimensions or more"
    return ProblemEntry(name=function.name, description=text, function=function)


PROBLEMS: Mapping[str, ProblemEntry] = MappingProxyType(
    {name: _entry(function) for name, function in FUNCTIONS.items()}
)
"""The synthetic problems that come with the package."""
REALWORLD: Mapping[str, ProblemEntry] = MappingProxyType(
    {
        real.name: ProblemEntry(
            name=real.name,
            description=f"{real.text}; {real.num_agents} sites, real data",
            tasks=real.make,
            num_agents=real.num_agents,
            num_initial=real.num_initial,
            num_rounds=real.num_rounds,
            is_costly=real.is_costly,
        )
        for real in REAL_PROBLEMS
    }
)
"""The problems on real data that come with the package."""
GROUP = "guidefbo.problems"
"""Entry point group of installed packages, each entry a `SyntheticFunction`."""

_registered: dict[str, ProblemEntry] = {}
_files: dict[tuple[str, int], ProblemEntry] = {}
"""Problems in files by name and seed, as they were when last asked for."""


def register_problem(function: SyntheticFunction) -> None:
    """Enter a function of one's own; another one of the same name is refused."""
    require_name("The name of a problem", function.name)
    former = _registered.get(function.name)
    is_known = function.name in PROBLEMS or function.name in REALWORLD
    is_same = former is None or former.function == function
    if is_known or not (is_same or _is_reloaded(former, function)):
        raise SettingsError(
            f"There is a problem {function.name} already. Choose another name."
        )
    _registered[function.name] = _entry(function)


def find_problem(name: str, seed: int = 0) -> ProblemEntry:
    """Return the problem of that name or in that file, or name the nearest ones.

    Args:
        name: Its name.
        seed: Of the run: a problem in a file may have other sites with another one.
    """
    if is_file(name):
        return _find_file(name, seed)
    for known in (PROBLEMS, REALWORLD):
        if isinstance(name, str) and name in known:
            return known[name]
    if name not in _registered:
        _load_installed()
    if name not in _registered:
        refuse_unknown("problem", name, [*PROBLEMS, *REALWORLD, *_registered])
    return _registered[name]


def all_problems() -> list[ProblemEntry]:
    """Return every problem that has a name, those of the package first."""
    _load_installed()
    return [*PROBLEMS.values(), *REALWORLD.values(), *_registered.values()]


def make_problem(
    name: str,
    *,
    num_agents: int | None = None,
    streams: Streams,
    **variation: Any,
) -> Problem:
    """Return a problem of the catalogue, with its tasks drawn from `streams`.

    Args:
        name: Of a problem that comes with the package, is installed or registered, or
            the file it is in.
        num_agents: Number of tasks, the first ones; None: as many as the problem has.
        streams: Root of the tasks' randomness; the same root gives the same tasks.
        **variation: Fields of `Variation`, for a synthetic problem; `noise` for any.
    """
    entry = find_problem(name, streams.seed)
    count = entry.num_agents if num_agents is None else num_agents
    require_count("num_agents", count, 1)
    given = {key: value for key, value in variation.items() if value is not None}
    if entry.function is not None:
        return make_synthetic(entry.function, Variation(**given), count, streams)
    assert entry.tasks is not None  # an entry has one of the two
    refuse_variation(entry, given)
    return _own_problem(name, entry.tasks(streams.seed), count, **given)


def refuse_variation(entry: ProblemEntry, given: Mapping[str, Any]) -> None:
    """Refuse what can be said of synthetic problems only."""
    for key in given:
        if key != "noise":
            raise SettingsError(
                f"{entry.name} has no {key}: it is what its sites are. Leave {key} "
                "out, or choose a synthetic problem."
            )


def _own_problem(
    name: str, tasks: Tasks, num_agents: int, noise: float | None = None
) -> Problem:
    """Return the first tasks of a problem that was given as functions."""
    if num_agents > tasks.num_agents:
        raise SettingsError(
            f"{name} has {tasks.num_agents} sites, got num_agents {num_agents}."
        )
    few = slice(num_agents)
    noise_std = tasks.noise if noise is None else float(noise)
    metric = Metric(name=tasks.metric, unit=tasks.unit, goal=tasks.goal)
    observers = tasks.observers or [None] * tasks.num_agents
    return Problem(
        name=name,
        space=tasks.space,
        tasks=tuple(
            OwnTask(
                name=site,
                space=tasks.space,
                function=function,
                observer=observer,
                sign=metric.sign,
                noise_std=noise_std or 0.0,
            )
            for site, function, observer in zip(
                tasks.names[few], tasks.functions[few], observers[few], strict=True
            )
        ),
        noise_std=noise_std,
        metric=metric,
        optima=None if tasks.optima is None else np.array(tasks.optima[few], float),
        held_out=None if tasks.held_out is None else tuple(tasks.held_out[few]),
        settings=dict(tasks.settings),
        source=tasks.source,
    )


def _find_file(name: str, seed: int) -> ProblemEntry:
    """Return the problem in a file, read again where the file has changed."""
    code = code_of(name)
    digest = "" if code is None else code.digest
    former = _files.get((name, seed))
    if former is not None and code is not None and former.digest == digest:
        return former
    make, takes_seed = read_tasks(name)
    tasks = make(seed if takes_seed else 0)
    entry = ProblemEntry(
        name=name,
        description=tasks.source or f"problem of one's own, {tasks.metric}",
        tasks=make,
        num_agents=tasks.num_agents,
        num_initial=tasks.num_initial,
        num_rounds=tasks.num_rounds,
        is_costly=tasks.is_costly,
        digest=digest,
    )
    _files[name, seed] = entry
    return entry


def _load_installed() -> None:
    for point in entry_points(group=GROUP):
        if point.name in _registered:
            continue
        try:
            register_problem(point.load())
        except Exception as error:  # somebody else's package must not end ours
            warnings.warn(
                f"{point.value} of {GROUP} cannot be used: {error}",
                UserWarning,
                stacklevel=3,
            )


def _is_reloaded(former: ProblemEntry | None, function: SyntheticFunction) -> bool:
    """Whether a function is the former one, defined by the same code again."""
    if former is None or former.function is None:
        return False
    one, other = former.function.function, function.function
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
