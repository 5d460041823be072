"""A factor divides alike whichever form it is kept in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import seeds

from guidefbo.agent.surrogate import factor as factors
from guidefbo.agent.surrogate.factor import FEW, LARGE, Factor
from guidefbo.agent.surrogate.linalg import factorise

TOLERANCE = 1e-9
"""Covariances here have condition numbers below 1e5, and rounding is 1e-16 of that."""

sizes = st.sampled_from([1, 2, 7, FEW, FEW + 1, 150])


def covariance(n, seed):
    """Return a kernel matrix of random points with noise."""
    X = np.random.default_rng(seed).random((n, 3))
    q = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-q) + 0.01 * np.eye(n)


def both_forms(K):
    """Return the factor by its inverse, and as it is."""
    L = factorise(K)
    return Factor.of(L.copy(order="F")), Factor(matrix=L, is_inverse=False)


@settings(max_examples=25, deadline=None)
@given(n=sizes, b=st.integers(1, 4), seed=seeds)
def test_both_forms_divide_by_the_same(n, b, seed):
    K = covariance(n, seed)
    B = np.random.default_rng(seed + 1).standard_normal((b, n))
    L = np.linalg.cholesky(K)
    for factor in both_forms(K):
        whitened = np.linalg.solve(L, B.T).T
        for whiten in (factor.whiten, factor.whiten_densely):
            assert whiten(B) == pytest.approx(whitened, abs=TOLERANCE)
        unwhitened = np.linalg.solve(L.T, B.T).T
        for unwhiten in (factor.unwhiten, factor.unwhiten_densely):
            assert unwhiten(B) == pytest.approx(unwhitened, abs=TOLERANCE)
        assert factor.divide(B.T) == pytest.approx(whitened.T, abs=TOLERANCE)
        solved = np.linalg.solve(K, B.T)
        scale = np.abs(solved).max()
        assert factor.solve(B.T) == pytest.approx(solved, abs=TOLERANCE * scale)
        assert factor.solve(B[0]) == pytest.approx(solved[:, 0], abs=TOLERANCE * scale)
        inverse = np.linalg.inv(K)[:, n // 2 :]
        assert factor.inverse_columns(n // 2) == pytest.approx(inverse, abs=1e-7)
        half = 0.5 * np.linalg.slogdet(K).logabsdet
        assert factor.half_logdet == pytest.approx(half, rel=TOLERANCE)


@pytest.mark.parametrize("n", [5, FEW + 1])
@pytest.mark.parametrize("form", [0, 1])
def test_what_may_be_lost_gives_the_same(n, form):
    factor = both_forms(covariance(n, 0))[form]
    B = np.random.default_rng(1).standard_normal((3, n))
    kept = B.copy()
    whitened, unwhitened = factor.whiten(B), factor.unwhiten(B)
    assert np.array_equal(B, kept)
    assert np.array_equal(factor.whiten(B.copy(), overwrite=True), whitened)
    assert np.array_equal(factor.unwhiten(B.copy(), overwrite=True), unwhitened)


def test_a_large_factor_is_kept_as_it_is(monkeypatch):
    assert LARGE > FEW
    monkeypatch.setattr(factors, "LARGE", 10)
    L = factorise(covariance(11, 0))
    assert Factor.of(L).matrix is L
    assert Factor.of(factorise(covariance(10, 0))).is_inverse
