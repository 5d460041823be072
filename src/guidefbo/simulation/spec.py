"""What defines a run: equal specs give equal records."""

from dataclasses import asdict, dataclass, field
from typing import Any

from guidefbo.core.checks import require_count
from guidefbo.methods.record import Method
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import check_problem

COUNTS = (
    ("dim", 1),
    ("num_agents", 1),
    ("num_initial", 1),
    ("num_rounds", 0),
    ("seed", 0),
)
"""Whole numbers of a spec and the least each may be."""


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
        for name, low in COUNTS:
            self._set(name, require_count(name, getattr(self, name), low))
        check_problem(
            self.problem,
            self.dim,
            self.num_agents,
            self.level,
            self.common_shift,
            self.noise,
            self.noise_units,
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
