"""The kernel of many distances at once is computed in parts, digit for digit."""

import numpy as np
import pytest

from guidefbo.agent.surrogate import kernel
from guidefbo.agent.surrogate.kernel import (
    matern52,
    matern52_over,
    matern52_with_slope,
)


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
