"""A continuous sample path: the exact posterior mean plus a feature residual."""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from guidefbo.agent.paths.features import FeatureMap
from guidefbo.agent.paths.waves import cosine_and_sine
from guidefbo.agent.paths.weights import WeightPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.sums import BySums, join
from guidefbo.core.arrays import Matrix, Points, Values


class MeanFunction(Protocol):
    """The posterior mean that a path departs from."""

    def predict_mean(self, X: Points) -> Values:
        """Return the mean at the rows of X."""
        ...

    def mean_by_sums(self) -> BySums[Values] | None:
        """Return the mean, by sums."""
        ...

    def mean_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the mean and its gradient at the rows of X."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePath:
    """A function f̂(x) = mean(x) + φ(x)'(weight_draw - weight_mean)."""

    mean: MeanFunction
    """What the features are added to: the mean of the posterior."""
    features: FeatureMap
    """Its feature map."""
    weights: Values
    """Centred weights, (D,)."""

    @classmethod
    def draw(
        cls, gp: GaussianProcess, num_features: int, stream: np.random.Generator
    ) -> Self:
        """Draw one path with a feature map of its own."""
        hyper = gp.hyper
        features = FeatureMap.draw(
            num_features, hyper.lengthscales, hyper.outputscale, stream
        )
        posterior = WeightPosterior.of(features(gp.X), gp.noise)
        w = posterior.draw_centred(1, stream)[0]
        return cls(mean=gp, features=features, weights=w.astype(np.float64))

    def value(self, X: Points) -> Values:
        """Return the path's values at the rows of X."""
        return self._add(self.mean.predict_mean(X), self.features(X))

    def by_sums(self) -> BySums[Values] | None:
        """Return the path's values, by sums."""
        return join(self._add, self.mean.mean_by_sums(), self.features.by_sums())

    def residual(self, X: Points) -> tuple[Values, Points]:
        """Return the centred residual and its gradient at the rows of X."""
        angles = X @ self.features.frequencies.T + self.features.phases
        w = self.features.amplitude * self.weights
        cos, sin = cosine_and_sine(angles)
        sin *= w
        return cos @ w, -(sin @ self.features.frequencies)

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path's values and gradients at the rows of X."""
        mean, mean_gradient = self.mean.mean_and_gradient(X)
        residual, gradient = self.residual(X)
        return mean + residual, mean_gradient + gradient  # E09

    def _add(self, mean: Values, Phi: Matrix) -> Values:
        return mean + Phi @ self.weights  # E09
