"""Moment matching: each cluster becomes one Gaussian with the same moments."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from guidefbo.core.arrays import Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredComponents:
    """Components with masses and value scores, as uploaded or as merged."""

    masses: Values
    """(L,)."""
    centers: Points
    """(L, d)."""
    variances: NDArray[np.float64]
    """(L, d) or (L, d, d)."""
    scores: Values
    """(L,)."""


def merge_clusters(
    uploads: ScoredComponents, labels: NDArray[np.intp]
) -> ScoredComponents:
    """Return one moment-matched component per label, in the labels' order.

    Diagonal components keep the diagonal of the merged covariance only.
    """
    u, count = uploads, int(labels.max()) + 1
    membership = csr_array(
        (u.masses, (labels, np.arange(len(labels)))), shape=(count, len(labels))
    )
    mass = membership.sum(axis=1)
    center = (membership @ u.centers) / mass[:, None]  # E25
    shift = u.centers - center[labels]
    if u.variances.ndim == 3:
        second = u.variances + shift[:, :, None] * shift[:, None, :]
    else:
        second = u.variances + shift**2
    flat = second.reshape(len(labels), -1)
    variance = (membership @ flat) / mass[:, None]  # E25
    return ScoredComponents(
        masses=mass,
        centers=center,
        variances=variance.reshape(count, *u.variances.shape[1:]),
        scores=(membership @ u.scores) / mass,  # E26
    )
