"""The part of a space that a site can run: fewer options, narrower bounds.

The model and the messages stay those of the whole space. The search happens in a space
of its own, whose unit cube is mapped into the whole one: x = offset + z S.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import is_finite_number, shown
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.constraints import AtMost, Constraint, SumTo
from guidefbo.core.space.parameters import Choice, Float, Int, Parameter
from guidefbo.core.space.space import Space

Reals = NDArray[np.float64]
"""Points of the search and of the whole, which have different dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """A part of a space, and its way into the whole."""

    domain: Domain
    """Where the search may look, in its own unit cube."""
    offset: Reals
    """(d,) the whole point of the search's origin."""
    scale: Reals
    """(search's coordinates, d)."""

    @classmethod
    def of(
        cls,
        space: Space,
        *,
        within: Mapping[str, tuple[float, float]],
        without: Mapping[str, tuple[Any, ...]],
        fixed: Mapping[str, Any],
    ) -> "Region":
        """Return the region of a space, or refuse what leaves nothing to look for.

        Args:
            space: The whole space.
            within: Narrower bounds by name.
            without: Options that are never asked, by name.
            fixed: Values that are always asked, by name.
        """
        parts: dict[str, Parameter] = {}
        held = dict(fixed)
        for name in (*within, *without, *fixed):
            if name not in space.parameters:
                raise SpaceError(f"There is no parameter {name!r} to limit.")
        for name, parameter in space.parameters.items():
            if name in held:
                try:
                    parameter.to_unit(held[name])
                except SpaceError as error:
                    raise SpaceError(f"Parameter {name}: {error}") from None
                continue
            part = _narrowed(name, parameter, within, without)
            if isinstance(part, Parameter):
                parts[name] = part
            else:
                held[name] = part[0]
        if not parts:
            raise SpaceError("Every parameter is fixed; leave one that may vary.")
        small = Space(**parts)
        constraints = _left(space.constraints, held)
        small = small.subject_to(*constraints) if constraints else small
        offset, scale = np.zeros(space.dim), np.zeros((small.dim, space.dim))
        for name, parameter in space.parameters.items():
            place = space.places[name]
            if name in held:
                offset[place] = parameter.to_unit(held[name])
                continue
            part, own = parts[name], small.places[name]
            if isinstance(part, Choice) and isinstance(parameter, Choice):
                for k, option in enumerate(part.options):
                    column = place.start + parameter.options.index(option)
                    scale[own.start + k, column] = 1.0
            else:
                first, last = (
                    (0.0, 1.0) if part is parameter else _ends(parameter, part)
                )
                offset[place], scale[own.start, place.start] = first, last - first
        return cls(domain=small.domain, offset=offset, scale=scale)

    def embed(self, Z: Reals) -> Reals:
        """Return points of the search in the whole cube."""
        return np.clip(self.offset + Z @ self.scale, 0.0, 1.0)

    def pull(self, X: Reals) -> Reals:
        """Return points of the search near given ones of the whole cube."""
        rates = self.scale.sum(axis=1)
        Z = (X - self.offset) @ np.sign(self.scale).T / rates
        return self.domain.admit(np.clip(Z, 0.0, 1.0))


def _narrowed(
    name: str,
    parameter: Parameter,
    within: Mapping[str, tuple[float, float]],
    without: Mapping[str, tuple[Any, ...]],
) -> Parameter | tuple[Any]:
    """Return a parameter with what is left of it, or the one value that is left."""
    if name in without:
        if not isinstance(parameter, Choice):
            raise SpaceError(f"Parameter {name} has no options to leave out.")
        gone = [parameter.clean(_known(name, parameter, o)) for o in without[name]]
        rest = [option for option in parameter.options if option not in gone]
        if not rest:
            raise SpaceError(f"Parameter {name} has no option left.")
        return (rest[0],) if len(rest) == 1 else Choice(*rest, unit=parameter.unit)
    if name not in within:
        return parameter
    low, high = within[name]
    if not isinstance(parameter, Float | Int) or not (
        is_finite_number(low)
        and is_finite_number(high)
        and parameter.low <= low < high <= parameter.high
    ):
        raise SpaceError(
            f"Parameter {name}: expected narrower bounds of a number, low < high, "
            f"within its own, got {shown((low, high))}."
        )
    ends = low, high
    if isinstance(parameter, Float) and parameter.step is not None:
        # From the first step of the whole grid that is inside.
        steps = np.ceil((low - parameter.low) / parameter.step - 1e-9)
        grid = parameter.grid
        assert grid is not None
        low = grid.value(int(steps))
    if isinstance(parameter, Int):
        low, high = int(np.ceil(low)), int(np.floor(high))
    try:
        return replace(parameter, low=low, high=high)
    except SpaceError:
        raise SpaceError(_too_narrow(name, parameter, ends, low)) from None


def _too_narrow(
    name: str, parameter: Float | Int, ends: tuple[float, float], first: float
) -> str:
    """Return why bounds that hold less than two values are refused."""
    values = "whole numbers"
    if isinstance(parameter, Float):
        assert parameter.step is not None
        values = f"values on its steps of {parameter.step:g} from {parameter.low:g}"
    held = f"only {first:g} lies" if first <= ends[1] else "none lies"
    return (
        f"Parameter {name}: expected narrower bounds with at least two of the {values}"
        f", got {shown(ends)}, between which {held}. Widen them, or fix the parameter."
    )


def _known(name: str, choice: Choice, option: Any) -> Any:
    if option not in choice.options:
        raise SpaceError(
            f"Parameter {name}: expected one of {shown(choice.options)}, got "
            f"{shown(option)}."
        )
    return option


def _ends(whole: Parameter, part: Parameter) -> tuple[float, float]:
    """Return where the ends of a part's unit interval lie in the whole one's.

    Both are linear, or both linear in the logarithm, so that the ends tell all.
    """
    assert isinstance(whole, Float | Int)
    assert isinstance(part, Float | Int)
    half = 0.5 if isinstance(whole, Int) else 0.0
    edges = np.array([part.low - half, part.high + half], dtype=np.float64)
    ends = np.array([whole.low - half, whole.high + half], dtype=np.float64)
    if whole.log:
        edges, ends = np.log(edges), np.log(ends)
    first, last = (edges - ends[0]) / (ends[1] - ends[0])
    return float(first), float(last)


def _left(
    constraints: tuple[Constraint, ...], held: Mapping[str, Any]
) -> list[Constraint]:
    """Return constraints between the parameters that are left."""
    left: list[Constraint] = []
    for constraint in constraints:
        moved = sum(
            a * held[n] for n, a in constraint.coefficients.items() if n in held
        )
        rest = {n: a for n, a in constraint.coefficients.items() if n not in held}
        if isinstance(constraint, SumTo):
            if len(rest) == 1:
                raise SpaceError(
                    f"With all others fixed, {constraint} leaves {next(iter(rest))} no "
                    "choice: fix it as well."
                )
            if rest:
                left.append(SumTo(constraint.total - moved, *rest))
        elif any(rest.values()):
            left.append(AtMost(rest, constraint.bound - moved))
    return left
