"""Expected improvement over the best observation, in closed form and in log space.

With best the highest observed value, u_k = (μ_k(x) - best) / σ_k(x) and
h(u) = pdf(u) + u cdf(u), the expected improvement of a mixture of Gaussian posteriors
with weights w_k is the weighted sum of its parts',

    α(x) = log Σ_k w_k σ_k(x) h(u_k(x)),

summed in log space with a tail-stable log h. One Gaussian is a mixture of one part.

References:
    Jones, Schonlau and Welch, Efficient global optimization, 1998.
    Zhu, Wang and Jin, Federated many-task Bayesian optimization, IEEE TEVC 2023.
    Ament et al., Unexpected improvements to expected improvement, NeurIPS 2023.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from guidefbo.agent.decision.nei import log_improvement_with_slope
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.snapped import SnappedPosterior, unrounded
from guidefbo.agent.surrogate.sums import BySums, by_sums, join
from guidefbo.core.arrays import Matrix, Points, Values


@runtime_checkable
class Observing(Protocol):
    """A posterior that exposes the values it was conditioned on."""

    @property
    def y(self) -> Values:
        """Observed values, (n,)."""
        ...


@runtime_checkable
class Mixed(Protocol):
    """A posterior that is a weighted mixture of several."""

    @property
    def parts(self) -> Iterable[tuple[float, Posterior]]:
        """Positive weights that sum to one, with the posteriors they belong to."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedImprovement:
    """The EI rule."""

    def build(self) -> Self:
        """Return the rule, which is its settings."""
        return self

    def acquisition(
        self, posterior: Posterior, stream: np.random.Generator
    ) -> "LogImprovement":
        """Return the log expected improvement of this posterior."""
        return LogImprovement(
            parts=parts_of(posterior), best=best_observation(posterior, stream)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogImprovement:
    """The acquisition log Σ_k w_k EI_k."""

    parts: tuple[tuple[float, Posterior], ...]
    """Weights and posteriors."""
    best: float
    """What is to be improved on."""

    def value(self, X: Points) -> Values:
        """Return the acquisition at the rows of X."""
        return self._combine(*(posterior.predict(X) for _, posterior in self.parts))

    def by_sums(self) -> BySums[Values] | None:
        """Return the acquisition, by sums."""
        return join(self._combine, *(by_sums(posterior) for _, posterior in self.parts))

    def _combine(self, *moments: tuple[Values, Values]) -> Values:
        means, stds = zip(*moments, strict=True)
        return self._sum(np.stack(means), np.stack(stds)).value

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the acquisition and its gradient at the rows of X."""
        moments = [posterior.moments(X) for _, posterior in self.parts]
        means, stds, mean_gradients, std_gradients = zip(*moments, strict=True)
        std = np.stack(stds)
        value, u, slope, share = self._sum(np.stack(means), std)
        # u depends on x through mean and std.
        share /= std
        from_mean, from_std = share * slope, share * (1.0 - slope * u)
        gradient = np.zeros_like(X)
        factors, slopes = (*from_mean, *from_std), (*mean_gradients, *std_gradients)
        for factor, one in zip(factors, slopes, strict=True):
            gradient += factor[:, None] * one
        return value, gradient

    def _sum(self, mean: Matrix, std: Matrix) -> "_Sum":
        """Return the sum over the parts, (k, b) moments."""
        u = (mean - self.best) / std
        log_h, slope = log_improvement_with_slope(u)
        weights = np.array([weight for weight, _ in self.parts])
        terms = np.log(weights)[:, None] + np.log(std) + log_h
        peak = terms.max(axis=0)
        share = np.exp(terms - peak)
        total = share.sum(axis=0)
        share /= total
        return _Sum(peak + np.log(total), u, slope, share)  # E63


class _Sum(NamedTuple):
    """The sum over the parts, and the terms of its gradient."""

    value: Values
    u: Matrix
    slope: Matrix
    """Of log h, in u."""
    share: Matrix
    """Of each part in the sum; its columns sum to one."""


def parts_of(posterior: Posterior) -> tuple[tuple[float, Posterior], ...]:
    """Return weights and posteriors; a rounded mixture is one of rounded parts."""
    if isinstance(posterior, SnappedPosterior):
        parts = parts_of(posterior.inner)
        return tuple((w, replace(posterior, inner=part)) for w, part in parts)
    if isinstance(posterior, Mixed):
        return tuple(posterior.parts)
    return ((1.0, posterior),)


def best_observation(posterior: Posterior, stream: np.random.Generator) -> float:
    """Return the highest value behind a posterior.

    A posterior that does not tell its observations is asked for its mean at their
    inputs, the highest of which stands for it.
    """
    known = unrounded(posterior)
    if isinstance(known, Observing):
        return float(known.y.max())
    observed = posterior.fantasise(1, stream).observed
    return float(posterior.predict(observed)[0].max())
