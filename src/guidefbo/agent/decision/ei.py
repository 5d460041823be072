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
from typing import Protocol, Self, runtime_checkable

import numpy as np
from scipy.special import logsumexp

from guidefbo.agent.decision.nei import (
    log_improvement,
    log_improvement_slope,
)
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.snapped import SnappedPosterior, unrounded
from guidefbo.agent.surrogate.sums import BySums, by_sums, join
from guidefbo.core.arrays import Points, Values


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
        terms: list[Values] = []
        for (weight, _), (mean, std) in zip(self.parts, moments, strict=True):
            log_h = log_improvement((mean - self.best) / std)
            terms.append(np.log(weight) + np.log(std) + log_h)
        return _log_sum(terms)

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the acquisition and its gradient at the rows of X."""
        terms: list[Values] = []
        gradients: list[Points] = []
        for weight, posterior in self.parts:
            mean, std, mean_gradient, std_gradient = posterior.moments(X)
            u = (mean - self.best) / std
            log_h = log_improvement(u)
            terms.append(np.log(weight) + np.log(std) + log_h)
            slope = log_improvement_slope(u, log_h)
            # u depends on x through mean and std.
            from_std = (1.0 - slope * u) / std
            gradients.append(
                (slope / std)[:, None] * mean_gradient
                + from_std[:, None] * std_gradient
            )
        value = _log_sum(terms)
        shares = np.exp(np.stack(terms) - value)
        return value, np.einsum("kb,kbd->bd", shares, np.stack(gradients))


def _log_sum(terms: list[Values]) -> Values:
    return np.asarray(logsumexp(np.stack(terms), axis=0))  # E63


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
