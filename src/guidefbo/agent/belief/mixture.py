"""The fitted distribution of the optimum location: a small Gaussian mixture."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.paths.maximise import OptimumSamples
from guidefbo.core.arrays import Point, Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimumBelief:
    """Components of a fitted mixture that carry more than negligible mass."""

    masses: Values
    """(K,) mixture weights."""
    centers: Points
    """(K, d)."""
    variances: NDArray[np.float64]
    """(K, d) if diagonal, (K, d, d) if full."""

    @property
    def dominant(self) -> int:
        """Index of the component with the largest mass."""
        return int(np.argmax(self.masses))  # E12


class Belief(Protocol):
    """Fits a mixture to sampled optimum locations."""

    def __call__(
        self, samples: OptimumSamples, stream: np.random.Generator
    ) -> OptimumBelief:
        """Return the mixture of the samples."""
        ...


def weighted_moments(
    samples: OptimumSamples, is_full: bool
) -> tuple[Point, NDArray[np.float64]]:
    """Return the samples' mean and their (n-1) variance or covariance matrix."""
    c = samples.counts
    mean = c @ samples.points / c.sum()
    centred = samples.points - mean
    degrees = max(c.sum() - 1.0, 1.0)
    if is_full:
        return mean, (centred * c[:, None]).T @ centred / degrees
    return mean, c @ centred**2 / degrees
