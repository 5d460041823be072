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
from guidefbo.core.parameters import Bool, Choice, Int
from guidefbo.core.polytope import Polytope

Change = Callable[[Points], NDArray[np.float64]]
"""(n, d) points -> (n, ways, d) points with one parameter changed."""


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The part of the unit cube that stands for values."""

    dim: int
    """Number of coordinates."""
    stepped: tuple[tuple[int, Int | Bool], ...] = ()
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
        """Return the points with steps and options at the middle of their cells."""
        if not self.is_discrete:
            return X
        snapped = X.copy()
        for i, parameter in self.stepped:
            snapped[:, i] = parameter.snap(X[:, i])
        for i, choice in self.blocks:
            snapped[:, i : i + choice.size] = choice.snap(X[:, i : i + choice.size])
        return snapped

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
        """One function for each parameter with steps or options.

        It returns every row of X with that parameter changed in every way worth
        trying, (n, ways, d).
        """
        steps = [partial(_other_steps, i, p) for i, p in self.stepped]
        options = [partial(_other_options, i, p) for i, p in self.blocks]
        return (*steps, *options)


def _other_steps(i: int, parameter: Int | Bool, X: Points) -> NDArray[np.float64]:
    return _changed(X, slice(i, i + 1), parameter.steps(X[:, i])[..., None])


def _other_options(i: int, choice: Choice, X: Points) -> NDArray[np.float64]:
    return _changed(X, slice(i, i + choice.size), np.eye(choice.size)[None])


def _changed(
    X: Points, where: slice, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    changed = np.repeat(X[:, None, :], values.shape[1], axis=1)
    changed[:, :, where] = values
    return changed
