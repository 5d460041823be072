"""The ARD Matern-5/2 kernel and its derivatives.

With q(x, x') = Σ_j (x_j - x'_j)² / ℓ_j² and a = √(5 q),

    k = s (1 + a + a²/3) exp(-a),        dk/dq = -(5/6) s (1 + a) exp(-a).

The derivative in q has no singularity at q = 0, so every gradient is taken through it.

References:
    Rasmussen and Williams, Gaussian Processes for Machine Learning, section 4.2.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.surrogate.sums import BySums, Quadratics
from guidefbo.core.arrays import Matrix, Others, OtherValues, Point, Points

Reals = NDArray[np.float64]
MANY = 1 << 16
"""Numbers above which a matrix is worked on in parts: a part stays in the cache."""


def squared_distances(A: Points, B: Others, lengthscales: Point) -> Matrix:
    """Return q, the squared distances between the rows of A and B, (a, b)."""
    B = B / lengthscales
    return scaled_distances(A, lengthscales, B, np.einsum("ij,ij->i", B, B))


def scaled_distances(
    A: Points, lengthscales: Point, scaled: Others, norms: OtherValues
) -> Matrix:
    """Return q between the rows of A and rows that are scaled already, (a, b).

    Args:
        A: Points in natural units.
        lengthscales: Units of the other points.
        scaled: The other points, divided by the lengthscales.
        norms: Their squared norms.
    """
    A = A / lengthscales
    own = np.einsum("ij,ij->i", A, A)[:, None]
    # Doubling is exact, and there are fewer coordinates than distances.
    A *= -2.0
    q = A @ scaled.T
    if q.size <= MANY:
        return _add_norms(q, own, norms)
    for rows in _parts(q):
        _add_norms(q[rows], own[rows], norms)
    return q


def _add_norms(q: Reals, own: Reals, norms: OtherValues) -> Reals:
    """Complete the squared distances, in their place."""
    q += own
    q += norms
    return np.maximum(q, 0.0, out=q)


def distances_by_sums(
    lengthscales: Point, scaled: Others, norms: OtherValues
) -> BySums[Matrix]:
    """Return q to rows that are scaled already, by sums over the coordinates."""
    sums = Quadratics(
        squares=lengthscales[:, None] ** -2.0,
        slopes=(-2.0 * scaled / lengthscales).T.copy(),
        constants=norms,
    )
    return BySums(sums=sums, finish=lambda S: np.maximum(S, 0.0))


def matern52(q: Reals, outputscale: float) -> Reals:
    """Return the kernel at squared distances q, of any shape."""
    if q.size > MANY:
        return matern52_over(q.copy(), outputscale)
    a = np.sqrt(5.0 * q)
    return outputscale * (1.0 + a + (5.0 / 3.0) * q) * np.exp(-a)  # E01


def matern52_over(q: Reals, outputscale: float) -> Reals:
    """Return the kernel in the place of the squared distances, some rows at a time.

    New memory for the terms of a large matrix would take longer than computing them.
    """
    for rows in _parts(q):
        part = q[rows]
        a = np.sqrt(5.0 * part)
        part *= 5.0 / 3.0
        part += 1.0 + a
        part *= outputscale
        part *= np.exp(-a)
    return q


def matern52_with_slope(q: Reals, outputscale: float) -> tuple[Reals, Reals]:
    """Return the kernel and dk/dq at squared distances q, of any shape."""
    if q.size <= MANY:
        return _with_slope(q, outputscale)
    k, slope = np.empty_like(q), np.empty_like(q)
    for part in _parts(q):
        k[part], slope[part] = _with_slope(q[part], outputscale)
    return k, slope


def _with_slope(q: Reals, outputscale: float) -> tuple[Reals, Reals]:
    a = 5.0 * q
    np.sqrt(a, out=a)
    decay = np.negative(a)
    np.exp(decay, out=decay)
    decay *= outputscale
    a += 1.0
    slope = a * decay
    a += (5.0 / 3.0) * q
    a *= decay
    slope *= -5.0 / 6.0
    return a, slope  # E01


def _parts(q: Reals) -> Iterator[slice]:
    """Yield slices of the first axis that hold about `MANY` numbers each."""
    step = max(1, MANY * len(q) // max(q.size, 1))
    for first in range(0, len(q), step):
        yield slice(first, first + step)
