"""The consensus server: every agent gets what the others say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.numbered import aggregate, left_out, named

from guidefbo.server.strategies.consensus.groups import one_group, split_groups
from guidefbo.server.strategies.consensus.server import row_order
from guidefbo.server.strategies.consensus.settings import (
    FUSIONS,
    ConsensusServerSettings,
)
from guidefbo.testing import check_server_side
from guidefbo.testing.codec import encode
from guidefbo.testing.generators import peak_uploads
from guidefbo.wire.consensus import SHARPEST, WIDEST, PeakUpload

SERVERS = {
    name: ConsensusServerSettings(fusion=name, groups="one").build() for name in FUSIONS
}
SERVER = SERVERS["dersimonian-laird"]
DEFAULT = ConsensusServerSettings().build()


def upload(center, variance=0.01, dim=2):
    return PeakUpload(
        mass=1.0,
        center=np.full(dim, center) if np.ndim(center) == 0 else np.array(center),
        variance=np.full(dim, variance) if np.ndim(variance) == 0 else variance,
        value_score=0.0,
    )


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
    check_server_side(SERVERS[name], named(uploads))


@settings(max_examples=15)
@given(uploads=federations(max_agents=8), gap=st.sampled_from([0.0, 1.0]))
def test_contract_in_groups(uploads, gap):
    """Each site thrice in one half of the box and thrice in the other, or all alike."""
    copies = [
        replace(own, center=0.1 * own.center + 0.9 * gap * half)
        for own in uploads.values()
        for half in (0, 0, 0, 1, 1, 1)
    ]
    check_server_side(DEFAULT, named(dict(enumerate(copies))))


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
def test_of_one_group_a_packet_says_nothing_of_its_receiver(name, uploads):
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


def test_tau_is_one_for_all_coordinates():
    """E77: they agree on the first, and their 0.12 on the second is 0.06 on both."""
    centers = {3: [0.5, 0.2], 5: [0.5, 0.4], 8: [0.5, 0.9], 11: [0.9, 0.05]}
    packets = aggregate(SERVER, {n: upload(x) for n, x in centers.items()})
    _, variance = place(packets[11])
    assert variance == pytest.approx([0.01 / 3 + 0.06, 0.13 / 3 + 0.06], rel=1e-9)


def test_groups_are_found_unless_told_otherwise():
    """E87."""
    assert DEFAULT.grouping is split_groups
    assert ConsensusServerSettings(groups="one").build().grouping is one_group


def test_settings_choose_the_fusion():
    assert DEFAULT.fusion is FUSIONS["trimmed"]
    for name, fusion in FUSIONS.items():
        assert SERVERS[name].fusion is fusion


@pytest.mark.parametrize("num_agents", [2, 3, 9, 16])
def test_agents_that_agree(num_agents):
    """E77: τ² = 0, the error is std / √(N - 1), and the packet as sharp as that."""
    uploads = {n: upload(0.3, 0.04) for n in range(num_agents)}
    fused = SERVER.fuse(list(uploads.values()))
    assert fused.between == pytest.approx(np.zeros((num_agents, 2)), abs=1e-15)
    assert np.sqrt(fused.squared_error) == pytest.approx(
        np.full((num_agents, 2), 0.2 / np.sqrt(num_agents - 1)), rel=1e-12
    )
    for packet in aggregate(SERVER, uploads).values():
        center, variance = place(packet)
        assert center == pytest.approx([0.3, 0.3], rel=1e-14)
        expected = 0.04 / (num_agents - 1)
        assert variance == pytest.approx([expected] * 2, rel=1e-12)


def test_two_agents_hear_each_other():
    """E77."""
    packets = aggregate(SERVER, {4: upload(0.1, 0.05), 9: upload(0.8, SHARPEST)})
    center, variance = place(packets[4])
    assert center == pytest.approx([0.8, 0.8])
    assert variance == pytest.approx([SHARPEST] * 2)
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


def test_another_dimension_is_left_out():
    uploads = {0: upload(0.1), 1: upload(0.1, dim=3), 2: upload(0.2)}
    assert left_out(SERVER, uploads) == {
        1: "expected dimension 2 as in most uploads, got dimension 3. Do all sites use "
        "the same settings?"
    }


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


@given(
    rows=arrays(
        float,
        st.tuples(st.integers(1, 30), st.integers(1, 4)),
        elements=st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0]),
    )
)
def test_rows_are_ordered_as_all_columns_say(rows):
    """Places that are clipped to the cube are alike in many coordinates."""
    assert row_order(rows).tolist() == np.lexsort(rows.T[::-1]).tolist()
