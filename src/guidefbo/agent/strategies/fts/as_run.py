"""FTS's agent as presumed behind the paper's tables.

A peer sends a point, not a function: each agent draws its exact posterior once on a set
of candidates and sends where the draw is highest. An agent that follows a peer queries
that point as it is.

References:
    Dai, Low and Jaillet, Federated Bayesian optimization via Thompson sampling,
    NeurIPS 2020: the published method, in `agent.py` beside this module.
"""

from dataclasses import dataclass

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.ts import Peak
from guidefbo.agent.paths.maximise import ExactSampler
from guidefbo.agent.paths.shared import follows_itself
from guidefbo.agent.surrogate.certain import CertainPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Address, Purpose
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.fts import PeerPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsPointAgent:
    """FTS as presumed behind the paper's tables: where a peer's exact draw peaks."""

    domain: Domain
    """Where the maximum may lie."""
    num_candidates: int
    """Sobol points among which the draw is maximised."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: PeerPoint | None,
        address: Address,
    ) -> PeerPoint:
        """Return where one joint draw of the posterior peaks."""
        del data, insight, held
        candidates = self.domain.spread(
            self.num_candidates, address.at(Purpose.CANDIDATES)
        )
        samples = ExactSampler(num_paths=1)(posterior, candidates, address)
        return PeerPoint(point=samples.points[0])

    def check(self, packet: PeerPoint, dim: int) -> None:
        """Refuse a point of another dimension."""
        same_dimension(packet.dim, dim, "A packet")

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: PeerPoint | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the local posterior with probability p_t, else the peer's point."""
        if packet is None or follows_itself(t, address):
            return posterior
        return CertainPosterior(path=Peak(at=packet.point), dim=posterior.dim)
