"""The consensus server: every agent gets what the others say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guidefbo.core.errors import WireError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.build_consensus import consensus_server
from guidefbo.methods.settings import Settings
from guidefbo.server.aims import blend
from guidefbo.server.catalog import AIMS, FUSIONS
from guidefbo.testing import check_server_side
from guidefbo.testing.generators import peak_uploads
from guidefbo.wire.codec import encode
from guidefbo.wire.consensus import SHARPEST, WIDEST, PeakUpload

SERVERS = {
    name: consensus_server(Settings(fusion=name, groups="one", aim="others"))
    for name in FUSIONS
}
SERVER = SERVERS["dersimonian-laird"]
BLENDING = {name: replace(server, aim=blend) for name, server in SERVERS.items()}
DEFAULT = consensus_server(Settings())


def upload(center, variance=0.01, dim=2):
    return PeakUpload(
        mass=1.0,
        center=np.full(dim, center) if np.ndim(center) == 0 else np.array(center),
        variance=np.full(dim, variance) if np.ndim(variance) == 0 else variance,
        value_score=0.0,
    )


def aggregate(server, uploads):
    return server.aggregate(uploads, 1, Streams(0).at(Purpose.DISPATCH, t=1))


def place(packet):
    """Return a packet's one centre and its variances."""
    c = packet.components
    assert c.weights.tolist() == [1.0]
    return c.centers[0], c.variances[0]


@st.composite
def federations(draw, max_agents=7):
    d = draw(st.integers(1, 3))
    ids = st.lists(st.integers(0, 99), min_size=2, max_size=max_agents, unique=True)
    return {agent: draw(peak_uploads(dim=d)) for agent in draw(ids)}


@pytest.mark.parametrize("name", SERVERS)
@settings(max_examples=15)
@given(uploads=federations())
def test_contract(name, uploads):
    check_server_side(SERVERS[name], uploads)
    check_server_side(BLENDING[name], uploads)


@pytest.mark.parametrize("aim", AIMS)
@settings(max_examples=15)
@given(uploads=federations(max_agents=16))
def test_contract_of_every_aim(aim, uploads):
    check_server_side(replace(DEFAULT, aim=AIMS[aim]), uploads)


@pytest.mark.parametrize("name", SERVERS)
@settings(max_examples=25)
@given(uploads=federations(), random=st.randoms(use_true_random=False))
def test_who_is_who_changes_no_bit(name, uploads, random):
    """Agents that swap their numbers swap their packets."""
    names = list(uploads)
    random.shuffle(names)
    renamed = dict(zip(names, uploads.values(), strict=True))
    first = aggregate(SERVERS[name], uploads)
    second = aggregate(SERVERS[name], renamed)
    for old, new in zip(uploads, names, strict=True):
        assert encode(first[old]) == encode(second[new])


@pytest.mark.parametrize("name", SERVERS)
@settings(max_examples=25)
@given(uploads=federations())
def test_a_packet_says_nothing_of_its_receiver(name, uploads):
    """E77: it is the answer to the others, whatever the receiver sent."""
    server = SERVERS[name]
    packets = aggregate(server, uploads)
    for agent, own in uploads.items():
        other = upload(1.0 - own.center, WIDEST, own.dim)
        changed = aggregate(server, {**uploads, agent: other})
        for a, b in zip(place(packets[agent]), place(changed[agent]), strict=True):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-12)


def test_a_packet_by_hand():
    """E73, E75, E77: three others of equal variance, 0.2, 0.4 and 0.9."""
    centers = {3: 0.2, 5: 0.4, 8: 0.9, 11: 0.05}
    packets = aggregate(SERVER, {n: upload(x) for n, x in centers.items()})
    center, variance = place(packets[11])
    assert center == pytest.approx([0.5, 0.5], rel=1e-12)
    assert variance == pytest.approx([0.13 / 3 + 0.12] * 2, rel=1e-9)


def test_a_blend_by_hand():
    """E86, E88: the own place and the others', as far as each of the two is known.

    The others agree on the first coordinate, which they place to 0.01 / 3; on the
    second they are 0.2, 0.4 and 0.9, and their spread is 0.13 / 3 + 0.12. One share for
    both: the mean of the own variances over that plus the mean of the others'. Of the
    floor 0.15² it knows nothing.
    """
    centers = {3: [0.5, 0.2], 5: [0.5, 0.4], 8: [0.5, 0.9]}
    uploads = {n: upload(x) for n, x in centers.items()}
    uploads[11] = upload([0.9, 0.05], np.array([0.01, 0.04]))
    center, variance = place(aggregate(BLENDING["dersimonian-laird"], uploads)[11])
    spread = np.array([0.01 / 3, 0.13 / 3 + 0.12])
    share = 0.025 / (0.025 + spread.mean())
    expected = [0.9 + share * (0.5 - 0.9), 0.05 + share * (0.5 - 0.05)]
    assert center == pytest.approx(expected, rel=1e-9)
    both = 1.0 / (1.0 / 0.04 + 1.0 / spread[1])
    assert variance == pytest.approx([0.15**2, both], rel=1e-9)


def test_two_agents_meet():
    """E86, E88: variances of 0.01 and 0.03 meet a quarter of the way, twice."""
    packets = aggregate(
        BLENDING["trimmed"], {4: upload(0.1, 0.01), 2: upload(0.9, 0.03)}
    )
    assert place(packets[4])[0] == pytest.approx([0.3, 0.3], rel=1e-12)
    assert place(packets[2])[0] == pytest.approx([0.3, 0.3], rel=1e-12)


@pytest.mark.parametrize("name", BLENDING)
@settings(max_examples=25)
@given(uploads=federations())
def test_who_knows_little_listens_more(name, uploads):
    """E88: from the own place to the others' as the own variance grows."""
    for agent, whole in aggregate(SERVERS[name], uploads).items():
        theta = place(whole)[0]
        y = np.where(theta < 0.5, theta + 0.4, theta - 0.4)
        shares = []
        for v in (SHARPEST, 0.02, WIDEST):
            changed = {**uploads, agent: upload(y, v, uploads[agent].dim)}
            center, variance = place(aggregate(BLENDING[name], changed)[agent])
            moved = (center - y) / (theta - y)
            assert moved == pytest.approx(np.full_like(y, moved[0]), abs=1e-9)
            assert (variance <= max(v, 0.15**2) * (1.0 + 1e-12)).all()
            shares.append(moved[0])
        assert 0.0 < shares[0] < shares[1] < shares[2] < 1.0


def test_the_blend_beats_both_words():
    """E86, E88: nearer to the optima than either, on draws from the model itself."""
    rng = np.random.default_rng(5)
    errors = {"blend": [], "others": [], "own": []}
    for _ in range(50):
        truth = 0.5 + 0.1 * rng.standard_normal((16, 10))
        v = rng.uniform(0.05, 0.15, (16, 1)) ** 2 * np.ones(10)
        y = np.clip(truth + np.sqrt(v) * rng.standard_normal((16, 10)), 0.0, 1.0)
        uploads = {n: upload(y[n], v[n]) for n in range(16)}
        for name, squares in errors.items():
            packets = aggregate(replace(DEFAULT, aim=AIMS[name]), uploads)
            found = np.stack([place(packets[n])[0] for n in range(16)])
            squares.append(float(np.mean((found - truth) ** 2)))
    mean = {name: np.mean(squares) for name, squares in errors.items()}
    assert mean["blend"] < 0.8 * min(mean["others"], mean["own"])


def test_the_control_exchanges_nothing():
    """A packet of aim `own` is the upload, no sharper than the floor."""
    server = replace(DEFAULT, aim=AIMS["own"])
    packets = aggregate(server, {0: upload(0.2, 0.03), 1: upload(0.9), 2: upload(0.7)})
    center, variance = place(packets[0])
    assert center.tolist() == [0.2, 0.2]
    assert variance.tolist() == [0.03, 0.03]


def test_aim_and_groups_are_choices():
    """E86, E87: blended and within groups unless told otherwise."""
    assert DEFAULT.aim is blend
    assert DEFAULT.has_groups
    assert not consensus_server(Settings(groups="one")).has_groups


def test_place_of_nobody():
    """E88: a site alone gets an empty packet, as ever."""
    assert len(aggregate(DEFAULT, {7: upload(0.25)})[7]) == 0


@pytest.mark.parametrize("num_agents", [2, 3, 9, 16])
def test_agents_that_agree(num_agents):
    """E77: τ² = 0, the error is std / √(N - 1), and the packet no sharper than 0.15."""
    uploads = {n: upload(0.3, 0.04) for n in range(num_agents)}
    _, _, fused = SERVER.fuse(list(uploads.values()))
    assert fused.between == pytest.approx(np.zeros((num_agents, 2)), abs=1e-15)
    assert np.sqrt(fused.squared_error) == pytest.approx(
        np.full((num_agents, 2), 0.2 / np.sqrt(num_agents - 1)), rel=1e-12
    )
    for packet in aggregate(SERVER, uploads).values():
        center, variance = place(packet)
        assert center == pytest.approx([0.3, 0.3], rel=1e-14)
        expected = max(0.04 / (num_agents - 1), 0.15**2)
        assert variance == pytest.approx([expected] * 2, rel=1e-12)


def test_two_agents_hear_each_other():
    """E77."""
    packets = aggregate(SERVER, {4: upload(0.1, 0.05), 9: upload(0.8, SHARPEST)})
    center, variance = place(packets[4])
    assert center == pytest.approx([0.8, 0.8])
    assert variance == pytest.approx([0.15**2] * 2)
    center, variance = place(packets[9])
    assert center == pytest.approx([0.1, 0.1])
    assert variance == pytest.approx([0.05] * 2)


def test_nobody_hears_from_nobody():
    packets = aggregate(SERVER, {7: upload(0.25)})
    assert list(packets) == [7]
    assert len(packets[7]) == 0
    assert aggregate(SERVER, {}) == {}


def test_agents_that_stay_away_are_not_missed():
    uploads = {n: upload(n / 9) for n in range(9)}
    few = {n: uploads[n] for n in (1, 4, 8)}
    assert aggregate(SERVER, few).keys() == few.keys()
    for a, b in zip(
        place(aggregate(SERVER, few)[4]),
        place(aggregate(SERVER, {1: few[1], 4: upload(0.0), 8: few[8]})[4]),
        strict=True,
    ):
        assert np.array_equal(a, b)


def test_spread_is_a_choice():
    """E77."""
    wide = replace(SERVER, min_spread=0.4)
    _, variance = place(aggregate(wide, {n: upload(0.3) for n in range(3)})[0])
    assert variance == pytest.approx([0.16, 0.16])


def test_mixed_dimensions_are_refused():
    with pytest.raises(WireError, match=r"dimension 2, got 3.*same search space"):
        aggregate(SERVER, {0: upload(0.1), 1: upload(0.1, dim=3)})


def test_places_beyond_the_box_by_rounding_are_brought_back():
    """E77."""
    packets = aggregate(SERVER, {0: upload(1.0 + 5e-10), 1: upload(-5e-10)})
    assert place(packets[0])[0].tolist() == [0.0, 0.0]
    assert place(packets[1])[0].tolist() == [1.0, 1.0]


def test_a_thousand_agents_are_served_at_once():
    rng = np.random.default_rng(0)
    uploads = {
        n: upload(rng.random(3), rng.uniform(SHARPEST, WIDEST, 3), 3)
        for n in range(1000)
    }
    packets = aggregate(SERVER, uploads)
    assert len(packets) == 1000
    assert all(len(packet) == 1 for packet in packets.values())
