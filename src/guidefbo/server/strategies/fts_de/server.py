"""FTS-DE's server: average the weights once per region, and send all averages.

An agent belongs to the region of its rank among the agents that uploaded, as in the
initial design. In early rounds a region's average gives its own agents most of the
weight, later all agents the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from guidefbo.core.arrays import Matrix
from guidefbo.core.domain import Domain
from guidefbo.server.side import Draws
from guidefbo.server.strategies.fts_de.privacy import PrivateAverage, clip_rows
from guidefbo.wire.fts import MANY_FEATURES, FeatureWeights, RegionWeights
from guidefbo.wire.regions import assign_regions

Weighting = Callable[[NDArray[np.bool_], int], Matrix]
"""((R, N) who belongs to which region, round) -> (R, N), rows that sum to one."""
Averaging = Callable[[Matrix, Matrix, np.random.Generator], Matrix]
"""((R, N) agents' weights, (N, M) vectors, stream) -> (R, M) averages."""

FIRST_LOGIT = 16.0
LAST_LOGIT = 1.0
"""Logit of a region's own agents, at first and at last; that of others is the last."""
NUM_CONSTANT = 10
"""Rounds with the first logit."""
NUM_DECAYING = 30
"""Rounds in which it falls in equal steps, ends included."""
MAX_TIMES = 3.0
"""How many times the median length a vector may have in an average. In runs here the
longest was 1.1 times the median with noise, 2.6 times without."""


def own_logit(t: int) -> float:
    """Return a_t, the logit of a region's own agents in round t, from 1."""
    step = (t - NUM_CONSTANT - 1) / (NUM_DECAYING - 1)
    share = min(max(step, 0.0), 1.0)
    return FIRST_LOGIT + share * (LAST_LOGIT - FIRST_LOGIT)  # E49


def fading(is_own: NDArray[np.bool_], t: int) -> Matrix:
    """Lean on a region's own agents in the first rounds, on all alike from 40 on."""
    return softmax(np.where(is_own, own_logit(t), LAST_LOGIT), axis=1)  # E49


def plain_average(
    weights: Matrix, vectors: Matrix, stream: np.random.Generator
) -> Matrix:
    """Average without privacy, nobody counting for more than a few.

    Vectors of honest agents are about as long as each other, since they speak of
    standardised values; one far longer would be the average. It is shortened, which
    moves no maximum of its own function.
    """
    del stream
    lengths = np.sort(np.linalg.norm(vectors, axis=1))
    longest = MAX_TIMES * float(lengths[(len(lengths) - 1) // 2])
    if 0.0 < longest < lengths[-1]:
        vectors = clip_rows(vectors, longest)
    return weights @ vectors  # E50


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeServer:
    """Weighted averages of the agents' vectors, one per region, to everybody."""

    upload_type: ClassVar[type[FeatureWeights]] = FeatureWeights
    packet_type: ClassVar[type[RegionWeights]] = RegionWeights
    needs_shared_seed: ClassVar[bool] = True
    """All sites draw the same features or probes, so that they need one seed."""

    num_regions: int
    """R: 1, 2 or 4."""
    weighting: Weighting = fading
    """How much each agent counts in each region."""
    averaging: Averaging = plain_average
    """How vectors are averaged: plainly, or with differential privacy."""

    @property
    def needs_secret(self) -> bool:
        """Whether its noise protects the uploads, so that no site may know the seed."""
        return isinstance(self.averaging, PrivateAverage)

    def form(self, upload: FeatureWeights) -> tuple[str, int]:
        """Return the number of features."""
        return "number of features", upload.num_features

    def max_numbers(self, domain: Domain) -> int:
        """Return the most weights, one a feature; agents choose how many."""
        del domain
        return MANY_FEATURES

    def check(self, upload: FeatureWeights, domain: Domain) -> None:
        """Let every number of features pass: weights have no dimension."""
        del upload, domain

    def aggregate(
        self, uploads: Mapping[str, FeatureWeights], t: int, draws: Draws
    ) -> dict[str, RegionWeights]:
        """Return the same packet for every agent that uploaded."""
        if not uploads:
            return {}
        agents = sorted(uploads)
        vectors = np.stack([uploads[agent].weights for agent in agents])
        own = assign_regions(len(agents), self.num_regions)
        is_own = own == np.arange(self.num_regions)[:, None]
        averages = self.averaging(self.weighting(is_own, t), vectors, draws.shared())
        return dict.fromkeys(agents, RegionWeights(weights=averages))
