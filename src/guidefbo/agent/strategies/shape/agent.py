"""The shape agent: exchange what the objective looks like in the large.

It uploads the coefficients of a trend, as its data alone have them, and where its own
optimum seems to be. The packet is what the other sites say to expect of both. For the
coefficients that is the prior of its own trend; whether that prior, a vague one or no
trend at all is used is decided by the evidence of its own data, and by how well the
others' model foretold results that came after its packets. The place is averaged
with the own estimate, and the uncertainty is widened there, or at the own estimate
where the own data say that it is better: a trend tells where to look in the large, and
close to an optimum it is wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from scipy.special import ndtr

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.place import Place, blend
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.record import Forecasts
from guidefbo.agent.side import OTHERS
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.strategies.shape.judgement import MODELS, weight_by_name
from guidefbo.agent.strategies.shape.models import Candidate, Insight, weights_of
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.checks import shown
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.core.streams import Address
from guidefbo.wire.shape import LARGEST, SHARPEST, WIDEST, ShapePacket, ShapeUpload

Choose = Callable[[Values, np.random.Generator], int]
"""(weights of the models, randomness) -> the one to decide on."""


def likeliest(weights: Values, stream: np.random.Generator) -> int:
    """Return the model of highest weight."""
    del stream
    return int(np.argmax(weights))


def sampled(weights: Values, stream: np.random.Generator) -> int:
    """Return a model drawn by its weight."""
    return int(stream.choice(len(weights), p=weights))


CHOICES: Mapping[str, Choose] = MappingProxyType(
    {"likeliest": likeliest, "sampled": sampled}
)
CENTER = 0.5
"""Places are counted from the middle of the cube."""
SMALLEST = 1e-9
"""Least posterior variance, as a share of the prior one: rounding hides less."""
TRUSTS = ("evidence", "others", "own")
"""By its evidence, always, or never."""
NARROWEST = 0.15
"""Least standard deviation of the place that is looked at, per coordinate: in ten
dimensions no search finds a narrower one."""
STRENGTH = 1.0
"""λ: at the place itself the standard deviation is doubled."""

Focus = Callable[[Posterior, Place, Points], Posterior]
"""(posterior, place, observed inputs) -> the posterior to decide on."""


def at_the_place(posterior: Posterior, place: Place, observed: Points) -> Posterior:
    """Widen the uncertainty around the place."""
    component = Components(
        weights=np.ones(1),
        centers=place.center[None],
        variances=np.maximum(place.variance, NARROWEST**2)[None],
    )
    scaling = LocalScaling.widening(GuidanceField.of(component), STRENGTH, observed)
    return InterventionalPosterior(local=posterior, scaling=scaling)  # E102


def nowhere(posterior: Posterior, place: Place, observed: Points) -> Posterior:
    """Leave the uncertainty as it is."""
    del place, observed
    return posterior


FOCUSES: Mapping[str, Focus] = MappingProxyType(
    {"place": at_the_place, "none": nowhere}
)
"""By the name that the setting `focus` takes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aimed:
    """What a packet comes to in the light of the own data."""

    candidates: tuple[Candidate, ...]
    """Models to decide among."""
    weights: Values
    """How likely each of them is."""
    summits: Points
    """Where their trends are highest."""
    own: Place
    """Where the optimum is, as far as the own data tell."""
    told: Place
    """The same from own and received estimates; without a packet the own one."""
    refits: dict[str, Candidate] = field(default_factory=dict[str, Candidate])
    """Models that were decided on, fitted again once for all questions."""

    def refitted(self, chosen: Candidate, model: Model) -> Candidate:
        """Return a model with the process beside its trend fitted again.

        Args:
            chosen: One of the candidates.
            model: Priors and limits of the hyperparameters.
        """
        if chosen.name not in self.refits:
            self.refits[chosen.name] = chosen.refitted(model)
        return self.refits[chosen.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeAgent:
    """Random-effects pooling of trends, agent side."""

    domain: Domain
    """Where queries may lie."""
    features: ShapeFeatures
    """Of the search space, up to the degree that is exchanged."""
    model: Model
    """How hyperparameters are fitted."""
    trust: str
    """Whether the others' prior is used: by its evidence, always, or never."""
    choose: Choose
    """Picks the model to decide on."""
    focus: Focus
    """What is made of the place."""

    def study(self, posterior: GaussianProcess) -> Insight:
        """Return the models of the own data, and the own place."""
        return Insight.of(posterior, self.features, self.domain)

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: Insight,
        held: ShapePacket | None,
        address: Address,
    ) -> ShapeUpload | None:
        """Return what the data say of trend and place, the posterior less its prior."""
        del posterior, data, held, address
        scale, numbers = insight.known.scale, self.features.numbers
        means, variances = _said(insight.vague, scale, self.features.quadratic.free)
        if insight.curved is not None:
            low, of_quadratic = self.features.of_quadratic, (means, variances)
            means, variances = _said(insight.curved, scale, self.features.free)
            means[low], variances[low] = of_quadratic
        means = np.append(means, insight.place.center[numbers] - CENTER)
        variances = np.append(variances, insight.place.variance[numbers])
        kinds, sizes = zip(*self.features.form, strict=True)
        ends = np.cumsum(sizes)[:-1]
        return ShapeUpload(
            kinds=kinds,
            means=tuple(np.split(np.clip(means, -LARGEST, LARGEST), ends)),
            variances=tuple(np.split(np.clip(variances, SHARPEST, WIDEST), ends)),
        )

    def check(self, packet: ShapePacket, dim: int) -> None:
        """Refuse coefficients of another space."""
        del dim
        if len(packet) and packet.form != self.features.form:
            raise WireError(
                f"A packet must have the blocks {shown(self.features.form)}, got "
                f"{shown(packet.form)}. Do both sides use the same search space?"
            )

    @property
    def nothing(self) -> ShapePacket:
        """The packet of a site that has heard from nobody."""
        return ShapePacket(kinds=(), means=(), variances=())

    def aimed(self, insight: Insight, packet: ShapePacket) -> Aimed:
        """Return the models, with the others' prior where there is one."""
        candidates: tuple[Candidate, ...] = insight.candidates
        own = told = self._of_numbers(*insight.place)
        if len(packet) and self.trust != "own":
            others = insight.told(self.features, packet)
            candidates = (others,) if self.trust == "others" else (others, *candidates)
            told = self._blended(own, packet)
        return Aimed(
            candidates=candidates,
            weights=weights_of(candidates),
            summits=np.stack(
                [
                    self.features.settled(c.model.summit, c.model.weights)
                    for c in candidates
                ]
            ),
            own=own,
            told=told,
        )

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: Aimed | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the posterior of the model that the evidence names, in focus."""
        del t
        if packet is None:
            packet = self.aimed(self.study(posterior), self.nothing)
        chosen = packet.candidates[self.choose(packet.weights, address.at("model"))]
        model = packet.refitted(chosen, self.model).on(posterior)
        if len(self.features.options):
            # What is good of the numbers with one option need not be with another:
            # whoever dwells at one place tries too few options.
            return model
        place = packet.own
        if chosen.name == OTHERS and self._prefers_told(model, packet):
            place = packet.told
        return self.focus(model, place, posterior.X)

    @property
    def models(self) -> Mapping[str, str]:
        """What each model is, by its name."""
        return MODELS

    def judgement(self, aimed: Aimed) -> dict[str, float]:
        """Return the evidence weight of each model, by name."""
        return weight_by_name((c.name for c in aimed.candidates), aimed.weights)

    def forecasts(self, aimed: Aimed, x: Point) -> Forecasts | None:
        """Return what the others' model and the likelier of the rest expect."""
        if aimed.candidates[0].name != OTHERS or len(aimed.candidates) == 1:
            return None
        others, *alone = aimed.candidates
        likelier = alone[int(np.argmax(aimed.weights[1:]))]
        return Forecasts(others=others.foretells(x), alone=likelier.foretells(x))

    def recalled(self, aimed: Aimed, record: float) -> Aimed:
        """Return the same models, the others' weighed by its record as well."""
        odds = np.array([record * (c.name == OTHERS) for c in aimed.candidates])
        return replace(aimed, weights=weights_of(aimed.candidates, odds))

    def landmarks(self, packet: Aimed) -> Points | None:
        """Return where to start the search: the trends' maxima, and at the places."""
        return np.vstack([packet.summits, self._points(packet)])

    def _points(self, packet: Aimed) -> Points:
        """Return the own place and the other, with the options of the likeliest model.

        Without a packet they are one.
        """
        numbers = self.features.numbers
        own, told = packet.own, packet.told
        places = [own] if told is own else [own, told]
        X = np.tile(packet.summits[int(np.argmax(packet.weights))], (len(places), 1))
        X[:, numbers] = [place.center[numbers] for place in places]
        return X

    def _prefers_told(self, model: Posterior, packet: Aimed) -> bool:
        """Return whether the place told is to be looked at, not the own one.

        The blend has moved by q towards the others because they know the place better
        than the own data do. The model says how likely it is that this was a mistake.
        """
        numbers = self.features.numbers
        q = 1.0 - np.mean(packet.told.variance[numbers] / packet.own.variance[numbers])
        mean, cov = model.joint(self._points(packet))
        variance = cov[0, 0] + cov[-1, -1] - 2.0 * cov[0, -1]
        spread = float(np.sqrt(max(variance, SMALLEST * cov[0, 0])))
        return bool(ndtr(float(mean[0] - mean[-1]) / spread) <= q)  # E105

    def _blended(self, own: Place, packet: ShapePacket) -> Place:
        """Return the average of the own and the received place."""
        numbers = self.features.numbers
        if not len(numbers):
            return own
        center, variance = own.center.copy(), own.variance.copy()
        center[numbers], variance[numbers] = blend(
            Place(center[numbers], variance[numbers]),
            Place(packet.means[-1] + CENTER, packet.variances[-1]),
        )
        return Place(np.clip(center, 0.0, 1.0), variance)

    def _of_numbers(self, center: Values, variance: Values) -> Place:
        """Return the place without its options, of which a trend knows more."""
        spread = np.full(len(center), WIDEST)
        spread[self.features.numbers] = variance[self.features.numbers]
        return Place(center, spread)


def _said(vague: TrendPosterior, scale: float, free: Values) -> tuple[Values, Values]:
    """Return what the data say of the coefficients: the posterior less its prior.

    The indicators of a choice sum to zero. What its coefficients have in common no data
    can tell, so that it keeps its prior variance and is taken off on both sides.

    Args:
        vague: The model with a vague trend.
        scale: Standard deviation of the values, in which coefficients are counted.
        free: Share of each coefficient's prior variance that data can tell of.
    """
    unit = scale**2
    whole = vague.prior.variances[1:] / unit
    prior = free * whole
    # The difference of two like numbers may come out as nought or less.
    V = vague.weight_variances[1:] / unit - (whole - prior)
    V = np.maximum(V, SMALLEST * prior)
    variances = 1.0 / np.maximum(1.0 / V - 1.0 / prior, 1.0 / WIDEST)
    # Where the data say nothing, neither does the estimate.
    return vague.weights[1:] / scale * variances / V, variances  # E97
