"""The shared features of FTS-DE as it was run: a cosine and a sine of each frequency.

    φ(x) = √(v/M) (cos w_1'x, ..., cos w_M'x, sin w_1'x, ..., sin w_M'x),

2 M features of M frequencies, so that φ(x)'φ(x) = v as for the cosines alone.
Frequencies are independent draws for a Matern-5/2 kernel of one lengthscale for all.

References:
    Rahimi and Recht, Random features for large-scale kernel machines, NeurIPS 2007.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from guidefbo.agent.paths.frequencies import draw_independent_frequencies
from guidefbo.agent.paths.shared import LENGTHSCALE
from guidefbo.agent.paths.waves import cosine_and_sine
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.streams import Purpose, Streams


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMap:
    """Cosines and sines, the same for every agent of a run."""

    frequencies: Points
    """(M, d)."""

    @classmethod
    def draw(cls, num_frequencies: int, dim: int, stream: np.random.Generator) -> Self:
        """Draw a map; the stream is the federation's own."""
        lengthscales = np.full(dim, LENGTHSCALE)
        return cls(
            frequencies=draw_independent_frequencies(
                num_frequencies, lengthscales, stream
            )
        )

    @property
    def num_features(self) -> int:
        """2 M."""
        return 2 * len(self.frequencies)

    def __call__(self, X: Points, variance: float = 1.0) -> Matrix:
        """Return φ at the rows of X, (n, 2 M), with φ(x)'φ(x) = variance."""
        angles = X @ self.frequencies.T
        pairs = np.hstack(cosine_and_sine(angles))
        return np.sqrt(variance / len(self.frequencies)) * pairs  # E80

    def value(self, X: Points, weights: Matrix) -> Values:
        """Return φ(x)'ω at the rows of X, each with its own row of weights."""
        return np.einsum("nm,nm->n", self(X), weights)

    def value_and_gradient(self, X: Points, weights: Matrix) -> tuple[Values, Points]:
        """Return φ(x)'ω and its gradient, each row with its own weights."""
        Phi = self(X)
        cosines, sines = np.hsplit(Phi, 2)
        of_cosines, of_sines = np.hsplit(weights, 2)
        slopes = of_sines * cosines - of_cosines * sines
        value = np.einsum("nm,nm->n", Phi, weights)
        return value, slopes @ self.frequencies  # E80


def paired_map(streams: Streams, num_frequencies: int, dim: int) -> PairedMap:
    """Return the map of a run, the same for all of its agents."""
    return PairedMap.draw(num_frequencies, dim, streams.at(Purpose.SHARED_FEATURES))
