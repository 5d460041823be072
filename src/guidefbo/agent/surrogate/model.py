"""From a data set to a fitted posterior, with what is known about the noise."""

from dataclasses import dataclass, field

import numpy as np

from guidefbo.agent.dataset import Dataset, scale_of
from guidefbo.agent.surrogate.fit import Bounds, Indices, Priors, fit
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.core.arrays import Values

MIN_NOISE_VARIANCE = 1e-6
"""Floor of a known noise variance, in model units: exact data still need a factor."""
MAX_FIT = 1000
"""Most observations the hyperparameters are fitted to; the posterior uses them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """How an agent models its objective."""

    noise_std: float | None
    """Standard deviation of one observation, or None to fit it."""
    is_standardised: bool
    """Whether values are brought to mean 0 and standard deviation 1 first."""
    priors: Priors | None
    """Priors of the hyperparameters, or None for the plain marginal likelihood."""
    bounds: Bounds = field(default_factory=Bounds)
    """Box of the hyperparameters."""
    groups: Indices | None = None
    """Which coordinates share a lengthscale; None: none do."""

    def prepare(self, data: Dataset) -> tuple[Dataset, float]:
        """Return the data in model units, and the length of that unit."""
        if not self.is_standardised:
            return data, 1.0
        shift, scale = scale_of(data.y)
        std = None if data.std is None else data.std / scale
        return Dataset(X=data.X, y=(data.y - shift) / scale, std=std), scale

    def fit(self, data: Dataset, scale: float) -> GaussianProcess:
        """Fit the hyperparameters and condition on the data, both in model units."""
        noise_variance = None
        if self.noise_std is not None:
            noise_variance = max((self.noise_std / scale) ** 2, MIN_NOISE_VARIANCE)
        own_noise = None
        if data.std is not None:
            own_noise = np.maximum(data.std**2, MIN_NOISE_VARIANCE)
        # Beyond that many, ones evenly spread over the record will do.
        count = min(len(data), MAX_FIT)
        rows = np.linspace(0, len(data) - 1, count).round().astype(np.intp)
        hyper = fit(
            data.X[rows],
            data.y[rows],
            noise_variance=noise_variance,
            priors=self.priors,
            bounds=self.bounds,
            groups=self.groups,
            own_noise=None if own_noise is None else own_noise[rows],
        )
        return GaussianProcess.condition(
            data.X, data.y, hyper, noise_of_each(own_noise, hyper.noise_variance)
        )


def noise_of_each(own_noise: Values | None, common: float) -> Values | None:
    """Return the noise variance of every observation; None: the common one."""
    if own_noise is None:
        return None
    return np.where(np.isnan(own_noise), common, own_noise)
