"""Diagonal and full covariances behind one face, for the mixture fit.

A covariance is kept flat: d variances, or the d² entries of a matrix. The quadratic
form of a point is then linear in the point's flat square, which turns the sweep over
points into a matrix product for both kinds.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Flat = NDArray[np.float64]


class Geometry(Protocol):
    """How covariances of one kind are squared, inverted and applied."""

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
