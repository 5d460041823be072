"""The kernel of many distances at once is computed in parts, digit for digit."""

import numpy as np
import pytest

from guidefbo.agent.surrogate import kernel, linalg
from guidefbo.agent.surrogate.factor import FEW, Factor
from guidefbo.agent.surrogate.kernel import (
    matern52,
    matern52_over,
    matern52_with_slope,
    squared_distances,
)
from guidefbo.agent.surrogate.linalg import factorise


@pytest.mark.parametrize("shape", [(7,), (5, 4), (3, 4, 5), (2, 50), (0, 3)])
@pytest.mark.parametrize("many", [1, 10, 20])
def test_parts_make_the_whole(shape, many, monkeypatch):
    """E01."""
    rng = np.random.Generator(np.random.PCG64(0))
    q = 9.0 * rng.random(shape)
    k, (also, slope) = matern52(q, 2.5), matern52_with_slope(q, 2.5)
    monkeypatch.setattr(kernel, "MANY", many)
    before = q.copy()
    assert np.array_equal(matern52(q, 2.5), k)
    parts = matern52_with_slope(q, 2.5)
    assert np.array_equal(parts[0], also)
    assert np.array_equal(parts[1], slope)
    assert np.array_equal(q, before)
    assert matern52_over(q, 2.5) is q
    assert np.array_equal(q, k)


def test_distances_and_factors_in_parts_are_those_of_the_whole(monkeypatch):
    rng = np.random.Generator(np.random.PCG64(1))
    A, lengthscales = rng.random((23, 3)), np.array([0.3, 1.0, 2.0])
    q = squared_distances(A, A[:11], lengthscales)
    K = matern52(squared_distances(A, A, lengthscales), 1.0) + 0.1 * np.eye(23)
    L = factorise(K)
    monkeypatch.setattr(kernel, "MANY", 20)
    monkeypatch.setattr(linalg, "TILE", 5)
    assert np.array_equal(squared_distances(A, A[:11], lengthscales), q)
    assert np.array_equal(factorise(K), L)
    assert np.array_equal(factorise(np.asfortranarray(K)), L)


@pytest.mark.parametrize("n", [1, FEW, FEW + 1, 200])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_with_a_triangle_are_those_with_the_whole_matrix(n, order):
    """On both sides of where the triangular product begins."""
    rng = np.random.Generator(np.random.PCG64(n))
    L_inv = np.array(np.tril(rng.normal(size=(n, n))), order=order)
    K = rng.normal(size=(7, n))
    factor = Factor(matrix=L_inv, is_inverse=True)
    whitened, unwhitened = factor.whiten(K), factor.unwhiten(K)
    np.testing.assert_allclose(whitened, K @ L_inv.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(unwhitened, K @ L_inv, rtol=1e-10, atol=1e-10)
