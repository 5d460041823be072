"""Coefficients of trends, for the messages of the shape strategy.

Messages are built in the test, not while drawing: the type checker of the tests picks
the items of a tuple it looks at by chance, which Hypothesis forbids there.
"""

from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from guidefbo.wire.shape import KINDS, LARGEST, SHARPEST, WIDEST


def reals(size, low, high):
    """Arrays of that many numbers between two."""
    elements = st.floats(low, high, allow_nan=False, allow_subnormal=False)
    return arrays(float, size, elements=elements)


blocks = st.tuples(st.sampled_from(KINDS), st.integers(1, 3))
forms = st.lists(blocks, min_size=1, max_size=4)
"""Kind and size of each block, in any order."""


@st.composite
def coefficients(draw, form=None):
    """The fields of a valid message, of blocks of some kinds and sizes."""
    form = draw(forms) if form is None else form
    return {
        "kinds": tuple(kind for kind, _ in form),
        "means": tuple(draw(reals(n, -LARGEST, LARGEST)) for _, n in form),
        "variances": tuple(draw(reals(n, SHARPEST, WIDEST)) for _, n in form),
    }
