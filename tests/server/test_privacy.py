"""Differential privacy: the mechanism by hand, the accountant by a library."""

import numpy as np
import pytest

from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.server.strategies.fts_de.privacy import (
    PrivateAverage,
    clip_rows,
    private_epsilon,
    renyi_divergences,
)


def stream(t=1):
    return Streams(0).at(Purpose.DISPATCH, t=t)


def test_rows_are_clipped_to_the_norm():
    """E52: (3, 4) has norm 5; shorter rows and zero stay as they are."""
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    clipped = clip_rows(rows, 2.0)
    assert clipped == pytest.approx(np.array([[1.2, 1.6], [0.3, 0.4], [0.0, 0.0]]))


def test_everybody_without_noise_is_the_clipped_average():
    """E52: q = 1, z = 0. Four regions halve the norm S = 4 to 2."""
    average = PrivateAverage(clip=4.0, rate=1.0, noise=0.0)
    vectors = np.array([[3.0, 4.0], [0.0, 1.0]])
    weights = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.25, 0.75]])
    expected = [[1.2, 1.6], [0.6, 1.3], [0.0, 1.0], [0.3, 1.15]]
    assert average(weights, vectors, stream()) == pytest.approx(np.array(expected))


def test_subsampling_divides_by_the_rate_and_is_unbiased():
    """E52: each agent counts 1/q with probability q, so the mean is kept."""
    average = PrivateAverage(clip=10.0, rate=0.35, noise=0.0)
    weights, vectors = np.full((1, 2), 0.5), np.array([[1.0, 0.0], [0.0, 2.0]])
    draws = np.array([average(weights, vectors, stream(t))[0] for t in range(4000)])
    assert set(np.round(draws[:, 0] * 0.35, 12)) == {0.0, 0.5}
    # Relative std of one draw is √((1-q)/q) = 1.363, over √4000: 0.0215.
    assert draws.mean(axis=0) == pytest.approx([0.5, 1.0], rel=4 * 0.0215)


def test_noise_is_what_one_agent_can_do_times_z():
    """E52: std = max φ z S / q of each region: 0.75 * 2 * 3 / 0.5 = 9, and 6."""
    average = PrivateAverage(clip=3.0, rate=0.5, noise=2.0)
    weights = np.array([[0.75, 0.25], [0.5, 0.5]])
    noise = average(weights, np.zeros((2, 20_000)), stream())
    # Relative standard error of a std from 20000 normals: 1/√40000 = 0.005.
    assert noise.std(axis=1) == pytest.approx([9.0, 6.0], rel=4 * 0.005)
    assert abs(np.corrcoef(noise)[0, 1]) < 4 / np.sqrt(20_000)


def test_one_agent_moves_all_regions_by_less_than_the_noise():
    """E52: in units of the noise, at most 1/z, whatever the agent sends."""
    average = PrivateAverage(clip=22.0, rate=0.35, noise=1.5)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(5), size=4)
    vectors = np.zeros((5, 6))
    std = weights.max(axis=1) * 1.5 * 22.0 / 0.35
    for n in range(5):
        vectors[:] = 0.0
        vectors[n] = 1e6 * rng.standard_normal(6)
        moved = weights[:, n, None] * clip_rows(vectors, 22.0 / 2.0)[n] / 0.35
        assert np.linalg.norm(moved / std[:, None]) <= 1.0 / 1.5 + 1e-12
    assert average.epsilon(1, 1e-5) == private_epsilon(1, 0.35, 1.5, 1e-5)


def test_divergence_by_hand():
    """E53: order 2 is log(1 + q²(exp(1/z²) - 1)); all take part: α/(2z²)."""
    r = renyi_divergences(np.array([2]), 0.35, 1.0)
    assert r[0] == pytest.approx(np.log(1.0 + 0.35**2 * (np.e - 1.0)), rel=1e-14)
    orders = np.array([2, 3, 10, 100])
    assert renyi_divergences(orders, 1.0, 2.0) == pytest.approx(orders / 8.0, rel=1e-12)


def test_divergence_of_order_three_is_an_integral():
    """E53: E[(1 - q + q L)³] under N(0, z²), by quadrature, L = N(1, z²)/N(0, z²)."""
    q, z = 0.2, 1.3
    x = np.linspace(-30.0, 30.0, 200_001)
    density = np.exp(-(x**2) / (2 * z**2)) / np.sqrt(2 * np.pi * z**2)
    ratio = 1.0 - q + q * np.exp((2 * x - 1) / (2 * z**2))
    expected = np.log(np.sum(density * ratio**3) * (x[1] - x[0])) / 2.0
    assert renyi_divergences(np.array([3]), q, z)[0] == pytest.approx(expected, 1e-9)


@pytest.mark.parametrize(
    ("rounds", "rate", "noise", "delta", "epsilon"),
    [
        (50, 0.35, 1.0, 1e-5, 19.677873257453413),
        (50, 0.35, 1.0, 1e-2, 12.770117978471276),
        (50, 0.35, 2.0, 1e-3, 5.2370069365608805),
        (1, 1.0, 1.0, 1e-5, 4.752728336819822),
        (1000, 0.01, 1.1, 1e-5, 1.7252908180449444),
        (10_000, 0.01, 4.0, 1e-5, 1.0354900660362436),
        (14_063, 256 / 60_000, 1.1, 1e-5, 2.5970795196566616),
    ],
)
def test_epsilon_of_an_established_accountant(rounds, rate, noise, delta, epsilon):
    """E53, E54: dp-accounting 0.6.0, RdpAccountant with orders 2 to 256.

    The event: rounds of PoissonSampledDpEvent(rate, GaussianDpEvent(noise)).
    """
    assert private_epsilon(rounds, rate, noise, delta) == pytest.approx(epsilon, 1e-9)


def test_published_epsilon():
    """E53: Abadi et al., 2016, q = 0.01, z = 4, 10000 steps, δ = 1e-5: ε = 1.26.

    Their conversion is the older r + log(1/δ)/(α - 1), with orders α - 1 up to 32.
    """
    a = np.arange(2, 34)
    r = 10_000 * renyi_divergences(a, 0.01, 4.0)
    assert round(float((r - np.log(1e-5) / (a - 1)).min()), 2) == 1.26
    assert private_epsilon(10_000, 0.01, 4.0, 1e-5) < 1.26


def test_epsilon_of_one_gaussian_bounds_the_exact_one():
    """E54: the exact δ of a Gaussian at that ε is below δ (Balle and Wang, 2018)."""
    from scipy.stats import norm

    for z in (0.7, 1.0, 3.0):
        e = private_epsilon(1, 1.0, z, 1e-5)
        delta = norm.cdf(0.5 / z - e * z) - np.exp(e) * norm.cdf(-0.5 / z - e * z)
        assert 0.0 < delta <= 1e-5


def test_epsilon_grows_with_what_is_revealed():
    """E54."""
    base = private_epsilon(50, 0.35, 1.0, 1e-5)
    assert private_epsilon(51, 0.35, 1.0, 1e-5) > base
    assert private_epsilon(50, 0.40, 1.0, 1e-5) > base
    assert private_epsilon(50, 0.35, 0.9, 1e-5) > base
    assert private_epsilon(50, 0.35, 1.0, 1e-6) > base


def test_epsilon_at_the_ends():
    assert private_epsilon(0, 0.35, 1.0, 1e-5) == 0.0
    assert private_epsilon(1, 0.35, 0.0, 1e-5) == np.inf
    assert private_epsilon(1, 1e-6, 100.0, 0.5) == 0.0
    assert PrivateAverage(clip=1.0, rate=1.0, noise=0.0).epsilon(3, 0.1) == np.inf


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"clip": 0.0}, "privacy_clip must be positive"),
        ({"clip": np.inf}, "privacy_clip must be positive"),
        ({"rate": 0.0}, "privacy_rate must be above 0 and at most 1, got 0"),
        ({"rate": 1.5}, "privacy_rate must be above 0 and at most 1, got 1.5"),
        ({"noise": -1.0}, "privacy_noise must be finite"),
        ({"noise": np.nan}, "privacy_noise must be finite"),
    ],
)
def test_refusals(changed, words):
    with pytest.raises(SettingsError, match=words):
        PrivateAverage(**{"clip": 22.0, "rate": 0.35, "noise": 1.0} | changed)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, np.nan])
def test_delta_is_refused(delta):
    with pytest.raises(SettingsError, match="delta must lie between 0 and 1"):
        private_epsilon(1, 0.5, 1.0, delta)
