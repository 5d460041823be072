"""Random-effects meta-analysis of coefficients, for each site from the others.

Site n estimates coefficient k as b_nk with variance v_nk. The model is

    b_nk = β_nk + error of variance v_nk,      β_nk ~ N(θ_k, τ²),      τ² one a block.

Everything is a function of sums over sites, and the sums over the others are the whole
sums less one's own part: the work is proportional to the number of sites.

References:
    DerSimonian and Kacker, Random-effects model for meta-analysis of clinical trials:
    an update, Contemporary Clinical Trials 28 (2007): the moment estimator with any
    weights.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Matrix

Numbers = NDArray[np.float64]
PRIOR_PRECISION = 1.0
"""Of θ, in standard deviations of a site's values: a weak N(0, 1)."""
USUAL_SHARE = 0.25
"""What τ² is taken for before there are sites to tell, as a share of the mean square of
the block's coefficients."""
PRIOR_SITES = 1.0
"""How many sites that is worth."""
START = 0.01
"""τ² of the first pass."""
SMALLEST = 2e-4
"""Least τ²: no two sites are the same."""
NOBODY = 1e-12
"""Sum of weights below which there is no site."""
NUM_PASSES = 3
"""Times that weights and τ² are worked out in turn."""
REACH = 2.5
"""How many standard deviations from the median an estimate counts in full."""
MAX_WEIGHT = 4.0
"""Most that one site weighs in a coefficient, as a multiple of the median site, or of
the prior of θ where most sites know less than that."""
ROWS_AT_ONCE = 4_096
"""Sites left out at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """For each site the prior of its coefficients, from the others, (N, p) each."""

    means: Matrix
    variances: Matrix
    from_all: tuple[Numbers, Numbers]
    """Mean and variance for a site that sent nothing, from all, (p,) each."""


Pooling = Callable[[Matrix, Matrix, "list[slice]"], Pooled]
"""(estimates (N, p), their variances, blocks of columns) -> priors."""


def by_moments(b: Matrix, v: Matrix, blocks: list[slice]) -> Pooled:
    """Pool with τ² by moments; sums are all that is needed."""
    count = float(len(b))
    tau2 = np.full(b.shape[1], START)
    for _ in range(NUM_PASSES - 1):
        tau2 = _moments(_sums(b, v, tau2), count, blocks)[0]
    # Weights of all sites are those of the common τ²: the others' then follow from
    # whole sums.
    sums = _sums(b, v, tau2)
    means, variances = np.empty(b.shape), np.empty(b.shape)
    for rows in _chunks(len(b)):
        parts = _parts(b[rows], v[rows], tau2)
        rest = [whole - part for whole, part in zip(sums, parts, strict=True)]
        means[rows], variances[rows] = _prior(rest, count - 1.0, blocks)
    theta, s = _prior(sums, count, blocks)
    return Pooled(means=means, variances=variances, from_all=(theta[0], s[0]))


def robust(b: Matrix, v: Matrix, blocks: list[slice]) -> Pooled:
    """Pool estimates that are first drawn towards the median where they lie far off.

    An estimate further from the median of all sites than `REACH` of its own standard
    deviations and those of the usual spread together is moved to that distance, so
    that no site can move a coefficient further than that, whatever it sends. Nor does a
    site weigh more than `believable` lets it.

    The influence of one site among N ≥ 3, whatever it sends: let H be the span of zero
    and of what the others sent of a coefficient, W its width and V the largest variance
    of theirs. Medians of all lie among the others, so the site's own estimate is moved
    to within L = REACH √(max((1.4826 W)², SMALLEST) + V) of H. It has at most the share
    σ = MAX_WEIGHT / (MAX_WEIGHT + K) of the weights of a packet, where K = N/2 - 2,
    rounded up, if the median variance is at most 1 / PRIOR_PRECISION, and at most
    MAX_WEIGHT / (MAX_WEIGHT + 1) otherwise. Hence θ stays within σ L of H, and no two
    messages of the site lead to θ that are further apart than W + 2 σ L. The width W is
    there because the site also has a part in τ², and thereby in how the others are
    weighed against each other.
    """
    median = np.median(b, axis=0)
    spread = 1.4826 * np.median(np.abs(b - median), axis=0)
    limit = REACH * np.sqrt(np.maximum(spread**2, SMALLEST) + np.median(v, axis=0))
    drawn = np.clip(b, median - limit, median + limit)  # E93
    return by_moments(drawn, believable(v), blocks)


def believable(v: Matrix) -> Matrix:
    """Return variances with a floor, so that no site outweighs the usual by much.

    Whoever claims to be surer than `MAX_WEIGHT` median sites counts as that sure. The
    floor holds for any τ²: v ≥ median / MAX_WEIGHT makes 1 / (v + τ²) at most
    MAX_WEIGHT / (median + τ²). Where most sites know next to nothing of a coefficient,
    the few who do are not silenced: they may weigh MAX_WEIGHT times the prior of θ.
    The median is the lower of two, so that of two sites the surer one is heard in full.
    """
    usual = np.quantile(v, 0.5, axis=0, method="lower")
    floor = np.minimum(usual, 1.0 / PRIOR_PRECISION) / MAX_WEIGHT
    return np.maximum(v, floor)


def _chunks(num_sites: int) -> Iterator[slice]:
    """Yield the rows of some sites at a time: what is made of them stays small."""
    for first in range(0, num_sites, ROWS_AT_ONCE):
        yield slice(first, first + ROWS_AT_ONCE)


def _sums(b: Matrix, v: Matrix, tau2: Numbers) -> list[Matrix]:
    """Return the sums over all sites of which the moments are made, (1, p) each."""
    by_chunk = [
        [part.sum(axis=0)[None] for part in _parts(b[rows], v[rows], tau2)]
        for rows in _chunks(len(b))
    ]
    return [np.sum(parts, axis=0) for parts in zip(*by_chunk, strict=True)]


def _parts(b: Matrix, v: Matrix, tau2: Numbers) -> Iterator[Matrix]:
    """Yield what each site adds to those sums."""
    w = 1.0 / (v + tau2)
    yield w
    yield w * b
    yield w * b**2
    yield w * v
    yield w**2
    yield w**2 * v


def _prior(
    sums: list[Matrix], count: float, blocks: list[slice]
) -> tuple[Matrix, Matrix]:
    """Return θ and the variance of a new site's coefficient, from the sums."""
    total = sums[0] + PRIOR_PRECISION
    theta = sums[1] / total  # E92
    return theta, 1.0 / total + _moments(sums, count, blocks)  # E94


def _moments(sums: list[Matrix], count: float, blocks: list[slice]) -> Matrix:
    """Return τ² of each column from the sums over sites."""
    s_w, s_wb, s_wbb, s_wv, s_ww, s_wwv = sums
    # Nobody is left where one site has spoken and hears from the others.
    all_w = np.maximum(s_w, NOBODY)
    Q = s_wbb - s_wb**2 / all_w
    excess = Q - (s_wv - s_wwv / all_w)
    scale = np.maximum(s_w - s_ww / all_w, NOBODY)
    found = np.empty_like(Q)
    for block in blocks:
        # A moment estimate may be negative; the whole block has one.
        moment = excess[:, block].sum(axis=1) / scale[:, block].sum(axis=1)
        sites = max(count - 1.0, 0.0)
        theta = s_wb[:, block] / (s_w[:, block] + PRIOR_PRECISION)
        usual = USUAL_SHARE * np.mean(theta**2, axis=1)
        shrunk = sites * np.maximum(moment, 0.0) + PRIOR_SITES * usual
        found[:, block] = (shrunk / (sites + PRIOR_SITES))[:, None]  # E91
    return np.maximum(found, SMALLEST)
