"""The consensus agent: exchange estimates of where the optimum is, and combine them.

It uploads the maximiser of its posterior mean with a variance per coordinate. The
packet is a pooled estimate from the other agents. The precision-weighted average of
both is where the local uncertainty is widened and a search starts.

Not the consensus of Yue et al., whose agents agree on designs: they mix their next
queries by a matrix of weights that fades from everybody's to one's own. Here the agents
agree on where optima are, and each of them decides for itself.

References:
    Yue, Liu, Berahas, Johnson and Al Kontar, Collaborative and distributed Bayesian
    optimization via consensus, 2023 (arXiv 2306.14348), 2025.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from guidefbo.agent.belief.peak import find_peak, peak_variance
from guidefbo.agent.belief.value_score import value_score
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.place import Place
from guidefbo.agent.guidance.scaling import Intervention
from guidefbo.agent.guidance.schedule import Schedule
from guidefbo.agent.strategies.consensus.aim import Aim
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.arrays import Points, frozen_array
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Address
from guidefbo.wire.consensus import (
    MAX_SCORE,
    SHARPEST,
    WIDEST,
    ConsensusPacket,
    PeakUpload,
)
from guidefbo.wire.entries import same_dimension

MAX_POINTS = 256
"""Observations the trend is fitted to: more change it little, at cubic cost."""
LocalModel = Callable[[GaussianProcess], TrendPosterior]
"""The local process -> the model whose maximum is the own estimate."""


def with_trend(gp: GaussianProcess) -> TrendPosterior:
    """Return the process beside a quadratic trend."""
    return TrendPosterior.fit(gp.thinned(MAX_POINTS))


PLACES: Mapping[str, LocalModel] = MappingProxyType(
    {"trend": with_trend, "process": TrendPosterior.without_trend}
)
"""By the name that the setting `place` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusAgent:
    """Random-effects pooling of estimated optima, agent side."""

    intervention: Intervention
    """Turns the field into a scaling of the uncertainty."""
    schedule: Schedule
    """Strength of the intervention over the rounds."""
    domain: Domain
    """Where the optimum may lie."""
    model: LocalModel
    """The model whose maximum is the place: with a trend, or the process alone."""
    aim: Aim
    """How own and received estimates are combined."""
    min_spread: float
    """Smallest standard deviation of the combined estimate, per coordinate."""
    max_strength: float
    """λ_max."""
    lcb_coefficient: float
    """κ of the value score."""

    def study(self, posterior: GaussianProcess) -> Place:
        """Return the own estimate of the optimum, from the local data alone."""
        model = self.model(posterior)
        x = find_peak(model, self.domain)
        variance = peak_variance(model, x, self.domain, SHARPEST, WIDEST)
        return Place(frozen_array(x), frozen_array(variance))

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: Place,
        held: ConsensusPacket | None,
        address: Address,
    ) -> PeakUpload:
        """Return the peak of the posterior mean, with its variance and score."""
        del held, address
        x, variance = insight
        score = value_score(posterior, x, data.y, self.lcb_coefficient)
        return PeakUpload(
            mass=1.0,
            center=x,
            variance=variance,
            value_score=float(np.clip(score, -MAX_SCORE, MAX_SCORE)),
        )

    def check(self, packet: ConsensusPacket, dim: int) -> None:
        """Refuse an estimate of another dimension."""
        if len(packet):
            same_dimension(packet.dim, dim, "A packet")

    def aimed(self, insight: Place, packet: ConsensusPacket) -> ConsensusPacket:
        """Return guidance to the received and the own estimate combined."""
        if not len(packet):
            return packet
        sent = packet.components
        others = Place(sent.centers, sent.variances)
        center, variance = self.aim(insight, others)
        return ConsensusPacket(
            components=Components(
                weights=sent.weights,
                centers=np.clip(center, 0.0, 1.0),
                variances=np.maximum(variance, self.min_spread**2),  # E77
            )
        )

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: ConsensusPacket | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the interventional posterior, or the local one without guidance."""
        del address
        if packet is None or not len(packet):
            return posterior
        strength = self.schedule(self.max_strength, t)
        guidance = GuidanceField.of(packet.components)
        scaling = self.intervention(guidance, strength, posterior.X)
        return InterventionalPosterior(local=posterior, scaling=scaling)

    def landmarks(self, packet: ConsensusPacket | None) -> Points | None:
        """Return the combined estimate, for the search to start from as well."""
        return packet.components.centers if packet is not None and len(packet) else None
