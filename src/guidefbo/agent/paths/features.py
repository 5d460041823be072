"""The random feature map, an approximation of the kernel by an inner product."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.paths.frequencies import draw_frequencies
from guidefbo.agent.paths.waves import cosine
from guidefbo.agent.surrogate.sums import BySums, angles_by_sums
from guidefbo.core.arrays import Matrix, Point, Points, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMap:
    """Cosine features φ with φ(x)'φ(x') close to k(x, x')."""

    frequencies: Points
    """(D, d)."""
    phases: Values
    """(D,), uniform on [0, 2π)."""
    amplitude: float
    """√(2 s / D)."""

    @classmethod
    def draw(
        cls,
        num_features: int,
        lengthscales: Point,
        outputscale: float,
        stream: np.random.Generator,
    ) -> Self:
        """Draw a map for the kernel with these hyperparameters."""
        return cls(
            frequencies=draw_frequencies(num_features, lengthscales, stream),
            phases=stream.uniform(0.0, 2.0 * np.pi, num_features),
            amplitude=float(np.sqrt(2.0 * outputscale / num_features)),
        )

    def __call__(self, X: Points) -> Matrix:
        """Return φ at the rows of X, (n, D)."""
        return self._wave(X @ self.frequencies.T + self.phases)

    def by_sums(self) -> BySums[Matrix]:
        """Return φ, by sums."""
        return angles_by_sums(self.frequencies, self.phases).then(self._wave)

    def single(self, X: Points) -> NDArray[np.float32]:
        """Return φ in single precision, for values that are only compared."""
        angles = X.astype(np.float32) @ self.frequencies.T.astype(np.float32)
        angles += self.phases.astype(np.float32)
        np.cos(angles, out=angles)
        angles *= np.float32(self.amplitude)
        return angles

    def _wave(self, angles: Matrix) -> Matrix:
        return self.amplitude * cosine(angles)  # E07
