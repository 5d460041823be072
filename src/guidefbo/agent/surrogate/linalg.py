"""Cholesky factors of nearly singular matrices: jitter is added only as needed."""

import numpy as np
from scipy.linalg import lapack

from guidefbo.core.arrays import Matrix
from guidefbo.core.errors import NumericalError

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
"""Relative to the mean of the diagonal; the first that succeeds is taken."""

TILE = 256
"""Rows and columns of a matrix copied at once."""


def factorise(K: Matrix, *, overwrite: bool = False) -> Matrix:
    """Return the lower Cholesky factor of K, jittered only as far as needed.

    Args:
        K: A symmetric matrix.
        overwrite: Whether K may be lost: of a large matrix the copy takes as long as
            a good part of the factor.
    """
    if overwrite and len(K) > TILE and K.flags.c_contiguous:
        return factorise_over(K)
    for jitter in JITTERS:
        A = _by_columns(K)
        if jitter > 0.0:
            A.flat[:: len(A) + 1] += jitter * float(np.mean(np.diagonal(K)))
        L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=1)
        if info == 0:
            return L
    raise _indefinite(K)


def factorise_over(K: Matrix) -> Matrix:
    """Return the lower Cholesky factor of K in its place, jittered as `factorise` does.

    Args:
        K: A symmetric matrix, its rows one after the other; it is lost.

    """
    A = K.T
    diagonal = np.diagonal(K).copy()
    for jitter in JITTERS:
        np.fill_diagonal(A, diagonal + jitter * float(np.mean(diagonal)))
        L, info = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            _clear_upper(L)
            return L
        _mirror_upper(A)
    raise _indefinite(K)


def _indefinite(K: Matrix) -> NumericalError:
    return NumericalError(
        f"A {len(K)} x {len(K)} covariance matrix is not positive definite even with a "
        f"jitter of {JITTERS[-1]:g} of its diagonal. Check the observations for values "
        "of absurd size."
    )


def _mirror_upper(A: Matrix) -> None:
    """Write what is above the diagonal below it, tile by tile."""
    for i in range(0, len(A), TILE):
        rows = slice(i, i + TILE)
        upper = np.triu(A[rows, rows], 1)
        A[rows, rows] = upper + upper.T
        for j in range(0, i, TILE):
            columns = slice(j, j + TILE)
            A[rows, columns] = A[columns, rows].T


def _clear_upper(L: Matrix) -> None:
    """Write zeros above the diagonal, tile by tile."""
    for i in range(0, len(L), TILE):
        rows = slice(i, i + TILE)
        L[rows, rows] = np.tril(L[rows, rows])
        L[rows, i + TILE :] = 0.0


def _by_columns(K: Matrix) -> Matrix:
    """Return a copy with the columns one after the other, tile by tile if it is large.

    A row of a large matrix is spread over as many pages as there are columns.
    """
    if K.size <= TILE**2 or not K.flags.c_contiguous:
        return K.copy(order="F")
    A = np.empty(K.shape, order="F")
    for i in range(0, K.shape[0], TILE):
        for j in range(0, K.shape[1], TILE):
            A[i : i + TILE, j : j + TILE] = K[i : i + TILE, j : j + TILE]
    return A


def invert_factor(L: Matrix, *, overwrite: bool = False) -> Matrix:
    """Return the inverse of a lower triangular matrix, perhaps in its place."""
    inverse, _ = lapack.dtrtri(L, lower=1, overwrite_c=int(overwrite))
    return inverse
