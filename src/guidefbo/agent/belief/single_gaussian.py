"""One Gaussian for all optimum samples: an ablation, and the fallback."""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.belief.mixture import OptimumBelief, weighted_moments
from guidefbo.agent.paths.maximise import OptimumSamples

EXTRA_VARIANCE = 1e-4
"""Added so that samples that all agree still make a proper Gaussian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleGaussian:
    """The samples' mean and variance, with all the mass."""

    is_full: bool = False
    """Full covariance instead of a diagonal one."""

    def __call__(
        self, samples: OptimumSamples, stream: np.random.Generator
    ) -> OptimumBelief:
        """Return the one-component mixture."""
        del stream
        mean, spread = weighted_moments(samples, self.is_full)
        extra = EXTRA_VARIANCE * (np.eye(len(mean)) if self.is_full else 1.0)
        return OptimumBelief(
            masses=np.ones(1), centers=mean[None], variances=(spread + extra)[None]
        )
