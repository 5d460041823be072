"""Differential privacy of the averages: clip, subsample, add noise, and account for it.

The server is trusted with the vectors; what is private is whether an agent takes part,
against anybody who sees the packets. With weights ω̂_n clipped to S/√R, one agent moves
the average of region i by at most φ_max^(i) S/(√R q). In units of that region's noise,
z φ_max^(i) S/q, this is 1/(z√R), over all R regions together 1/z: one round is one
Gaussian mechanism of noise multiplier z, subsampled at rate q.

The noise must come from a stream the agents cannot repeat: in a real federation, the
server's seed is its own secret.

References:
    Dai, Low and Jaillet, Differentially private federated Bayesian optimization with
    distributed exploration, NeurIPS 2021.
    Mironov, Talwar and Zhang, Rényi differential privacy of the sampled Gaussian
    mechanism, 2019, section 3.3.
    Balle, Barthe, Gaboardi, Hsu and Sato, Hypothesis testing interpretations and Rényi
    differential privacy, AISTATS 2020, theorem 21.
    Canonne, Kamath and Steinke, The discrete Gaussian for differential privacy, 2020,
    proposition 12.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, xlog1py

from guidefbo.core.arrays import Matrix, Values
from guidefbo.core.checks import require_count
from guidefbo.core.errors import SettingsError

MAX_ORDER = 512
"""Highest Rényi order tried; ε is an upper bound whatever the orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateAverage:
    """Weighted averages with differential privacy at the level of an agent."""

    clip: float
    """S: all P copies of a vector together are clipped to this norm."""
    rate: float
    """q: each agent takes part with this probability, in (0, 1]."""
    noise: float
    """z: standard deviation of the noise, relative to what one agent can do."""

    def __post_init__(self) -> None:
        if not 0.0 < self.clip < np.inf:
            raise SettingsError(
                f"privacy_clip must be positive and finite, got {self.clip}."
            )
        _check_mechanism(self.rate, self.noise)

    def __call__(
        self, weights: Matrix, vectors: Matrix, stream: np.random.Generator
    ) -> Matrix:
        """Return the averages, (R, M).

        Args:
            weights: How much each agent counts in each region, (R, N).
            vectors: The agents' feature weights, (N, M).
            stream: Decides who takes part, and the noise.
        """
        q, z, S = self.rate, self.noise, self.clip
        clipped = clip_rows(vectors, S / np.sqrt(len(weights)))
        takes_part = stream.random(len(vectors)) < q
        averages = (weights * takes_part) @ clipped / q  # E52
        std = weights.max(axis=1) * (z * S / q)  # E52
        return averages + std[:, None] * stream.standard_normal(averages.shape)

    def epsilon(self, num_rounds: int, delta: float) -> float:
        """Return ε so that this many rounds are (ε, δ)-private."""
        return private_epsilon(num_rounds, self.rate, self.noise, delta)


def clip_rows(vectors: Matrix, norm: float) -> Matrix:
    """Return the rows, shortened to this norm where they are longer."""
    norms = np.linalg.norm(vectors, axis=1)[:, None]
    return vectors / np.maximum(norms / norm, 1.0)  # E52


def renyi_divergences(orders: NDArray[np.intp], rate: float, noise: float) -> Values:
    """Return the Rényi divergence of one subsampled Gaussian at whole orders.

    For order α: log Σ_k C(α, k) (1-q)^(α-k) q^k exp(k(k-1)/(2z²)), over α - 1.

    Args:
        orders: Whole numbers from 2.
        rate: Sampling rate q.
        noise: Noise multiplier z, positive.
    """
    alpha = orders[:, None].astype(np.float64)
    k = np.arange(int(orders.max()) + 1, dtype=np.float64)
    rest = np.maximum(alpha - k, 0.0)
    choose = gammaln(alpha + 1.0) - gammaln(k + 1.0) - gammaln(rest + 1.0)
    log_mass = choose + xlog1py(rest, -rate) + k * np.log(rate)
    terms = np.where(k <= alpha, log_mass + k * (k - 1.0) / (2.0 * noise**2), -np.inf)
    return logsumexp(terms, axis=1) / (orders - 1.0)  # E53


def private_epsilon(num_rounds: int, rate: float, noise: float, delta: float) -> float:
    """Return ε so that a number of rounds together are (ε, δ)-private.

    >>> round(private_epsilon(10_000, 0.01, 4.0, 1e-5), 2)
    1.04

    Args:
        num_rounds: Rounds, each of which sends one set of averages.
        rate: Sampling rate q, in (0, 1].
        noise: Noise multiplier z; without noise ε is infinite.
        delta: Probability δ in (0, 1) with which ε may be exceeded.
    """
    _check_mechanism(rate, noise)
    if not 0.0 < delta < 1.0:
        raise SettingsError(f"delta must lie between 0 and 1, got {delta}.")
    if require_count("num_rounds", num_rounds, 0) == 0:
        return 0.0
    if noise == 0.0:
        return float("inf")
    a = np.arange(2, MAX_ORDER + 1)
    r = num_rounds * renyi_divergences(a, rate, noise)
    epsilons = r + np.log1p(-1.0 / a) - np.log(delta * a) / (a - 1.0)  # E54
    return max(0.0, float(epsilons.min()))


def _check_mechanism(rate: float, noise: float) -> None:
    if not 0.0 < rate <= 1.0:
        raise SettingsError(
            f"privacy_rate must be above 0 and at most 1, got {rate}. It is the share "
            "of agents that take part in a round."
        )
    if not 0.0 <= noise < np.inf:
        raise SettingsError(f"privacy_noise must be finite and not negative: {noise}.")
