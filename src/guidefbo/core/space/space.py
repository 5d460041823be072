"""Search spaces: named parameters to and from the unit cube.

Natural units live here and nowhere else; everything behind works on the unit cube.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Point
from guidefbo.core.checks import is_plain_text, shown
from guidefbo.core.domain import Domain, Stepped
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.constraints import AtMost, Constraint, SumTo
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.overshoot import nearest
from guidefbo.core.space.parameters import Bool, Choice, Float, Int, Parameter
from guidefbo.core.space.polytope import Polytope, has_point
from guidefbo.core.space.rounding import round_together
from guidefbo.core.space.scales import LARGEST
from guidefbo.core.space.settling import Ends, settled
from guidefbo.core.space.steps import Grid
from guidefbo.core.space.whole_sums import unmet

SLACK = 0.01
"""How far a told result may miss a constraint, relative to its bound or its largest
term: a scale that reads three digits never weighs a mixture to exactly one."""
Numbers = NDArray[np.float64]
FORBIDDEN = frozenset("=,")
"""Characters that would make name=value,name=value ambiguous."""


class Space:
    """Named parameters in a fixed order, perhaps under linear constraints.

    >>> dose, days = Float(1, 100, log=True), Int(1, 4)
    >>> space = Space(dose=dose, days=days, drug=Choice("a", "b"))
    >>> space.to_unit({"dose": 10.0, "days": 2, "drug": "a"}).tolist()
    [0.5, 0.375, 1.0, 0.0]
    """

    def __init__(self, /, **parameters: Parameter) -> None:
        """Create a space from parameters given by name."""
        if not parameters:
            raise SpaceError("A space needs at least one parameter, got none.")
        for name, parameter in parameters.items():
            if not isinstance(parameter, Float | Int | Levels | Choice | Bool):
                raise SpaceError(
                    f"Parameter {name} must be a Float, Int, Choice or Bool, got "
                    f"{shown(parameter)}."
                )
            is_trimmed = bool(name) and name == name.strip()
            if not is_trimmed or set(name) & FORBIDDEN or not is_plain_text(name):
                raise SpaceError(
                    "A parameter's name must be a text without '=', ',', line breaks "
                    "and control characters, not blank at its ends, got "
                    f"{shown(name)}."
                )
        self._parameters = MappingProxyType(dict(parameters))
        self._constraints: tuple[Constraint, ...] = ()

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name."""
        return self._parameters

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints between them."""
        return self._constraints

    def subject_to(self, *constraints: Constraint) -> Self:
        """Return the space with more constraints.

        >>> parts = Space(water=Float(0, 1), oil=Float(0, 1), soap=Float(0, 0.3))
        >>> parts = parts.subject_to(SumTo(1.0, "water", "oil", "soap"))
        """
        for constraint in constraints:
            self._check_constraint(constraint)
        space = type(self)(**self._parameters)
        space._constraints = (*self._constraints, *constraints)
        # An empty region is refused here, not at the first question. Where a point is
        # found at once, the solver and all that it loads can wait.
        names = space._constrained
        if not has_point(len(names), *space._limits(names)):
            _ = space.domain
        return space

    def unmet(self, ends: Ends | None = None) -> list[SumTo]:
        """Return the sums that no values on steps make, as far as that is certain.

        Args:
            ends: Bounds by name of the part of the space that is asked.
        """
        return unmet(self._constraints, self._limited, ends)

    def refuse_unmet(
        self, ends: Ends | None = None, known: Collection[SumTo] = ()
    ) -> None:
        """Refuse a sum that no values on steps make.

        Not where a space is read: files may hold one from before.

        Args:
            ends: Bounds by name of the part of the space that is asked.
            known: Sums that were not met before either.
        """
        for limit in self.unmet(ends):
            if limit not in known:
                steps = ", ".join(
                    f"{name} in steps of {p.step:g} from {p.low:g}"
                    for name, p in self._limited.items()
                    if name in limit.names
                )
                raise SpaceError(
                    f"Expected steps that can add up, got {limit}, which no values "
                    f"that are asked make: {steps}. Change a step, a bound or the total"
                    ", or leave one parameter without steps."
                )

    @cached_property
    def dim(self) -> int:
        """Number of coordinates of the unit cube."""
        return sum(parameter.size for parameter in self._parameters.values())

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """The coordinates of each parameter."""
        places: dict[str, slice] = {}
        start = 0
        for name, parameter in self._parameters.items():
            places[name] = slice(start, start + parameter.size)
            start += parameter.size
        return MappingProxyType(places)

    @cached_property
    def domain(self) -> Domain:
        """The part of the unit cube that stands for values."""
        items = [(self.places[n].start, p) for n, p in self._parameters.items()]
        names = self._constrained
        return Domain(
            dim=self.dim,
            stepped=self._stepped(names),
            blocks=tuple((i, p) for i, p in items if isinstance(p, Choice)),
            columns=np.array([self.places[n].start for n in names], dtype=np.intp),
            polytope=self._polytope(names) if names else None,
        )

    @property
    def _constrained(self) -> list[str]:
        """The parameters that constraints name, in the order of their coordinates."""
        return sorted(
            {name for c in self._constraints for name in c.coefficients},
            key=lambda name: self.places[name].start,
        )

    def _stepped(self, constrained: list[str]) -> tuple[tuple[int, Stepped], ...]:
        """Return the coordinates that sit on steps; not those that share a sum."""
        stepped: list[tuple[int, Stepped]] = []
        for name, p in self._parameters.items():
            grid = p.grid if isinstance(p, Float) and name not in constrained else p
            if isinstance(grid, Int | Levels | Bool | Grid):
                stepped.append((self.places[name].start, grid))
        return tuple(stepped)

    def from_unit(self, x: Point, ends: Ends | None = None) -> dict[str, Any]:
        """Return the values at a point of the unit cube, those that would be asked.

        Args:
            x: The point.
            ends: Bounds by name of the part of the space it is in; where a limit is
                missed by rounding, nothing moves beyond them.
        """
        values: dict[str, Any] = {}
        for name, parameter in self._parameters.items():
            block = x[self.places[name]]
            if isinstance(parameter, Choice):
                values[name] = parameter.from_unit(block)
            else:
                values[name] = parameter.from_unit(float(block[0]))
        if not self._constraints:
            return values
        floats = self._limited
        values |= self._rounded(x, floats, ends)
        return settled(values, floats, self._constraints, ends)

    @cached_property
    def _limited(self) -> dict[str, Float]:
        """The parameters that constraints name."""
        return {
            name: p
            for name, p in self._parameters.items()
            if isinstance(p, Float)
            and any(name in c.coefficients for c in self._constraints)
        }

    def _rounded(
        self, x: Point, floats: Mapping[str, Float], ends: Ends | None
    ) -> dict[str, float]:
        """Return the values under constraints where some of them come in steps."""
        if all(p.step is None for p in floats.values()):
            return {}
        smooth = {
            n: replace(p, step=None).from_unit(float(x[self.places[n].start]))
            for n, p in floats.items()
        }
        return round_together(smooth, floats, self._constraints, ends)

    def to_unit(self, values: Mapping[str, Any], *, overshoot: float = 0.0) -> Point:
        """Return the point of the unit cube with these values.

        Args:
            values: Values by name.
            overshoot: How far a number may lie beyond its bounds, as a share of the
                range, and then stands for the bound; so far a constraint may be missed.
        """
        if not isinstance(values, Mapping) or (
            values.keys() != self._parameters.keys()
        ):
            arrived = list(values) if isinstance(values, Mapping) else shown(values)
            raise SpaceError(
                f"Expected values for {list(self._parameters)}, got {arrived}."
            )
        x = np.empty(self.dim)
        for name, parameter in self._parameters.items():
            try:
                inside = nearest(parameter, values[name], overshoot)
                x[self.places[name]] = parameter.to_unit(inside)
            except SpaceError as error:
                raise SpaceError(f"Parameter {name}: {error}") from None
        self._check_reach(values, max(SLACK, overshoot))
        return x

    def outside(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Return the numbers beyond their bounds by name, each as the bound next to it.

        >>> Space(heat=Float(0.5, 2.0)).outside({"heat": 0.498})
        {'heat': 0.5}
        """
        return {
            name: bound
            for name, parameter in self._parameters.items()
            if (bound := nearest(parameter, values[name], np.inf)) != values[name]
        }

    def clean(
        self, values: Mapping[str, Any], *, overshoot: float = 0.0
    ) -> dict[str, Any]:
        """Return values as this space writes them, or refuse them.

        Args:
            values: Values by name.
            overshoot: How far a number may lie beyond its bounds, as a share of the
                range; it is returned as it is.
        """
        self.to_unit(values, overshoot=overshoot)
        return {
            name: parameter.clean(values[name])
            for name, parameter in self._parameters.items()
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return (
            list(self._parameters.items()) == list(other._parameters.items())
            and self._constraints == other._constraints
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be copied or sent to another process as it is.
        return _rebuild, (dict(self._parameters), self._constraints)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={p!r}" for name, p in self._parameters.items())
        limits = ", ".join(map(repr, self._constraints))
        return f"Space({inner})" + (f".subject_to({limits})" if limits else "")

    def _check_constraint(self, constraint: Constraint) -> None:
        if not isinstance(constraint, AtMost | SumTo):
            raise SpaceError(
                f"A constraint must be an AtMost or a SumTo, got {shown(constraint)}."
            )
        for name in constraint.coefficients:
            parameter = self._parameters.get(name)
            if not isinstance(parameter, Float) or parameter.log:
                what = "no parameter" if parameter is None else repr(parameter)
                raise SpaceError(
                    "A constraint may name linear Float parameters only; "
                    f"{name!r} is {what}."
                )

    def _limits(self, names: list[str]) -> tuple[Matrix, Numbers, Matrix, Numbers]:
        """Return A, b, E and e of A u <= b and E u = e, over the named coordinates."""
        floats = [self._parameters[name] for name in names]
        low = np.array([p.low for p in floats if isinstance(p, Float)], dtype=float)
        high = np.array([p.high for p in floats if isinstance(p, Float)], dtype=float)
        rows: dict[bool, list[Point]] = {True: [], False: []}
        ends: dict[bool, list[float]] = {True: [], False: []}
        for c in self._constraints:
            a = np.array([c.coefficients.get(name, 0.0) for name in names])
            if max(np.abs(a)) > LARGEST / max(high - low):
                raise SpaceError(f"Expected numbers of moderate size, got {c}.")
            is_equal = isinstance(c, SumTo)
            bound = c.total if isinstance(c, SumTo) else c.bound
            rows[is_equal].append(a * (high - low))
            ends[is_equal].append(float(bound - a @ low))
        k = len(names)
        A, E = (np.array(rows[is_equal]).reshape(-1, k) for is_equal in (False, True))
        return A, np.array(ends[False]), E, np.array(ends[True])

    def _polytope(self, names: list[str]) -> Polytope:
        """Return the constraints in units of the cube, over the named coordinates."""
        A, b, E, e = self._limits(names)
        try:
            return Polytope.of(len(names), A=A, b=b, E=E, e=e)
        except SpaceError as error:
            limits = "; ".join(map(str, self._constraints))
            raise SpaceError(
                f"No values satisfy the constraints and the bounds together: {limits}. "
                "Widen a bound or drop a constraint."
            ) from error

    def _check_reach(self, values: Mapping[str, Any], slack: float) -> None:
        """Refuse values that miss a constraint by more than rounding on a scale."""
        for c in self._constraints:
            spans = [
                abs(a) * (p.high - p.low)
                for name, a in c.coefficients.items()
                if isinstance(p := self._parameters[name], Float)
            ]
            bound = c.total if isinstance(c, SumTo) else c.bound
            reach = max(abs(bound), *spans)
            miss = c.excess(values)
            miss = abs(miss) if isinstance(c, SumTo) else miss
            if miss > slack * reach:
                raise SpaceError(f"Expected values with {c}, missed by {miss:g}.")


def _rebuild(
    parameters: dict[str, Parameter], constraints: tuple[Constraint, ...]
) -> Space:
    space = Space(**parameters)
    return space.subject_to(*constraints) if constraints else space
