"""The Cholesky factor of a covariance: what a posterior divides by.

Of a few hundred observations it is kept by its inverse, since a search divides by it
many times. Of thousands the inverse would take longer than that.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from guidefbo.agent.surrogate.linalg import invert_factor
from guidefbo.core.arrays import Matrix

FEW = 128
"""Up to so many rows a triangle is multiplied like any other matrix."""
LARGE = 1000
"""Above so many rows a factor is divided by as it is: its inverse would take longer
than all that is divided by it in a search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """The lower Cholesky factor L of a covariance K, to be divided by."""

    matrix: Matrix
    """L^-1, or L where that is large; with its columns one after the other."""
    is_inverse: bool
    """Which of the two it is."""

    @classmethod
    def of(cls, L: Matrix) -> Self:
        """Return a factor, for which the matrix L is used up."""
        if len(L) > LARGE:
            return cls(matrix=L, is_inverse=False)
        return cls(matrix=invert_factor(L, overwrite=True), is_inverse=True)

    @property
    def half_logdet(self) -> float:
        """Half the logarithm of the determinant of K."""
        logs = np.log(np.diagonal(self.matrix)).sum()
        return -logs if self.is_inverse else logs

    def whiten(self, K: Matrix, *, overwrite: bool = False) -> Matrix:
        """Return the rows of K times the transpose of L^-1, half of which is zero.

        Args:
            K: (b, n), one row a point.
            overwrite: Whether K may be lost, which spares a copy.
        """
        if self.is_inverse and len(self.matrix) <= FEW:
            return K @ self.matrix.T
        by = blas.dtrmm if self.is_inverse else blas.dtrsm
        return by(1.0, self.matrix, K.T, lower=1, overwrite_b=int(overwrite)).T

    def unwhiten(self, W: Matrix, *, overwrite: bool = False) -> Matrix:
        """Return the rows of W times L^-1, half of which is zero.

        Args:
            W: (b, n), one row a point.
            overwrite: Whether W may be lost.
        """
        if self.is_inverse and len(self.matrix) <= FEW:
            return W @ self.matrix
        by, over = blas.dtrmm if self.is_inverse else blas.dtrsm, int(overwrite)
        return by(1.0, self.matrix, W.T, lower=1, trans_a=1, overwrite_b=over).T

    def whiten_densely(self, K: Matrix) -> Matrix:
        """Return the same as `whiten`, zeros multiplied like other numbers."""
        return K @ self.matrix.T if self.is_inverse else self.whiten(K)

    def unwhiten_densely(self, W: Matrix) -> Matrix:
        """Return the same as `unwhiten`, zeros multiplied like other numbers."""
        return W @ self.matrix if self.is_inverse else self.unwhiten(W)

    def divide(self, B: Matrix) -> Matrix:
        """Return L^-1 B."""
        return self.matrix @ B if self.is_inverse else self.whiten(B.T).T

    def solve(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K^-1 B, of one column or several."""
        if self.is_inverse:
            return self.matrix.T @ (self.matrix @ B)
        return lapack.dpotrs(self.matrix, B, lower=1)[0]

    def inverse_columns(self, first: int) -> Matrix:
        """Return the columns of K^-1 from this one on."""
        if self.is_inverse:
            return self.matrix.T @ self.matrix[:, first:]
        n = len(self.matrix)
        return self.solve(np.eye(n, n - first, -first))
