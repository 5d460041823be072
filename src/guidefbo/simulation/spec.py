"""What defines a run: equal specs give equal records.

That holds on one machine and one set of library versions; others round otherwise.
"""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, cast

from guidefbo.core.checks import MAX_AGENTS, MAX_SEED, is_finite_number, require_count
from guidefbo.core.errors import SettingsError
from guidefbo.methods.record import Method
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import ProblemEntry, find_problem, refuse_variation
from guidefbo.problems.synthetic.make import Variation

COUNTS = (
    ("num_agents", 1, MAX_AGENTS),
    ("num_initial", 1, 10_000),
    ("num_rounds", 0, 100_000),
)
"""Whole numbers of a spec, the least and the most each may be."""
VARIATION = tuple(f.name for f in fields(Variation))
"""Fields about a synthetic problem; `noise` is one of any problem."""
MAX_NUMBERS = 10**8
"""Most coordinates in all queries and rotations of a run: what memory holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One run of one method on one problem.

    A field that is not given is the problem's own: of a synthetic problem 10
    coordinates, level 2, noise 0.1, 16 agents with 30 + 50 evaluations; of any other
    its sites and its budget.
    """

    problem: str = "ackley"
    """Name in the problem catalogue, or the file it is in: FILE.py:NAME."""
    dim: int | None = None
    """Coordinates of the search space of a synthetic problem."""
    level: int | None = None
    """Heterogeneity of a synthetic problem: 1 identical tasks, 2 mild, 3 severe."""
    common_shift: float | None = None
    """Random shift shared by all synthetic tasks, as a share of the box width."""
    noise: float | None = None
    """Standard deviation of the observation noise."""
    noise_units: str | None = None
    """Whether the noise of a synthetic problem is in scaled or raw objective units."""
    method: str | Method = "guide-ucb"
    """Name of a method, or a record, which is entered under its name."""
    num_agents: int = cast(int, None)
    """Sites: the first ones of a problem with a list of them."""
    num_initial: int = cast(int, None)
    """Initial evaluations of each agent."""
    num_rounds: int = cast(int, None)
    """Rounds after the initial design."""
    exchange_interval: int | None = None
    """Rounds from one exchange to the next, the first one being right after the initial
    design; agents hold on to what they heard. None: they exchange in every round."""
    seed: int = 0
    """Root of all randomness."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Settings that differ from the defaults."""

    def __post_init__(self) -> None:
        self._set("seed", require_count("seed", self.seed, 0, MAX_SEED))
        entry = find_problem(self.problem, self.seed)
        for name in ("num_agents", "num_initial", "num_rounds"):
            if getattr(self, name) is None:
                self._set(name, getattr(entry, name))
        for name, low, high in COUNTS:
            self._set(name, require_count(name, getattr(self, name), low, high))
        if self.exchange_interval is not None:
            every = require_count(
                "exchange_interval", self.exchange_interval, 1, 100_000
            )
            # One way to say it, so that equal runs have equal specs.
            self._set("exchange_interval", None if every == 1 else every)
        dim = self._settle(entry)
        rows = dim + self.num_initial + self.num_rounds
        if (size := self.num_agents * dim * rows) > MAX_NUMBERS:
            raise SettingsError(
                "num_agents x dim x (dim + num_initial + num_rounds) must be at most "
                f"{MAX_NUMBERS}, got {size}. Make the run smaller."
            )
        method = find_method(self.method)
        self._set("method", method.name)
        # Equal specs are to give equal records, however their numbers were written.
        self._set("settings", method.check_run(self.settings))

    def _settle(self, entry: ProblemEntry) -> int:
        """Fill in what the problem is, and return its coordinates where known."""
        given = self.variation
        if entry.function is None:
            refuse_variation(entry, given)
            if self.noise is not None:
                if not is_finite_number(self.noise) or self.noise < 0.0:
                    raise SettingsError(
                        "noise must be a finite standard deviation of 0 or more, got "
                        f"{self.noise!r}. Leave it out for the problem's own."
                    )
                self._set("noise", float(self.noise))
            if self.num_agents > entry.num_agents:
                raise SettingsError(
                    f"{entry.name} has {entry.num_agents} sites with seed "
                    f"{self.seed}, got num_agents {self.num_agents}. Ask for fewer."
                )
            return 1
        if self.dim is not None:
            self._set("dim", require_count("dim", self.dim, 1, 10_000))
            given["dim"] = self.dim
        variation = Variation(**given)
        variation.check(entry.function)
        for name in VARIATION:
            value = getattr(variation, name)
            is_real = name in ("common_shift", "noise")
            self._set(name, float(value) if is_real else value)
        return variation.dim

    @property
    def variation(self) -> dict[str, Any]:
        """What is said of the problem itself."""
        given = {name: getattr(self, name) for name in VARIATION}
        return {name: value for name, value in given.items() if value is not None}

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON values, without what its problem does not have."""
        form = asdict(self)
        return {name: value for name, value in form.items() if value is not None}
