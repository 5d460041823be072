"""GUIDE's agent: send a distribution of the optimum, widen uncertainty where told.

It samples maximisers of posterior paths, fits a Gaussian mixture to them and uploads
the heaviest component. Received components raise the local standard deviation near
them.
"""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.belief.mixture import Belief
from guidefbo.agent.belief.value_score import value_score
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import Intervention
from guidefbo.agent.guidance.schedule import Schedule
from guidefbo.agent.paths.maximise import Sampler
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Points
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.core.streams import Address, Purpose
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.guide import MAX_SCORE, GuidancePacket, OptimumUpload


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideAgent:
    """Algorithm 1 of the paper, agent side."""

    sampler: Sampler
    """Draws optimum locations from the posterior."""
    belief: Belief
    """Fits a mixture to them."""
    intervention: Intervention
    """Turns the field into a scaling of the uncertainty."""
    schedule: Schedule
    """Strength of the intervention over the rounds."""
    domain: Domain
    """Where the optimum may lie."""
    num_candidates: int
    """Uniform candidates among which every path is maximised."""
    max_strength: float
    """λ_max."""
    lcb_coefficient: float
    """κ of the value score."""
    packet_size: int
    """Most components a packet may hold."""
    starts_at_centers: bool = False
    """Whether the search for the next query starts at the components as well."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: GuidancePacket | None,
        address: Address,
    ) -> OptimumUpload:
        """Return the dominant component of the optimum distribution, with its score."""
        del insight, held
        candidates = self.domain.sample(
            self.num_candidates, address.at(Purpose.CANDIDATES)
        )
        samples = self.sampler(posterior, candidates, address)
        mixture = self.belief(samples, address.at(Purpose.MIXTURE))
        k = mixture.dominant
        center = np.clip(mixture.centers[k], 0.0, 1.0)
        score = value_score(posterior, center, data.y, self.lcb_coefficient)
        return OptimumUpload(
            mass=float(min(mixture.masses[k], 1.0)),
            center=center,
            variance=mixture.variances[k],
            value_score=float(np.clip(score, -MAX_SCORE, MAX_SCORE)),
        )

    def check(self, packet: GuidancePacket, dim: int) -> None:
        """Refuse components of another dimension, or too many of them."""
        same_dimension(packet.dim, dim, "A packet")
        if len(packet) > self.packet_size:
            raise WireError(
                f"A packet must hold at most {self.packet_size} components, got "
                f"{len(packet)}. Set packet_size at this site as at the server."
            )

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: GuidancePacket | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the interventional posterior, or the local one without guidance."""
        del address
        if packet is None:
            return posterior
        field = GuidanceField.of(packet.components)
        scaling = self.intervention(field, self.strength_at(t), posterior.X)
        return InterventionalPosterior(local=posterior, scaling=scaling)

    def landmarks(self, packet: GuidancePacket | None) -> Points | None:
        """Return the centres of the components, if the search is to start there."""
        if packet is None or not self.starts_at_centers:
            return None
        return packet.components.centers

    def strength_at(self, t: int) -> float:
        """Return λ_t, the strength of the intervention in round t."""
        return self.schedule(self.max_strength, t)
