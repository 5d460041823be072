"""The shape agent: exchange what the objective looks like in the large.

It uploads the coefficients of a trend, as its data alone have them. The packet is what
the other sites say to expect of them, and becomes the prior of its own trend. Whether
that prior, a vague one or no trend at all is used is decided by the evidence of its own
data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.strategies.shape.judgement import MODELS, weight_by_name
from guidefbo.agent.strategies.shape.models import Candidate, Insight, weights_of
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Points, Values
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
SMALLEST = 1e-9
"""Least posterior variance, as a share of the prior one: rounding hides less."""
TRUSTS = ("evidence", "others", "own")
"""By its evidence, always, or never."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aimed:
    """What a packet comes to in the light of the own data."""

    candidates: tuple[Candidate, ...]
    """Models to decide among."""
    weights: Values
    """How likely each of them is."""
    summits: Points
    """Where their trends are highest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeAgent:
    """Random-effects pooling of trends, agent side."""

    features: ShapeFeatures
    """Of the search space."""
    trust: str
    """Whether the others' prior is used: by its evidence, always, or never."""
    choose: Choose
    """Picks the model to decide on."""

    def study(self, posterior: GaussianProcess) -> Insight:
        """Return the models of the own data."""
        return Insight.of(posterior, self.features)

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: Insight,
        held: ShapePacket | None,
        address: Address,
    ) -> ShapeUpload:
        """Return what the data say of the trend: the posterior less its prior."""
        del posterior, data, held, address
        vague, unit = insight.vague, insight.scale**2
        prior = vague.prior.variances[1:] / unit
        # The difference of two like numbers may come out as nought or less.
        V = np.maximum(vague.weight_variances[1:] / unit, SMALLEST * prior)
        variances = 1.0 / np.maximum(1.0 / V - 1.0 / prior, 1.0 / WIDEST)
        # Where the data say nothing, neither does the estimate.
        means = vague.weights[1:] / insight.scale * variances / V  # E97
        ends = np.cumsum(self.features.sizes)[:-1]
        return ShapeUpload(
            means=tuple(np.split(np.clip(means, -LARGEST, LARGEST), ends)),
            variances=tuple(np.split(np.clip(variances, SHARPEST, WIDEST), ends)),
        )

    def check(self, packet: ShapePacket, dim: int) -> None:
        """Refuse coefficients of another space."""
        del dim
        if len(packet) and packet.sizes != self.features.sizes:
            raise WireError(
                f"A packet must have blocks of {list(self.features.sizes)} "
                f"coefficients, got {list(packet.sizes)}. Do both sides use the same "
                "search space?"
            )

    def aimed(self, insight: Insight, packet: ShapePacket) -> Aimed:
        """Return the models, with the others' prior where there is one."""
        candidates: tuple[Candidate, ...] = insight.candidates
        if len(packet) and self.trust != "own":
            others = insight.told(self.features, packet)
            candidates = (others,) if self.trust == "others" else (others, *candidates)
        return Aimed(
            candidates=candidates,
            weights=weights_of(candidates),
            summits=np.stack(
                [
                    self.features.settled(c.model.summit, c.model.weights)
                    for c in candidates
                ]
            ),
        )

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: Aimed | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the posterior of the model that the evidence names."""
        del t
        if packet is None:
            nothing = ShapePacket(means=(), variances=())
            packet = self.aimed(self.study(posterior), nothing)
        chosen = packet.candidates[self.choose(packet.weights, address.at("model"))]
        return chosen.on(posterior)

    @property
    def models(self) -> Mapping[str, str]:
        """What each model is, by its name."""
        return MODELS

    def judgement(self, aimed: Aimed) -> dict[str, float]:
        """Return the evidence weight of each model, by name."""
        return weight_by_name((c.name for c in aimed.candidates), aimed.weights)

    def landmarks(self, packet: Aimed) -> Points | None:
        """Return where the trends are highest, for the search to start from."""
        return packet.summits
