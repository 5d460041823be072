"""Coefficients of trends, for the messages of the shape strategy.

Messages are built in the test, not while drawing: the type checker of the tests picks
the items of a tuple it looks at by chance, which Hypothesis forbids there.
"""

from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from guidefbo.wire.shape import LARGEST, SHARPEST, WIDEST


def reals(size, low, high):
    """Arrays of that many numbers between two."""
    elements = st.floats(low, high, allow_nan=False, allow_subnormal=False)
    return arrays(float, size, elements=elements)


block_sizes = st.lists(st.integers(1, 3), min_size=1, max_size=3)


@st.composite
def coefficients(draw, sizes=None):
    """The fields of a valid message, of blocks of some sizes."""
    sizes = draw(block_sizes) if sizes is None else sizes
    return {
        "means": tuple(draw(reals(n, -LARGEST, LARGEST)) for n in sizes),
        "variances": tuple(draw(reals(n, SHARPEST, WIDEST)) for n in sizes),
    }
