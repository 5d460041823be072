"""FTS's agent: send a posterior draw as feature weights, sometimes maximise a peer's.

The packet of a round is used in that round: all agents upload before any of them
queries, which is the synchronous form of the method. The original has one target agent,
whose sources have finished and are used at most once; here every agent is a target, and
sources send a new draw in every round.

References:
    Dai, Low and Jaillet, Federated Bayesian optimization via Thompson sampling,
    NeurIPS 2020.
"""

from dataclasses import dataclass

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.paths.shared import (
    SharedPath,
    draw_weights,
    follows_itself,
    shared_map,
)
from guidefbo.agent.surrogate.certain import CertainPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.streams import Address, Purpose
from guidefbo.wire.fts import FeatureWeights, same_features


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsAgent:
    """Federated Thompson sampling on a shared feature map."""

    num_shared: int
    """M, features of the shared map."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: FeatureWeights | None,
        address: Address,
    ) -> FeatureWeights:
        """Return one draw of the weights.

        Values are centred by the fitted constant mean, which moves no maximum and
        keeps zero, the value where nothing was seen, from being the best one.
        """
        del data, insight, held
        gp = posterior
        features = shared_map(address.streams, self.num_shared, gp.dim)
        weights = draw_weights(
            features(gp.X, gp.hyper.outputscale),
            gp.y - gp.hyper.mean,
            gp.noise,
            address.at(Purpose.WEIGHTS),
        )
        return FeatureWeights(weights=weights)

    def check(self, packet: FeatureWeights, dim: int) -> None:
        """Refuse another number of features; weights have no dimension."""
        del dim
        same_features(packet.num_features, self.num_shared, "A packet")

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: FeatureWeights | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the local posterior with probability p_t, else the peer's function."""
        if packet is None or follows_itself(t, address):
            return posterior
        features = shared_map(address.streams, self.num_shared, posterior.dim)
        path = SharedPath(features=features, weights=packet.weights)
        return CertainPosterior(path=path, dim=posterior.dim)
