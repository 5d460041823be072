"""A mixture of Gaussian processes that were conditioned on the same observations.

With weights w_k that sum to one and parts of mean μ_k and covariance C_k,

    mean = Σ_k w_k μ_k,       cov = Σ_k w_k (C_k + (μ_k - mean)(μ_k - mean)').

A draw of the mixture is a draw of one part, chosen with its weight.
"""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Fantasies, Moments, SamplePath
from guidefbo.agent.surrogate.sums import BySums, join
from guidefbo.core.arrays import Matrix, Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPosterior:
    """A finite mixture of Gaussian processes."""

    models: tuple[GaussianProcess, ...]
    """Conditioned on the same observations."""
    weights: tuple[float, ...]
    """How likely each is right; at least 0, with sum one."""

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.models[0].dim

    @property
    def y(self) -> Values:
        """The observed values all models share."""
        return self.models[0].y

    @property
    def parts(self) -> tuple[tuple[float, GaussianProcess], ...]:
        """The models of positive weight, with their weights."""
        pairs = zip(self.weights, self.models, strict=True)
        return tuple((w, model) for w, model in pairs if w > 0.0)

    def predict(self, X: Points) -> tuple[Values, Values]:
        """Return the mean and standard deviation at the rows of X."""
        return self._combine(*(model.predict(X) for _, model in self.parts))

    def by_sums(self) -> BySums[tuple[Values, Values]] | None:
        """Return the mean and standard deviation, by sums."""
        return join(self._combine, *(model.by_sums() for _, model in self.parts))

    def moments(self, X: Points) -> Moments:
        """Return mean, standard deviation and their gradients at the rows of X."""
        parts = [(w, model.moments(X)) for w, model in self.parts]
        mean = _sum([w * part.mean for w, part in parts])
        spread = [w * (part.std**2 + (part.mean - mean) ** 2) for w, part in parts]
        std = np.sqrt(_sum(spread))  # E65
        # The slope of the common mean drops out: the weighted departures sum to zero.
        half_slopes = [
            w * part.std[:, None] * part.std_gradient
            + (w * (part.mean - mean))[:, None] * part.mean_gradient
            for w, part in parts
        ]
        return Moments(
            mean=mean,
            std=std,
            mean_gradient=_sum([w * part.mean_gradient for w, part in parts]),
            std_gradient=_sum(half_slopes) / std[:, None],
        )

    def joint(self, X: Points) -> tuple[Values, Matrix]:
        """Return the mean vector and covariance matrix at the rows of X."""
        parts = [(w, *model.joint(X)) for w, model in self.parts]
        mean = _sum([w * mu for w, mu, _ in parts])
        spread = [w * (C + np.outer(mu - mean, mu - mean)) for w, mu, C in parts]
        return mean, _sum(spread)  # E65

    def draw(self, X: Points, stream: np.random.Generator) -> Values:
        """Return one joint draw of one part's values at the rows of X."""
        return self._part(stream).draw(X, stream)

    def fantasise(self, num_fantasies: int, stream: np.random.Generator) -> Fantasies:
        """Condition one part on draws of its own values at the observed inputs."""
        return self._part(stream).fantasise(num_fantasies, stream)

    def sample_path(self, num_features: int, stream: np.random.Generator) -> SamplePath:
        """Draw one continuous path, of one part."""
        return self._part(stream).sample_path(num_features, stream)

    def _combine(self, *moments: tuple[Values, Values]) -> tuple[Values, Values]:
        weights = [w for w, _ in self.parts]
        parts = [(w, *own) for w, own in zip(weights, moments, strict=True)]
        mean = _sum([w * mu for w, mu, _ in parts])
        spread = [w * (std**2 + (mu - mean) ** 2) for w, mu, std in parts]
        return mean, np.sqrt(_sum(spread))  # E65

    def _part(self, stream: np.random.Generator) -> GaussianProcess:
        return self.models[int(stream.choice(len(self.models), p=self.weights))]


def _sum(arrays: list[np.ndarray]) -> np.ndarray:
    return np.sum(arrays, axis=0)
