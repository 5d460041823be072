"""Sites that lie together: what they say, who they are, and how far it gets them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import guidefbo as gf
from guidefbo.agent.lying import KINDS
from guidefbo.agent.strategies.consensus.liars import (
    LIES,
    ConsensusLiars,
    corner,
    drift,
    hide,
    respond,
)
from guidefbo.agent.strategies.shape.liars import LIES as SHAPE_LIES
from guidefbo.core.errors import SettingsError, UnknownNameError
from guidefbo.core.streams import Streams
from guidefbo.methods.registry import all_methods, find_method
from guidefbo.problems.library import make_problem
from guidefbo.simulation.simulate import simulate
from guidefbo.testing.codec import encode
from guidefbo.testing.server_side import draws
from guidefbo.wire.consensus import SHARPEST, PeakUpload

LIGHT = {"num_raw": 16, "num_starts": 2, "num_iterations": 4}
SMALL = {"dim": 2, "num_agents": 4, "num_initial": 4, "num_rounds": 3}


def upload(center, variance=0.02, score=0.0):
    center = np.asarray(center, dtype=float)
    return PeakUpload(
        mass=1.0,
        center=center,
        variance=np.full(len(center), variance),
        value_score=score,
    )


def small(method="consensus-ucb", seed=0, progress=None, **given):
    return simulate(
        "ackley",
        method=method,
        seed=seed,
        settings={**LIGHT, **given},
        progress=progress,
        **SMALL,
    )


# What they say.

HONEST = np.array([[0.1, 0.9], [0.3, 0.5]])
"""Their mean is (0.2, 0.7)."""


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_corner_is_always_the_same(share):
    assert corner(HONEST, share).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("share", "place"),
    [(0.0, [0.2, 0.7]), (0.25, [0.4, 0.775]), (0.5, [0.6, 0.85]), (1.0, [1.0, 1.0])],
)
def test_drift_goes_from_the_honest_mean_to_the_corner(share, place):
    """(1 - s) (0.2, 0.7) + s (1, 1)."""
    assert drift(HONEST, share) == pytest.approx(place, rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_respond_is_the_corner_furthest_from_the_honest_mean(share):
    """Low coordinates are answered high; the middle itself is answered low."""
    assert respond(HONEST, share).tolist() == [1.0, 0.0]
    assert respond(np.array([[0.5, 0.49]]), share).tolist() == [0.0, 1.0]


@given(arrays(float, (3, 2), elements=st.floats(0.0, 1.0)))
def test_no_corner_is_further_than_the_response(honest):
    mean = honest.mean(axis=0)
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    furthest = np.linalg.norm(corners - mean, axis=1).max()
    assert np.linalg.norm(respond(honest, 0.0) - mean) == pytest.approx(furthest)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_hide_is_a_standard_deviation_towards_that_corner(share):
    """Honest (0.1, 0.6) and (0.3, 0.8): (0.2, 0.7) and 0.1 upwards, 0.1 downwards."""
    honest = np.array([[0.1, 0.6], [0.3, 0.8]])
    assert hide(honest, share) == pytest.approx([0.3, 0.6], rel=1e-12)


def test_every_lie_has_a_name():
    """And the setting takes just these, or none."""
    setting = find_method("consensus-ucb").run_settings["lie"]
    assert sorted(setting.names) == sorted(["none", *LIES])
    assert setting.default == "none"


# Who they are.


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_last_ones_lie(count):
    """The first are left as they are; the others say the same, as surely as allowed."""
    uploads = [upload([n / 10, 0.9], 0.02, n - 1.0) for n in range(4)]
    liars = ConsensusLiars(count=count, lie=respond, num_rounds=4)
    spoilt = liars.spoil(uploads, 1)
    num_honest = 4 - count
    assert len(spoilt) == 4
    for n in range(num_honest):
        assert spoilt[n] is uploads[n]
    for false in spoilt[num_honest:]:
        assert false.center.tolist() == [1.0, 0.0]
        assert false.variance.tolist() == [SHARPEST, SHARPEST]
        assert false.mass == 1.0
        # As proud as the proudest of the honest ones.
        assert false.value_score == num_honest - 2.0


def test_what_the_liars_would_have_said_does_not_matter():
    """Their lie follows the honest places alone."""
    liars = ConsensusLiars(count=1, lie=drift, num_rounds=10)
    honest = [upload([0.1, 0.9]), upload([0.3, 0.5])]
    first, second = (
        liars.spoil([*honest, upload(own)], 5)[-1] for own in ([0.0, 0.0], [1.0, 1.0])
    )
    assert first.center.tolist() == second.center.tolist()


def test_drift_arrives_with_the_last_round():
    """Round t of T is the share t / T: in the fifth of ten, half of the way."""
    liars = ConsensusLiars(count=1, lie=drift, num_rounds=10)
    uploads = [upload([0.1, 0.9]), upload([0.3, 0.5]), upload([0.5, 0.5])]
    assert liars.spoil(uploads, 5)[-1].center == pytest.approx([0.6, 0.85])
    assert liars.spoil(uploads, 10)[-1].center == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("method", ["guide-ucb", "consensus-ucb"])
def test_none_where_nobody_lies(method):
    """Whatever their number, which is then no mistake."""
    assert find_method(method).liars({"num_liars": 9}, 2, 50) is None


def test_liars_of_a_run():
    liars = find_method("consensus-nei").liars({"lie": "drift"}, 16, 25)
    assert (liars.count, liars.lie, liars.num_rounds) == (4, drift, 25)


@pytest.mark.parametrize("num_liars", [4, 5, 1000])
def test_more_liars_than_would_leave_one_honest_are_refused(num_liars):
    words = rf"num_liars must be less than .* agents, which is 4, got {num_liars}"
    with pytest.raises(SettingsError, match=words):
        small(lie="corner", num_liars=num_liars)


@pytest.mark.parametrize("num_liars", [0, -1, 1.5])
def test_numbers_that_count_nobody_are_refused(num_liars):
    with pytest.raises(SettingsError, match="num_liars must be a whole number"):
        small(lie="corner", num_liars=num_liars)


@pytest.mark.parametrize("method", ["ucb", "guide-ucb", "placebo-ucb", "fts"])
def test_other_methods_have_no_liars(method):
    with pytest.raises(UnknownNameError, match=rf"no setting of {method} 'lie'"):
        small(method, lie="corner", num_liars=1)


def test_strategies_that_have_liars():
    """And their lies go by the same names."""
    named = {m.strategy.name for m in all_methods() if m.strategy.liars is not None}
    assert named == {"consensus", "shape"}
    assert tuple(LIES) == tuple(SHAPE_LIES) == KINDS


def test_unknown_lies_are_refused():
    with pytest.raises(SettingsError, match="lie must be one of none, corner, drift"):
        small(lie="flatter")


# Runs.


def test_regret_is_that_of_the_honest():
    """E34 over the first agents; best values are told of all."""
    seen = []
    trace = small(
        lie="respond",
        num_liars=1,
        progress=lambda t, regret: seen.append(regret),
    )
    problem = make_problem("ackley", dim=2, level=2, streams=Streams(0))
    assert trace.best_value.shape == (4, 4)
    expected = problem.maximum - trace.best_value[:, :3].mean(axis=1)
    assert trace.mean_simple_regret == pytest.approx(expected, rel=1e-12)
    assert seen == pytest.approx(trace.mean_simple_regret, rel=1e-12)
    everyone = problem.maximum - trace.best_value.mean(axis=1)
    assert np.abs(everyone - expected).max() > 1e-6


def test_lies_reach_the_others_and_change_nothing_else():
    """The same design, the same messages in number and size; other queries."""
    honest = small(num_liars=1)
    spoilt = small(lie="corner", num_liars=1)
    assert np.array_equal(honest.best_value[0], spoilt.best_value[0])
    assert honest.scalars == spoilt.scalars
    assert not np.array_equal(honest.best_value, spoilt.best_value)


def test_number_of_liars_is_idle_where_nobody_lies():
    """Not a bit of a run, and its regret is that of all."""
    first, second = small(), small(num_liars=1)
    assert np.array_equal(first.best_value, second.best_value)
    assert np.array_equal(first.mean_simple_regret, second.mean_simple_regret)


# How far it gets them.


def packets_of(fusion, uploads):
    """Return what one group hears; several are liars' friends and foes at once."""
    given = {"fusion": fusion, "groups": "one"}
    return aggregated(find_method("consensus-ucb").server(given), uploads)


def aggregated(server, uploads):
    """Return what every site hears, in the order of their uploads."""
    named = {f"{n:02d}": upload for n, upload in enumerate(uploads)}
    packets = server.aggregate(named, 1, draws())
    return [packets[name] for name in named]


def place_of(packet):
    return packet.components.centers[0]


@settings(max_examples=40)
@given(
    arrays(float, (12, 2), elements=st.floats(0.0, 1.0)),
    arrays(float, (12, 2), elements=st.floats(SHARPEST, 1 / 12)),
    st.sampled_from(sorted(LIES)),
    st.integers(1, 25),
)
def test_four_of_sixteen_cannot_lead_trimmed_sites_astray(centers, spreads, lie, t):
    """E76: θ lies between the honest places in every coordinate, whoever hears it."""
    honest = [
        PeakUpload(mass=1.0, center=x, variance=v, value_score=0.0)
        for x, v in zip(centers, spreads, strict=True)
    ]
    liars = ConsensusLiars(count=4, lie=LIES[lie], num_rounds=25)
    uploads = liars.spoil([*honest, *honest[:4]], t)
    low, high = centers.min(axis=0) - 1e-12, centers.max(axis=0) + 1e-12
    for packet in packets_of("trimmed", uploads):
        theta = place_of(packet)
        assert ((low <= theta) & (theta <= high)).all()


def test_weighted_sites_are_led_astray():
    """E73, E75: 12 honest sites at 0.3 with variance 0.04, 4 liars at 1 with 1e-4.

    An honest one hears 11 and 4: w = 25 and 10⁴, Q = 0.49 · 275 · 40000 / 40275 = 133.8
    and τ² = (Q - 14) / 30343 = 0.00395, so the liars have 80 % of the weight.
    """
    uploads = [upload([0.3, 0.3], 0.04)] * 16
    uploads = ConsensusLiars(count=4, lie=corner, num_rounds=1).spoil(uploads, 1)
    astray = place_of(packets_of("dersimonian-laird", uploads)[0])
    assert astray == pytest.approx([0.3 + 0.7 * 0.798] * 2, abs=1e-3)
    kept = place_of(packets_of("trimmed", uploads)[0])
    assert kept == pytest.approx([0.3, 0.3], rel=1e-12)


@pytest.mark.parametrize("lie", ["corner", "respond"])
def test_far_away_liars_are_not_heard_at_all(lie):
    """E87: the honest of sixteen hear what the honest of twelve would."""
    rng = np.random.default_rng(0)
    places = np.clip(0.4 + 0.08 * rng.standard_normal((12, 6)), 0.0, 1.0)
    honest = [upload(x, 0.01) for x in places]
    liars = ConsensusLiars(count=4, lie=LIES[lie], num_rounds=1)
    uploads = liars.spoil([*honest, *honest[:4]], 1)
    server = find_method("consensus-ucb").server({})
    lied, alone = aggregated(server, uploads), aggregated(server, honest)
    for n in range(12):
        assert encode(lied[n]) == encode(alone[n])


def test_a_site_does_not_lie():
    """The setting is a simulation's; an agent that ignored it would mislead."""
    space = gf.Space(x=gf.Float(0.0, 1.0))
    with pytest.raises(UnknownNameError, match="no setting of consensus-ucb 'lie'"):
        gf.Agent(space, goal="max", method="consensus-ucb", settings={"lie": "corner"})
