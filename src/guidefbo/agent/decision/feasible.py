"""Limits of further measured outcomes, in any acquisition.

Every outcome has a Gaussian process of its own, of how far it keeps its limit: at least
0 where it does. With P_k(x) the probability of that for outcome k, as its model has it
without noise, a point is worth

    log EI(x) + Σ_k log P_k(x)                       for UCB, EI and noisy EI
    log softplus((f(x) - b) / s) + Σ_k log P_k(x)    for a sample path f

Improvement is one over the best observed point that keeps the limits, by what was
measured there and by what the models expect: under noise, a measurement just inside a
limit is more often lucky than right. b is the path's highest value at such points and s
a tenth of its spread over all observed ones. While no measurement keeps the limits,
only Σ_k log P_k counts.

Why an improvement, for UCB too: what multiplies a probability must be positive and
small where little is to be gained. A confidence bound counted from any fixed level is
worth so much well inside the limits that a site never goes near them, and that is where
the best point usually lies. The improvement is of the posterior UCB would have decided
on; β plays no part in it.

References:
    Gardner et al., Bayesian optimization with inequality constraints, ICML 2014.
    Gelbart, Snoek and Adams, Bayesian optimization with unknown constraints, UAI 2014.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr

from guidefbo.agent.decision.ei import LogImprovement, parts_of
from guidefbo.agent.decision.nei import LOG_SQRT_2PI, LogNoisyImprovement
from guidefbo.agent.decision.rule import Acquisition
from guidefbo.agent.decision.ucb import UpperConfidence
from guidefbo.agent.missing import believe
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.snapped import SnappedPosterior, unrounded
from guidefbo.core.arrays import Others, Points, Values

PATH_SHARE = 0.1
"""Share of a path's spread over which its improvement sets in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The model of one outcome, and what it must reach."""

    posterior: Posterior
    """Of how far the outcome keeps its limit, in model units."""
    threshold: float
    """What 0 is in these units."""

    def believing(self, X: Points) -> Self:
        """Return the limit with its outcome at the rows of X as the mean has it."""
        gp = unrounded(self.posterior)
        assert isinstance(gp, GaussianProcess)  # outcomes have no other model
        gp = believe(gp, X, gp.predict_mean(X))
        if isinstance(self.posterior, SnappedPosterior):
            return replace(self, posterior=replace(self.posterior, inner=gp))
        return replace(self, posterior=gp)

    def expects(self, X: Points) -> NDArray[np.bool_]:
        """Return whether the mean keeps the limit at the rows of X."""
        return self.posterior.predict(X)[0] >= self.threshold

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
class Limits:
    """The limits of all outcomes, and which results keep them."""

    each: tuple[Limit, ...]
    """One or more."""
    kept: NDArray[np.bool_]
    """(n,) which observed points keep all of them."""

    @classmethod
    def of(
        cls, each: tuple[Limit, ...], observed: Points, measured: NDArray[np.bool_]
    ) -> Self:
        """Return the limits, with the points that keep them.

        Args:
            each: The limits.
            observed: Points whose values are known, (n, d).
            measured: Which of them keep all limits as measured. Those count that the
                models expect to keep them as well, or all if there are none such.
        """
        kept = measured & np.all([limit.expects(observed) for limit in each], axis=0)
        return cls(each=each, kept=kept if kept.any() else measured)

    def with_pending(self, X: Others) -> Self:
        """Return the limits with points that are being evaluated, behind the others.

        They are imagined as the models expect them, like their values. Otherwise what
        is asked meanwhile would be asked next to them.
        """
        if not len(X):
            return self
        kept = np.all([limit.expects(X) for limit in self.each], axis=0)
        each = tuple(limit.believing(X) for limit in self.each)
        return replace(self, each=each, kept=np.append(self.kept, kept))

    def log_probability(self, X: Points) -> Values:
        """Return the log probability that all are kept at the rows of X."""
        return np.sum([limit.log_probability(X) for limit in self.each], axis=0)

    def log_probability_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return that log probability and its gradient at the rows of X."""
        total, slope = np.zeros(len(X)), np.zeros(X.shape)
        for limit in self.each:
            log_p, gradient = limit.log_probability_and_gradient(X)
            total, slope = total + log_p, slope + gradient
        return total, slope

    def best(self, observed: Points, mean: Values, count: int) -> Others:
        """Return observed points to look around: the best that keep the limits.

        Where none does, those most likely to.

        Args:
            observed: The observed points, (n, d).
            mean: What the model expects there, (n,).
            count: How many at most.
        """
        if self.kept.any():
            score = np.where(self.kept, mean, -np.inf)
            count = min(count, int(self.kept.sum()))
        else:
            score = self.log_probability(observed)
        return observed[np.argsort(-score, kind="stable")[:count]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeasibleAcquisition:
    """An improvement times the probability that all limits are kept, as a logarithm."""

    inner: Acquisition | None
    """What a point is worth by its value; None while no point keeps the limits."""
    is_log: bool
    """Whether that is the logarithm of an improvement."""
    low: float
    """Where it is not: the inner value that is to be improved on."""
    spread: float
    """And the range over which an improvement sets in."""
    limits: Limits
    """The limits."""

    def value(self, X: Points) -> Values:
        """Return the acquisition at the rows of X."""
        total = self.limits.log_probability(X)
        if self.inner is None:
            return total
        return total + self._log(self.inner.value(X))  # E104

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the acquisition and its gradient at the rows of X."""
        total, slope = self.limits.log_probability_and_gradient(X)
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
    acquisition: Acquisition, observed: Points, limits: Limits
) -> FeasibleAcquisition:
    """Return an acquisition that counts as far as the limits are kept.

    Args:
        acquisition: What a point is worth by its value.
        observed: Points whose values are known or imagined, in the order of
            `limits.kept`. Those that fantasies are of begin with them.
        limits: The limits.
    """
    low, spread = 0.0, 1.0
    inner = None
    if limits.kept.any():
        inner = _over_the_kept(acquisition, observed, limits.kept)
    is_log = inner is None or isinstance(inner, LogImprovement | LogNoisyImprovement)
    if inner is not None and not is_log:
        known = inner.value(observed)
        low = float(known[limits.kept].max())
        spread = PATH_SHARE * float(known.std()) or 1.0
    return FeasibleAcquisition(
        inner=inner, is_log=is_log, low=low, spread=spread, limits=limits
    )


def _over_the_kept(
    acquisition: Any, observed: Points, kept: NDArray[np.bool_]
) -> Acquisition:
    """Return the acquisition with its improvement counted from the best kept point."""
    if isinstance(acquisition, LogNoisyImprovement):
        incumbents = acquisition.fantasies.draws[np.flatnonzero(kept)].max(axis=0)
        return replace(acquisition, incumbents=incumbents)
    if isinstance(acquisition, UpperConfidence):
        parts = parts_of(acquisition.posterior)
    elif isinstance(acquisition, LogImprovement):
        parts = acquisition.parts
    else:
        return acquisition
    means = [weight * part.predict(observed[kept])[0] for weight, part in parts]
    return LogImprovement(parts=parts, best=float(np.sum(means, axis=0).max()))
