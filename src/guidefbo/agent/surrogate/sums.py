"""Fast evaluation of functions when one coordinate of a point changes.

Kernels, random features and guidance components depend on a point x through sums over
its coordinates, such as squared distances and inner products:

    S_i(x) = c_i + Σ_j (a_ji x_j² + b_ji x_j).

A search over discrete coordinates changes one of them at a time. It stores the sums and
replaces one term of each, instead of computing all d terms anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix, Points

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]
T = TypeVar("T")
U = TypeVar("U")


class Sums(Protocol):
    """m sums over the coordinates of a point."""

    def at(self, X: Points) -> Matrix:
        """Return the sums at the rows of X, (n, m)."""
        ...

    def of_block(self, where: slice, block: Matrix) -> Matrix:
        """Return what neighbouring coordinates add, (n, m).

        Args:
            where: The coordinates.
            block: Their values, (n, size).
        """
        ...

    def of_each(self, columns: Indices, values: Reals) -> Reals:
        """Return what single coordinates add, (..., k, m).

        Args:
            columns: The coordinates, (k,).
            values: Their values, (..., k).
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Quadratics:
    """The sums S_i."""

    squares: Matrix
    """a, (d, m), or (d, 1) where it is the same in all sums."""
    slopes: Matrix
    """b, (d, m)."""
    constants: Reals
    """c, (m,)."""

    @classmethod
    def side_by_side(cls, parts: Sequence["Quadratics"]) -> Self:
        """Return the sums of several, one after the other."""
        squares = [np.broadcast_to(part.squares, part.slopes.shape) for part in parts]
        return cls(
            squares=np.concatenate(squares, axis=1),
            slopes=np.concatenate([part.slopes for part in parts], axis=1),
            constants=np.concatenate([part.constants for part in parts]),
        )

    def at(self, X: Points) -> Matrix:
        """Return the sums at the rows of X, (n, m)."""
        return self.of_block(slice(None), X) + self.constants

    def of_block(self, where: slice, block: Matrix) -> Matrix:
        """Return what neighbouring coordinates add, (n, m)."""
        return block @ self.slopes[where] + block**2 @ self.squares[where]

    def of_each(self, columns: Indices, values: Reals) -> Reals:
        """Return what single coordinates add, (..., k, m)."""
        v = values[..., None]
        return v * (v * self.squares[columns] + self.slopes[columns])


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The point itself as d sums, for functions that have no such form."""

    dim: int
    """Number of coordinates."""

    def at(self, X: Points) -> Matrix:
        """Return the rows of X."""
        return X.copy()

    def of_block(self, where: slice, block: Matrix) -> Matrix:
        """Return the block among zeros, (n, d)."""
        points = np.zeros((len(block), self.dim))
        points[:, where] = block
        return points

    def of_each(self, columns: Indices, values: Reals) -> Reals:
        """Return every value among zeros, (..., k, d)."""
        points = np.zeros((*values.shape, self.dim))
        points[..., np.arange(len(columns)), columns] = values
        return points


@dataclass(frozen=True, slots=True, kw_only=True)
class BySums(Generic[T]):
    """A function of a point in two steps: the sums, then a function of the sums."""

    sums: Quadratics
    """The sums."""
    finish: Callable[[Matrix], T]
    """Sums of b points, (b, m) -> the function there."""

    def then(self, function: Callable[[T], U]) -> "BySums[U]":
        """Return the function of what this one gives."""
        return BySums(sums=self.sums, finish=lambda S: function(self.finish(S)))


def angles_by_sums(frequencies: Matrix, phases: Reals) -> BySums[Matrix]:
    """Return the angles w_i'x + c_i of m frequencies w, (m, d), by sums."""
    slopes = frequencies.T.copy()
    squares = np.zeros((len(slopes), 1))
    sums = Quadratics(squares=squares, slopes=slopes, constants=phases)
    return BySums(sums=sums, finish=lambda S: S)


def coordinates_by_sums(dim: int) -> BySums[Matrix]:
    """Return the point itself, each coordinate a sum of one term."""
    sums = Quadratics(
        squares=np.zeros((dim, 1)), slopes=np.eye(dim), constants=np.zeros(dim)
    )
    return BySums(sums=sums, finish=lambda S: S)


@runtime_checkable
class Summed(Protocol):
    """A posterior, path or acquisition that can be evaluated from the sums."""

    def by_sums(self) -> BySums[Any] | None:
        """Return what it predicts, by sums; None where its parts know none.

        Asked only at points of the domain, which rounding leaves as they are.
        """
        ...


def by_sums(thing: object) -> BySums[Any] | None:
    """Return what a thing predicts, by sums; None where it knows none."""
    return thing.by_sums() if isinstance(thing, Summed) else None


def join(function: Callable[..., T], *parts: BySums[Any] | None) -> BySums[T] | None:
    """Return a function of what several functions give, None where one is missing."""
    present = [part for part in parts if part is not None]
    if len(present) < len(parts):
        return None
    if len(present) == 1:
        return present[0].then(function)
    ends = np.cumsum([len(part.sums.constants) for part in present])

    def finish(S: Matrix) -> T:
        each = np.split(S, ends[:-1], axis=1)
        return function(
            *(part.finish(own) for part, own in zip(present, each, strict=True))
        )

    sums = Quadratics.side_by_side([part.sums for part in present])
    return BySums(sums=sums, finish=finish)
