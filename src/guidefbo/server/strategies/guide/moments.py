"""Moment matching: a cluster of Gaussians becomes one with the same moments."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """Return one moment-matched component per label 0, 1, ..., in that order.

    Diagonal components keep the diagonal of the merged covariance only.
    """
    u = uploads
    order = np.argsort(labels, kind="stable")
    firsts = np.flatnonzero(np.diff(labels[order], prepend=-1))

    def average(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mass-weighted mean over each cluster."""
        weighted = (u.masses[:, None] * values)[order]
        return np.add.reduceat(weighted, firsts, axis=0) / mass[:, None]

    mass = np.add.reduceat(u.masses[order], firsts)  # E25
    center = average(u.centers)  # E25
    shift = u.centers - center[labels]
    if u.variances.ndim == 3:
        second = u.variances + shift[:, :, None] * shift[:, None, :]
    else:
        second = u.variances + shift**2
    variance = average(second.reshape(len(labels), -1))  # E25
    return ScoredComponents(
        masses=mass,
        centers=center,
        variances=variance.reshape(-1, *u.variances.shape[1:]),
        scores=average(u.scores[:, None])[:, 0],  # E26
    )
