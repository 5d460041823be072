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
from scipy.special import erfcx, log_ndtr, ndtr

from guidefbo.agent.surrogate.posterior import Fantasies, Posterior
from guidefbo.agent.surrogate.sums import BySums, by_sums, join
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.settings import count

LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
FAR_TAIL = -1e3
"""Below this the asymptotic series of h is exact to rounding."""


def log_improvement(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(pdf(u) + u cdf(u)) without cancellation for any u."""
    direct = np.maximum(u, -1.0)
    near = np.log(np.exp(-0.5 * direct**2 - LOG_SQRT_2PI) + direct * ndtr(direct))
    if (u >= -1.0).all():
        return near
    v = np.minimum(np.maximum(-u, 1.0), -FAR_TAIL)
    scaled = cast(NDArray[np.float64], erfcx(v * np.sqrt(0.5)))
    middle = np.log1p(-v * np.sqrt(0.5 * np.pi) * scaled)
    w = np.minimum(u, FAR_TAIL) ** -2.0
    far = np.log(w * (1.0 - 3.0 * w + 15.0 * w * w))
    tail = -0.5 * u**2 - LOG_SQRT_2PI + np.where(u < FAR_TAIL, far, middle)
    return np.where(u < -1.0, tail, near)


def log_improvement_slope(
    u: NDArray[np.float64], log_h: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return d log h / du = cdf(u) / h(u); far out the logarithms lose their digits."""
    near = np.maximum(u, FAR_TAIL)
    ratio = np.exp(log_ndtr(near) - np.where(u < FAR_TAIL, 0.0, log_h))
    far = np.minimum(u, FAR_TAIL)
    return np.where(u < FAR_TAIL, -far - 2.0 / far, ratio)


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
        value, u, log_h, share = self._average((means, std))
        # u depends on x through mean and std.
        slope = share * log_improvement_slope(u, log_h) / std[:, None]
        from_std = 1.0 / std - np.einsum("bm,bm->b", slope, u)
        return value, pull_back(slope) + from_std[:, None] * std_gradient()

    def _average(self, moments: tuple[Matrix, Values]) -> "_Average":
        means, std = moments
        u = (means - self.incumbents) / std[:, None]
        log_h = log_improvement(u)
        peak = log_h.max(axis=1)
        share = np.exp(log_h - peak[:, None])
        total = share.sum(axis=1)
        value = np.log(std) + peak + np.log(total / len(self.incumbents))  # E22
        share /= total[:, None]
        return _Average(value, u, log_h, share)


class _Average(NamedTuple):
    """The average over the fantasies, and the terms of its gradient."""

    value: Values
    u: Matrix
    log_h: Matrix
    share: Matrix
    """Of each fantasy in the average; its rows sum to one."""
