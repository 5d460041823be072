"""Centred posterior draws of the feature weights, by Matheron's rule.

In the linear model y = Φ w + ε with w ~ N(0, I), a prior draw (w0, ε0) gives

    w0 - Φ'(ΦΦ' + noise I)^-1 (Φ w0 + ε0)  ~  w | y  minus its mean,

the law of the posterior draw of precision Φ'Φ/noise + I at the cost of an n x n
factor instead of a D x D one.

References:
    Wilson et al., Pathwise conditioning of Gaussian processes, JMLR 2021.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from guidefbo.agent.surrogate.linalg import factorise
from guidefbo.core.arrays import Matrix

UNIFORM_BITS = 24
"""Bits of a uniform behind a single-precision normal; its tail ends at 5.8."""


def draw_centred_weights(
    Phi: Matrix, noise_variance: float, num_paths: int, stream: np.random.Generator
) -> NDArray[np.float32]:
    """Return (D, num_paths) draws of weight_draw - weight_mean in single precision.

    Rounding Φ w0 to single precision acts like one more observation noise, of relative
    size 1e-6, next to ε0.

    Args:
        Phi: Features at the observed inputs, (n, D).
        noise_variance: Variance of the observation noise.
        num_paths: Number of independent draws.
        stream: Source of the draws.
    """
    n, num_features = Phi.shape
    single = Phi.astype(np.float32)
    w0 = draw_normals(num_features * num_paths, stream).reshape(num_features, -1)
    prior = single @ w0 + stream.standard_normal((n, num_paths)) * np.sqrt(
        noise_variance
    )
    gram = Phi @ Phi.T
    gram.flat[:: n + 1] += noise_variance
    correction = cho_solve((factorise(gram), True), prior, overwrite_b=True)
    w0 -= single.T @ correction.astype(np.float32)  # E08
    return w0


def draw_normals(count: int, stream: np.random.Generator) -> NDArray[np.float32]:
    """Return standard normals in single precision, by the Box-Muller transform.

    Vectorised elementary functions make this about three times as fast as the
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
