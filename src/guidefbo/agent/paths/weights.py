"""Centred posterior draws of the feature weights, by Matheron's rule.

In the linear model y = Φ w + ε with w ~ N(0, I), a prior draw (w0, ε0) gives

    w0 - Φ'(ΦΦ' + noise I)^-1 (Φ w0 + ε0)  ~  w | y  minus its mean,

the law of the posterior draw of precision Φ'Φ/noise + I at the cost of an n x n
factor instead of a D x D one.

References:
    Wilson et al., Pathwise conditioning of Gaussian processes, JMLR 2021.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from guidefbo.agent.surrogate.linalg import factorise
from guidefbo.core.arrays import Matrix, Values

UNIFORM_BITS = 24
"""Bits of a uniform behind a single-precision normal; its tail ends at 5.8."""

SINGLE_NOISE = 1e-6
"""Noise variance, relative to the signal's, above which single precision will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightPosterior:
    """The posterior of the feature weights, ready to be drawn from."""

    features: NDArray[np.floating]
    """Φ, (n, D), the features at the observed inputs."""
    factor: Matrix
    """Lower Cholesky factor of ΦΦ' + noise I."""
    noise_std: Values
    """(n,) standard deviation of each observation's noise."""

    @classmethod
    def of(cls, Phi: Matrix, noise: Values) -> Self:
        """Prepare the posterior given the features at the observed inputs.

        Args:
            Phi: Features, one row an observation.
            noise: Noise variance of each observation.
        """
        gram = Phi @ Phi.T
        is_noisy = noise.min() > SINGLE_NOISE * float(gram.diagonal().mean())
        gram.flat[:: len(Phi) + 1] += noise
        return cls(
            features=Phi.astype(np.float32) if is_noisy else Phi,
            factor=factorise(gram),
            noise_std=np.sqrt(noise),
        )

    def draw_centred(
        self, num_paths: int, stream: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return (num_paths, D) draws of weight_draw - weight_mean.

        Single precision where there is noise enough: rounding Φ w0 then acts like one
        more observation noise, far smaller than ε0.
        """
        n, num_features = self.features.shape
        normals = draw_normals(num_paths * num_features, stream)
        w0 = normals.reshape(num_paths, -1).astype(self.features.dtype, copy=False)
        noise = stream.standard_normal((num_paths, n)) * self.noise_std
        prior = w0 @ self.features.T + noise
        correction, _ = lapack.dpotrs(self.factor, prior.T, lower=1)
        w0 -= correction.T.astype(self.features.dtype) @ self.features  # E08
        return w0.astype(np.float32, copy=False)


def draw_normals(count: int, stream: np.random.Generator) -> NDArray[np.float32]:
    """Return standard normals in single precision, by the Box-Muller transform.

    Vectorised elementary functions make this faster than the
    generator's own rejection method.
    """
    half = -(-count // 2)
    words = stream.integers(0, 1 << 64, size=half, dtype=np.uint64).view(np.uint32)
    words >>= np.uint32(32 - UNIFORM_BITS)
    u = words.astype(np.float32).reshape(2, half)
    u += np.float32(0.5)
    u *= np.float32(2.0**-UNIFORM_BITS)
    radius, angle = u
    np.log(radius, out=radius)
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    angle *= np.float32(2.0 * np.pi)
    normals = np.empty((2, half), np.float32)
    np.cos(angle, out=normals[0])
    np.sin(angle, out=normals[1])
    normals *= radius
    return normals.reshape(-1)[:count]
