"""Fantasies of many observations against the plain formulas."""

import numpy as np
import pytest
from scipy.stats import norm
from tests.agent.numerics import make_gp

from guidefbo.agent.surrogate import gp as gp_module
from guidefbo.agent.surrogate import linalg
from guidefbo.agent.surrogate.fantasies import LocalFantasies
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.linalg import factorise, factorise_over, invert_factor
from guidefbo.agent.surrogate.many_fantasies import (
    ManyFantasies,
    correct,
    prior_factor,
)
from guidefbo.core.errors import NumericalError
from guidefbo.testing.posterior import check_posterior


def stream(seed=0):
    return np.random.default_rng(seed)


def unequal_noise(gp):
    noise = np.linspace(0.001, 0.5, len(gp.X))
    return GaussianProcess.condition(gp.X, gp.y, gp.hyper, noise)


@pytest.mark.parametrize("noise_variance", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("change", [lambda gp: gp, unequal_noise])
def test_draws_have_the_mean_and_covariance_of_the_posterior(noise_variance, change):
    """E03: a draw is affine in the normal numbers, so both can be read off."""
    gp = change(make_gp(30, 3, noise_variance=noise_variance, mean=0.7))
    L, none, each = prior_factor(gp), np.zeros((30, 30)), np.eye(30)
    mean, cov = gp.joint(gp.X)
    ours = correct(gp, L, none, none)[:, 0]
    assert ours == pytest.approx(mean, abs=1e-5)
    S = np.hstack([correct(gp, L, each, none), correct(gp, L, none, each)])
    S -= ours[:, None]
    # The nugget counts as part of the function.
    ours = S @ S.T
    assert ours == pytest.approx(cov, abs=1e-6)


def test_observations_without_noise_are_drawn_as_they_are():
    gp = make_gp(12, 2, noise_variance=1e-9)
    assert ManyFantasies.draw(gp, 4, stream()).draws == pytest.approx(
        np.tile(gp.y[:, None], 4), abs=1e-12
    )


def test_moments_are_those_of_a_process_with_these_values():
    gp = make_gp(25, 3, noise_variance=0.1)
    many = ManyFantasies.draw(gp, 5, stream())
    L_inv = invert_factor(np.tril(many.factor))
    weights = L_inv.T @ (L_inv @ (many.draws - gp.hyper.mean))
    plain = LocalFantasies(
        gp=gp, draws=many.draws, inverse_factor=L_inv, weights=weights
    )
    X = stream(1).random((9, 3))
    ours, theirs = many.moments(X), plain.moments(X)
    assert ours.means == pytest.approx(theirs.means, rel=1e-6, abs=1e-6)
    assert ours.std == pytest.approx(theirs.std, rel=1e-6)
    assert ours.std_gradient() == pytest.approx(
        theirs.std_gradient(), rel=1e-5, abs=1e-6
    )
    sums = many.by_sums()
    means, std = sums.finish(sums.sums.at(X))
    assert means == pytest.approx(ours.means, rel=1e-6, abs=1e-6)
    assert std == pytest.approx(ours.std, rel=1e-6)


def test_many_observations_keep_the_promises_of_a_posterior(monkeypatch):
    gp = make_gp(15, 2, noise_variance=0.1)
    monkeypatch.setattr(gp_module, "MANY_RESULTS", 14)
    assert isinstance(gp.fantasise(2, stream()), ManyFantasies)
    check_posterior(gp)


def improvements(gp, X, m):
    """Return the expected improvement given each fantasy, (b, m)."""
    fantasies = gp.fantasise(m, stream())
    means, std, _, _ = fantasies.moments(X)
    u = (means - fantasies.draws.max(axis=0)) / std[:, None]
    return std[:, None] * (norm.pdf(u) + u * norm.cdf(u))


def test_the_expected_improvement_is_the_same_however_fantasies_are_drawn(monkeypatch):
    """E22: within four standard errors of plain simulation."""
    gp = make_gp(8, 2, noise_variance=0.2)
    X, m = stream(2).random((20, 2)), 16_384
    few = improvements(gp, X, m)
    monkeypatch.setattr(gp_module, "MANY_RESULTS", 0)
    many = improvements(gp, X, m)
    error = np.sqrt((few.var(axis=1) + many.var(axis=1)) / m)
    assert (np.abs(many.mean(axis=1) - few.mean(axis=1)) < 4.0 * error + 1e-12).all()
    # Most of them are known well enough for this to say something.
    assert np.median(error / few.mean(axis=1)) < 0.05


@pytest.mark.parametrize("tile", [3, 256])
@pytest.mark.parametrize("rank", [4, 20])
def test_a_factor_in_place_is_that_of_a_copy(monkeypatch, tile, rank):
    """A matrix of low rank needs jitter, and is mirrored for another attempt."""
    monkeypatch.setattr(linalg, "TILE", tile)
    A = stream(rank).normal(size=(20, rank))
    K = A @ A.T
    K = (K + K.T) / 2.0
    if rank < 20:
        K -= 1e-11 * np.eye(20)
    expected = factorise(K)
    assert factorise_over(K.copy()) == pytest.approx(expected, abs=1e-7)


def test_a_matrix_that_is_not_positive_definite_is_refused_in_place_too():
    with pytest.raises(NumericalError, match="2 x 2"):
        factorise_over(np.array([[1.0, 2.0], [2.0, 1.0]]))
