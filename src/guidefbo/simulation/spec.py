"""What defines a run: equal specs give equal records.

That holds on one machine and one set of library versions; others round otherwise.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from guidefbo.core.checks import MAX_AGENTS, MAX_SEED, require_count
from guidefbo.core.errors import SettingsError
from guidefbo.methods.record import Method
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import check_problem

COUNTS = (
    ("dim", 1, 10_000),
    ("num_agents", 1, MAX_AGENTS),
    ("num_initial", 1, 10_000),
    ("num_rounds", 0, 100_000),
    ("seed", 0, MAX_SEED),
)
"""Whole numbers of a spec, the least and the most each may be."""
MAX_NUMBERS = 10**8
"""Most coordinates in all queries and rotations of a run: what memory holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One run of one method on one catalogue problem."""

    problem: str = "ackley"
    """Name in the problem catalogue."""
    dim: int = 10
    """Coordinates of the search space."""
    level: int = 2
    """Heterogeneity: 1 identical tasks, 2 mild, 3 severe."""
    common_shift: float = 0.0
    """Random shift shared by all tasks, as a share of the box width."""
    noise: float = 0.1
    """Standard deviation of the observation noise."""
    noise_units: str = "scaled"
    """Whether `noise` is in scaled or raw objective units."""
    method: str | Method = "guide-ucb"
    """Name of a method, or a record, which is entered under its name."""
    num_agents: int = 16
    """Sites."""
    num_initial: int = 30
    """Initial evaluations of each agent."""
    num_rounds: int = 50
    """Rounds after the initial design."""
    seed: int = 0
    """Root of all randomness."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Settings that differ from the defaults."""

    def __post_init__(self) -> None:
        for name, low, high in COUNTS:
            self._set(name, require_count(name, getattr(self, name), low, high))
        check_problem(
            self.problem,
            self.dim,
            self.num_agents,
            self.level,
            self.common_shift,
            self.noise,
            self.noise_units,
        )
        rows = self.dim + self.num_initial + self.num_rounds
        if (size := self.num_agents * self.dim * rows) > MAX_NUMBERS:
            raise SettingsError(
                "num_agents x dim x (dim + num_initial + num_rounds) must be at most "
                f"{MAX_NUMBERS}, got {size}. Make the run smaller."
            )
        method = find_method(self.method)
        self._set("method", method.name)
        # Equal specs are to give equal records, however their numbers were written.
        self._set("settings", method.check_run(self.settings))
        self._set("noise", float(self.noise))
        self._set("common_shift", float(self.common_shift))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON values."""
        return asdict(self)
