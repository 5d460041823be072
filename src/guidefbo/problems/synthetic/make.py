"""Make a synthetic problem: one base function, moved and turned for every agent."""

from dataclasses import dataclass

import numpy as np

from guidefbo.core.arrays import Point
from guidefbo.core.checks import is_finite_number, require_count, shown
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Purpose, Streams
from guidefbo.problems.heterogeneity import (
    LEVELS,
    draw_common_shift,
    draw_rotation,
    draw_shift,
)
from guidefbo.problems.problem import Problem, SyntheticTask
from guidefbo.problems.synthetic.function import SyntheticFunction
from guidefbo.problems.synthetic.maps import (
    Negate,
    Noise,
    Rotate,
    ScaleOutput,
    Shift,
    Stack,
    ToRaw,
    ToSearch,
)

MAX_DIM = 1000
"""Largest number of coordinates of a synthetic problem."""
NOISE_UNITS = ("scaled", "raw")
"""Units in which noise can be given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What a run says about a synthetic problem."""

    dim: int = 10
    """Number of coordinates."""
    level: int = 2
    """Heterogeneity, from 1 (identical tasks) to 3 (strongly different)."""
    common_shift: float = 0.0
    """Largest displacement, per coordinate and as a share of the box width, that all
    tasks have in common."""
    noise: float = 0.1
    """Standard deviation of an observation."""
    noise_units: str = "scaled"
    """"scaled" for noise in units of the output scale, "raw" for noise in the
    objective's own unit."""

    def check(self, function: SyntheticFunction) -> None:
        """Refuse what could not be made of a function, before anything is drawn."""
        require_count("dim", self.dim, 1)
        if self.dim < function.min_dim:
            raise SettingsError(
                f"dim must be at least {function.min_dim} for {function.name}, got "
                f"{self.dim}. Raise dim or choose another problem."
            )
        if self.dim > MAX_DIM:
            raise SettingsError(
                f"dim must be at most {MAX_DIM}, got {self.dim}. Choose fewer "
                "coordinates: every agent's rotation alone holds dim x dim numbers."
            )
        if type(self.level) is not int or self.level not in LEVELS:
            raise SettingsError(
                f"level must be 1, 2 or 3, got {shown(self.level)}. "
                "Choose 1 for identical tasks, 3 for strongly different ones."
            )
        shift = self.common_shift
        if not is_finite_number(shift) or not 0.0 <= shift <= 0.5:
            raise SettingsError(
                f"common_shift must lie between 0 and 0.5, got {shown(shift)}. "
                "It is a share of the box width; 0 leaves the tasks where they are."
            )
        if not is_finite_number(self.noise) or self.noise < 0.0:
            raise SettingsError(
                "noise must be a finite standard deviation of 0 or more, got "
                f"{shown(self.noise)}. Use 0 for exact observations."
            )
        if self.noise_units not in NOISE_UNITS:
            raise SettingsError(
                f"noise_units must be 'scaled' or 'raw', got {self.noise_units!r}. "
                "Use 'scaled' to compare with the paper."
            )


def make_synthetic(
    function: SyntheticFunction,
    variation: Variation,
    num_agents: int,
    streams: Streams,
) -> Problem:
    """Return the tasks of a function.

    Args:
        function: Base function.
        variation: How the tasks differ, and their noise.
        num_agents: Number of tasks. A task depends on its own agent id only.
        streams: Root of the tasks' randomness; the same root gives the same tasks.
    """
    v, dim = variation, variation.dim
    v.check(function)
    scale = function.output_scale
    noise_std = float(v.noise) if v.noise_units == "scaled" else v.noise / scale
    common = draw_common_shift(v.common_shift, dim, streams.at(Purpose.COMMON_SHIFT))
    low, high = function.domain
    return Problem(
        name=function.name,
        space=Space(**{f"x{i + 1}": Float(low, high) for i in range(dim)}),
        is_synthetic=True,
        maximum=function.maximum(dim),
        output_scale=scale,
        noise_std=noise_std,
        tasks=tuple(
            _make_task(function, v.level, common, noise_std, streams, agent)
            for agent in range(num_agents)
        ),
    )


def _make_task(
    function: SyntheticFunction,
    level: int,
    common: Point,
    noise_std: float,
    streams: Streams,
    agent: int,
) -> SyntheticTask:
    dim = len(common)
    variation = LEVELS[level]
    shift_stream = streams.at(Purpose.TASK_SHIFT, agent=agent)
    shift = draw_shift(variation.shift_scale, dim, shift_stream) + common
    rotation_stream = streams.at(Purpose.TASK_ROTATION, agent=agent)
    rotation = draw_rotation(variation.rotation_scale, dim, rotation_stream)
    corner = np.full(dim, function.domain[0] / function.width)
    to_raw = ToRaw(width=np.full(dim, function.width))
    moves = (ToSearch(corner=corner), Shift(vector=shift), Rotate(matrix=rotation))
    return SyntheticTask(
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
