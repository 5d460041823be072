"""What a federation is run on: one task per agent, over a common search space.

Points are in the unit cube and larger values are better, everywhere. Raw values are in
the objective's own unit; scaled values are what an agent observes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Point, Points, Values, frozen_array
from guidefbo.core.checks import is_finite_number, shown
from guidefbo.core.errors import DataError, SpaceError
from guidefbo.core.space.space import Space
from guidefbo.problems.own import Function, Observer
from guidefbo.problems.synthetic.maps import Noise, ScaleOutput


class Measured(NamedTuple):
    """What evaluations came to."""

    values: Values
    """Noise-free raw values, larger is better."""
    observed: Values
    """What the agent is told."""


class Task(Protocol):
    """One agent's black box."""

    def evaluate(self, X: NDArray[np.float64]) -> Values:
        """Return the noise-free raw values at unit-cube points, one per row."""
        ...

    def measure(self, X: NDArray[np.float64], stream: np.random.Generator) -> Measured:
        """Evaluate unit-cube points, one per row, each once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What a problem's values are called."""

    name: str = "simple regret"
    """Name of the objective."""
    unit: str = ""
    """Its unit, empty for none."""
    goal: str = "max"
    """Either max or min."""

    @property
    def sign(self) -> float:
        """What turns own values into ones of which larger are better, and back."""
        return 1.0 if self.goal == "max" else -1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SyntheticTask:
    """A base function, moved and turned, with noise."""

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

    def measure(self, X: NDArray[np.float64], stream: np.random.Generator) -> Measured:
        """Return raw values and noisy scaled ones at unit-cube points."""
        values = self.evaluate(X)
        return Measured(values, self.noise(self.scaling(values), stream))

    def observe(self, X: NDArray[np.float64], stream: np.random.Generator) -> Values:
        """Return noisy scaled values at unit-cube points, one per row."""
        return self.measure(X, stream).observed

    def __repr__(self) -> str:
        return f"{self.noise!r}({self.scaling!r}({self.objective!r}))"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnTask:
    """A function of values by name, as a user or a data set gives it."""

    name: str
    """Name of the site."""
    space: Space
    """Names and units of its parameters."""
    function: Function
    """The objective without noise."""
    observer: Observer | None
    """One noisy measurement; None: the function, with `noise_std` added."""
    sign: float
    """1 where larger is better, -1 where smaller is."""
    noise_std: float
    """Standard deviation of what is added."""

    def evaluate(self, X: NDArray[np.float64]) -> Values:
        """Return the values without noise, so that larger is better."""
        rows = [self.space.from_unit(x) for x in X]
        return self.sign * np.array([self._number(self.function, r) for r in rows])

    def measure(self, X: NDArray[np.float64], stream: np.random.Generator) -> Measured:
        """Return own values and observed ones, both so that larger is better."""
        values = self.evaluate(X)
        if self.observer is None:
            noise = self.noise_std * stream.standard_normal(len(values))
            return Measured(values, values + noise)
        observer = self.observer
        rows = [self.space.from_unit(x) for x in X]
        noisy = [self._number(lambda v: observer(v, stream), row) for row in rows]
        return Measured(values, self.sign * np.array(noisy))

    def _number(self, function: Function, values: dict[str, Any]) -> float:
        try:
            returned: Any = function(dict(values))
        except (Exception, SystemExit) as error:  # whatever a function may raise
            raise DataError(
                f"The function of {self.name} failed at {values}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not is_finite_number(returned):
            raise DataError(
                f"The function of {self.name} must return a finite number, got "
                f"{shown(returned)} at {values}."
            )
        return float(returned)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """A named set of tasks, one per agent, all to be maximised."""

    name: str
    """Name in the catalogue."""
    space: Space
    """What the coordinates of the unit cube stand for."""
    tasks: tuple[Task, ...]
    """The agents' tasks, by agent id."""
    noise_std: float | None
    """Standard deviation of an observation that agents know; None: they fit it."""
    metric: Metric = field(default_factory=Metric)
    """What the values are called."""
    is_synthetic: bool = False
    """Whether agents model scaled values as they are, as in the paper's studies;
    otherwise they standardise what they observe, as sites do."""
    output_scale: float = 1.0
    """Raw value that counts as one in what agents observe."""
    maximum: float | None = None
    """Largest raw value of the base function, the paper's reference of the regret."""
    optima: Values | None = None
    """The best own value of each task, where it is known."""
    held_out: tuple[Function, ...] | None = None
    """Scores of final choices on data that the objectives never saw."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of methods that have them, where a run does not say otherwise."""
    source: str = ""
    """Where the numbers come from."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.space.dim

    @property
    def num_agents(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the agents' sites; none where they are only numbered."""
        return tuple(task.name for task in self.tasks if isinstance(task, OwnTask))
