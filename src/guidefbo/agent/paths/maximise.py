"""Samples of the optimum location: maximisers of posterior paths over candidates.

Two samplers of the same distribution: paths by orthogonal random features (fast, the
default) and exact joint draws of the posterior at the candidates.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.paths.features import FeatureMap
from guidefbo.agent.paths.weights import WeightPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.linalg import factorise
from guidefbo.core.arrays import Points, Values
from guidefbo.core.streams import Address, Purpose

BLOCK = 125
"""Paths drawn and maximised at a time, so that they stay in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimumSamples:
    """Sampled optimum locations, each distinct one once with its count."""

    points: Points
    """(u, d) distinct locations."""
    counts: Values
    """(u,) how many paths peak there."""

    @classmethod
    def at(cls, candidates: Points, winners: NDArray[np.intp]) -> Self:
        """Collect the candidates at the winners' indices."""
        counts = np.bincount(winners, minlength=len(candidates))
        distinct = np.flatnonzero(counts)
        return cls(
            points=candidates[distinct], counts=counts[distinct].astype(np.float64)
        )


class Sampler(Protocol):
    """Draws optimum locations from a posterior."""

    def __call__(
        self, gp: GaussianProcess, candidates: Points, address: Address
    ) -> OptimumSamples:
        """Return the maximisers of independent paths over the candidates."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSampler:
    """Paths of orthogonal random features, one feature map for all of them."""

    num_paths: int
    """M."""
    num_features: int
    """D_ORF."""

    def __call__(
        self, gp: GaussianProcess, candidates: Points, address: Address
    ) -> OptimumSamples:
        """Return the maximisers of the paths over the candidates."""
        hyper = gp.hyper
        features = FeatureMap.draw(
            self.num_features,
            hyper.lengthscales,
            hyper.outputscale,
            address.at(Purpose.FEATURES),
        )
        posterior = WeightPosterior.of(features(gp.X), gp.noise)
        # Paths are only compared with each other: single precision is enough, once the
        # level that all candidates share is taken off.
        Phi = features.single(candidates)
        mean = gp.predict_mean(candidates)
        mean = (mean - mean.max()).astype(np.float32)
        stream = address.at(Purpose.WEIGHTS)
        winners = np.empty(self.num_paths, dtype=np.intp)
        for first in range(0, self.num_paths, BLOCK):
            block = winners[first : first + BLOCK]
            paths = posterior.draw_centred(len(block), stream) @ Phi.T
            paths += mean  # E09
            block[:] = paths.argmax(axis=1)  # E10
        return OptimumSamples.at(candidates, winners)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSampler:
    """Exact joint draws of the posterior on the candidates."""

    num_paths: int
    """M."""

    def __call__(
        self, gp: GaussianProcess, candidates: Points, address: Address
    ) -> OptimumSamples:
        """Return the maximisers of the draws over the candidates."""
        mean, cov = gp.joint(candidates)
        stream = address.at(Purpose.WEIGHTS)
        z = stream.standard_normal((len(candidates), self.num_paths))
        paths = mean[:, None] + factorise(cov) @ z
        return OptimumSamples.at(candidates, paths.argmax(axis=0))  # E10
