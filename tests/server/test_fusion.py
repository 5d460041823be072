"""Meta-analysis: estimators by hand, against a published one, and their properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from guidefbo.server.strategies.consensus.fusion import (
    TRIM_SHARE,
    dersimonian_laird,
    leave_one_out,
    paule_mandel,
    trimmed,
    trimmed_without_each,
)
from guidefbo.server.strategies.consensus.settings import FUSIONS
from guidefbo.server.strategies.consensus.sorted_out import median_distances

WEIGHTED = {name: FUSIONS[name] for name in ("dersimonian-laird", "paule-mandel")}
BCG = np.array(
    [
        [4, 119, 11, 128],
        [6, 300, 29, 274],
        [3, 228, 11, 209],
        [62, 13536, 248, 12619],
        [33, 5036, 47, 5761],
        [180, 1361, 372, 1079],
        [8, 2537, 10, 619],
        [505, 87886, 499, 87892],
        [29, 7470, 45, 7232],
        [17, 1699, 65, 1600],
        [186, 50448, 141, 27197],
        [5, 2493, 3, 2338],
        [27, 16886, 29, 17825],
    ]
)
"""Tuberculosis among the vaccinated and the others, ill and well, in 13 trials
(Colditz et al., JAMA 1994): what textbooks and programs try their estimators on."""


def one(fusion, y, v):
    """Fuse one coordinate of one group and return three numbers."""
    fused = fusion(np.array(y)[None, :, None], np.array(v)[None, :, None])
    return [part.item() for part in fused]


@st.composite
def reports(draw, min_sites=2, max_sites=7):
    """Draw places and variances of several sites, equal ones among them."""
    shape = draw(st.tuples(st.integers(min_sites, max_sites), st.integers(1, 3)))
    unit = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5, 1.0]))
    spread = st.one_of(st.floats(1e-4, 1 / 12), st.sampled_from([1e-4, 1 / 12]))
    return (
        draw(arrays(float, shape, elements=unit)),
        draw(arrays(float, shape, elements=spread)),
    )


# By hand.


def test_dersimonian_laird_by_hand():
    """E73, E75: w = 100, 50, 20; Q = 18.3 - 41²/170, τ² = (Q - 2) / (170 - 12900/170).

    In fractions (109/17) / (1600/17) = 0.068125, and then θ = 11.456742 / 32.613126.
    """
    center, error, between = one(dersimonian_laird, [0.1, 0.3, 0.8], [0.01, 0.02, 0.05])
    assert between == pytest.approx(109 / 1600, rel=1e-12)
    weights = 1.0 / (np.array([0.01, 0.02, 0.05]) + 109 / 1600)
    assert weights == pytest.approx([12.8, 11.347518, 8.465608], rel=1e-6)
    assert center == pytest.approx(11.456742 / 32.613126, rel=1e-6)
    assert error == pytest.approx(1 / 32.613126, rel=1e-6)


def test_equal_variances_by_hand():
    """E73, E74, E75: y = 0.2, 0.4, 0.9 about 0.5 has the sample variance 0.13.

    Both estimators then take τ² = 0.13 - v, and the error is 0.13 / 3.
    """
    for fusion in WEIGHTED.values():
        center, error, between = one(fusion, [0.2, 0.4, 0.9], [0.01] * 3)
        assert between == pytest.approx(0.12, rel=1e-9)
        assert center == pytest.approx(0.5, rel=1e-12)
        assert error == pytest.approx(0.13 / 3, rel=1e-9)


def test_thirteen_trials_of_a_vaccine():
    """E73, E74, E75: log risk ratios; the figures every textbook prints.

    DerSimonian and Laird: Q = 152.23, τ² = 0.3088, θ = -0.7141 with error 0.1787.
    """
    a, b, c, d = BCG.T
    y = np.log(a / (a + b)) - np.log(c / (c + d))
    v = 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)
    center, error, between = one(dersimonian_laird, y, v)
    assert between == pytest.approx(0.3088, abs=5e-5)
    assert center == pytest.approx(-0.7141, abs=5e-5)
    assert np.sqrt(error) == pytest.approx(0.1787, abs=5e-5)

    def surplus(tau2):
        w = 1 / (v + tau2)
        return (w * (y - np.average(y, weights=w)) ** 2).sum() - 12

    assert surplus(0.0) + 12 == pytest.approx(152.23, abs=5e-3)
    assert one(paule_mandel, y, v)[2] == pytest.approx(
        brentq(surplus, 0.0, 10.0, xtol=1e-14), rel=1e-9
    )


def test_trimmed_by_hand():
    """E76: of ten, three go at either end, and 0.4 to 0.7 are left.

    Deviations from 0.55 are 0.05, 0.15, 0.25, 0.35 and 0.45, twice each.
    """
    y = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    center, error, between = one(trimmed, y, [0.01] * 10)
    assert center == pytest.approx(0.55, rel=1e-12)
    total = (1.4826022 * 0.25) ** 2
    assert between == pytest.approx(total - 0.01, rel=1e-6)
    # A mean with 30 % trimmed at either end has 1.25 times a mean's variance.
    assert error == pytest.approx(1.252 * total / 10, rel=1e-3)


def test_trimming_costs_what_it_costs():
    """E76: the standard error, against the spread of many trimmed means."""
    rng = np.random.default_rng(0)
    groups = 4000
    y = rng.standard_normal((groups, 40, 1))
    fused = trimmed(y, np.full_like(y, 1e-3))
    # A variance from 4000 draws is good to 2 %; the MAD of 40 is low by a few more.
    assert fused.squared_error.mean() == pytest.approx(fused.center.var(), rel=0.1)


# Properties.


@pytest.mark.parametrize("name", FUSIONS)
@pytest.mark.parametrize("m", [1, 2, 5, 15])
def test_sites_that_agree_differ_by_nothing(name, m):
    """E73, E74, E75, E76: τ² = 0, and the error is that of a mean."""
    y, v = np.full((1, m, 2), 0.3), np.full((1, m, 2), 0.02)
    center, error, between = FUSIONS[name](y, v)
    assert center == pytest.approx(0.3, rel=1e-14)
    assert between == pytest.approx(0.0, abs=1e-15)
    cost = error / (0.02 / m)
    if name in WEIGHTED:
        assert cost == pytest.approx(1.0, rel=1e-12)
    else:
        assert ((cost >= 1.0 - 1e-12) & (cost < 1.3)).all()


@pytest.mark.parametrize("name", FUSIONS)
def test_one_site_alone_is_repeated(name):
    assert one(FUSIONS[name], [0.7], [0.03]) == pytest.approx([0.7, 0.03, 0.0])


@settings(max_examples=200)
@given(reports())
def test_paule_mandel_solves_its_equation(report):
    """E74: Q(τ²) = m - 1, or Q(0) <= m - 1 and τ² = 0."""
    y, v = report
    tau2 = paule_mandel(y[None], v[None]).between[0]
    w = 1.0 / (v + tau2)
    Q = (w * (y - (w * y).sum(0) / w.sum(0)) ** 2).sum(0)
    is_zero = tau2 == 0.0
    assert (Q[is_zero] <= (len(y) - 1) * (1.0 + 1e-9)).all()
    assert Q[~is_zero] == pytest.approx(len(y) - 1, rel=1e-6)


@pytest.mark.parametrize("name", FUSIONS)
@settings(max_examples=100)
@given(report=reports(), seed=st.integers(0, 99))
def test_order_of_the_sites_does_not_matter(name, report, seed):
    y, v = report
    order = np.random.default_rng(seed).permutation(len(y))
    first = FUSIONS[name](y[None], v[None])
    second = FUSIONS[name](y[order][None], v[order][None])
    for a, b in zip(first, second, strict=True):
        # Sums of at most seven terms of order 1e4 round differently.
        assert a == pytest.approx(b, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("name", FUSIONS)
@settings(max_examples=100)
@given(report=reports())
def test_leaving_one_out_is_fusing_the_others(name, report):
    """To the bit: the same numbers are added in the same order."""
    y, v = report
    together = leave_one_out(FUSIONS[name], y, v)
    for n in range(len(y)):
        others = np.arange(len(y)) != n
        alone = FUSIONS[name](y[others][None], v[others][None])
        for part, expected in zip(together, alone, strict=True):
            assert part[n] == pytest.approx(expected[0], rel=1e-12, abs=1e-15)


@settings(max_examples=300)
@given(report=reports(max_sites=12))
def test_sorting_once_is_fusing_the_others(report):
    """Ties, two sites, odd and even numbers of them; sums round differently."""
    y, v = report
    together = trimmed_without_each(y, v)
    for n in range(len(y)):
        others = np.arange(len(y)) != n
        alone = trimmed(y[others][None], v[others][None])
        for part, expected in zip(together, alone, strict=True):
            assert part[n] == pytest.approx(expected[0], rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("num_sites", [201, 500])
def test_many_sites_are_left_out_by_sorting(num_sites, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.clip(rng.normal(0.4, 0.3, (num_sites, 3)), 0.0, 1.0)
    v = rng.uniform(1e-4, 1 / 12, (num_sites, 3))
    found = leave_one_out(trimmed, y, v)
    monkeypatch.setattr(
        "guidefbo.server.strategies.consensus.fusion.MANY_SITES", num_sites
    )
    for a, b in zip(found, leave_one_out(trimmed, y, v), strict=True):
        assert a == pytest.approx(b, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("name", FUSIONS)
@settings(max_examples=100)
@given(report=reports(min_sites=1))
def test_answers_are_finite_and_in_range(name, report):
    y, v = report
    center, error, between = FUSIONS[name](y[None], v[None])
    slack = 1e-12
    assert (center >= y.min(0) - slack).all()
    assert (center <= y.max(0) + slack).all()
    assert (error > 0.0).all()
    assert (between >= 0.0).all()
    assert np.isfinite(between).all()


@pytest.mark.parametrize("name", FUSIONS)
def test_blocks_change_nothing(name, monkeypatch):
    rng = np.random.default_rng(0)
    y, v = rng.random((23, 3)), rng.uniform(1e-4, 1 / 12, (23, 3))
    whole = leave_one_out(FUSIONS[name], y, v)
    monkeypatch.setattr("guidefbo.server.strategies.consensus.fusion.BLOCK", 100)
    for a, b in zip(whole, leave_one_out(FUSIONS[name], y, v), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("name", WEIGHTED)
def test_spread_between_sites_is_found(name):
    """E73, E74: of simulated sites, within the Monte Carlo error of 2000 groups."""
    rng = np.random.default_rng(1)
    v = rng.uniform(0.005, 0.05, (2000, 15, 1))
    y = 0.5 + rng.normal(0.0, np.sqrt(0.04 + v))
    center, error, between = WEIGHTED[name](y, v)
    # A sample variance of 15 has a relative error of √(2/14); 2000 of them, 0.8 %.
    assert between.mean() == pytest.approx(0.04, rel=0.05)
    assert center.mean() == pytest.approx(0.5, abs=5 * np.sqrt(0.06 / 15 / 2000))
    assert center.var() == pytest.approx(error.mean(), rel=0.1)


def test_where_nobody_lies_the_weights_are_worth_something():
    """E73, E74, E76: where all understate their variance fourfold, θ is found better.

    Paule and Mandel then credit τ² with all of it, and tell sharp sites from blurred
    ones no more; trimming never does. What the default costs where nobody lies.
    """
    rng = np.random.default_rng(2)
    v = np.exp(rng.uniform(np.log(1e-3), np.log(1 / 12), (4000, 15, 1)))
    y = rng.normal(0.0, np.sqrt(0.1**2 + 4.0 * v))
    error = {name: np.mean(FUSIONS[name](y, v).center ** 2) for name in FUSIONS}
    # Means of 4000 squares, good to 2 %.
    assert error["dersimonian-laird"] < 0.95 * error["paule-mandel"]
    assert error["dersimonian-laird"] < 0.95 * error["trimmed"]
    # It is a price, not a ruin.
    assert error["trimmed"] < 3.0 * error["dersimonian-laird"]


# Lies.


@settings(max_examples=200)
@given(
    arrays(float, (11, 1), elements=st.floats(0.0, 1.0)),
    arrays(float, (4, 1), elements=st.floats(0.0, 1.0)),
    arrays(float, (15, 1), elements=st.floats(1e-4, 1 / 12)),
)
def test_four_that_collude_cannot_lead_eleven_astray(honest, lies, v):
    """E76: θ stays among the honest places, its spread within theirs."""
    fused = trimmed(np.vstack([honest, lies])[None], v[None])
    low, high = honest.min(), honest.max()
    assert low - 1e-12 <= fused.center.item() <= high + 1e-12
    total = fused.between.item() + np.median(v)
    widest = max((1.4826023 * (high - low)) ** 2, 1 / 12)
    assert total <= widest * (1.0 + 1e-6)


def test_the_weighted_ones_can_be_led_astray():
    """Four sure liars against eleven honest sites that agree: why there is a choice."""
    y = np.r_[np.full(11, 0.3), np.full(4, 1.0)]
    v = np.r_[np.full(11, 0.04), np.full(4, 1e-4)]
    moved = {name: one(fusion, y, v)[0] - 0.3 for name, fusion in FUSIONS.items()}
    assert moved["trimmed"] == pytest.approx(0.0, abs=1e-12)
    assert moved["dersimonian-laird"] / 0.7 == pytest.approx(0.80, abs=5e-3)
    assert moved["paule-mandel"] / 0.7 == pytest.approx(0.34, abs=5e-3)


def test_trimming_suits_sixteen_agents():
    """E76: an honest agent of 16 sees 15 others, and 4 of them may lie."""
    assert int(TRIM_SHARE * 15) == 4


@given(
    places=arrays(
        float,
        st.tuples(st.integers(3, 25), st.just(2), st.just(2)),
        elements=st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0)),
    )
)
def test_median_distances_are_those_of_the_others_from_any_centres(places):
    """Centres as far apart as can be: any place may be the first of the nearest."""
    y, center = places[:, 0], places[:, 1]
    for n, found in enumerate(median_distances(y, center)):
        others = np.delete(y, n, axis=0)
        expected = np.median(np.abs(others - center[n]), axis=0)
        assert found == pytest.approx(expected, abs=1e-15)
