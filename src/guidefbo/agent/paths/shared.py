"""What FTS and FTS-DE share: a random feature map, and when a packet is used.

All agents hold the same random features, derived from the seed they share and never
sent. A vector of weights then is a function that any of them can evaluate:

    g_j(x) = cos(w_j'x + b_j),    φ(x) = √v g(x) / |g(x)|,    f(x) = φ(x)'ω,

so that φ(x)'φ(x) = v at every x. The frequencies are those of an isotropic Matern-5/2
kernel of one lengthscale for all agents. Weights are drawn with the variance v the
sender chose; whoever receives them takes v = 1, since a positive factor moves no
maximum.

In round t an agent uses its own posterior draw with probability p_t, which grows with
t, and else what it received.

References:
    Dai, Low and Jaillet, Federated Bayesian optimization via Thompson sampling,
    NeurIPS 2020.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import lapack

from guidefbo.agent.paths.frequencies import draw_frequencies
from guidefbo.agent.paths.waves import cosine, cosine_and_sine
from guidefbo.agent.paths.weights import WeightPosterior
from guidefbo.agent.surrogate.sums import BySums, angles_by_sums
from guidefbo.core.arrays import Matrix, OtherValues, Points, Values
from guidefbo.core.streams import Address, Purpose, Streams

LENGTHSCALE = float(np.log(2.0))
"""Of the shared kernel, in widths of the box: where a fit starts, softplus(0)."""
FIRST_PROBABILITY = 0.5
"""Of the own draw in the first round, where 1 - 1/√t would be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMap:
    """Cosine features of unit norm, the same for every agent of a run."""

    frequencies: Points
    """(M, d)."""
    phases: Values
    """(M,), uniform on [0, 2π)."""

    @classmethod
    def draw(cls, num_features: int, dim: int, stream: np.random.Generator) -> Self:
        """Draw a map; the stream is the federation's own."""
        return cls(
            frequencies=draw_frequencies(
                num_features, np.full(dim, LENGTHSCALE), stream
            ),
            phases=stream.uniform(0.0, 2.0 * np.pi, num_features),
        )

    def angles(self, X: Points) -> Matrix:
        """Return w_j'x + b_j at the rows of X, (n, M)."""
        return X @ self.frequencies.T + self.phases

    def __call__(self, X: Points, variance: float = 1.0) -> Matrix:
        """Return φ at the rows of X, (n, M), with φ(x)'φ(x) = variance."""
        g = cosine(self.angles(X))
        return np.sqrt(variance) * g / np.linalg.norm(g, axis=1)[:, None]  # E45


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPath:
    """The function φ(x)'ω of received weights, with v = 1."""

    features: SharedMap
    """The map of the run."""
    weights: Values
    """ω, (M,)."""

    def value(self, X: Points) -> Values:
        """Return the function's values at the rows of X."""
        return self.features(X) @ self.weights

    def by_sums(self) -> BySums[Values]:
        """Return the function's values, by sums."""
        angles = angles_by_sums(self.features.frequencies, self.features.phases)
        return angles.then(self._at_angles)

    def _at_angles(self, angles: Matrix) -> Values:
        g = cosine(angles)
        return g @ self.weights / np.linalg.norm(g, axis=1)  # E45

    def value_and_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return the function's values and gradients at the rows of X.

        With r = |g|: ∇f = Σ_j (ω_j - f g_j / r) ∇g_j / r.
        """
        angles = self.features.angles(X)
        g, sine = cosine_and_sine(angles)
        r = np.linalg.norm(g, axis=1)
        f = g @ self.weights / r
        sensitivity = (self.weights - (f / r)[:, None] * g) / r[:, None]
        return f, -(sensitivity * sine) @ self.features.frequencies  # E45


def shared_map(streams: Streams, num_features: int, dim: int) -> SharedMap:
    """Return the map of a run, the same for all of its agents."""
    return SharedMap.draw(num_features, dim, streams.at(Purpose.SHARED_FEATURES))


def weight_mean(Phi: Matrix, y: Values, noise: Values) -> OtherValues:
    """Return ν = (Φ'Φ + σ²I)^-1 Φ'y, (M,), by the n x n form Φ'(ΦΦ' + σ²I)^-1 y."""
    return _mean(WeightPosterior.of(Phi, noise), Phi, y)


def draw_weights(
    Phi: Matrix, y: Values, noise: Values, stream: np.random.Generator
) -> OtherValues:
    """Draw ω ~ N(ν, σ²(Φ'Φ + σ²I)^-1), (M,), by Matheron's rule.

    Args:
        Phi: Features at the observed inputs, (n, M).
        y: Observed values, centred.
        noise: Noise variance of each of them.
        stream: Source of the draw.
    """
    posterior = WeightPosterior.of(Phi, noise)
    centred = posterior.draw_centred(1, stream)[0]
    return _mean(posterior, Phi, y) + centred.astype(np.float64)  # E46


def _mean(posterior: WeightPosterior, Phi: Matrix, y: Values) -> OtherValues:
    alpha, _ = lapack.dpotrs(posterior.factor, y, lower=1)
    return Phi.T @ alpha.reshape(-1)  # E46


def own_probability(t: int) -> float:
    """Return p_t, how likely an agent follows itself in round t, from 1."""
    return FIRST_PROBABILITY if t == 1 else 1.0 - 1.0 / float(np.sqrt(t))  # E47


def follows_itself(t: int, address: Address) -> bool:
    """Toss the coin of this agent and round."""
    return bool(address.at(Purpose.COIN).random() < own_probability(t))
