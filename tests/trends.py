"""Sides of the shape strategy, and numbers for its messages.

Messages are built in the test, not while drawing: the type checker of the tests picks
the items of a tuple it looks at by chance, which Hypothesis forbids there.
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.strategies.shape.settings import ShapeSettings
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.domain import Domain
from guidefbo.core.settings import make
from guidefbo.core.space.parameters import Choice
from guidefbo.core.space.space import Space
from guidefbo.wire.shape import KINDS, LARGEST, SHARPEST, WIDEST, ShapePacket

MODEL = Model(noise_std=0.1, priors=Priors())
CHOICES_ALONE = Space(c=Choice("a", "b", "c"), e=Choice(1, 2, 3)).domain
"""A space without numbers."""
NOTHING = ShapePacket(kinds=(), means=(), variances=())
"""What a site hears where nobody else has spoken."""


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


def agent(domain=None, *, strategy=ShapeSettings, model=MODEL, **settings):
    """Return the private half, in three dimensions where no domain is given."""
    domain = Domain.box(3) if domain is None else domain
    return make(strategy, settings).build(domain, model, SearchSettings())


def packet(where, mean=0.3, variance=0.1, place=(0.1, 0.05), degree=2):
    """Return what the others say of a trend and of a place, both with a variance.

    Args:
        where: A domain, or the number of its coordinates.
        mean: One number for all coefficients, or one for each.
        variance: Of the coefficients.
        place: Counted from the middle, with a variance.
        degree: Of the trend.
    """
    domain = Domain.box(where) if isinstance(where, int) else where
    features = ShapeFeatures.of(domain, degree)
    kinds, sizes = zip(*features.form, strict=True)
    m, ends = len(features.numbers), np.cumsum(sizes)[:-1]
    means = np.broadcast_to(mean, features.size)
    variances = np.full(features.size, variance)
    return ShapePacket(
        kinds=kinds,
        means=tuple(np.split(np.append(means, np.full(m, place[0])), ends)),
        variances=tuple(np.split(np.append(variances, np.full(m, place[1])), ends)),
    )


def kinds_of(sizes):
    """Return kinds of blocks of these sizes: slopes and bends if two are alike."""
    if len(sizes) > 1 and sizes[0] == sizes[1]:
        return ("slopes", "bends", *["choice"] * (len(sizes) - 2))
    return ("choice",) * len(sizes)
