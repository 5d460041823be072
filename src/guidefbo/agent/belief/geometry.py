"""One interface to diagonal and full covariances, for the mixture fit.

A covariance is stored as a vector: d variances, or the d² entries of a matrix. The
quadratic form xᵀ P x is then the inner product of two such vectors, P and the squares
(or products) of the coordinates, so that all points are evaluated in one matrix
product for both kinds.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Flat = NDArray[np.float64]


class Geometry(Protocol):
    """Operations on covariances of one kind, diagonal or full, stored as vectors."""

    def square(self, V: Flat) -> Flat:
        """Return the flat square of vectors (..., d)."""
        ...

    def identity(self, d: int) -> Flat:
        """Return the flat identity."""
        ...

    def invert(self, C: Flat) -> tuple[Flat, Flat]:
        """Return the flat inverses and the log determinants."""
        ...

    def apply(self, P: Flat, V: Flat) -> Flat:
        """Return the products of flat matrices with vectors."""
        ...

    def unflatten(self, C: Flat, d: int) -> Flat:
        """Return variances (..., d) or matrices (..., d, d)."""
        ...


class Diagonal:
    """Covariances that are a variance per coordinate."""

    def square(self, V: Flat) -> Flat:
        """Return the squares of the coordinates."""
        return V * V

    def identity(self, d: int) -> Flat:
        """Return d ones."""
        return np.ones(d)

    def invert(self, C: Flat) -> tuple[Flat, Flat]:
        """Return the reciprocals and the log determinants."""
        return 1.0 / C, np.log(C).sum(axis=-1)

    def apply(self, P: Flat, V: Flat) -> Flat:
        """Return the coordinatewise products."""
        return P * V

    def unflatten(self, C: Flat, d: int) -> Flat:
        """Return the variances as they are."""
        del d
        return C


class Full:
    """Covariances that are a matrix."""

    def square(self, V: Flat) -> Flat:
        """Return the outer products, flattened."""
        return (V[..., :, None] * V[..., None, :]).reshape(*V.shape[:-1], -1)

    def identity(self, d: int) -> Flat:
        """Return the identity matrix, flattened."""
        return np.eye(d).ravel()

    def invert(self, C: Flat) -> tuple[Flat, Flat]:
        """Return the inverse matrices and the log determinants."""
        matrices = self._matrices(C)
        inverse = np.linalg.inv(matrices).astype(np.float64)
        log_det: Flat = np.linalg.slogdet(matrices).logabsdet
        return inverse.reshape(C.shape), log_det

    def apply(self, P: Flat, V: Flat) -> Flat:
        """Return the matrix-vector products."""
        return np.einsum("...ij,...j->...i", self._matrices(P), V)

    def unflatten(self, C: Flat, d: int) -> Flat:
        """Return the matrices."""
        return C.reshape(*C.shape[:-1], d, d)

    def _matrices(self, C: Flat) -> Flat:
        return self.unflatten(C, int(np.sqrt(C.shape[-1])))
