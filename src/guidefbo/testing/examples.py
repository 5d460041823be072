"""A small posterior to try things on."""

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.core.arrays import Points
from guidefbo.core.component import Components
from guidefbo.core.designs import sobol
from guidefbo.core.streams import Purpose, Streams

NUM_POINTS = 12
"""Observations behind the example."""
NOISE_STD = 0.1
"""Their noise."""


def example_data(dim: int, seed: int) -> Dataset:
    """Return noisy observations of a smooth bump off the centre of the cube."""
    X = sobol(NUM_POINTS, dim, Streams(seed).at(Purpose.CANDIDATES))
    noise = Streams(seed).at(Purpose.NOISE).normal(0.0, NOISE_STD, NUM_POINTS)
    return Dataset(X=X, y=2.0 * np.exp(-4.0 * ((X - 0.4) ** 2).mean(axis=1)) + noise)


def example_posterior(dim: int = 3, seed: int = 0) -> GaussianProcess:
    """Return a local posterior with unequal lengthscales, without fitting it."""
    data = example_data(dim, seed)
    hyper = Hyperparameters(
        lengthscales=np.linspace(0.3, 0.9, dim),
        outputscale=0.7,
        mean=1.1,
        noise_variance=NOISE_STD**2,
    )
    return GaussianProcess.condition(data.X, data.y, hyper)


def guided_posterior(local: GaussianProcess) -> InterventionalPosterior:
    """Return an interventional posterior, guided by two overlapping components."""
    d = local.dim
    components = Components(
        weights=np.array([0.6, 0.3]),
        centers=np.array([np.full(d, 0.55), np.linspace(0.2, 0.8, d)]),
        variances=np.array([np.full(d, 0.04), np.linspace(0.02, 0.09, d)]),
    )
    scaling = LocalScaling(
        field=GuidanceField.of(components), strength=0.8, observed=local.X
    )
    return InterventionalPosterior(local=local, scaling=scaling)


def example_points(dim: int, seed: int, num_points: int = 16) -> Points:
    """Return points of the open cube, away from the observed ones."""
    return sobol(num_points, dim, Streams(seed).at(Purpose.SEARCH))
