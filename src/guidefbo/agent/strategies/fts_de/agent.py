"""FTS-DE's agent: send a posterior draw, receive an averaged function per region.

The packet of a round is used in that round, the synchronous snapshot: all agents upload
before any of them queries. In the original code an average is used one round later.

The server averages the weights of different agents, so every agent standardises its
values first and uses a prior variance of v = 1.

References:
    Dai, Low and Jaillet, Differentially private federated Bayesian optimization with
    distributed exploration, NeurIPS 2021.
"""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.dataset import Dataset, scale_of
from guidefbo.agent.paths.shared import (
    SharedPath,
    draw_weights,
    follows_itself,
    shared_map,
)
from guidefbo.agent.surrogate.certain import CertainPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.core.streams import Address, Purpose
from guidefbo.wire.fts import FeatureWeights, RegionWeights, same_features
from guidefbo.wire.regions import region_boxes, region_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeAgent:
    """Federated Thompson sampling with distributed exploration."""

    num_shared: int
    """M, features of the shared map."""
    num_regions: int
    """R: 1, 2 or 4."""
    domain: Domain
    """Where queries may lie."""
    num_candidates: int
    """Sobol points among which the best region is found."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: RegionWeights | None,
        address: Address,
    ) -> FeatureWeights:
        """Return one draw of the weights, for standardised values."""
        del data, insight, held
        gp = posterior
        features = shared_map(address.streams, self.num_shared, gp.dim)
        mean, spread = scale_of(gp.y)
        weights = draw_weights(
            features(gp.X),
            (gp.y - mean) / spread,
            gp.noise / spread**2,
            address.at(Purpose.WEIGHTS),
        )
        return FeatureWeights(weights=weights)

    def check(self, packet: RegionWeights, dim: int) -> None:
        """Refuse other features or regions; weights have no dimension."""
        del dim
        same_features(packet.num_features, self.num_shared, "A packet")
        same_regions(packet, self.num_regions)

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: RegionWeights | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the local posterior with probability p_t, else the best region's."""
        if packet is None or follows_itself(t, address):
            return posterior
        path = self._best_region(packet, posterior.dim, address)
        return CertainPosterior(path=path, dim=posterior.dim)

    def _best_region(
        self, packet: RegionWeights, dim: int, address: Address
    ) -> "RegionalPath":
        features = shared_map(address.streams, self.num_shared, dim)
        X = self.domain.spread(self.num_candidates, address.at(Purpose.CANDIDATES))
        home = region_of(X, self.num_regions)
        paths = [SharedPath(features=features, weights=w) for w in packet.weights]
        values = np.empty(len(X))
        for i, path in enumerate(paths):
            values[home == i] = path.value(X[home == i])
        best = int(home[int(np.argmax(values))])  # E51
        low, high = region_boxes(self.num_regions, dim)
        return RegionalPath(inside=paths[best], low=low[best], high=high[best])


def same_regions(packet: RegionWeights, num_regions: int) -> None:
    """Refuse a packet of another number of regions than the study's."""
    if packet.num_regions != num_regions:
        raise WireError(
            f"A packet must have {num_regions} regions, got {packet.num_regions}. Do "
            "all sides use the same num_regions?"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionalPath:
    """A region's function, continued beyond the region so that it peaks inside.

    Outside, the value is that of the nearest point of the region, less |ω| times the
    squared distance to it: clipping alone would leave ties all along the outside of a
    border where the function peaks.
    """

    inside: SharedPath
    """The function of the region."""
    low: Point
    """(d,), the region's lower corner."""
    high: Point
    """(d,), its upper corner."""

    def value(self, X: Points) -> Values:
        """Return the values at the rows of X."""
        nearest = np.clip(X, self.low, self.high)
        return self.inside.value(nearest) - self._slope * _squares(X - nearest)

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the values and gradients at the rows of X."""
        nearest = np.clip(X, self.low, self.high)
        beyond = X - nearest
        value, gradient = self.inside.value_and_gradient(nearest)
        gradient = np.where(beyond == 0.0, gradient, -2.0 * self._slope * beyond)
        return value - self._slope * _squares(beyond), gradient

    @property
    def _slope(self) -> float:
        return float(np.linalg.norm(self.inside.weights))


def _squares(beyond: Points) -> Values:
    return np.einsum("bd,bd->b", beyond, beyond)
