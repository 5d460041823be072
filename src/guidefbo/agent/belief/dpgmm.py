"""Dirichlet-process Gaussian mixture of sampled optimum locations: the default."""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.belief import kmeans
from guidefbo.agent.belief.geometry import Diagonal, Full
from guidefbo.agent.belief.mixture import OptimumBelief
from guidefbo.agent.belief.single_gaussian import SingleGaussian
from guidefbo.agent.belief.variational import (
    Data,
    Factors,
    VariationalSettings,
    infer,
)
from guidefbo.agent.paths.maximise import OptimumSamples

REGULARISATIONS = (1e-6, 1e-5, 1e-4)
"""Tried in turn until a fit converges."""
ACTIVE_SHARE = 0.01
"""A component is active above this share of the mass 1 / truncation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirichletProcessMixture:
    """Fits a truncated Dirichlet-process mixture, or else one Gaussian."""

    max_components: int = 10
    """Truncation of the process."""
    num_starts: int = 3
    """Starts of each fit; one that has converged ends those whose bound is lower."""
    is_full: bool = False
    """Full covariances instead of diagonal ones."""

    def __call__(
        self, samples: OptimumSamples, stream: np.random.Generator
    ) -> OptimumBelief:
        """Return the active components of the fitted mixture."""
        K = min(self.max_components, len(samples.points))
        geometry = Full() if self.is_full else Diagonal()
        data = Data.of(samples.points, samples.counts, geometry)
        start = kmeans.assign(
            samples.points, samples.counts, K, self.num_starts, stream
        )
        for regularisation in REGULARISATIONS:
            settings = VariationalSettings(regularisation=regularisation)
            factors = infer(data, start, settings)
            if factors is not None:
                return _active(factors, data)  # E11
        return SingleGaussian(is_full=self.is_full)(samples, stream)


def _active(factors: Factors, data: Data) -> OptimumBelief:
    masses = factors.masses()
    active = masses > ACTIVE_SHARE / len(masses)
    return OptimumBelief(
        masses=masses[active],
        centers=data.mean + factors.means[active],
        variances=data.geometry.unflatten(factors.C[active], len(data.mean)),
    )
