"""Noisy expected improvement, in closed form over quasi-random fantasies.

For each of m draws F_k of the noise-free values at the observed inputs, the posterior
given F_k has mean μ_k(x) and a common std σ(x); with u_k = (μ_k - max F_k) / σ and
h(u) = pdf(u) + u cdf(u),

    α(x) = log( 1/m Σ_k σ(x) h(u_k(x)) ),

averaged in log space with a tail-stable log h, so that gradients do not underflow where
an improvement is very unlikely.

References:
    Letham et al., Constrained Bayesian optimization with noisy experiments, 2019.
    Ament et al., Unexpected improvements to expected improvement, NeurIPS 2023.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from guidefbo.agent.surrogate.posterior import Fantasies, Posterior
from guidefbo.agent.surrogate.sums import BySums, by_sums, join
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.settings import count

Reals = NDArray[np.float64]
LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
FAR_TAIL = -1e3
"""Below this the asymptotic series of h is exact to rounding."""


def log_improvement(u: Reals) -> Reals:
    """Return log(pdf(u) + u cdf(u)) without cancellation for any u."""
    return log_improvement_with_slope(u)[0]


def log_improvement_with_slope(u: Reals) -> tuple[Reals, Reals]:
    """Return log h(u) and d log h / du = cdf(u) / h(u), of any shape."""
    is_tail = u < -1.0
    if not is_tail.any():
        return _near(u)
    if is_tail.all():
        return _tail(u)
    log_h, slope = np.empty_like(u), np.empty_like(u)
    for where, part in ((~is_tail, _near), (is_tail, _tail)):
        log_h[where], slope[where] = part(u[where])
    return log_h, slope


def _near(u: Reals) -> tuple[Reals, Reals]:
    cdf = ndtr(u)
    h = np.exp(-0.5 * u**2 - LOG_SQRT_2PI) + u * cdf
    return np.log(h), cdf / h


def _tail(u: Reals) -> tuple[Reals, Reals]:
    """Return both for u below -1, in units of the density; far out by a series."""
    v = -np.maximum(u, FAR_TAIL)
    scaled = cast(Reals, erfcx(v * np.sqrt(0.5)))
    lost = v * np.sqrt(0.5 * np.pi) * scaled
    log_h = np.log1p(-lost)
    slope = np.sqrt(0.5 * np.pi) * scaled / (1.0 - lost)
    is_far = u < FAR_TAIL
    if is_far.any():
        far = u[is_far]
        w = far**-2.0
        log_h[is_far] = np.log(w * (1.0 - 3.0 * w + 15.0 * w * w))
        slope[is_far] = -far - 2.0 / far
    return -0.5 * u**2 - LOG_SQRT_2PI + log_h, slope


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyExpectedImprovement:
    """The noisy EI rule."""

    num_fantasies: int = count(20, "quasi-random fantasies of the observed points")

    def build(self) -> Self:
        """Return the rule, which is its settings."""
        return self

    def acquisition(
        self, posterior: Posterior, stream: np.random.Generator
    ) -> "LogNoisyImprovement":
        """Draw the fantasies, once for the whole search."""
        fantasies = posterior.fantasise(self.num_fantasies, stream)
        return LogNoisyImprovement(
            fantasies=fantasies, incumbents=fantasies.draws.max(axis=0)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNoisyImprovement:
    """The acquisition log mean_k EI_k."""

    fantasies: Fantasies
    """The conditioned posterior."""
    incumbents: Values
    """Best drawn value of each fantasy."""

    def value(self, X: Points) -> Values:
        """Return the acquisition at the rows of X."""
        moments = self.fantasies.moments(X)
        return self._average((moments.means, moments.std)).value

    def by_sums(self) -> BySums[Values] | None:
        """Return the acquisition, by sums."""
        average = join(self._average, by_sums(self.fantasies))
        return None if average is None else average.then(lambda found: found.value)

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the acquisition and its gradient at the rows of X."""
        means, std, std_gradient, pull_back = self.fantasies.moments(X)
        value, u, slope, share = self._average((means, std))
        # u depends on x through mean and std.
        slope *= share
        slope /= std[:, None]
        from_std = 1.0 / std - np.einsum("bm,bm->b", slope, u)
        return value, pull_back(slope) + from_std[:, None] * std_gradient()

    def _average(self, moments: tuple[Matrix, Values]) -> "_Average":
        means, std = moments
        u = (means - self.incumbents) / std[:, None]
        log_h, slope = log_improvement_with_slope(u)
        peak = log_h.max(axis=1)
        share = np.exp(log_h - peak[:, None])
        total = share.sum(axis=1)
        value = np.log(std) + peak + np.log(total / len(self.incumbents))  # E22
        share /= total[:, None]
        return _Average(value, u, slope, share)


class _Average(NamedTuple):
    """The average over the fantasies, and the terms of its gradient."""

    value: Values
    u: Matrix
    slope: Matrix
    """Of log h, in u."""
    share: Matrix
    """Of each fantasy in the average; its rows sum to one."""
