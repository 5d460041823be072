"""Sites whose trends stand out as a whole are left out."""

import time

import numpy as np
import pytest

from guidefbo.server.strategies.shape.pooling import robust
from guidefbo.server.strategies.shape.screening import (
    FEWEST,
    PATIENCE,
    screened,
    standing_out,
)
from guidefbo.wire.shape import SHARPEST

BLOCKS = [slice(0, 10), slice(10, 20)]


def honest(num_sites=12, p=20, seed=0):
    rng = np.random.default_rng(seed)
    v = np.full((num_sites, p), 0.05)
    theta = 0.3 * rng.standard_normal(p)
    return theta + np.sqrt(0.05) * rng.standard_normal(v.shape), v


def with_liars(distance, variance=0.05, num_liars=4):
    b, v = honest()
    false = np.median(b, axis=0) + distance * np.sqrt(0.05)
    return (
        np.vstack([b, np.tile(false, (num_liars, 1))]),
        np.vstack([v, np.full((num_liars, 20), variance)]),
    )


def test_a_distance_by_hand():
    """Five sites of one coefficient; the limit is 1 + 3 √2 = 5.24.

    Median 0 and median absolute deviation 1, so scatter 2.198: 4 is at 7.28, 3 at 4.09.
    """
    assert pytest.approx(5.243, abs=1e-3) == 1.0 + PATIENCE * 2.0**0.5
    v = np.full((5, 1), 0.1)
    far = np.array([[-1.0], [0.0], [0.0], [1.0], [4.0]])
    assert standing_out(far, v).tolist() == [False] * 4 + [True]
    near = np.array([[-1.0], [0.0], [0.0], [1.0], [3.0]])
    assert not standing_out(near, v).any()


def test_honest_sites_stay():
    """Of 20 federations of 16 sites, hardly one site in a hundred goes."""
    out = sum(standing_out(*honest(16, seed=seed)).sum() for seed in range(20))
    assert out <= 0.03 * 16 * 20


@pytest.mark.parametrize(("num_sites", "share"), [(16, 0.12), (40, 0.03)])
def test_where_sites_really_differ_some_honest_ones_go(num_sites, share):
    """300 federations of 30 coefficients; the shares that the documents tell.

    To the hundredth that is told, and three standard errors.
    """
    rng = np.random.default_rng(7)
    sites = rng.standard_normal((300, num_sites, 30))
    out = [standing_out(b, np.full(b.shape, 1e-3)).mean() for b in sites]
    error = np.std(out) / np.sqrt(len(out))
    assert np.mean(out) == pytest.approx(share, abs=3.0 * error + 0.005)


@pytest.mark.parametrize("variance", [SHARPEST, 0.05])
def test_liars_in_all_coefficients_are_left_out(variance):
    """And the honest hear what they would without them."""
    b, v = with_liars(4.0, variance)
    assert standing_out(b, v).tolist() == [False] * 12 + [True] * 4
    lied, alone = screened(b, v, BLOCKS), robust(b[:12], v[:12], BLOCKS)
    assert np.array_equal(lied.means[:12], alone.means)
    assert np.array_equal(lied.variances[:12], alone.variances)
    assert not np.array_equal(robust(b, v, BLOCKS).means[:12], alone.means)


def test_who_is_left_out_hears_the_others():
    b, v = with_liars(4.0)
    lied = screened(b, v, BLOCKS)
    middle = b[:12].mean(axis=0)
    assert lied.means[12] == pytest.approx(middle, abs=0.1)
    assert np.array_equal(lied.means[12], lied.means[15])


def test_one_who_is_unsure_may_be_far_away():
    b, v = with_liars(4.0, num_liars=1)
    assert standing_out(b, v)[12]
    v[12] = 1.0
    assert not standing_out(b, v)[12]


def test_few_sites_are_all_heard():
    b, v = honest(FEWEST - 1)
    b[0] += 5.0
    assert not standing_out(b, v).any()
    assert np.array_equal(screened(b, v, BLOCKS).means, robust(b, v, BLOCKS).means)


def test_where_most_would_stand_out_nobody_does():
    """Sites with heavy tails: every one is far off in some coefficient."""
    rng = np.random.default_rng(1)
    b = rng.standard_t(1.0, (16, 20)).clip(-8.0, 8.0)
    assert not standing_out(b, np.full(b.shape, 0.01)).any()


def test_equal_sites_do_not_stand_out():
    b = np.full((8, 4), 0.3)
    assert not standing_out(b, np.full(b.shape, SHARPEST)).any()


def test_work_grows_with_the_number_of_sites_only():
    rng = np.random.default_rng(0)
    v = rng.uniform(0.01, 0.5, (10_000, 40))
    b = rng.standard_normal(v.shape) * np.sqrt(v)
    b[::7] += 5.0
    started = time.process_time()
    screened(b, v, [slice(0, 20), slice(20, 40)])
    assert time.process_time() - started < 2.0
