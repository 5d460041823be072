"""One site's influence on any coefficient of any packet is bounded."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.numbered import aggregate

from guidefbo.server.strategies.shape.pooling import (
    MAX_WEIGHT,
    PRIOR_PRECISION,
    REACH,
    SMALLEST,
    believable,
    by_moments,
    robust,
)
from guidefbo.server.strategies.shape.settings import ShapeServerSettings
from guidefbo.wire.shape import LARGEST, SHARPEST, WIDEST, ShapeUpload

COEFFICIENT = st.floats(-LARGEST, LARGEST)
VARIANCE = st.floats(math.log(SHARPEST), math.log(WIDEST)).map(math.exp)


@st.composite
def federations(draw, *, min_sites=3, max_sites=9):
    """Draw what all sites sent of two blocks, and two other messages of one of them."""
    num_sites, p = draw(st.integers(min_sites, max_sites)), draw(st.integers(1, 3))
    b = draw(arrays(float, (num_sites, p), elements=COEFFICIENT))
    v = draw(arrays(float, (num_sites, p), elements=VARIANCE))
    lies = draw(arrays(float, (2, p), elements=COEFFICIENT))
    claims = draw(arrays(float, (2, p), elements=VARIANCE))
    return b, v, lies, claims


def share_of(v):
    """Return σ of each coefficient, for what the last site may claim."""
    num_sites, honest = len(v), np.sort(v[:-1], axis=0)
    K = math.ceil(num_sites / 2) - 2
    few = MAX_WEIGHT / (MAX_WEIGHT + 1.0)
    # The largest that the lower median of all can be made.
    median = honest[min((num_sites - 1) // 2, num_sites - 2)]
    known = MAX_WEIGHT / (MAX_WEIGHT + max(K, 0))
    return np.where(median <= 1.0 / PRIOR_PRECISION, known, max(few, known))


def bounds_of(b, v):
    """Return H, σ L and W + 2 σ L of each coefficient, as `robust` states them."""
    others = np.vstack([b[:-1], np.zeros(b.shape[1])])
    low, high = others.min(axis=0), others.max(axis=0)
    W, V = high - low, v[:-1].max(axis=0)
    L = REACH * np.sqrt(np.maximum((1.4826 * W) ** 2, SMALLEST) + V)
    beyond = share_of(v) * L
    return low, high, beyond, W + 2.0 * beyond


def told(pool, b, v, lie, claim):
    """Return what the others are told where the last site sends this."""
    b, v = b.copy(), v.copy()
    b[-1], v[-1] = lie, claim
    return pool(b, v, [slice(0, b.shape[1])]).means[:-1]


@settings(max_examples=300, deadline=None)
@given(federations())
def test_whatever_one_site_sends(case):
    """θ stays within σ L of the others, and moves by W + 2 σ L at most."""
    b, v, lies, claims = case
    low, high, beyond, most = bounds_of(b, v)
    slack = 1e-9 * (1.0 + LARGEST)
    thetas = [
        told(robust, b, v, lie, claim) for lie, claim in zip(lies, claims, strict=True)
    ]
    for theta in thetas:
        assert (theta >= low - beyond - slack).all()
        assert (theta <= high + beyond + slack).all()
    assert (np.abs(thetas[0] - thetas[1]) <= most + slack).all()


@settings(max_examples=200, deadline=None)
@given(federations(max_sites=12), st.floats(-10.0, 3.0).map(math.exp))
def test_no_site_has_more_than_its_share_of_the_weights(case, tau2):
    """Whatever τ² is, for every packet that is made of it."""
    b, v, _, claims = case
    v[-1] = claims[0]
    w = 1.0 / (believable(v) + tau2)
    for n in range(len(b) - 1):
        total = w.sum(axis=0) - w[n] + PRIOR_PRECISION
        assert (w[-1] / total <= share_of(v) + 1e-12).all()


def test_a_floor_by_hand():
    """Median 0.4 of five, so nobody is surer than 0.1."""
    v = np.array([[SHARPEST], [0.3], [0.4], [0.5], [WIDEST]])
    assert believable(v)[:, 0].tolist() == [0.1, 0.3, 0.4, 0.5, WIDEST]


def test_the_few_who_know_are_heard():
    """Most know nothing; one who does weighs four times the prior."""
    v = np.full((9, 1), WIDEST)
    v[4] = 0.01
    assert believable(v)[4, 0] == 1.0 / (PRIOR_PRECISION * MAX_WEIGHT)


def test_of_two_the_surer_one_is_heard_in_full():
    v = np.array([[0.01], [WIDEST]])
    assert np.array_equal(believable(v), v)


def test_equally_sure_sites_are_left_as_they_are():
    rng = np.random.default_rng(0)
    v = rng.uniform(0.1, 0.3, (16, 5))
    assert np.array_equal(believable(v), v)


@pytest.mark.parametrize("num_sites", [8, 16, 64])
def test_a_sure_liar_moves_less_than_with_plain_moments(num_sites):
    """Honest sites agree on 0.3; one claims 8, or -8, with certainty."""
    rng = np.random.default_rng(num_sites)
    v = np.full((num_sites, 4), 0.05)
    b = 0.3 + np.sqrt(0.05) * rng.standard_normal(v.shape)
    moved = {}
    for pool in (robust, by_moments):
        ends = [
            told(pool, b, v, np.full(4, lie), np.full(4, SHARPEST))
            for lie in (-LARGEST, LARGEST)
        ]
        moved[pool] = np.abs(ends[1] - ends[0]).max()
    assert moved[robust] < 0.5 * moved[by_moments]
    most = bounds_of(b, v)[3]
    assert moved[robust] <= most.max()


def test_influence_falls_with_the_number_of_sites():
    """At the same scatter, by the weights alone: about 1 / N."""
    moved = []
    for num_sites in (8, 32, 128):
        rng = np.random.default_rng(0)
        v = np.full((num_sites, 4), 0.05)
        b = 0.3 + np.sqrt(0.05) * rng.standard_normal(v.shape)
        ends = [
            told(robust, b, v, np.full(4, lie), np.full(4, SHARPEST))
            for lie in (-LARGEST, LARGEST)
        ]
        moved.append(np.abs(ends[1] - ends[0]).max())
    assert moved[0] > 2.0 * moved[1] > 4.0 * moved[2]


def test_of_two_sites_one_is_all_that_the_other_hears():
    """No bound but that of the messages."""
    server = ShapeServerSettings().build()
    for lie in (-LARGEST, LARGEST):
        sent = {
            n: ShapeUpload(
                kinds=("choice",), means=(np.array([b]),), variances=(np.array([v]),)
            )
            for n, (b, v) in enumerate([(0.1, 0.1), (lie, SHARPEST)])
        }
        theta = aggregate(server, sent)[0].means[0][0]
        assert abs(theta) <= LARGEST
