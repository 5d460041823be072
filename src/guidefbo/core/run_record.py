"""The record of a run: what stands in its file, in one place for who writes and reads.

A file may come from anywhere: a field that is malformed counts as not there, and a
record without its curve is no record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Values
from guidefbo.core.checks import is_finite_number

RUN_FORMAT = "guidefbo-run"
RUN_VERSION = 1
WEIGHT = "weight."
"""Before the name of a model, where a run says how likely it was."""
MAX_NUMBER = 1e100
"""Largest number in a record: sums and squares of such are finite."""

Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunRecord:
    """What a finished run left behind."""

    curve: Values | None = None
    """Mean simple regret after the initial design and after every round; None where no
    optimum is known."""
    regret_in_box: Values | None = None
    """The same against the best points inside the box, of a synthetic problem."""
    mean_metric: Values | None = None
    """Mean best value so far, for problems whose values have a name."""
    metric: Mapping[str, str] = field(default_factory=dict[str, str])
    """That name, with its unit and goal."""
    optima: NDArray[np.float64] | None = None
    """The best value of each agent's task, where it is known."""
    held_out: NDArray[np.float64] | None = None
    """Score of each agent's final choice on data that its objective never saw."""
    maximum: float | None = None
    """Largest value of a synthetic problem's base function, the paper's reference."""
    num_honest: int | None = None
    """Agents that do not lie, the first ones."""
    space: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the coordinates of queries stand for."""
    sites: Sequence[str] = ()
    """Names of the agents' sites."""
    source: str = ""
    """Where the numbers of the problem come from."""
    best_value: Matrix | None = None
    """(num_rounds + 1, num_agents) best noise-free value so far, raw units."""
    scalars: Numbers = field(default_factory=dict[str, float])
    """Scalars per agent and round, up and down."""
    scalars_paper: Numbers = field(default_factory=dict[str, float])
    """The same by the paper's own accounting."""
    num_bytes: Numbers = field(default_factory=dict[str, float])
    """Bytes per agent and round, up and down."""
    seconds: Numbers = field(default_factory=dict[str, float])
    """Wall-clock seconds in total and per stage."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Versions the run was made with."""

    def to_form(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of a run of this spec as JSON values."""
        frame = {"format": RUN_FORMAT, "version": RUN_VERSION, "spec": dict(spec)}
        return frame | self.entries()

    def entries(self) -> dict[str, Any]:
        """Return the fields that are there as JSON values."""
        arrays = {
            "mean_simple_regret": self.curve,
            "regret_inbox": self.regret_in_box,
            "mean_metric": self.mean_metric,
            "best_value": self.best_value,
            "optima": self.optima,
            "held_out": self.held_out,
        }
        named = {
            "environment": self.environment,
            "metric": self.metric,
            "scalars": self.scalars,
            "scalars_paper": self.scalars_paper,
            "bytes": self.num_bytes,
            "seconds": self.seconds,
            "space": self.space,
        }
        single = {"maximum": self.maximum, "num_honest": self.num_honest}
        entries = {name: a.tolist() for name, a in arrays.items() if a is not None}
        entries |= {name: dict(value) for name, value in named.items() if value}
        entries |= {name: value for name, value in single.items() if value is not None}
        entries |= {"sites": list(self.sites)} if self.sites else {}
        return entries | ({"source": self.source} if self.source else {})


def is_number(value: Any) -> bool:
    """Whether a value is a number that tables and figures can be made of."""
    return is_finite_number(value) and abs(value) <= MAX_NUMBER


def is_curve(value: Any) -> bool:
    """Whether a value is a list of such numbers, one or more."""
    if not isinstance(value, list) or not value:
        return False
    return all(map(is_number, cast(list[Any], value)))


def numbers_of(value: Any) -> Values | None:
    """Return a list of such numbers as an array, None for anything else."""
    return np.array(value, dtype=np.float64) if is_curve(value) else None


def numbers(value: Any) -> dict[str, float]:
    """Return the entries of a table that are numbers."""
    pairs = cast(dict[str, Any], value).items() if isinstance(value, dict) else ()
    return {str(k): float(v) for k, v in pairs if is_number(v)}


def texts(value: Any) -> dict[str, str]:
    """Return the entries of a table as texts."""
    pairs = cast(dict[str, Any], value).items() if isinstance(value, dict) else ()
    return {str(k): str(v) for k, v in pairs}
