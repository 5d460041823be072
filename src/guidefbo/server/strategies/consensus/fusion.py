"""Random-effects meta-analysis: one estimate from the estimates of several sites.

Per coordinate, site i reports y_i with variance v_i, and the sites' own optima differ:

    y_i = θ + u_i + e_i,      u_i ~ (0, τ²) between sites,      e_i ~ (0, v_i) within.

A fusion estimates θ, its squared standard error and τ². Given τ² it is the weighted
mean with w_i = 1 / (v_i + τ²); fusions differ in how they estimate τ², and in how much
influence a single site can have. All work on many groups and coordinates at once:
arrays are (groups, sites, d) and the answers (groups, d).

References:
    DerSimonian and Laird, Meta-analysis in clinical trials, 1986.
    Paule and Mandel, Consensus values and weighting factors, 1982.
    DerSimonian and Kacker, Random-effects model for meta-analysis, 2007.
    Tukey and McLaughlin, Less vulnerable confidence and significance procedures, 1963.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from guidefbo.core.arrays import Others, Points
from guidefbo.server.strategies.consensus.sorted_out import (
    median_distances,
    medians,
    trimmed_means,
)

Reals = NDArray[np.float64]


class Fused(NamedTuple):
    """The pooled estimate of several sites, (groups, d) each."""

    center: Points
    """θ."""
    squared_error: Points
    """Squared standard error of θ."""
    between: Points
    """τ², the variance between sites."""

    @property
    def spread(self) -> Points:
        """Prediction variance of the optimum of a further site about θ: error² + τ².

        τ² is averaged over the coordinates: from a few sites, the estimate of a single
        coordinate is mostly noise.
        """
        return self.squared_error + self.between.mean(axis=1, keepdims=True)  # E77


Fusion = Callable[[Reals, Reals], Fused]
"""((groups, sites, d) places, their variances, all positive) -> fused."""

MAX_ITERATIONS = 100
"""Newton steps of Paule and Mandel; they rise to the root, ever faster."""
PRECISION = 1e-12
"""Relative step at which they stop."""
TRIM_SHARE = 0.3
"""Share of the sites left out at either end: 4 of 15, so that 4 may collude."""
MAD_TO_STD = 1.0 / float(ndtri(0.75))
"""From the median absolute deviation to the standard deviation of a Gaussian."""
BLOCK = 1 << 22
"""Most numbers held at once in leaving one out."""
MANY_SITES = 200
"""Above it, sites are left out by sorting: it is faster, and rounds differently."""


def dersimonian_laird(y: Reals, v: Reals) -> Fused:
    """Fuse with the τ² whose expected Q, at the weights 1 / v_i, is the Q observed."""
    w = 1.0 / v
    total = w.sum(axis=1)
    scale = total - (w**2).sum(axis=1) / total
    tau2 = _ratio(_surplus(y, w), scale)  # E73
    return _weighted(y, v, tau2)


def paule_mandel(y: Reals, v: Reals) -> Fused:
    """Fuse with the τ² at which Q(τ²) = Σ (y_i - θ)² / (v_i + τ²) is its expectation.

    Q is convex and falls with τ², so Newton's steps from 0 never pass the root.
    """
    tau2 = np.zeros_like(y[:, 0])
    for _ in range(MAX_ITERATIONS):
        w = 1.0 / (v + tau2[:, None])
        step = _ratio(_surplus(y, w), _dispersion(y, w, w))
        tau2 += step  # E74
        if (step <= PRECISION * tau2).all():
            break
    return _weighted(y, v, tau2)


def trimmed(y: Reals, v: Reals) -> Fused:
    """Fuse by a trimmed mean, whatever precision the sites claim.

    Up to ⌊0.3 m⌋ of m sites that lie, together and as they please, leave θ between the
    places of the honest ones, and its spread below theirs.
    """
    m = y.shape[1]
    g = int(TRIM_SHARE * m)
    center = np.sort(y, axis=1)[:, g : m - g].mean(axis=1)  # E76
    distance = np.median(np.abs(y - center[:, None]), axis=1)
    return _of_medians(center, distance, np.median(v, axis=1), m)


def trimmed_without_each(centers: Points, variances: Points) -> Fused:
    """Return for every site what `trimmed` makes of the others, by sorting once."""
    m = len(centers) - 1
    center = trimmed_means(centers, int(TRIM_SHARE * m))
    distance = median_distances(centers, center)
    return _of_medians(center, distance, medians(variances), m)


WITHOUT_EACH: Mapping[Fusion, Callable[[Points, Points], Fused]] = MappingProxyType(
    {trimmed: trimmed_without_each}
)
"""What leaves out each of many sites in turn at once, for fusions that have a way."""


def leave_one_out(fusion: Fusion, centers: Points, variances: Points) -> Fused:
    """Return for every site the pooled estimate of the others.

    Args:
        fusion: How they are fused.
        centers: Place of each site, two sites or more.
        variances: Their variances.
    """
    N, d = centers.shape
    if N > MANY_SITES and (quick := WITHOUT_EACH.get(fusion)) is not None:
        return quick(centers, variances)
    parts: list[Fused] = []
    step = max(1, BLOCK // (N * d))
    places = np.arange(N - 1, dtype=np.intp)
    for first in range(0, N, step):
        rows = np.arange(first, min(first + step, N), dtype=np.intp)[:, None]
        others: NDArray[np.intp] = places + (places >= rows)
        parts.append(fusion(centers[others], variances[others]))
    return Fused(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _of_medians(center: Points, distance: Points, within: Points, m: int) -> Fused:
    """Return the trimmed fusion of m sites, from its centre and two medians."""
    total = np.maximum((MAD_TO_STD * distance) ** 2, within)
    share = int(TRIM_SHARE * m) / m
    return Fused(center, total * _trimming_cost(share) / m, total - within)


def _weighted(y: Reals, v: Reals, tau2: Others) -> Fused:
    w = 1.0 / (v + tau2[:, None])
    total = w.sum(axis=1)
    return Fused((w * y).sum(axis=1) / total, 1.0 / total, tau2)  # E75


def _surplus(y: Reals, w: Reals) -> Reals:
    """Return by how much Q exceeds what it would be if the sites were alike."""
    m = y.shape[1]
    if m == 1:
        # The variance between sites cannot be estimated from one; avoid rounding error.
        return np.zeros_like(y[:, 0])
    return np.maximum(_dispersion(y, w) - (m - 1), 0.0)


def _ratio(surplus: Reals, scale: Reals) -> Reals:
    """Return surplus / scale, 0 where there is no surplus."""
    nothing = np.zeros_like(surplus)
    return np.divide(surplus, scale, out=nothing, where=surplus > 0.0)


def _dispersion(y: Reals, w: Reals, more: Reals | float = 1.0) -> Reals:
    """Return Σ more_i w_i (y_i - θ)² with θ the mean weighted by w."""
    center = (w * y).sum(axis=1) / w.sum(axis=1)
    return (more * w * (y - center[:, None]) ** 2).sum(axis=1)


def _trimming_cost(share: float) -> float:
    """Return the variance of a trimmed mean over the plain one's, for Gaussians."""
    if share == 0.0:
        return 1.0
    z = -float(ndtri(share))
    density = float(np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))
    winsorised = (1.0 - 2.0 * share) - 2.0 * z * density + 2.0 * share * z**2
    return winsorised / (1.0 - 2.0 * share) ** 2
