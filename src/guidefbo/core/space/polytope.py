"""Polytopes in the unit cube: a centre, uniform points, and the way back inside.

References:
    Smith, 1984: hit-and-run.
    Nesterov and Nemirovskii, 1994: the analytic centre and the rounding it gives.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from guidefbo.core.arrays import Matrix, OtherValues, Point, Points, Values
from guidefbo.core.arrays import frozen_array as frozen
from guidefbo.core.checks import require_count
from guidefbo.core.errors import NumericalError, SpaceError

_ROUNDING = 1e-12
"""A constraint missed by less is kept, as far as floats can tell."""
_MISS = 1e-10
"""The LP solver's tolerance; a shorter row is a row of zeros."""
_FLAT = 1e-7
"""A set without room for a ball of this radius has fewer dimensions."""
_TRIES = 10
"""Points that are tried before the solver is asked whether there is one."""
_ROUNDS = 10
"""Sweeps over both kinds of directions. From the centre, the covariance of 4000 points
is right to within its Monte-Carlo error after five to ten, for simplices, boxes, slabs
100 times wider than thick and skew parallelepipeds of 3 to 30 dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polytope:
    """The points u of the unit cube with A u <= b and E u = e."""

    A: Matrix
    """Inequalities as given, in rows of length one."""
    b: Values
    """Their upper bounds."""
    E: Matrix
    """Equalities as given, in rows of length one."""
    e: OtherValues
    """Their values."""
    centre: Point
    """A point in the relative interior: the analytic centre."""
    basis: Matrix
    """Orthonormal columns: the directions in which the set extends."""
    faces: Matrix
    """Rows of A and of the cube that hold with room somewhere in the set."""
    slacks: NDArray[np.float64]
    """The room they have at the centre."""

    @classmethod
    def of(
        cls, dim: int, *, A: ArrayLike, b: ArrayLike, E: ArrayLike, e: ArrayLike
    ) -> Self:
        """Return the polytope, or refuse an empty one.

        A is (m, dim) and E is (q, dim), without rows if there are no such constraints.
        Inequalities that leave no room count as equalities.
        """
        k = require_count("dim", dim, 1)
        A, b = _unit_rows("A", A, "b", b, k)
        E, e = _unit_rows("E", E, "e", e, k)
        G = np.concatenate([A, np.eye(k), -np.eye(k)])
        h = np.concatenate([b, np.ones(k), np.zeros(k)])
        u, N = np.full(k, 0.5), _null_space(E)
        if len(E):
            u += np.linalg.lstsq(E, e - E @ u, rcond=_MISS)[0]
            _refuse_miss(float(np.abs(E @ u - e).max()))
        u, N, loose = _relative_interior(G, h, u, N)
        G, h = G[loose], h[loose]
        u = u + N @ _analytic_centre(G @ N, h - G @ u)
        return cls(
            A=frozen(A),
            b=frozen(b),
            E=frozen(E),
            e=frozen(e),
            centre=frozen(np.clip(u, 0.0, 1.0)),
            basis=frozen(N),
            faces=frozen(G),
            slacks=frozen(h - G @ u),
        )

    def contains(self, X: Points, tolerance: float = 1e-9) -> NDArray[np.bool_]:
        """Return which rows of X lie in the set or at most `tolerance` off a face."""
        misses = np.concatenate(
            [-X, X - 1.0, X @ self.A.T - self.b, np.abs(X @ self.E.T - self.e)], axis=1
        )
        return misses.max(axis=1) <= tolerance

    def repair(self, X: Points) -> Points:
        """Return the points brought back into the set; those inside stay as they are.

        A point outside is moved straight onto the equalities, then towards the centre
        as far as the inequalities need.
        """
        clipped = np.clip(X, 0.0, 1.0)
        inside = self.contains(X, _ROUNDING) & (clipped == X).all(axis=1)
        D = (X - self.centre) @ self.basis @ self.basis.T
        reach = (D @ self.faces.T / self.slacks).max(axis=1, initial=1.0)
        moved = np.clip(self.centre + D / reach[:, np.newaxis], 0.0, 1.0)
        return np.where(inside[:, np.newaxis], X, moved)

    def sample(self, count: int, stream: np.random.Generator) -> Points:
        """Return independent points, uniform over the set up to mixing.

        Each point ends a hit-and-run chain of its own. All chains move along the same
        direction at a time, each as far as its own number says: given the directions
        they are independent, and every move keeps the uniform law.
        """
        U = np.repeat(self.centre[:, np.newaxis], count, axis=1)
        S = np.repeat(self.slacks[:, np.newaxis], count, axis=1)
        J = self.faces @ self.basis / self.slacks[:, np.newaxis]
        _, scales, axes = np.linalg.svd(J, full_matrices=False)
        # In these axes a thin set is about as wide everywhere; turned at random, they
        # serve sets that are thin across the coordinates.
        rounding, shape = self.basis @ (axes.T / scales), axes.shape
        for _ in range(_ROUNDS if scales.size else 0):
            turned = rounding @ np.linalg.qr(stream.standard_normal(shape))[0]
            D = np.concatenate([_few_coordinates(self.basis, stream), turned], axis=1)
            for d, growth in zip(D.T, -(self.faces @ D).T, strict=True):
                _move(U, S, d, growth, stream)
        return self.repair(np.ascontiguousarray(U.T))


def _move(
    U: Matrix, S: Matrix, d: Point, growth: Values, stream: np.random.Generator
) -> None:
    """Move the columns of U along d to uniform points of their chords, in place.

    S is the room of each to every face, and grows by `growth` per unit of d.
    """
    moving, touched = np.flatnonzero(d), np.flatnonzero(np.abs(growth) > _ROUNDING)
    growth, room = growth[touched, np.newaxis], S[touched]
    # The chord ends at the first zero of the rooms, -room / growth, on either side.
    rates = growth / room
    back, forth = -1.0 / rates.max(axis=0), -1.0 / rates.min(axis=0)
    steps = back + (forth - back) * stream.random(len(U.T))
    U[moving] += d[moving, np.newaxis] * steps
    # Not even rounding may leave a chain with no room at all.
    S[touched] = np.maximum(room + growth * steps, 1e-14)


def has_point(dim: int, A: Matrix, b: Values, E: Matrix, e: OtherValues) -> bool:
    """Whether a point of the cube with A u <= b and E u = e is found at once.

    Tried is the point nearest to the cube's middle with E u = e, then the one on the
    limits that it misses, and so on. Where none is found there may yet be one.
    """
    A, b = _unit_rows("A", A, "b", b, dim)
    E, e = _unit_rows("E", E, "e", e, dim)
    G = np.concatenate([A, np.eye(dim), -np.eye(dim)])
    h = np.concatenate([b, np.ones(dim), np.zeros(dim)])
    u, is_tight = np.full(dim, 0.5), np.zeros(len(G), dtype=np.bool_)
    for _ in range(_TRIES):
        rows, ends = np.concatenate([E, G[is_tight]]), np.append(e, h[is_tight])
        if len(rows):
            u = u + np.linalg.lstsq(rows, ends - rows @ u, rcond=_MISS)[0]
        misses = G @ u - h
        if (np.abs(rows @ u - ends) > _ROUNDING).any():
            return False
        if misses.max() <= _ROUNDING:
            return True
        is_tight |= misses > _ROUNDING
    return False


def _few_coordinates(N: Matrix, stream: np.random.Generator) -> Matrix:
    """Return directions that change few coordinates each, as edges do, in columns."""
    from scipy.linalg import qr  # loaded late, like the solver below

    # A random order of the coordinates, but so that the last ones follow the first.
    weighted = N.T * stream.random(len(N))
    order = qr(weighted, mode="r", pivoting=True, check_finite=False)[1]
    D = N @ np.linalg.inv(N[order[: len(N.T)]])
    D[np.abs(D) < _ROUNDING] = 0.0
    return D


def _unit_rows(
    name: str, rows: ArrayLike, ends_name: str, ends: ArrayLike, dim: int
) -> tuple[Matrix, Values]:
    M, v = np.asarray(rows, dtype=np.float64), np.asarray(ends, dtype=np.float64)
    is_finite = bool(np.isfinite(M).all() and np.isfinite(v).all())
    if v.ndim != 1 or M.shape != (v.size, dim) or not is_finite:
        raise SpaceError(
            f"{name} and {ends_name} must be finite, (m, {dim}) and (m,), got "
            f"{'' if is_finite else 'NaN or infinity in '}{M.shape} and {v.shape}. "
            "Give every row one end."
        )
    lengths = np.linalg.norm(M, axis=1)
    lengths[lengths == 0.0] = 1.0
    return M / lengths[:, np.newaxis], v / lengths


def _null_space(rows: Matrix) -> Matrix:
    """Return orthonormal columns that span what the rows, of length one, send to 0."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, scales, axes = np.linalg.svd(rows)
    return axes[int((scales > _MISS).sum()) :].T


def _refuse_miss(miss: float) -> None:
    if miss > 10.0 * _MISS:
        raise SpaceError(
            "The constraints must leave a point of the unit cube, got constraints that "
            f"miss each other by {miss:.3g}. Loosen one of them."
        )


def _relative_interior(
    G: Matrix, h: Values, u: Point, N: Matrix
) -> tuple[Point, Matrix, NDArray[np.bool_]]:
    """Return an interior point of { u + N z : G (u + N z) <= h }.

    Also a basis of the directions in which the set extends, and the faces with room.
    """
    while True:
        GN = G @ N
        lengths = np.linalg.norm(GN, axis=1)
        loose = lengths > _MISS
        slacks = h - G @ u
        _refuse_miss(float(-slacks[~loose].min(initial=0.0)))
        if not N.shape[1]:
            return u, N, loose
        rows = GN[loose] / lengths[loose, np.newaxis]
        radius, z, pressure = _largest_ball(rows, slacks[loose] / lengths[loose])
        _refuse_miss(-radius)
        u = u + N @ z
        if radius > _FLAT:
            return u, N, loose
        # A face that presses on so small a ball is an equality: at any point, slacks
        # weighted by the pressure add up to the radius.
        pressed = pressure >= min(max(abs(radius) * 1e6, 1e-6), pressure.max())
        N = N @ _null_space(rows[pressed])


def _largest_ball(rows: Matrix, slacks: Values) -> tuple[float, Point, Values]:
    """Return the radius and centre of the largest ball, and how each face presses."""
    # Loaded when first used: it takes a good part of a second.
    from scipy.optimize import linprog

    m, r = rows.shape
    found: Any = linprog(
        np.append(np.zeros(r), -1.0),
        A_ub=np.column_stack([rows, np.ones(m)]),
        b_ub=slacks,
        bounds=(None, None),
        options={"primal_feasibility_tolerance": _MISS},
    )
    if found.x is None:
        raise NumericalError(
            f"The constraints could not be solved: {found.message} Rescale them."
        )
    return float(found.x[-1]), found.x[:-1], -found.ineqlin.marginals


def _analytic_centre(rows: Matrix, slacks: Values) -> Point:
    """Return the step from an interior point to the largest product of slacks.

    The largest ball may lie anywhere along a slab; this centre is in the middle.
    """
    z = np.zeros(rows.shape[1])
    for _ in range(100 if z.size else 0):
        J = rows / (slacks - rows @ z)[:, np.newaxis]
        # The Newton step is a least-squares solution: the Hessian is J' J.
        step = np.linalg.lstsq(J, -np.ones(len(J)), rcond=None)[0]
        decrement = float(np.linalg.norm(J @ step))
        # A damped step stays inside and climbs, by self-concordance.
        z += step if decrement < 0.25 else step / (1.0 + decrement)
        if decrement < 1e-9:
            break
    return z
