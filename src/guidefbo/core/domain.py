"""Where in the unit cube a query may lie.

The whole cube (a box), or less: coordinates that sit on steps, blocks that stand for
one option each, and columns subject to linear constraints.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Others, Points
from guidefbo.core.designs import sobol
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Bool, Choice, Int
from guidefbo.core.space.polytope import Polytope
from guidefbo.core.space.scales import Block, IntScale
from guidefbo.core.space.steps import Grid

Stepped = Int | Levels | Bool | Grid
"""A parameter of one coordinate that knows only certain values."""
Snap = Callable[[Block], Block]
"""Positions -> the middles of their cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The alternative values of one parameter, for a coordinate search."""

    where: slice
    """Its coordinates. An alternative sets one of them and all others to zero."""
    columns: NDArray[np.intp]
    """(alternatives,) the coordinate each one sets."""
    values: Callable[[Block], Block]
    """(n, size) present coordinates -> (n, alternatives) the value each one sets."""
    is_complete: bool
    """Whether all values of the parameter are among them, whatever the present one."""


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The part of the unit cube that stands for values."""

    dim: int
    """Number of coordinates."""
    stepped: tuple[tuple[int, Stepped], ...] = ()
    """Coordinates that sit on steps, with the parameter that knows them."""
    blocks: tuple[tuple[int, Choice], ...] = ()
    """First coordinates of the blocks that stand for one option each."""
    columns: NDArray[np.intp] = field(
        default_factory=lambda: np.empty(0, dtype=np.intp)
    )
    """Coordinates under linear constraints."""
    polytope: Polytope | None = None
    """What those may be."""

    @classmethod
    def box(cls, dim: int) -> Self:
        """Return the whole unit cube."""
        return cls(dim=dim)

    @property
    def is_box(self) -> bool:
        """Whether every point of the unit cube will do."""
        return not self.is_discrete and self.polytope is None

    @property
    def is_discrete(self) -> bool:
        """Whether some coordinates know only certain values."""
        return bool(self.stepped or self.blocks)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which coordinates move continuously, (d,)."""
        free = np.ones(self.dim, dtype=np.bool_)
        for i, _ in self.stepped:
            free[i] = False
        for i, choice in self.blocks:
            free[i : i + choice.size] = False
        return free

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """Which coordinates share a lengthscale, (d,): those of one choice do."""
        starts = np.ones(self.dim, dtype=np.intp)
        for i, choice in self.blocks:
            starts[i + 1 : i + choice.size] = 0
        return np.cumsum(starts) - 1

    def snap(self, X: Points) -> Points:
        """Return the points with steps and options at the middle of their cells.

        Blocks at an option already, as all of a search are, cost a look and no copy.
        """
        if not self.is_discrete:
            return X
        snapped = X
        for columns, snap in self._alike:
            u = X[:, columns]
            middles = snap(u)
            if middles is not u:
                snapped = X.copy() if snapped is X else snapped
                snapped[:, columns] = middles
        return snapped

    def admit(self, X: Points) -> Points:
        """Return points of the domain near given ones of the unit cube."""
        if self.polytope is not None:
            X = X.copy()
            X[:, self.columns] = self.polytope.repair(X[:, self.columns])
        return self.snap(X)

    @cached_property
    def _alike(self) -> tuple[tuple[slice | list[int], Snap], ...]:
        """Columns that snap in one call, so that many parameters take few."""
        alike: list[tuple[list[int], Snap]] = []
        ints = [(i, p) for i, p in self.stepped if isinstance(p, Int)]
        for is_log in (False, True):
            members = [(i, p.scale) for i, p in ints if p.log is is_log]
            if members:
                scale = IntScale.side_by_side([scale for _, scale in members])
                alike.append(([i for i, _ in members], scale.snap))
        alike += [
            ([i], p.snap) for i, p in self.stepped if isinstance(p, Levels | Grid)
        ]
        bools = [i for i, p in self.stepped if isinstance(p, Bool)]
        if bools:
            alike.append((bools, Bool().snap))
        for choice in {choice.size: choice for _, choice in self.blocks}.values():
            starts = [i for i, p in self.blocks if p.size == choice.size]
            columns = [i + j for i in starts for j in range(choice.size)]
            alike.append((columns, partial(_snap_blocks, choice)))
        return tuple((_compact(columns), snap) for columns, snap in alike)

    def sample(self, num_points: int, stream: np.random.Generator) -> Points:
        """Return independent points, uniform over the domain."""
        return self.place(stream.random((num_points, self.num_parameters)), stream)

    def spread(self, num_points: int, stream: np.random.Generator) -> Points:
        """Return points that fill the domain evenly; under constraints, at random."""
        return self.place(sobol(num_points, self.num_parameters, stream), stream)

    def place(self, U: Others, stream: np.random.Generator) -> NDArray[np.float64]:
        """Return the points whose parameters have the positions U, (n, parameters).

        A choice has one position, whose equal parts stand for its options; constrained
        coordinates are drawn at random instead.
        """
        X = U[:, self.groups]
        for i, choice in self.blocks:
            block = slice(i, i + choice.size)
            X[:, block] = choice.at_share(U[:, self.groups[i]])
        if self.polytope is not None:
            X[:, self.columns] = self.polytope.sample(len(X), stream)
        return self.snap(X)

    @property
    def num_parameters(self) -> int:
        """Number of parameters: a choice counts once."""
        return int(self.groups[-1]) + 1

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """One for each parameter with steps or options, in every way worth trying."""
        steps = [_other_steps(i, parameter) for i, parameter in self.stepped]
        options = [_other_options(i, choice) for i, choice in self.blocks]
        return (*steps, *options)


def _compact(columns: list[int]) -> slice | list[int]:
    """Return neighbouring columns as a slice, which copies nothing."""
    span = range(columns[0], columns[-1] + 1)
    return slice(span.start, span.stop) if columns == list(span) else columns


def _snap_blocks(choice: Choice, u: Block) -> Block:
    """Return blocks of the choice's size side by side, (n, k size), each snapped."""
    blocks = u.reshape(len(u), u.shape[1] // choice.size, choice.size)
    snapped = choice.snap(blocks)
    return u if snapped is blocks else snapped.reshape(u.shape)


def _other_steps(i: int, parameter: Stepped) -> Change:
    num_ways = parameter.steps(np.zeros(1)).shape[1]
    return Change(
        where=slice(i, i + 1),
        columns=np.repeat(np.intp(i), num_ways),
        values=partial(_steps, parameter),
        is_complete=isinstance(parameter, Bool) or parameter.has_few_levels,
    )


def _other_options(i: int, choice: Choice) -> Change:
    return Change(
        where=slice(i, i + choice.size),
        columns=np.arange(i, i + choice.size),
        values=partial(_options, choice),
        is_complete=True,
    )


def _steps(parameter: Stepped, block: Block) -> Block:
    return parameter.steps(block[:, 0])


def _options(choice: Choice, block: Block) -> Block:
    return np.ones((len(block), choice.size))
