"""Three models of one site's values, and how well its own data bear each of them out.

The values are a constant, a trend φᵀβ and a Gaussian process. What is known of β
beforehand makes the difference:

    others   β ~ N(θ, diag s), which the server says of sites like this one
    own      β ~ N(0, S I), which says next to nothing; S is the likeliest of a few
    none     β = 0, a process without a trend

The marginal likelihoods of the site's own data under the three are their weights. That
of `others` says how far the other sites are right about this one.

Both trends of its own are quadratic. The others' may be of a higher degree, and is then
used in full where the site's own data bear that out clearly.

They are compared with the lengthscales of the process without a trend. What is left
beside a trend has others: those of the model that is decided on are fitted again.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.belief.peak import find_peak, peak_variance
from guidefbo.agent.guidance.place import Place
from guidefbo.agent.record import Forecast
from guidefbo.agent.side import OTHERS
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.surrogate.fit import fit
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.trend import (
    TrendPosterior,
    TrendPrior,
    observed_kernel,
)
from guidefbo.core.arrays import Matrix, Point, Values
from guidefbo.core.domain import Domain
from guidefbo.wire.shape import SHARPEST, ShapePacket

LEVEL = 1.0
"""Variance of the constant, in squared standard deviations of the site's values; its
mean is that of the fitted process."""
VAGUE = 1.0
"""Variance of a coefficient of which nothing is known, in the same unit."""
VAGUE_HIGHER = 0.1
"""The same of coefficients above degree two, which are mostly smaller."""
CLEARLY = 3.0
"""By how much the log evidence of a trend of higher degree must exceed that of the
quadratic: odds of twenty, which Kass and Raftery call strong."""
SIZES = (VAGUE, 0.1, 0.01)
"""Variances that the coefficients of an own trend may have."""
SHARES = (1.0, 0.1, 0.01)
"""Shares of the fitted process's variance that may be left beside a trend, for the
comparison; the model decided on is fitted again."""
NONE = "none"
"""Name of the model without a trend."""
SMALLEST_SCALE = 1e-100
"""Standard deviations below it count as none: their squares would be zero."""
MAX_POINTS = 256
"""Observations the models are compared on: more change little, at cubic cost."""
MAX_ITERATIONS = 12
"""Of the second fit, which starts where the first one ended."""
WIDEST_PLACE = 1.0 / 12.0
"""Variance of a coordinate of the optimum of which nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """One model, conditioned on the site's own data."""

    name: str
    """others, own or none."""
    model: TrendPosterior
    """The model."""

    def refitted(self, model: Model) -> "Candidate":
        """Return it with the process beside the trend fitted again; noise stays.

        Args:
            model: Priors and limits of the hyperparameters.
        """
        if self.name == NONE:
            return self
        gp, prior = self.model.rest, self.model.prior
        F = prior.basis(gp.X)
        hyper = fit(
            gp.X,
            gp.y - F @ prior.means,
            noise_variance=gp.hyper.noise_variance,
            priors=model.priors,
            bounds=model.bounds,
            groups=model.groups,
            own_noise=gp.noise,
            beside=(F * prior.variances) @ F.T,
            start=gp.hyper,
            max_iterations=MAX_ITERATIONS,
        )
        return replace(self, model=replace(self.model, rest=replace(gp, hyper=hyper)))

    def foretells(self, x: Point) -> Forecast:
        """Return what the model expects of a result at a point."""
        mean, std = self.model.predict(x[None])
        noise = np.sqrt(self.model.rest.hyper.noise_variance)
        return Forecast(float(mean[0]), float(std[0]), float(noise))

    def on(self, gp: GaussianProcess) -> TrendPosterior:
        """Return the model conditioned on the data of a process, imagined ones too."""
        hyper = self.model.rest.hyper
        return TrendPosterior.fit(gp, self.model.prior, hyper=hyper, shares=(1.0,))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """A site's own data, as all models see them."""

    gp: GaussianProcess
    """The process without a trend."""
    kernel: Matrix
    """Its kernel at the observed inputs."""
    scale: float
    """Standard deviation of all values, 1 where they are equal."""

    def model(
        self,
        features: ShapeFeatures,
        means: NDArray[np.float64],
        variances: NDArray[np.float64],
        shares: tuple[float, ...] = SHARES,
    ) -> TrendPosterior:
        """Return the model with this prior, in standard deviations of the values."""
        prior = TrendPrior(
            basis=features,
            means=self.scale * np.append(0.0, means),
            variances=self.scale**2 * np.append(LEVEL, variances),
        )
        return TrendPosterior.fit(self.gp, prior, shares=shares, kernel=self.kernel)

    def place(self, domain: Domain) -> Place:
        """Return the maximiser of a trend's mean, its curvature taken for negative."""
        model = TrendPosterior.fit(self.gp, kernel=self.kernel)
        x = find_peak(model, domain)
        return Place(x, peak_variance(model, x, domain, SHARPEST, WIDEST_PLACE))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Insight:
    """What a site's own data say by themselves."""

    known: Known
    """The data that models are compared on."""
    vague: TrendPosterior
    """The model with a vague quadratic, of which an upload is made."""
    curved: TrendPosterior | None
    """The same with all degrees that are exchanged; None: there are no more than two.
    An upload has the higher ones from it."""
    candidates: tuple[Candidate, Candidate]
    """own and none."""
    place: Place
    """Where the optimum is, as far as the own data tell."""

    @classmethod
    def of(cls, gp: GaussianProcess, features: ShapeFeatures, domain: Domain) -> Self:
        """Return the models that need nobody else, and the own place.

        Args:
            gp: The fitted process without a trend.
            features: Of the search space, up to the degree that is exchanged.
            domain: Where the optimum may lie.
        """
        basis = features.quadratic
        # Equal values have a standard deviation of rounding error, not of zero.
        std, rounding = float(gp.y.std()), 1e-12 * float(np.abs(gp.y).max())
        scale = std if std > max(rounding, SMALLEST_SCALE) else 1.0
        known = gp.thinned(MAX_POINTS)
        known = Known(gp=known, kernel=observed_kernel(known), scale=scale)
        nothing = np.zeros(basis.size)
        trends = [known.model(basis, nothing, nothing + size) for size in SIZES]
        own = max(trends, key=lambda model: model.evidence)
        none = known.model(basis, nothing, nothing, shares=(1.0,))
        curved = None
        if features.size > basis.size:
            wide = np.where(features.of_quadratic, VAGUE, VAGUE_HIGHER)
            curved = known.model(features, np.zeros(features.size), wide)
        return cls(
            known=known,
            vague=trends[0],
            curved=curved,
            candidates=(
                Candidate(name="own", model=own),
                Candidate(name=NONE, model=none),
            ),
            place=known.place(domain),
        )

    def told(self, features: ShapeFeatures, packet: ShapePacket) -> Candidate:
        """Return the model under the prior that the server sent.

        Of a higher degree than two where the own data bear that out clearly.
        """
        means, variances = (
            np.concatenate(numbers)[: features.size]
            for numbers in (packet.means, packet.variances)
        )
        # Told is how much a coefficient differs from the mean of its choice's; one that
        # is drawn by itself varies more, by what all of them have in common.
        variances = variances / features.free
        low = features.of_quadratic
        model = self.known.model(features.quadratic, means[low], variances[low])
        if not low.all():
            curved = self.known.model(features, means, variances)
            if curved.evidence > model.evidence + CLEARLY:
                model = curved  # E106
        return Candidate(name=OTHERS, model=model)


def weights_of(candidates: tuple[Candidate, ...], odds: Values | float = 0.0) -> Values:
    """Return the posterior probabilities of models.

    Args:
        candidates: The models.
        odds: Logarithms of what else counts for each; none: they were equally likely.
    """
    evidence = odds + np.array([c.model.evidence for c in candidates])
    shares = np.exp(evidence - evidence.max())
    return shares / shares.sum()  # E96
