"""Cholesky factors of nearly singular matrices: jitter is added only as needed."""

import numpy as np
from scipy.linalg import lapack

from guidefbo.core.arrays import Matrix
from guidefbo.core.errors import NumericalError

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
"""Relative to the mean of the diagonal; the first that succeeds is taken."""


def factorise(K: Matrix) -> Matrix:
    """Return the lower Cholesky factor of K, jittered only as far as needed."""
    scale = float(np.mean(np.diagonal(K)))
    for jitter in JITTERS:
        A = K.copy(order="F")
        A.flat[:: len(A) + 1] += jitter * scale
        L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=1)
        if info == 0:
            return L
    raise NumericalError(
        f"A {len(K)} x {len(K)} covariance matrix is not positive definite even with a "
        f"jitter of {JITTERS[-1]:g} of its diagonal. Check the observations for values "
        "of absurd size."
    )


def invert_factor(L: Matrix, *, overwrite: bool = False) -> Matrix:
    """Return the inverse of a lower triangular matrix, perhaps in its place."""
    inverse, _ = lapack.dtrtri(L, lower=1, overwrite_c=int(overwrite))
    return inverse
