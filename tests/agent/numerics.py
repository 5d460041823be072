"""Small numerical tools of the agent's tests."""

import numpy as np

from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52, squared_distances

STEP = 1e-5
"""Of central differences: their error is STEP² f''' / 6 plus rounding eps |f| / STEP,
about 1e-10 each for functions and derivatives of order one."""


def differences_at(function, x, step=STEP):
    """Return the central-difference gradient of a scalar function of a vector."""
    gradient = np.empty(len(x))
    for j in range(len(x)):
        e = np.zeros(len(x))
        e[j] = step
        gradient[j] = (function(x + e) - function(x - e)) / (2.0 * step)
    return gradient


def differences(function, X, step=STEP):
    """Return the (b, d) gradients of a batched function of the rows of X."""
    return np.array(
        [differences_at(lambda x: function(x[None])[0], row, step) for row in X]
    )


def smooth_values(X):
    """Return values of order one that depend on every coordinate."""
    j = np.arange(1, X.shape[1] + 1)
    return np.sin(3.0 * X @ (1.0 / j)) + np.cos(5.0 * X[:, 0])


def make_gp(n, d, seed=0, noise_variance=0.01, level=0.0, **hyper):
    """Return a GP with unequal lengthscales on n random points, values at a level."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    settings = {
        "lengthscales": np.linspace(0.3, 0.9, d),
        "outputscale": 1.7,
        "mean": 0.4 + level,
        "noise_variance": noise_variance,
    } | hyper
    return GaussianProcess.condition(
        X, level + smooth_values(X), Hyperparameters(**settings)
    )


def make_data(n, d, seed=0, noise_std=0.1):
    """Return n random points and their noisy values."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, smooth_values(X) + noise_std * rng.standard_normal(n)


def covariance(X, theta, noise_variance):
    """Return k(X, X) + noise I for logarithmic hyperparameters theta."""
    d = X.shape[1]
    noise = np.exp(theta[d + 1]) if noise_variance is None else noise_variance
    q = squared_distances(X, X, np.exp(theta[:d]))
    return matern52(q, np.exp(theta[d])) + noise * np.eye(len(X))
