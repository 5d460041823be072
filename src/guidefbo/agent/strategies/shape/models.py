"""Three models of one site's values, and how well its own data bear each of them out.

The values are a trend φᵀβ plus a Gaussian process. What is known of β beforehand makes
the difference:

    others   β ~ N(θ, diag s), which the server says of sites like this one
    own      β ~ N(0, 1), which says next to nothing
    none     β = 0, a process without a trend

The marginal likelihoods of the site's own data under the three are their weights. That
of `others` says how far the other sites are right about this one.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.trend import TrendPosterior, TrendPrior
from guidefbo.core.arrays import Values
from guidefbo.wire.shape import ShapePacket

VAGUE = 1.0
"""Variance of a coefficient of which nothing is known, in squared standard deviations
of the site's values."""
SIZES = (0.1, 0.01)
"""Smaller variances that the coefficients of an own trend may have."""
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Shares of the fitted process's variance that may be left beside a trend."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """One model: what it takes to condition it on any data, and its evidence."""

    name: str
    """others, own or none."""
    hyper: Hyperparameters
    """Of the process beside the trend."""
    prior: TrendPrior
    """Of the trend."""
    evidence: float
    """Log marginal likelihood of the site's own data, up to a common constant."""

    @classmethod
    def of(cls, name: str, model: TrendPosterior) -> Self:
        """Return a candidate with the evidence of a conditioned model."""
        return cls(
            name=name,
            hyper=model.rest.hyper,
            prior=model.prior,
            evidence=model.evidence,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Insight:
    """What a site's own data say by themselves."""

    gp: GaussianProcess
    """The process without a trend."""
    scale: float
    """Standard deviation of the values."""
    own: TrendPosterior
    """The model with a vague trend."""
    candidates: tuple[Candidate, Candidate]
    """own and none."""


def study(gp: GaussianProcess, features: ShapeFeatures) -> Insight:
    """Return the models that need nobody else.

    Args:
        gp: The fitted process without a trend.
        features: Of the search space.
    """
    # Equal values have a standard deviation of rounding error, not of zero.
    scale = float(gp.y.std()) if np.ptp(gp.y) > 0.0 else 1.0
    vague = TrendPrior(
        basis=features,
        means=np.zeros(features.size),
        variances=np.full(features.size, VAGUE * scale**2),
    )
    own = _likeliest(gp, vague)
    tight = [
        _likeliest(gp, replace(vague, variances=size * vague.variances))
        for size in SIZES
    ]
    best = max([own, *tight], key=lambda model: model.evidence)
    none = TrendPosterior.without_trend(gp)
    return Insight(
        gp=gp,
        scale=scale,
        own=own,
        candidates=(Candidate.of("own", best), Candidate.of("none", none)),
    )


def told(insight: Insight, features: ShapeFeatures, packet: ShapePacket) -> Candidate:
    """Return the model under the prior that the server sent."""
    scale = insight.scale
    prior = TrendPrior(
        basis=features,
        means=scale * np.concatenate(packet.means),
        variances=scale**2 * np.concatenate(packet.variances),
    )
    return Candidate.of("others", _likeliest(insight.gp, prior))


def weights_of(candidates: tuple[Candidate, ...]) -> Values:
    """Return the posterior probabilities of models that were equally likely before."""
    evidence = np.array([c.evidence for c in candidates])
    shares = np.exp(evidence - evidence.max())
    return shares / shares.sum()  # E96


def _likeliest(gp: GaussianProcess, prior: TrendPrior) -> TrendPosterior:
    """Return the model whose process keeps the likeliest share of its variance."""
    tried = (
        TrendPosterior.condition(
            gp, replace(gp.hyper, outputscale=share * gp.hyper.outputscale), prior
        )
        for share in SHARES
    )
    return max(tried, key=lambda model: model.evidence)
