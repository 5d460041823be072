"""What a federation is run on: one task per agent, over a common box.

Points are in the unit cube and larger values are better, everywhere. Raw values are in
the objective's own unit; scaled values are what an agent observes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Point, Points, Values, frozen_array
from guidefbo.core.errors import SpaceError
from guidefbo.problems.wrappers.noise import Noise
from guidefbo.problems.wrappers.normalise import ScaleOutput


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Task:
    """One agent's black box."""

    objective: Callable[[Points], Values]
    """Noise-free raw values of unit-cube points, to be maximised."""
    scaling: ScaleOutput
    """From raw to scaled values."""
    noise: Noise
    """Observation noise, in scaled units."""
    maximiser: Point
    """Unit-cube coordinates of the base maximum; a shift may put it outside."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "maximiser", frozen_array(self.maximiser))

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.maximiser)

    @property
    def noise_std(self) -> float:
        """Standard deviation of an observation, in scaled units."""
        return self.noise.std

    # The two doors take any array: its shape is checked here, with a plain message.
    def evaluate(self, X: NDArray[np.float64]) -> Values:
        """Return the noise-free raw values at unit-cube points, one per row."""
        if X.ndim != 2 or X.shape[1] != self.dim:
            raise SpaceError(
                f"points must form an array of shape (n, {self.dim}), got {X.shape}. "
                "Give one row per point, also for a single point."
            )
        return self.objective(X)

    def observe(self, X: NDArray[np.float64], stream: np.random.Generator) -> Values:
        """Return noisy scaled values at unit-cube points, one per row."""
        return self.noise(self.scaling(self.evaluate(X)), stream)

    def __repr__(self) -> str:
        return f"{self.noise!r}({self.scaling!r}({self.objective!r}))"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """A named set of tasks, one per agent, all to be maximised."""

    name: str
    """Name in the catalogue."""
    level: int
    """Heterogeneity level, 1 to 3."""
    common_shift: float
    """Largest displacement shared by all tasks, as a share of the box width."""
    bounds: Matrix
    """Raw box: a row of lower ends and a row of upper ends."""
    maximum: float
    """Largest raw value of the base function, the reference of the regret."""
    output_scale: float
    """Raw value that counts as one in scaled units."""
    noise_std: float
    """Standard deviation of an observation, in scaled units."""
    noise_units: str
    """Unit in which the noise was asked for: scaled or raw."""
    tasks: tuple[Task, ...]
    """The agents' tasks, by agent id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", frozen_array(self.bounds))

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.bounds.shape[1]

    @property
    def num_agents(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    @property
    def noise_variance(self) -> float:
        """Variance of an observation, in scaled units."""
        return self.noise_std**2
