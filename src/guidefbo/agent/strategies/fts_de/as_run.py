"""FTS-DE's agent as presumed behind the paper's tables.

It differs from the published method, in `agent.py` beside this module, in most of its
parts: a cosine and a sine of every shared frequency, values that are not standardised,
regions in another order, and a search by Adam that may leave the region.

References:
    Dai, Low and Jaillet, Differentially private federated Bayesian optimization with
    distributed exploration, NeurIPS 2021.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.decision.ts import Peak
from guidefbo.agent.paths.shared import draw_weights, follows_itself
from guidefbo.agent.strategies.fts_de.adam import adam_ascent, positive_starts
from guidefbo.agent.strategies.fts_de.agent import same_regions
from guidefbo.agent.strategies.fts_de.paired import PairedMap, paired_map
from guidefbo.agent.surrogate.certain import CertainPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Address, Purpose
from guidefbo.wire.fts import FeatureWeights, RegionWeights, same_features
from guidefbo.wire.regions import as_run, region_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeAsRunAgent:
    """FTS-DE as presumed behind the paper's tables, with the defects of that search.

    Every region's function is climbed from starts inside the region, but over the whole
    cube, so that a region's candidate may end in another one. The starts are drawn as
    if values were positive. They are not: values are sent as they are observed.
    """

    num_shared: int
    """M, frequencies of the shared map: 2 M weights."""
    num_regions: int
    """R: 1, 2 or 4."""
    domain: Domain
    """Where queries may lie."""
    search: SearchSettings
    """Points, starts and steps in each region."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: RegionWeights | None,
        address: Address,
    ) -> FeatureWeights:
        """Return one draw of the weights, for the values as they are."""
        del data, insight, held
        gp = posterior
        features = paired_map(address.streams, self.num_shared, gp.dim)
        weights = draw_weights(
            features(gp.X, gp.hyper.outputscale),
            gp.y,
            gp.noise,
            address.at(Purpose.WEIGHTS),
        )
        return FeatureWeights(weights=weights)

    def check(self, packet: RegionWeights, dim: int) -> None:
        """Refuse other features or regions; weights have no dimension."""
        del dim
        same_features(packet.num_features, 2 * self.num_shared, "A packet")
        same_regions(packet, self.num_regions)

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: RegionWeights | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the local posterior with probability p_t, else the best candidate."""
        if packet is None or follows_itself(t, address):
            return posterior
        x = self.best_candidate(packet, posterior.dim, address)
        return CertainPosterior(path=Peak(at=x), dim=posterior.dim)

    def best_candidate(
        self, packet: RegionWeights, dim: int, address: Address
    ) -> Point:
        """Return the highest point reached, by the function it was reached on."""
        features = paired_map(address.streams, self.num_shared, dim)
        starts, home = self._starts(features, packet, address.at(Purpose.CANDIDATES))
        weights = packet.weights[home]

        def climbed(X: Points) -> tuple[Values, Points]:
            value, gradient = features.value_and_gradient(X, weights)
            return value, gradient * self.domain.free

        ends = adam_ascent(climbed, starts, self.search.num_iterations)
        return ends[int(np.argmax(features.value(ends, weights)))]  # E51

    def _starts(
        self, features: PairedMap, packet: RegionWeights, stream: np.random.Generator
    ) -> tuple[Points, NDArray[np.intp]]:
        """Return the starts of all regions, and the region of each."""
        X = self.domain.spread(self.num_regions * self.search.num_raw, stream)
        home = region_of(X, self.num_regions, as_run)
        scores = features.value(X, packet.weights[home])
        chosen: list[NDArray[np.intp]] = []
        for i in np.unique(home):
            (inside,) = np.nonzero(home == i)
            starts = positive_starts(scores[inside], self.search.num_starts, stream)
            chosen.append(inside[starts])
        rows = np.concatenate(chosen)
        return X[rows], home[rows]
