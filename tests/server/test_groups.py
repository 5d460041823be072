"""Groups of sites are told apart where they are, and only there."""

import numpy as np
import pytest
from tests.numbered import aggregate

from guidefbo.core.component import Components
from guidefbo.server.strategies.consensus.groups import (
    GAP,
    MARGIN,
    MIN_SIZE,
    _bisect,
    _stands_out,
    split_groups,
)
from guidefbo.server.strategies.consensus.settings import ConsensusServerSettings
from guidefbo.wire.consensus import PeakUpload


def sets(groups):
    return sorted(sorted(group.tolist()) for group in groups)


def split(Y, std=0.01):
    """Return the groups of sites that are sure of their places."""
    return split_groups(Y, np.full_like(Y, std**2))


def two_clouds(rng, n=8, d=10, gap=0.3, std=0.1):
    """Return places of 2n sites, the first half around one place."""
    signs = rng.choice([-1.0, 1.0], d)
    Y = 0.5 + std * rng.standard_normal((2 * n, d))
    Y[:n] -= 0.5 * gap * signs
    Y[n:] += 0.5 * gap * signs
    return Y


@pytest.mark.parametrize("d", [5, 10, 20])
def test_two_groups_are_found(d):
    """E87: three standard deviations apart in every coordinate."""
    rng = np.random.default_rng(0)
    halves = [list(range(8)), list(range(8, 16))]
    found = [sets(split(two_clouds(rng, d=d))) == halves for _ in range(100)]
    assert np.mean(found) > 0.9


@pytest.mark.parametrize("draw", ["normal", "uniform"])
@pytest.mark.parametrize("n", [16, 50])
def test_one_group_stays_one(n, draw):
    """E87: a cloud has a direction of greatest scatter, and that is no reason."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        Y = rng.standard_normal((n, 10)) if draw == "normal" else rng.random((n, 10))
        assert len(split(Y)) == 1


@pytest.mark.parametrize(("draw", "limit"), [("normal", 0.02), ("uniform", 0.05)])
def test_false_splits_on_a_line(draw, limit):
    """E87: one coordinate leaves noise most ways to look like two groups."""
    rng = np.random.default_rng(8)
    draws = rng.standard_normal if draw == "normal" else rng.random
    found = [len(split(draws((16, 1)))) > 1 for _ in range(300)]
    assert np.mean(found) < limit


def test_three_groups_and_their_sizes():
    rng = np.random.default_rng(2)
    middles = rng.random((3, 10))
    Y = np.repeat(middles, [4, 5, 7], axis=0) + 0.01 * rng.standard_normal((16, 10))
    expected = [list(range(4)), list(range(4, 9)), list(range(9, 16))]
    assert sets(split(Y)) == expected


def test_the_gap_by_hand():
    """E87: six points on a line at ±a, spread 1 about these: 2 a of √(4 / 4) apart.

    On a line only the gap decides: all of the scatter is along it.
    """
    for factor, splits in ((0.99, False), (1.01, True)):
        a = 0.5 * GAP * factor
        Y = np.array([[-a - 1], [-a], [-a + 1], [a - 1], [a], [a + 1]])
        assert (_bisect(Y, np.full_like(Y, 1e-9)) is not None) is splits


def test_the_margin_by_hand():
    """E87: two halves of eight, at ±a on the first axis, ±1 on axes of their own.

    Within lie 16, of (16 - 1) · 9 degrees of freedom less 2/π (√16 + √9)²; between lie
    16 a². Nothing lies along the line between the middles, so the gap is as wide as
    can be.
    """
    edge = (2.0 / np.pi) * (4.0 + 3.0) ** 2
    limit = MARGIN * edge * 16.0 / (15.0 * 9.0 - edge) / 16.0
    spread = np.kron(np.eye(8), np.array([[1.0], [-1.0]]))
    for factor, splits in ((0.99, False), (1.01, True)):
        a = np.sqrt(limit * factor)
        Y = np.hstack([np.repeat([[a], [-a]], 8, axis=0), spread])
        A, B = Y[:8], Y[8:]
        assert _stands_out(A, B, np.full(9, 1e-9)) is splits


@pytest.mark.parametrize("d", [2, 3, 10])
def test_one_wide_coordinate_is_no_two_groups(d):
    """E87: more scatter than of noise, and no gap."""
    rng = np.random.default_rng(6)
    widths = np.r_[3.0, np.full(d - 1, 0.3)]
    found = [len(split(widths * rng.standard_normal((16, d)))) > 1 for _ in range(200)]
    assert np.mean(found) < 0.05


@pytest.mark.parametrize(("num_options", "num_columns"), [(2, 1), (3, 3)])
def test_a_coin_toss_is_no_two_groups(num_options, num_columns):
    """E87: switches and options are 0 or 1, and their sites say they do not know."""
    rng = np.random.default_rng(9)
    for _ in range(50):
        Y = 0.5 + 0.1 * rng.standard_normal((16, 5))
        options = np.eye(num_options)[rng.integers(num_options, size=16)]
        Y = np.hstack([Y, options[:, :num_columns]])
        V = np.full_like(Y, 0.1**2)
        V[:, 5:] = 1.0 / 12.0
        assert len(split_groups(Y, V)) == 1


def test_liars_in_concert_are_a_group_of_their_own():
    """E87: four of sixteen at a corner; the honest hear of honest places only."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        Y = np.clip(
            rng.uniform(0.2, 0.8, 10) + 0.1 * rng.standard_normal((16, 10)), 0, 1
        )
        Y[12:] = 1.0
        assert sets(split(Y)) == [list(range(12)), [12, 13, 14, 15]]


def test_small_and_equal():
    """Too few to split, and nothing that differs."""
    assert sets(split(np.zeros((1, 3)))) == [[0]]
    few = np.vstack([np.zeros((MIN_SIZE - 1, 3)), np.ones((MIN_SIZE, 3))])
    assert len(split(few)) == 1
    assert len(split(np.full((16, 3), 0.4))) == 1
    # Two against many: a pair is no group, whoever it is.
    outliers = np.vstack([np.zeros((14, 3)), np.ones((2, 3))])
    assert len(split(outliers)) == 1


def test_scale_and_order_do_not_matter():
    rng = np.random.default_rng(3)
    Y = two_clouds(rng)
    order = rng.permutation(len(Y))
    assert sets(split(1e-6 * Y, 1e-8)) == sets(split(Y))
    shuffled = [sorted(order[group].tolist()) for group in split(Y[order])]
    assert sorted(shuffled) == sets(split(Y))


def uploads(Y):
    return {
        n: PeakUpload(
            mass=1.0, center=y, variance=np.full(len(y), 0.01), value_score=0.0
        )
        for n, y in enumerate(Y)
    }


def places(server, messages) -> dict[int, np.ndarray]:
    packets = aggregate(server, messages)
    parts: dict[int, Components] = {n: p.components for n, p in packets.items()}
    return {n: c.centers[0] for n, c in parts.items()}


def test_every_group_hears_of_its_own_place():
    """One place for all is the place of none."""
    Y = np.clip(two_clouds(np.random.default_rng(4), std=0.03), 0.0, 1.0)
    found = ConsensusServerSettings().build()
    one = ConsensusServerSettings(groups="one").build()
    apart, together = places(found, uploads(Y)), places(one, uploads(Y))
    for n in range(16):
        own = Y[:8] if n < 8 else Y[8:]
        assert np.abs(apart[n] - own.mean(axis=0)).max() < 0.05
        assert np.abs(together[n] - 0.5).max() < 0.1
    alone = places(one, uploads(Y[:8]))
    for n in range(8):
        assert apart[n] == pytest.approx(alone[n], rel=1e-12)
