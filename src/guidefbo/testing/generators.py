"""Hypothesis strategies for the messages of guide and consensus (needs Hypothesis)."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from guidefbo.core.component import Components
from guidefbo.wire.consensus import SHARPEST, WIDEST, PeakUpload
from guidefbo.wire.guide import MAX_SCORE, GuidancePacket, OptimumUpload

MAX_DIM = 5
MIN_SPREAD, MAX_SPREAD = 1e-6, 1.0
"""Variances of components that mean something in the unit cube."""


def reals(low: float, high: float) -> st.SearchStrategy[float]:
    """Return finite numbers in [low, high]."""
    return st.floats(low, high, allow_nan=False, allow_subnormal=False)


def real_arrays(
    shape: tuple[int, ...], low: float, high: float
) -> st.SearchStrategy[NDArray[np.float64]]:
    """Return arrays of this shape with entries in [low, high]."""
    return arrays(np.float64, shape, elements=reals(low, high))


@st.composite
def spreads(
    draw: st.DrawFn, dim: int, is_full: bool, count: int | None = None
) -> NDArray[np.float64]:
    """Draw variances or covariance matrices, `count` of them or a single one."""
    lead = () if count is None else (count,)
    if not is_full:
        return draw(real_arrays((*lead, dim), MIN_SPREAD, MAX_SPREAD))
    factor = draw(real_arrays((*lead, dim, dim), -0.5, 0.5))
    # Exactly symmetric, and positive definite far beyond rounding.
    gram = factor @ np.swapaxes(factor, -1, -2)
    return (gram + np.swapaxes(gram, -1, -2)) / 2.0 + 1e-3 * np.eye(dim)


@st.composite
def optimum_uploads(
    draw: st.DrawFn, dim: int | None = None, is_full: bool = False
) -> OptimumUpload:
    """Draw a valid upload."""
    d = draw(st.integers(1, MAX_DIM)) if dim is None else dim
    return OptimumUpload(
        mass=draw(reals(1e-6, 1.0)),
        center=draw(real_arrays((d,), 0.0, 1.0)),
        variance=draw(spreads(d, is_full)),
        value_score=draw(reals(-MAX_SCORE, MAX_SCORE)),
    )


@st.composite
def peak_uploads(draw: st.DrawFn, dim: int | None = None) -> PeakUpload:
    """Draw a valid upload of the consensus strategy."""
    d = draw(st.integers(1, MAX_DIM)) if dim is None else dim
    return PeakUpload(
        mass=1.0,
        center=draw(real_arrays((d,), 0.0, 1.0)),
        variance=draw(real_arrays((d,), SHARPEST, WIDEST)),
        value_score=draw(reals(-MAX_SCORE, MAX_SCORE)),
    )


@st.composite
def guidance_packets(
    draw: st.DrawFn, dim: int | None = None, is_full: bool = False
) -> GuidancePacket:
    """Draw a valid packet whose weights sum to at most one."""
    d = draw(st.integers(1, MAX_DIM)) if dim is None else dim
    count = draw(st.integers(1, 6))
    return GuidancePacket(
        components=Components(
            weights=draw(real_arrays((count,), 0.0, 1.0)) / count,
            centers=draw(real_arrays((count, d), 0.0, 1.0)),
            variances=draw(spreads(d, is_full, count)),
        )
    )


@st.composite
def federations(
    draw: st.DrawFn, is_full: bool = False, max_agents: int = 8
) -> dict[str, OptimumUpload]:
    """Draw uploads of several sites in one dimension, some of them close together."""
    d = draw(st.integers(1, MAX_DIM))
    agents = draw(
        st.lists(st.integers(0, 99), min_size=2, max_size=max_agents, unique=True)
    )
    uploads: dict[str, OptimumUpload] = {}
    for agent in map(str, agents):
        earlier = list(uploads.values())
        if earlier and draw(st.booleans()):
            # A copy of an earlier upload or a neighbour of it, to be merged.
            near = draw(st.sampled_from(earlier))
            step = draw(st.sampled_from([0.0, 1e-3]))
            uploads[agent] = OptimumUpload(
                mass=near.mass,
                center=np.abs(near.center - step),
                variance=near.variance,
                value_score=near.value_score,
            )
        else:
            uploads[agent] = draw(optimum_uploads(dim=d, is_full=is_full))
    return uploads
