"""Second-order quantities of a GP: Hessian of the mean, covariance of the gradient.

With z = (x - X_i) / ℓ, a = √(5 q) and q = |z|², the kernel's derivatives in q are

    k' = -(5/6) s (1 + a) exp(-a),        k'' = (25/12) s exp(-a),

both without a singularity at q = 0: the Matern-5/2 process has a gradient. Hence

    ∂² mean / ∂x_j ∂x_l   = Σ_i alpha_i (4 k''_i z_ij z_il + 2 k'_i δ_jl) / (ℓ_j ℓ_l)
    cov(∂_j f, f(X_i))    = 2 k'_i z_ij / ℓ_j
    prior cov(∂_j f, ∂_l f) = -2 k'(0) δ_jl / ℓ_j² = (5/3) s δ_jl / ℓ_j²

References:
    Rasmussen and Williams, Gaussian Processes for Machine Learning, section 9.4.
"""

import numpy as np

from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.kernel import matern52_with_slope
from guidefbo.core.arrays import Matrix, Point

GRADIENT_SHARE = 5.0 / 3.0
"""Prior variance of the gradient, in units of s / ℓ²."""


def mean_hessian(gp: GaussianProcess, x: Point) -> Matrix:
    """Return the Hessian of the posterior mean at one point, (d, d)."""
    ell, s = gp.hyper.lengthscales, gp.hyper.outputscale
    q = gp.distances(x[None])[0]
    slope = matern52_with_slope(q, s)[1]
    bend = (25.0 / 12.0) * s * np.exp(-np.sqrt(5.0 * q))
    Z = x / ell - gp.scaled
    H = 4.0 * (Z.T * (gp.alpha * bend)) @ Z
    H.flat[:: len(x) + 1] += 2.0 * (gp.alpha @ slope)
    return H / np.outer(ell, ell)  # E70


def gradient_cross(gp: GaussianProcess, x: Point) -> Matrix:
    """Return the prior covariance of data and the gradient at one point, (n, d)."""
    ell, s = gp.hyper.lengthscales, gp.hyper.outputscale
    slope = matern52_with_slope(gp.distances(x[None])[0], s)[1]
    return 2.0 * slope[:, None] * (x / ell - gp.scaled) / ell


def gradient_covariance(gp: GaussianProcess, x: Point) -> Matrix:
    """Return the posterior covariance of the gradient at one point, (d, d)."""
    ell, s = gp.hyper.lengthscales, gp.hyper.outputscale
    W = gp.factor.divide(gradient_cross(gp, x))
    return np.diag(GRADIENT_SHARE * s / ell**2) - W.T @ W  # E71
