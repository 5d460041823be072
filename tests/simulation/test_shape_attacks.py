"""Lies about trends and places, and false packets: what they say, what they can do."""

import numpy as np
import pytest

import guidefbo as gf
from guidefbo.agent.strategies.shape.liars import (
    LIES,
    TO_SD,
    Heard,
    ShapeLiars,
    corner,
    drift,
    hide,
    respond,
)
from guidefbo.core.errors import SettingsError, UnknownNameError
from guidefbo.methods.registry import all_methods, find_method
from guidefbo.server.strategies.shape.hostile import (
    ATTACKS,
    SHARE,
    VAGUE,
    Known,
    adaptive,
    flipped,
    random,
    sharp,
)
from guidefbo.simulation.simulate import simulate
from guidefbo.testing import check_server_side
from guidefbo.testing.codec import encode
from guidefbo.testing.server_side import draws
from guidefbo.wire.shape import LARGEST, SHARPEST, WIDEST, ShapeUpload

LIGHT = {"num_raw": 16, "num_starts": 2, "num_iterations": 4}
SMALL = {"dim": 2, "num_agents": 4, "num_initial": 5, "num_rounds": 3}
DISTANCE = 2.5
FORM = (("slopes", 2), ("bends", 2), ("choice", 3), ("place", 2))


def small(method="shape-ucb", seed=0, **given):
    settings = {**LIGHT, **given}
    return simulate("sphere", method=method, seed=seed, settings=settings, **SMALL)


def upload(means, variance=0.1):
    """Return an upload of nine numbers in four blocks."""
    kinds, sizes = zip(*FORM, strict=True)
    ends = np.cumsum(sizes)[:-1]
    variances = np.broadcast_to(variance, 9)
    return ShapeUpload(
        kinds=kinds,
        means=tuple(np.split(np.array(means, dtype=float), ends)),
        variances=tuple(np.split(variances, ends)),
    )


def heard(means, variance=0.1, share=0.0):
    means = np.array(means, dtype=float)
    variances = np.full(means.shape, variance)
    return Heard(
        means=means, variances=variances, form=FORM, share=share, distance=DISTANCE
    )


ONE = np.array([0.5, -0.5, 0.2, 0.3, 1.0, 0.0, -1.0, 0.1, -0.2])
CORNER = [8.0, -8.0, 0.0, 0.0, 8.0, 8.0, -8.0, 0.5, -0.5]
"""Slopes to a corner, no bends, all options praised but the last, the corner itself."""


# What liars say.


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_corner(share):
    means, variances = corner(heard([ONE, -ONE], share=share))
    assert means == pytest.approx(CORNER, abs=1e-12)
    assert variances.tolist() == [SHARPEST] * 9


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_drift_goes_from_the_honest_mean_to_the_corner(share):
    means, variances = drift(heard([ONE, 3.0 * ONE], share=share))
    expected = (1.0 - share) * 2.0 * ONE + share * np.array(CORNER)
    assert means == pytest.approx(expected, abs=1e-12)
    assert variances.tolist() == [SHARPEST] * 9


def test_respond_is_the_opposite_of_the_first_site():
    means, _ = respond(heard([ONE, -ONE]))
    assert means.tolist() == [-8.0, 8.0, -8.0, -8.0, -8.0, -8.0, 8.0, -8.0, 8.0]


def test_hide_is_as_far_as_a_robust_server_lets_through():
    """From the median against the mean by that reach, as sure as the surest."""
    honest = heard([ONE - 0.1, ONE, ONE + 0.1], 0.04)
    means, variances = hide(honest)
    reach = DISTANCE * np.sqrt((TO_SD * 0.1) ** 2 + 0.04)
    expected = ONE + reach * np.where(ONE < 0.0, 1.0, -1.0)
    assert means == pytest.approx(expected, rel=1e-9)
    assert variances.tolist() == [0.04] * 9


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_a_message_that_fits(lie):
    """Of the same blocks, within the limits, by the last sites and nobody else."""
    uploads = [upload(LARGEST * np.sign(ONE)), upload(ONE, SHARPEST), upload(-ONE)]
    liars = ShapeLiars(count=1, lie=LIES[lie], num_rounds=4, distance=DISTANCE)
    spoilt = liars.spoil(uploads, 2)
    assert spoilt[:2] == uploads[:2]
    assert spoilt[2].form == FORM
    encode(spoilt[2])


def test_the_setting_takes_these_lies_or_none():
    setting = find_method("shape-ucb").run_settings["lie"]
    assert sorted(setting.names) == sorted(["none", *LIES])
    liars = find_method("shape-nei").liars({"lie": "hide"}, 16, 25)
    assert (liars.count, liars.lie, liars.num_rounds) == (4, hide, 25)


@pytest.mark.parametrize("lie", LIES)
def test_four_of_sixteen_move_a_place_so_far_and_no_further(lie):
    """E93, E103: honest places near (0.1, -0.2); a precision that is claimed is void.

    With 4 of 16 at the reach of 2.5 standard deviations the mean moves by less than one
    of them, and the prior N(0, 1) draws to the middle.
    """
    rng = np.random.default_rng(0)
    honest = [upload(ONE + 0.05 * rng.standard_normal(9), 0.01) for _ in range(12)]
    liars = ShapeLiars(count=4, lie=LIES[lie], num_rounds=1, distance=DISTANCE)
    uploads = liars.spoil([*honest, *honest[:4]], 1)
    server = find_method("shape-ucb").server({})
    packets = server.aggregate(
        {f"{n:02d}": each for n, each in enumerate(uploads)}, 1, draws()
    )
    place = packets["00"].means[-1]
    assert place == pytest.approx(ONE[-2:], abs=0.15)
    # Beside them, a coefficient is moved further by those who claim to be sure.
    assert np.abs(packets["00"].means[0] - ONE[:2]).max() < 0.4


def test_lies_reach_the_others_and_change_nothing_else():
    honest, spoilt = small(num_liars=1), small(lie="corner", num_liars=1)
    assert np.array_equal(honest.best_value[0], spoilt.best_value[0])
    assert honest.scalars == spoilt.scalars
    assert not np.array_equal(honest.best_value, spoilt.best_value)


# What a hostile server says.


def known(means, own, variance=0.1, own_variance=0.05):
    means, own = np.array(means, dtype=float), np.array(own, dtype=float)
    return Known(
        means=means,
        variances=np.full(len(means), variance),
        own_means=own,
        own_variances=np.full(len(own), own_variance),
        blocks=[slice(0, 2), slice(2, 4)],
    )


def stream():
    return np.random.default_rng(0)


def test_reversed_and_sharp():
    given = known([0.5, -0.2, 0.1, 0.0], np.zeros(4))
    means, variances = flipped(given, stream())
    assert means == pytest.approx([-0.5, 0.2, -0.1, 0.0])
    assert variances is given.variances
    means, variances = sharp(given, stream())
    assert means is given.means
    assert variances.tolist() == [SHARPEST] * 4


def test_random_is_as_large_as_the_truth_of_its_block():
    rng = stream()
    drawn = np.array(
        [random(known([3.0, 4.0, 0.1, 0.1], np.zeros(4)), rng)[0] for _ in range(2000)]
    )
    size = np.sqrt((drawn**2).mean(axis=0))
    # Mean square 12.5 of the first block and 0.01 of the second; errors of √2 / 2000.
    assert size == pytest.approx([12.5**0.5] * 2 + [0.1] * 2, rel=0.07)


def test_adaptive_is_believed_more_than_an_own_vague_trend():
    """Evidence of a certain θ above that of N(0, S): log N(b; θ, v) > log N(b; 0, v+S).

    With half of the room used, as much is left.
    """
    b, v = np.array([0.5, -0.2, 0.0, 2.0]), 0.05
    means, variances = adaptive(known(np.zeros(4), b, own_variance=v), stream())
    assert variances.tolist() == [SHARPEST] * 4
    lied = -0.5 * (b - means) ** 2 / v - 0.5 * np.log(v)
    vague = -0.5 * b**2 / (v + VAGUE) - 0.5 * np.log(v + VAGUE)
    room = np.log1p(VAGUE / v) + b**2 / (v + VAGUE)
    assert lied - vague == pytest.approx(0.5 * (1.0 - SHARE) * room, rel=1e-9)
    assert ((means - b) * np.where(b < 0.0, 1.0, -1.0) > 0.0).all()


@pytest.mark.parametrize("hostile", ATTACKS)
def test_false_packets_keep_the_contract_and_the_limits(hostile):
    """Extreme uploads too; places among the rest."""
    method = find_method("shape-ucb")
    server = method.run_server({"hostile": hostile})
    uploads = {
        "a": upload(ONE),
        "b": upload(LARGEST * np.sign(ONE), SHARPEST),
        "c": upload(-ONE, WIDEST),
    }
    check_server_side(server, uploads)
    true = method.server({}).aggregate(uploads, 1, draws())
    false = server.aggregate(uploads, 1, draws())
    for site in uploads:
        assert false[site].form == FORM
        assert encode(false[site]) != encode(true[site])


def test_nobody_is_lied_to_where_nobody_else_has_spoken():
    server = find_method("shape-ucb").run_server({"hostile": "random"})
    assert len(server.aggregate({"a": upload(ONE)}, 1, draws())["a"]) == 0


@pytest.mark.parametrize("hostile", ATTACKS)
def test_a_run_under_attack_ends(hostile):
    trace = small(hostile=hostile)
    assert np.isfinite(trace.mean_simple_regret).all()
    assert not np.array_equal(trace.best_value, small().best_value)


def test_who_trusts_nobody_loses_nothing_to_false_packets():
    true, false = small(trust="own"), small(trust="own", hostile="adaptive")
    assert np.array_equal(true.best_value, false.best_value)


def test_who_has_hostile_servers():
    named = {m.strategy.name for m in all_methods() if m.strategy.hostile is not None}
    assert named == {"shape"}
    with pytest.raises(SettingsError, match="hostile must be one of none, random"):
        small(hostile="rude")


@pytest.mark.parametrize("name", ["lie", "hostile"])
def test_a_site_neither_lies_nor_attacks(name):
    space = gf.Space(x=gf.Float(0.0, 1.0))
    with pytest.raises(UnknownNameError, match=f"no setting of shape-ucb {name!r}"):
        gf.Agent(space, goal="max", method="shape-ucb", settings={name: "corner"})


# The same alone.


@pytest.mark.parametrize("rule", ["ucb", "nei", "ts"])
def test_trend_is_shape_that_trusts_nobody(rule):
    """A whole run, to the bit; nothing is sent."""
    alone, deaf = small(f"trend-{rule}"), small(f"shape-{rule}", trust="own")
    assert np.array_equal(alone.best_value, deaf.best_value)
    assert np.array_equal(alone.mean_simple_regret, deaf.mean_simple_regret)
    assert alone.weights.keys() == deaf.weights.keys() == {"own", "none"}
    for name, weights in alone.weights.items():
        assert np.array_equal(weights, deaf.weights[name])
    assert not np.array_equal(alone.best_value, small(rule).best_value)


def test_trend_exchanges_nothing():
    trace = small("trend-ucb")
    assert set(trace.scalars.values()) == {0}
    assert find_method("trend-ucb").strategy.server is None
    with pytest.raises(UnknownNameError, match="no setting of trend-ucb 'trust'"):
        small("trend-ucb", trust="own")
