"""From a data set to a fitted posterior, with what is known about the noise."""

from dataclasses import dataclass, field

from guidefbo.agent.dataset import Dataset, scale_of
from guidefbo.agent.surrogate.fit import Bounds, Priors, fit
from guidefbo.agent.surrogate.gp import GaussianProcess

MIN_NOISE_VARIANCE = 1e-6
"""Floor of a known noise variance, in model units: exact data still need a factor."""


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

    def prepare(self, data: Dataset) -> tuple[Dataset, float]:
        """Return the data in model units, and the length of that unit."""
        if not self.is_standardised:
            return data, 1.0
        shift, scale = scale_of(data.y)
        return Dataset(X=data.X, y=(data.y - shift) / scale), scale

    def fit(self, data: Dataset, scale: float) -> GaussianProcess:
        """Fit the hyperparameters and condition on the data, both in model units."""
        noise_variance = None
        if self.noise_std is not None:
            noise_variance = max((self.noise_std / scale) ** 2, MIN_NOISE_VARIANCE)
        hyper = fit(
            data.X,
            data.y,
            noise_variance=noise_variance,
            priors=self.priors,
            bounds=self.bounds,
        )
        return GaussianProcess.condition(data.X, data.y, hyper)
