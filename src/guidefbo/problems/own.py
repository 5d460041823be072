"""A problem as anybody writes it: one function a site, over a common search space.

    import guidefbo as gf

    def reaction(seed: int = 0) -> gf.Tasks:
        space = gf.Space(dose=gf.Float(0.1, 10, log=True), drug=gf.Choice("a", "b"))
        return gf.Tasks(space, [north, south], goal="max", metric="yield", unit="%")

A function takes the values by name and returns a number. The problems on real data
that come with the package are made of the same part.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from guidefbo.core.checks import is_finite_number, is_plain_text, require_count, shown
from guidefbo.core.errors import SettingsError
from guidefbo.core.names import require_name
from guidefbo.core.space.goal import require_goal
from guidefbo.core.space.space import Space

Function = Callable[[dict[str, Any]], float]
"""Values by name -> the objective, in its own unit and without noise where possible."""
Observer = Callable[[dict[str, Any], np.random.Generator], float]
"""The same, as one noisy measurement."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """The sites of a problem, in their own units.

    >>> from guidefbo import Float, Space
    >>> Tasks(Space(x=Float(0, 1)), [lambda v: v["x"]], goal="max").num_agents
    1
    """

    space: Space
    """The common search space; constraints and choices are allowed."""
    functions: Sequence[Function]
    """One objective a site."""
    goal: str = field(default="max", kw_only=True)
    """Either max or min."""
    names: Sequence[str] = field(default=(), kw_only=True)
    """Names of the sites; none: site-0, site-1, ..."""
    noise: float | None = field(default=None, kw_only=True)
    """Standard deviation of the noise that is added to every observation and that the
    agents know. None: nothing is added, and the agents fit the noise they see."""
    observers: Sequence[Observer] | None = field(default=None, kw_only=True)
    """Noisy measurements, one a site, where noise is not simply added."""
    optima: Sequence[float] | None = field(default=None, kw_only=True)
    """The best value each site can reach, where it is known: then there is a regret."""
    held_out: Sequence[Function] | None = field(default=None, kw_only=True)
    """Scores on data that the objective never saw, asked once for the final choice."""
    metric: str = field(default="value", kw_only=True)
    """What the objective is called."""
    unit: str = field(default="", kw_only=True)
    """Unit of the objective, empty for none."""
    num_initial: int = field(default=10, kw_only=True)
    """Initial evaluations of a site where a run does not say how many."""
    num_rounds: int = field(default=30, kw_only=True)
    """Rounds where a run does not say how many."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    """Settings for those methods that have them, where a run does not say otherwise."""
    is_costly: bool = field(default=False, kw_only=True)
    """Whether evaluations take most of the time: sites are then evaluated at once."""
    source: str = field(default="", kw_only=True)
    """Where the numbers come from, in one sentence for reports."""

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise SettingsError(
                f"space must be a guidefbo.Space, got {shown(self.space)}. For example "
                "Space(dose=Float(0, 1))."
            )
        require_goal(self.goal)
        _require_callables("functions", self.functions)
        for name in ("observers", "held_out"):
            if (given := getattr(self, name)) is not None:
                _require_callables(name, given)
        names = tuple(self.names) or tuple(f"site-{n}" for n in range(self.num_agents))
        for name in names:
            require_name("The name of a site", name)
        if len(set(names)) != len(names):
            raise SettingsError(f"Sites need different names, got {shown(names)}.")
        object.__setattr__(self, "names", names)
        for name in ("names", "observers", "optima", "held_out"):
            given = getattr(self, name)
            if given is not None and len(given) != self.num_agents:
                raise SettingsError(
                    f"{name} must hold one entry a function, {self.num_agents}, got "
                    f"{len(given)}."
                )
        if self.optima is not None and not all(map(is_finite_number, self.optima)):
            raise SettingsError(f"optima must be numbers, got {shown(self.optima)}.")
        if self.noise is not None and not (
            is_finite_number(self.noise) and self.noise >= 0.0
        ):
            raise SettingsError(
                "noise must be a finite standard deviation of 0 or more, or not be "
                f"given, got {shown(self.noise)}."
            )
        for name in ("metric", "unit", "source"):
            if not is_plain_text(getattr(self, name)):
                raise SettingsError(
                    f"{name} must be a text that can be printed, got "
                    f"{shown(getattr(self, name))}."
                )
        require_count("num_initial", self.num_initial, 1, 10_000)
        require_count("num_rounds", self.num_rounds, 0, 100_000)

    @property
    def num_agents(self) -> int:
        """Number of sites."""
        return len(self.functions)


def _require_callables(name: str, given: Any) -> None:
    listed = cast(Sequence[Any], given) if isinstance(given, Sequence) else ()
    if not listed or not all(map(callable, listed)):
        raise SettingsError(
            f"{name} must be a list of at least one callable, got {shown(given)}. "
            "Write [f] for a single function."
        )
