"""Parameters in Optuna's values and in an agent's."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from guidefbo.core.checks import shown
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Bool, Choice, Float, Int, Parameter
from guidefbo.core.space.space import Space

NEAR = 1e-6
"""How far from its level a value may be, in steps."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter, in Optuna's values and in the agent's."""

    parameter: Parameter
    """The agent's."""
    distribution: BaseDistribution | None = None
    """Optuna's; None where the space is the agent's: whether an objective says log=True
    and in which order it lists options is its own affair."""
    is_index: bool = False
    """Whether the agent knows values by their position only."""

    @classmethod
    def of(cls, distribution: BaseDistribution) -> "Axis | None":
        """Return the axis of a distribution, None of one that an agent cannot have."""
        try:
            match distribution:
                case CategoricalDistribution(choices=choices):
                    if len(choices) == 2 and all(type(c) is bool for c in choices):
                        return cls(Bool(), distribution)
                    # By position: options may be anything, also None.
                    return cls(
                        Choice(*map(str, range(len(choices)))), distribution, True
                    )
                case IntDistribution(low=low, high=high, step=1):
                    return cls(Int(low, high, log=distribution.log), distribution)
                case FloatDistribution(low=low, high=high, step=None):
                    return cls(Float(low, high, log=distribution.log), distribution)
                case IntDistribution() | FloatDistribution():
                    last = round(
                        (distribution.high - distribution.low) / _step(distribution)
                    )
                    return cls(Int(0, last), distribution, True)
                case _:
                    return None
        except SpaceError:
            return None

    def to_site(self, value: Any) -> Any:
        """Return the agent's value for one of Optuna's, or refuse it."""
        if isinstance(self.parameter, Levels):
            value = min(self.parameter.values, key=lambda level: abs(level - value))
        elif self.is_index and isinstance(self.distribution, CategoricalDistribution):
            if value not in self.distribution.choices:
                raise SpaceError(f"Expected an option, got {shown(value)}.")
            value = str(int(self.distribution.to_internal_repr(value)))
        elif self.is_index:
            steps = cast(FloatDistribution | IntDistribution, self.distribution)
            place = (value - steps.low) / _step(steps)
            if abs(place - round(place)) > NEAR:
                raise SpaceError(f"Expected a whole step, got {shown(value)}.")
            value = round(place)
        self.parameter.to_unit(value)
        return self.parameter.clean(value)

    def to_optuna(self, value: Any) -> Any:
        """Return Optuna's value for one of the agent's."""
        if not self.is_index:
            return value
        if isinstance(self.distribution, CategoricalDistribution):
            return self.distribution.choices[int(value)]
        steps = cast(FloatDistribution | IntDistribution, self.distribution)
        return min(steps.low + value * _step(steps), steps.high)


@dataclass(frozen=True)
class Axes:
    """The parameters that are decided together, by Optuna's names."""

    axes: Mapping[str, Axis]
    """By name."""
    space: Space
    """The agent's space, in the same order."""

    @classmethod
    def of(cls, distributions: Mapping[str, BaseDistribution]) -> "Axes | None":
        """Return the axes of distributions, None where there is nothing to decide."""
        found = {name: Axis.of(d) for name, d in distributions.items()}
        axes = {name: axis for name, axis in found.items() if axis is not None}
        if not axes:
            return None
        # Optuna's names may be any text.
        names = {f"p{k}": axis.parameter for k, axis in enumerate(axes.values())}
        return cls(axes, Space(**names))

    @classmethod
    def of_space(cls, space: Space) -> "Axes":
        """Return the axes of an agent's space."""
        return cls({name: Axis(p) for name, p in space.parameters.items()}, space)

    @cached_property
    def relative(self) -> dict[str, BaseDistribution]:
        """What Optuna is told of them."""
        return {n: a.distribution for n, a in self.axes.items() if a.distribution}

    def known(self, *params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the agent's values of some parameters, by Optuna's names."""
        given = {k: v for some in params for k, v in (some or {}).items()}
        values: dict[str, Any] = {}
        for name, axis in self.axes.items():
            if name in given:
                try:
                    values[name] = axis.to_site(given[name])
                except (SpaceError, TypeError, ValueError) as error:
                    raise SpaceError(f"{name}: {error}") from error
        return values

    def whole(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values by the agent's names, or refuse them."""
        if missing := self.axes.keys() - values.keys():
            raise SpaceError(f"There is no value of {', '.join(sorted(missing))}.")
        pairs = zip(self.space.parameters, self.axes, strict=True)
        return self.space.clean({own: values[name] for own, name in pairs})

    def by_name(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return an agent's values by Optuna's names."""
        return dict(zip(self.axes, values.values(), strict=True))


def can_suggest(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a value can be suggested by a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    if isinstance(value, str | bool):
        return False
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    is_whole = isinstance(value, int) or float(value).is_integer()
    is_kind = is_whole or isinstance(distribution, FloatDistribution)
    return is_kind and distribution.low <= value <= distribution.high


def _step(distribution: FloatDistribution | IntDistribution) -> float:
    return 1 if distribution.step is None else distribution.step
