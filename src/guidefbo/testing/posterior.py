"""The contract of a posterior."""

import numpy as np

from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.streams import Purpose, Streams
from guidefbo.testing.examples import example_points
from guidefbo.testing.expect import expect, expect_gradient, expect_shape

NUM_FANTASIES = 8
NUM_FEATURES = 64
ROUNDING = 1e-8
"""Relative error allowed between two ways to compute one number."""


def check_posterior(posterior: Posterior, *, seed: int = 0) -> None:
    """Check that all answers of a posterior agree with each other.

    Shapes, finite values, positive standard deviations; gradients against finite
    differences; the joint covariance symmetric, positive semidefinite and with the
    variances on its diagonal; fantasies and paths reproducible and differentiable.

    Args:
        posterior: The posterior to check.
        seed: Root of the points it is checked at.
    """
    _check_moments(posterior, seed)
    _check_joint(posterior, seed)
    _check_fantasies(posterior, seed)
    _check_path(posterior, seed)


def _check_moments(posterior: Posterior, seed: int) -> None:
    X = example_points(posterior.dim, seed)
    b = len(X)
    mean, std = posterior.predict(X)
    expect_shape(mean, (b,), "The mean")
    expect_shape(std, (b,), "The standard deviation")
    expect(bool((std > 0.0).all()), f"A standard deviation must be positive: {std}.")
    moments = posterior.moments(X)
    for name, value in (("mean", mean), ("std", std)):
        expect(
            np.allclose(getattr(moments, name), value, rtol=ROUNDING, atol=ROUNDING),
            f"`predict` and `moments` must give the same {name}.",
        )
    expect_shape(moments.mean_gradient, X.shape, "The gradient of the mean")
    expect_shape(moments.std_gradient, X.shape, "The gradient of the std")
    expect_gradient(lambda X: posterior.predict(X)[0], X, moments.mean_gradient, "mean")
    expect_gradient(lambda X: posterior.predict(X)[1], X, moments.std_gradient, "std")


def _check_joint(posterior: Posterior, seed: int) -> None:
    X = example_points(posterior.dim, seed)
    mean, std = posterior.predict(X)
    joint_mean, cov = posterior.joint(X)
    expect_shape(cov, (len(X), len(X)), "The joint covariance")
    expect(
        np.allclose(joint_mean, mean, rtol=ROUNDING, atol=ROUNDING),
        "`predict` and `joint` must give the same mean.",
    )
    scale = float(np.diagonal(cov).max())
    expect(
        np.allclose(np.diagonal(cov), std**2, rtol=0.0, atol=ROUNDING * scale),
        "The diagonal of the joint covariance must hold the variances.",
    )
    expect(
        np.allclose(cov, cov.T, rtol=0.0, atol=ROUNDING * scale),
        "The joint covariance must be symmetric.",
    )
    lowest = float(np.linalg.eigvalsh(cov)[0])
    expect(
        lowest >= -ROUNDING * scale,
        f"The joint covariance must be positive semidefinite, got an eigenvalue of "
        f"{lowest:g}.",
    )


def _check_fantasies(posterior: Posterior, seed: int) -> None:
    X = example_points(posterior.dim, seed)
    b, m = len(X), NUM_FANTASIES
    first, second = (
        posterior.fantasise(m, Streams(seed).at(Purpose.RULE)) for _ in range(2)
    )
    expect(
        np.array_equal(first.draws, second.draws),
        "The same stream must give the same fantasies.",
    )
    # A mixture of functions draws as many of each.
    m *= max(1, first.draws.shape[1] // m)
    expect_shape(first.draws, (len(first.observed), m), "The fantasies' draws")
    means, std, std_gradient, pull_back = first.moments(X)
    expect_shape(means, (b, m), "The fantasies' means")
    expect_shape(std, (b,), "The fantasies' std")
    expect_gradient(lambda X: first.moments(X).std, X, std_gradient(), "fantasies' std")
    # Any sensitivity will do; unequal ones notice a mixed-up fantasy.
    sensitivity = np.add.outer(np.arange(1.0, b + 1.0), np.arange(m)) / (b + m)
    expect_gradient(
        lambda X: np.einsum("bm,bm->b", first.moments(X).means, sensitivity),
        X,
        pull_back(sensitivity),
        "fantasies' means",
    )


def _check_path(posterior: Posterior, seed: int) -> None:
    X = example_points(posterior.dim, seed)
    first, second = (
        posterior.sample_path(NUM_FEATURES, Streams(seed).at(Purpose.RULE))
        for _ in range(2)
    )
    value, gradient = first.value_and_gradient(X)
    expect_shape(value, (len(X),), "A path's values")
    expect_shape(gradient, X.shape, "A path's gradients")
    expect(
        np.array_equal(value, second.value_and_gradient(X)[0]),
        "The same stream must give the same path.",
    )
    expect(
        np.allclose(
            first.value(X), value, rtol=0.0, atol=ROUNDING * np.abs(value).max()
        ),
        "A path's values must not depend on whether gradients are asked for.",
    )
    expect_gradient(lambda X: first.value_and_gradient(X)[0], X, gradient, "a path")
