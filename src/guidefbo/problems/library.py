"""The problems by name, and how to make one."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import MappingProxyType

import numpy as np

from guidefbo.core.arrays import Point
from guidefbo.core.checks import is_finite_number, require_count, shown
from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.core.names import require_name
from guidefbo.core.streams import Purpose, Streams
from guidefbo.problems.heterogeneity import (
    LEVELS,
    draw_common_shift,
    draw_rotation,
    draw_shift,
)
from guidefbo.problems.problem import Problem, Task
from guidefbo.problems.synthetic.function import SyntheticFunction
from guidefbo.problems.synthetic.functions import FUNCTIONS
from guidefbo.problems.wrappers.noise import Noise
from guidefbo.problems.wrappers.normalise import ScaleOutput, ToRaw, ToSearch
from guidefbo.problems.wrappers.rotate import Rotate
from guidefbo.problems.wrappers.shift import Shift
from guidefbo.problems.wrappers.sign import Negate
from guidefbo.problems.wrappers.stack import Stack

MAX_DIM = 1000
"""Largest number of coordinates of a catalogue problem."""
NOISE_UNITS = ("scaled", "raw")
"""Units in which noise can be given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemEntry:
    """One line of the catalogue."""

    name: str
    """Name to ask for."""
    description: str
    """What it is, in one line."""
    function: SyntheticFunction
    """Base function behind it."""


def _entry(function: SyntheticFunction) -> ProblemEntry:
    low, high = function.domain
    text = f"{function.landscape}; box [{low:.5g}, {high:.5g}]"
    if function.min_dim > 1:
        text += f", {function.min_dim} dimensions or more"
    return ProblemEntry(name=function.name, description=text, function=function)


PROBLEMS: Mapping[str, ProblemEntry] = MappingProxyType(
    {name: _entry(function) for name, function in FUNCTIONS.items()}
)
"""The problems that come with the package."""
GROUP = "guidefbo.problems"
"""Entry point group of installed packages, each entry a `SyntheticFunction`."""

_registered: dict[str, ProblemEntry] = {}


def register_problem(function: SyntheticFunction) -> None:
    """Enter a function of one's own; another one of the same name is refused."""
    require_name("The name of a problem", function.name)
    former = _registered.get(function.name)
    is_same = former is None or former.function == function
    if function.name in PROBLEMS or not (is_same or _is_reloaded(former, function)):
        raise SettingsError(
            f"There is a problem {function.name} already. Choose another name."
        )
    _registered[function.name] = _entry(function)


def find_problem(name: str) -> ProblemEntry:
    """Return the problem of that name, or name the nearest ones."""
    if isinstance(name, str) and name in PROBLEMS:
        return PROBLEMS[name]
    if name not in _registered:
        _load_installed()
    if name not in _registered:
        refuse_unknown("problem", name, [*PROBLEMS, *_registered])
    return _registered[name]


def all_problems() -> list[ProblemEntry]:
    """Return every problem, those of the package first."""
    _load_installed()
    return [*PROBLEMS.values(), *_registered.values()]


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
    if former is None:
        return False
    one, other = former.function.function, function.function
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def make_problem(
    name: str,
    *,
    dim: int = 10,
    num_agents: int = 16,
    level: int = 1,
    common_shift: float = 0.0,
    noise: float = 0.1,
    noise_units: str = "scaled",
    streams: Streams,
) -> Problem:
    """Return a problem of the catalogue, with its tasks drawn from `streams`.

    Args:
        name: Of a problem that comes with the package, is installed or registered.
        dim: Number of coordinates.
        num_agents: Number of tasks. A task depends on its own agent id only.
        level: Heterogeneity, from 1 (identical tasks) to 3 (strongly different).
        common_shift: Largest displacement, per coordinate and as a share of the box
            width, that all tasks have in common.
        noise: Standard deviation of an observation.
        noise_units: "scaled" for noise in units of the output scale, "raw" for noise
            in the objective's own unit.
        streams: Root of the tasks' randomness; the same root gives the same tasks.
    """
    check_problem(name, dim, num_agents, level, common_shift, noise, noise_units)
    function = find_problem(name).function
    scale = function.output_scale
    noise_std = float(noise) if noise_units == "scaled" else noise / scale
    common = draw_common_shift(common_shift, dim, streams.at(Purpose.COMMON_SHIFT))
    return Problem(
        name=name,
        level=level,
        common_shift=float(common_shift),
        bounds=np.tile(np.array([function.domain]).T, dim),
        maximum=function.maximum(dim),
        output_scale=scale,
        noise_std=noise_std,
        noise_units=noise_units,
        tasks=tuple(
            _make_task(function, level, common, noise_std, streams, agent)
            for agent in range(num_agents)
        ),
    )


def check_problem(
    name: str,
    dim: int,
    num_agents: int,
    level: int,
    common_shift: float,
    noise: float,
    noise_units: str,
) -> None:
    """Refuse what `make_problem` could not make, before anything is drawn."""
    _check_sizes(find_problem(name).function, dim, num_agents)
    _check_variation(level, common_shift)
    _check_noise(noise, noise_units)


def _make_task(
    function: SyntheticFunction,
    level: int,
    common: Point,
    noise_std: float,
    streams: Streams,
    agent: int,
) -> Task:
    dim = len(common)
    variation = LEVELS[level]
    shift_stream = streams.at(Purpose.TASK_SHIFT, agent=agent)
    shift = draw_shift(variation.shift_scale, dim, shift_stream) + common
    rotation_stream = streams.at(Purpose.TASK_ROTATION, agent=agent)
    rotation = draw_rotation(variation.rotation_scale, dim, rotation_stream)
    corner = np.full(dim, function.domain[0] / function.width)
    to_raw = ToRaw(width=np.full(dim, function.width))
    moves = (ToSearch(corner=corner), Shift(vector=shift), Rotate(matrix=rotation))
    return Task(
        objective=Stack(
            inputs=(*moves, to_raw),
            function=function,
            outputs=(Negate(),),
        ),  # E32
        scaling=ScaleOutput(scale=function.output_scale),
        noise=Noise(std=noise_std),
        maximiser=rotation.T @ (function.maximiser(dim) / function.width)
        + shift
        - corner,
    )


def _check_sizes(function: SyntheticFunction, dim: int, num_agents: int) -> None:
    require_count("dim", dim, 1)
    require_count("num_agents", num_agents, 1)
    if dim < function.min_dim:
        raise SettingsError(
            f"dim must be at least {function.min_dim} for {function.name}, got {dim}. "
            "Raise dim or choose another problem."
        )
    if dim > MAX_DIM:
        raise SettingsError(
            f"dim must be at most {MAX_DIM}, got {dim}. Choose fewer coordinates: "
            "every agent's rotation alone holds dim x dim numbers."
        )


def _check_variation(level: int, common_shift: float) -> None:
    if type(level) is not int or level not in LEVELS:
        raise SettingsError(
            f"level must be 1, 2 or 3, got {shown(level)}. "
            "Choose 1 for identical tasks, 3 for strongly different ones."
        )
    if not is_finite_number(common_shift) or not 0.0 <= common_shift <= 0.5:
        raise SettingsError(
            f"common_shift must lie between 0 and 0.5, got {shown(common_shift)}. "
            "It is a share of the box width; 0 leaves the tasks where they are."
        )


def _check_noise(noise: float, noise_units: str) -> None:
    if not is_finite_number(noise) or noise < 0.0:
        raise SettingsError(
            "noise must be a finite standard deviation of 0 or more, got "
            f"{shown(noise)}. Use 0 for exact observations."
        )
    if noise_units not in NOISE_UNITS:
        raise SettingsError(
            f"noise_units must be 'scaled' or 'raw', got {noise_units!r}. "
            "Use 'scaled' to compare with the paper."
        )
