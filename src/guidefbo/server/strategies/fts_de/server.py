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
from guidefbo.wire.fts import FeatureWeights, RegionWeights, same_features
from guidefbo.wire.regions import assign_regions

Weighting = Callable[[NDArray[np.bool_], int], Matrix]
"""((P, N) who belongs to which region, round) -> (P, N), rows that sum to one."""
Averaging = Callable[[Matrix, Matrix, np.random.Generator], Matrix]
"""((P, N) agents' weights, (N, M) vectors, stream) -> (P, M) averages."""

FIRST_LOGIT = 16.0
LAST_LOGIT = 1.0
"""Logit of a region's own agents, at first and at last; that of others is the last."""
NUM_CONSTANT = 10
"""Rounds with the first logit."""
NUM_DECAYING = 30
"""Rounds in which it falls in equal steps, ends included."""


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
    """Average without privacy."""
    del stream
    return weights @ vectors  # E50


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeServer:
    """Weighted averages of the agents' vectors, one per region, to everybody."""

    upload_type: ClassVar[type[FeatureWeights]] = FeatureWeights
    packet_type: ClassVar[type[RegionWeights]] = RegionWeights

    num_regions: int
    """P: 1, 2 or 4."""
    weighting: Weighting = fading
    """How much each agent counts in each region."""
    averaging: Averaging = plain_average
    """How vectors are averaged: plainly, or with differential privacy."""

    def aggregate(
        self,
        uploads: Mapping[int, FeatureWeights],
        t: int,
        stream: np.random.Generator,
    ) -> dict[int, RegionWeights]:
        """Return the same packet for every agent that uploaded."""
        if not uploads:
            return {}
        agents = sorted(uploads)
        for agent in agents:
            expected = uploads[agents[0]].num_features
            same_features(uploads[agent].num_features, expected, "Every upload")
        vectors = np.stack([uploads[agent].weights for agent in agents])
        own = assign_regions(len(agents), self.num_regions)
        is_own = own == np.arange(self.num_regions)[:, None]
        averages = self.averaging(self.weighting(is_own, t), vectors, stream)
        return dict.fromkeys(agents, RegionWeights(weights=averages))
