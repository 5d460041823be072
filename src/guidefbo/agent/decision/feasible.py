"""Limits of further measured outcomes, in any acquisition.

Every outcome has a Gaussian process of its own, of how far it keeps its limit: at least
0 where it does. With P_k(x) the probability of that for outcome k, as its model has it
without noise, a point is worth

    α(x) + Σ_k log P_k(x)                            if α is a logarithm (EI, NEI)
    log softplus((α(x) - a) / s) + Σ_k log P_k(x)    if it is not (UCB, sample paths)

with a the least and s the spread of α over the observed points. An improvement is one
over the best point that keeps the limits; while none does, only Σ_k log P_k counts.

References:
    Gardner et al., Bayesian optimization with inequality constraints, ICML 2014.
    Gelbart, Snoek and Adams, Bayesian optimization with unknown constraints, UAI 2014.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr

from guidefbo.agent.decision.ei import LogImprovement
from guidefbo.agent.decision.nei import LOG_SQRT_2PI, LogNoisyImprovement
from guidefbo.agent.decision.rule import Acquisition
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The model of one outcome, and what it must reach."""

    posterior: Posterior
    """Of how far the outcome keeps its limit, in model units."""
    threshold: float
    """What 0 is in these units."""

    def keeps(self, X: Points) -> Values:
        """Return whether the mean keeps the limit at the rows of X, as 0 and 1."""
        return (self.posterior.predict(X)[0] >= self.threshold).astype(np.float64)

    def log_probability(self, X: Points) -> Values:
        """Return the log probability that the limit is kept at the rows of X."""
        mean, std = self.posterior.predict(X)
        return np.asarray(log_ndtr((mean - self.threshold) / std))

    def log_probability_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the log probability and its gradient at the rows of X."""
        mean, std, mean_gradient, std_gradient = self.posterior.moments(X)
        z = (mean - self.threshold) / std
        log_p = np.asarray(log_ndtr(z))
        # d log cdf / dz = pdf / cdf, which log space keeps from overflowing.
        slope = np.exp(-0.5 * z**2 - LOG_SQRT_2PI - log_p) / std
        gradient = mean_gradient - z[:, None] * std_gradient
        return log_p, slope[:, None] * gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class FeasibleAcquisition:
    """An acquisition times the probability that all limits are kept, as a logarithm."""

    inner: Acquisition | None
    """What a point is worth by its value; None while no point keeps the limits."""
    is_log: bool
    """Whether that is a logarithm."""
    low: float
    """Least inner value over the observed points."""
    spread: float
    """Their standard deviation, or 1."""
    limits: tuple[Limit, ...]
    """The limits."""

    def value(self, X: Points) -> Values:
        """Return the acquisition at the rows of X."""
        total = np.sum([limit.log_probability(X) for limit in self.limits], axis=0)
        if self.inner is None:
            return total
        return total + self._log(self.inner.value(X))  # E104

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the acquisition and its gradient at the rows of X."""
        total, slope = np.zeros(len(X)), np.zeros(X.shape)
        for limit in self.limits:
            log_p, gradient = limit.log_probability_and_gradient(X)
            total, slope = total + log_p, slope + gradient
        if self.inner is None:
            return total, slope
        value, gradient = self.inner.value_and_gradient(X)
        return total + self._log(value), slope + self._rate(value)[:, None] * gradient

    def _log(self, value: Values) -> Values:
        return value if self.is_log else np.log(_softplus(self._scaled(value)))

    def _rate(self, value: Values) -> Values:
        """Return the derivative of `_log`."""
        if self.is_log:
            return np.ones_like(value)
        scaled = self._scaled(value)
        return np.asarray(expit(scaled)) / _softplus(scaled) / self.spread

    def _scaled(self, value: Values) -> Values:
        # Far below, softplus is its exponential, which must not come out as nought.
        return np.maximum((value - self.low) / self.spread, -500.0)


def _softplus(x: Values) -> Values:
    return np.logaddexp(0.0, x)


def within(
    acquisition: Acquisition, observed: Points, limits: tuple[Limit, ...]
) -> FeasibleAcquisition:
    """Return an acquisition that counts as far as the limits are kept.

    Args:
        acquisition: What a point is worth by its value.
        observed: Points whose values are known.
        limits: The limits, one or more.
    """
    inner, is_log = _over_the_feasible(acquisition, limits, observed)
    low, spread = 0.0, 1.0
    if inner is not None and not is_log:
        known = inner.value(observed)
        low = float(known.min())
        spread = float(known.std()) or 1.0
    return FeasibleAcquisition(
        inner=inner, is_log=is_log, low=low, spread=spread, limits=limits
    )


def _over_the_feasible(
    acquisition: Any, limits: tuple[Limit, ...], observed: Points
) -> tuple[Acquisition | None, bool]:
    """Return the acquisition with its improvement counted from the best feasible one.

    And whether it is a logarithm.
    """
    if isinstance(acquisition, LogNoisyImprovement):
        keeps = _keep(limits, acquisition.fantasies.observed)
        if not keeps.any():
            return None, True
        incumbents = acquisition.fantasies.draws[keeps].max(axis=0)
        return replace(acquisition, incumbents=incumbents), True
    keeps = _keep(limits, observed)
    if not keeps.any():
        return None, True
    if isinstance(acquisition, LogImprovement):
        means = [
            weight * posterior.predict(observed[keeps])[0]
            for weight, posterior in acquisition.parts
        ]
        return replace(acquisition, best=float(np.sum(means, axis=0).max())), True
    return acquisition, False


def _keep(limits: tuple[Limit, ...], X: Points) -> Any:
    return np.prod([limit.keeps(X) for limit in limits], axis=0) > 0.0
