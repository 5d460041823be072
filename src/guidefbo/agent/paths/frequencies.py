"""Spectral frequencies of the Matern-5/2 kernel in orthogonal blocks.

The spectral density of the d-dimensional kernel is a multivariate Student t with five
degrees of freedom: one radial factor per frequency, not one per coordinate.

References:
    Rahimi and Recht, Random features for large-scale kernel machines, NeurIPS 2007.
    Yu et al., Orthogonal random features, NeurIPS 2016.
"""

import numpy as np

from guidefbo.core.arrays import Point, Points

DEGREES_OF_FREEDOM = 5.0
"""2 nu for nu = 5/2."""


def draw_frequencies(
    num_features: int, lengthscales: Point, stream: np.random.Generator
) -> Points:
    """Return (num_features, d) frequencies whose directions are orthogonal in blocks.

    Args:
        num_features: Number of frequencies.
        lengthscales: Lengthscales of the kernel.
        stream: Source of the directions and radii.
    """
    d = len(lengthscales)
    q = _orthogonal_directions(num_features, d, stream)
    u = stream.chisquare(d, num_features)
    v = stream.chisquare(DEGREES_OF_FREEDOM, num_features)
    radius = np.sqrt(u * (DEGREES_OF_FREEDOM / v))
    return radius[:, None] * q / lengthscales  # E06


def draw_independent_frequencies(
    num_features: int, lengthscales: Point, stream: np.random.Generator
) -> Points:
    """Return (num_features, d) frequencies of the same law, all independent."""
    z = stream.standard_normal((num_features, len(lengthscales)))
    v = stream.chisquare(DEGREES_OF_FREEDOM, num_features)
    return np.sqrt(DEGREES_OF_FREEDOM / v)[:, None] * z / lengthscales  # E80


def _orthogonal_directions(count: int, d: int, stream: np.random.Generator) -> Points:
    blocks = -(-count // d)
    Q, R = np.linalg.qr(stream.standard_normal((blocks, d, d)))
    # The signs of R's diagonal make Q uniform over the orthogonal group.
    Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]
    return Q.reshape(blocks * d, d)[:count]
