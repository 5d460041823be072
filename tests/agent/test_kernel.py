import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern

from guidefbo.agent.surrogate.kernel import (
    matern52,
    matern52_with_slope,
    squared_distances,
)
from guidefbo.agent.surrogate.linalg import JITTERS, factorise, invert_factor
from guidefbo.core.errors import NumericalError
from tests.strategies import dims, seeds


def test_kernel_by_hand():
    """E01: s (1 + a + a²/3) exp(-a) with a = √5, so s (8/3 + √5) exp(-√5)."""
    q = np.array([[0.0, 1.0, 1.0 / 5.0]])
    expected = [2.0, 2.0 * 0.5239941088318203, 2.0 * (7.0 / 3.0) * np.exp(-1.0)]
    assert matern52(q, 2.0)[0] == pytest.approx(expected, rel=1e-14)


@given(dim=dims, seed=seeds)
@settings(deadline=None, max_examples=30)
def test_kernel_agrees_with_scikit_learn(dim, seed):
    # E01, with unequal lengthscales. Rounding in q is about 1e-15 (|x| / ell)².
    rng = np.random.default_rng(seed)
    A, B = rng.random((5, dim)), rng.random((4, dim))
    lengthscales = rng.uniform(0.05, 3.0, dim)
    ours = matern52(squared_distances(A, B, lengthscales), 1.3)
    theirs = 1.3 * Matern(length_scale=lengthscales, nu=2.5)(A, B)
    assert ours == pytest.approx(theirs, abs=1e-11)


@given(st.floats(0.0, 1e4))
def test_slope_is_the_derivative_in_the_squared_distance(q):
    """E01: dk/dq = -5/6 s (1 + a) exp(-a), finite at q = 0 too."""
    point = np.array([[q]])
    k, slope = matern52_with_slope(point, 1.5)
    assert k == pytest.approx(matern52(point, 1.5), rel=1e-13)
    a = np.sqrt(5.0 * q)
    assert slope[0, 0] == pytest.approx(-1.25 * (1.0 + a) * np.exp(-a), rel=1e-12)
    h = 1e-6 * max(q, 1.0)
    if q > 10.0 * h:
        rise = matern52(point + h, 1.5) - matern52(point - h, 1.5)
        # Rounding eps / h of the difference quotient dominates.
        assert slope[0, 0] == pytest.approx(rise[0, 0] / (2.0 * h), abs=1e-8)


@given(dim=dims, seed=seeds)
@settings(max_examples=30)
def test_squared_distances_are_those_of_the_definition(dim, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.random((3, dim)), rng.random((6, dim))
    lengthscales = rng.uniform(0.1, 2.0, dim)
    q = squared_distances(A, B, lengthscales)
    expected = (((A[:, None] - B) / lengthscales) ** 2).sum(axis=2)
    # The product form cancels: its error is a few eps times (|x| / ell)² <= 400.
    assert q == pytest.approx(expected, abs=1e-12)
    assert (squared_distances(A, A, lengthscales) >= 0.0).all()


def test_factor_needs_no_jitter_when_the_matrix_is_definite():
    A = np.random.default_rng(0).standard_normal((6, 6))
    K = A @ A.T + np.eye(6)
    before = K.copy()
    L = factorise(K)
    assert (K == before).all()
    assert (np.triu(L, 1) == 0.0).all()
    assert L @ L.T == pytest.approx(K, rel=1e-13)
    assert invert_factor(L) @ L == pytest.approx(np.eye(6), abs=1e-13)


def test_factor_of_a_singular_matrix_is_jittered_as_little_as_works():
    # Rank one, diagonal 3: the first step that lifts it above rounding is 3e-10.
    K = np.full((4, 4), 3.0)
    L = factorise(K)
    lifted = L @ L.T - K
    assert lifted == pytest.approx(3.0 * JITTERS[1] * np.eye(4), abs=1e-14)


def test_factor_refuses_an_indefinite_matrix():
    with pytest.raises(NumericalError, match="2 x 2 .* not positive definite"):
        factorise(np.array([[1.0, 2.0], [2.0, 1.0]]))
