"""A server that sends false packets, in simulated runs only."""

import numpy as np
import pytest
from tests.numbered import aggregate
from tests.trends import kinds_of

import guidefbo as gf
from guidefbo.core.errors import SettingsError, UnknownNameError
from guidefbo.methods.registry import find_method
from guidefbo.server.exchange import build_server
from guidefbo.server.strategies.shape.hostile import (
    ATTACKS,
    SHARE,
    VAGUE,
    HostileServer,
    ShapeHostileSettings,
)
from guidefbo.server.strategies.shape.settings import ShapeServerSettings
from guidefbo.simulation.simulate import simulate
from guidefbo.testing import check_server_side
from guidefbo.wire.shape import LARGEST, SHARPEST, WIDEST, ShapeUpload

TRUE = ShapeServerSettings().build()


def server(kind):
    return ShapeHostileSettings(hostile=kind).build(TRUE)


def uploads(num_sites=5, sizes=(2, 2, 3), seed=0):
    rng = np.random.default_rng(seed)
    return {
        n: ShapeUpload(
            kinds=kinds_of(sizes),
            means=tuple(0.5 * rng.standard_normal(size) for size in sizes),
            variances=tuple(rng.uniform(0.01, 0.2, size) for size in sizes),
        )
        for n in range(num_sites)
    }


def flat(message):
    return np.concatenate(message.means), np.concatenate(message.variances)


@pytest.mark.parametrize("kind", ATTACKS)
def test_contract(kind):
    sent = {str(n): upload for n, upload in uploads().items()}
    check_server_side(server(kind), sent)


@pytest.mark.parametrize("kind", ATTACKS)
@pytest.mark.parametrize("value", [-LARGEST, 0.0, LARGEST])
@pytest.mark.parametrize("variance", [SHARPEST, WIDEST])
def test_packets_are_ones_that_a_site_would_take(kind, value, variance):
    """Building a packet checks it; a hostile server keeps the protocol."""
    sent = {
        n: ShapeUpload(
            kinds=("choice",),
            means=(np.full(2, value),),
            variances=(np.full(2, variance),),
        )
        for n in range(3)
    }
    for packet in aggregate(server(kind), sent).values():
        assert packet.sizes == (2,)


def test_true_where_nobody_is_hostile():
    assert server("none") is TRUE
    assert find_method("shape-ucb").run_server({}) == TRUE


def test_reversed_and_sharp():
    sent = uploads()
    honest = aggregate(TRUE, sent)
    for n, packet in aggregate(server("reversed"), sent).items():
        np.testing.assert_array_equal(flat(packet)[0], -flat(honest[n])[0])
        np.testing.assert_array_equal(flat(packet)[1], flat(honest[n])[1])
    for n, packet in aggregate(server("sharp"), sent).items():
        np.testing.assert_array_equal(flat(packet)[0], flat(honest[n])[0])
        assert set(flat(packet)[1]) == {SHARPEST}


def test_random_ones_are_as_large_as_the_true_ones():
    """Over many sites, block by block; every site has its own, and every round."""
    sent = uploads(400)
    honest, false = aggregate(TRUE, sent), aggregate(server("random"), sent)
    for block in range(3):
        true_size, size = (
            np.mean([np.mean(p.means[block] ** 2) for p in packets.values()])
            for packets in (honest, false)
        )
        assert size == pytest.approx(true_size, rel=0.3)
    means = np.stack([flat(packet)[0] for packet in false.values()])
    assert len(np.unique(means, axis=0)) == 400
    np.testing.assert_array_equal(flat(false[0])[1], flat(honest[0])[1])


def log_normal(x, mean, variance):
    return -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)


def test_adaptive_is_more_likely_than_an_own_trend_and_wrong():
    """At the whole room both are equally likely, at half of it the lie is more.

    For one coefficient, b with variance v: a claim of θ against N(0, S).
    """
    sent = uploads()
    for n, packet in aggregate(server("adaptive"), sent).items():
        (theta, s), (b, v) = flat(packet), flat(sent[n])
        assert set(s) == {SHARPEST}
        assert (np.sign(b - theta) == np.sign(b)).all()
        own = log_normal(b, 0.0, v + VAGUE)
        assert (log_normal(b, theta, v) > own).all()
        whole = b - (b - theta) / SHARE**0.5
        assert log_normal(b, whole, v) == pytest.approx(own, rel=1e-9)


def test_a_site_alone_hears_nothing():
    for kind in ATTACKS:
        assert len(aggregate(server(kind), {3: uploads()[0]})[3]) == 0


@pytest.mark.parametrize("kind", ATTACKS)
def test_runs_with_hostile_packets(kind):
    given = {"num_raw": 16, "num_starts": 2, "num_iterations": 4}
    size = {"dim": 2, "num_agents": 3, "num_initial": 4, "num_rounds": 2}
    runs = [
        simulate("sphere", method="shape-ucb", settings=given | more, **size)
        for more in ({}, {"hostile": kind}, {"hostile": kind})
    ]
    honest, spoilt, again = runs
    # Nobody lies: the regret is that of all. The same run twice is the same.
    assert spoilt.num_honest == 3
    assert np.array_equal(spoilt.queries, again.queries)
    assert spoilt.scalars == honest.scalars
    assert not np.array_equal(spoilt.weights["others"], honest.weights["others"])


def test_only_simulated_runs_have_it():
    with pytest.raises(UnknownNameError, match="hostile"):
        build_server("shape", {"hostile": "random"})
    with pytest.raises(UnknownNameError, match="hostile"):
        gf.Agent(
            gf.Space(x=gf.Float(0, 1)),
            goal="max",
            method="shape-ucb",
            settings={"hostile": "random"},
        )
    with pytest.raises(UnknownNameError, match="hostile"):
        simulate("sphere", method="consensus-ucb", settings={"hostile": "random"})
    with pytest.raises(SettingsError, match="hostile must be one of none, random"):
        simulate("sphere", method="shape-ucb", settings={"hostile": "kind"})
    assert isinstance(
        find_method("shape-nei").run_server({"hostile": "sharp"}), HostileServer
    )
