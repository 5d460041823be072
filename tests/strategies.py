"""Hypothesis generators of the domain's values, shared by the whole suite."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from guidefbo.core.component import Components

dims = st.integers(1, 4)
seeds = st.integers(0, 2**32 - 1)
unit = st.floats(0.0, 1.0)
strengths = st.floats(0.0, 10.0)
printable = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
"""Characters of a text that files and terminals take."""


def unit_points(num_points, dim):
    """Points of the unit cube, corners and repeated points included."""
    return arrays(float, (num_points, dim), elements=unit)


@st.composite
def covariances(draw, dim):
    """Positive definite matrices with standard deviations from 0.01 to 1."""
    stds = draw(arrays(float, dim, elements=st.floats(0.01, 1.0)))
    rng = np.random.default_rng(draw(seeds))
    Q, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    covariance = (Q * stds**2) @ Q.T
    return 0.5 * (covariance + covariance.T)


@st.composite
def components(draw, dim, weights=unit, is_full=None, max_size=5):
    """A few components with any weights, which need not sum to one."""
    size = draw(st.integers(0, max_size))
    if is_full is None:
        is_full = draw(st.booleans())
    if is_full:
        each = [draw(covariances(dim)) for _ in range(size)]
        variances = np.array(each).reshape(size, dim, dim)
    else:
        variances = draw(arrays(float, (size, dim), elements=st.floats(1e-4, 1.0)))
    return Components(
        weights=draw(arrays(float, size, elements=weights)),
        centers=draw(unit_points(size, dim)),
        variances=variances,
    )
