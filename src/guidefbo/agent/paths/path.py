"""One continuous posterior path: exact GP mean plus a centred feature residual."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from guidefbo.agent.paths.features import FeatureMap
from guidefbo.agent.paths.weights import WeightPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.sums import BySums, join
from guidefbo.core.arrays import Matrix, Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePath:
    """A function f̂(x) = mean(x) + φ(x)'(weight_draw - weight_mean)."""

    gp: GaussianProcess
    """The posterior the path was drawn from."""
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
        return cls(gp=gp, features=features, weights=w.astype(np.float64))

    def value(self, X: Points) -> Values:
        """Return the path's values at the rows of X."""
        return self._add(self.gp.predict_mean(X), self.features(X))

    def by_sums(self) -> BySums[Values] | None:
        """Return the path's values, by sums."""
        return join(self._add, self.gp.mean_by_sums(), self.features.by_sums())

    def residual(self, X: Points) -> tuple[Values, Points]:
        """Return the centred residual and its gradient at the rows of X."""
        angles = X @ self.features.frequencies.T + self.features.phases
        w = self.features.amplitude * self.weights
        return np.cos(angles) @ w, -(np.sin(angles) * w) @ self.features.frequencies

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the path's values and gradients at the rows of X."""
        moments = self.gp.moments(X)
        residual, gradient = self.residual(X)
        return moments.mean + residual, moments.mean_gradient + gradient  # E09

    def _add(self, mean: Values, Phi: Matrix) -> Values:
        return mean + Phi @ self.weights  # E09
