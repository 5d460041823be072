"""GUIDE's server as a whole: merge, reweight, dispatch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numbered import aggregate, left_out

from guidefbo.core.errors import WireError
from guidefbo.server.strategies.guide.dispatch import DISPATCHES
from guidefbo.server.strategies.guide.server import GuideServer
from guidefbo.server.strategies.guide.settings import (
    MERGINGS,
    REWEIGHTINGS,
    GuideServerSettings,
)
from guidefbo.testing import check_server_side
from guidefbo.testing.codec import encode
from guidefbo.testing.generators import federations as named_federations
from guidefbo.wire.guide import MIN_MASS, OptimumUpload

GUIDE = GuideServer(
    merging=MERGINGS["complete-linkage"],
    reweighting=REWEIGHTINGS["value-aware"],
    dispatch=DISPATCHES["agent-specific"],
    merge_threshold=0.05,
    packet_size=5,
)
VARIANTS = {
    "guide": GUIDE,
    "no merging": replace(GUIDE, merging=MERGINGS["none"]),
    "mass only": replace(GUIDE, reweighting=REWEIGHTINGS["mass-only"]),
    "broadcast": replace(GUIDE, dispatch=DISPATCHES["broadcast"]),
    "small packets": replace(GUIDE, packet_size=1),
    "merge all": replace(GUIDE, merge_threshold=1.0),
    "merge equal": replace(GUIDE, merge_threshold=0.0),
}


def upload(center, mass=0.5, variance=0.01, score=0.0):
    center = np.array(center, dtype=float)
    spread = np.full(len(center), variance) if np.ndim(variance) == 0 else variance
    return OptimumUpload(mass=mass, center=center, variance=spread, value_score=score)


def federations():
    return named_federations().map(lambda found: {int(n): u for n, u in found.items()})


def far_apart(count, dim=2):
    """Uploads no two of which are within 0.05 of each other, told by their centre."""
    return {
        n: upload(np.full(dim, 0.1 + 0.8 * n / count), mass=0.1 + n / 20, score=n / 8)
        for n in range(count)
    }


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=10)
@given(st.booleans().flatmap(lambda is_full: named_federations(is_full=is_full)))
def test_contract(name, uploads):
    check_server_side(VARIANTS[name], uploads)


@settings(max_examples=50)
@given(federations(), st.randoms(use_true_random=False))
def test_order_of_arrival_changes_no_bit(uploads, random):
    items = list(uploads.items())
    random.shuffle(items)
    first, second = aggregate(GUIDE, uploads), aggregate(GUIDE, dict(items))
    assert {n: encode(p) for n, p in first.items()} == {
        n: encode(p) for n, p in second.items()
    }


@settings(max_examples=50)
@given(federations())
def test_weights_are_global_and_sent_as_they_are(uploads):
    """E28, E29: a packet is a part of the whole, not renormalised."""
    components, log_weights = GUIDE.globals(list(uploads.values()))
    whole = {
        (center.tobytes(), variance.tobytes()): weight
        for center, variance, weight in zip(
            components.centers, components.variances, components.weights, strict=True
        )
    }
    assert np.exp(log_weights).sum() == pytest.approx(1.0, rel=1e-14)
    for packet in aggregate(GUIDE, uploads).values():
        c = packet.components
        assert len(c) == min(5, len(components))
        assert c.weights.sum() <= 1.0 + 1e-14
        for center, variance, weight in zip(
            c.centers, c.variances, c.weights, strict=True
        ):
            assert whole[center.tobytes(), variance.tobytes()] == weight


def test_partial_packets_keep_weights_below_one():
    """E29: three of nine components carry less than all the weight."""
    server = replace(GUIDE, packet_size=3, reweighting=REWEIGHTINGS["mass-only"])
    for packet in aggregate(server, far_apart(9)).values():
        assert packet.components.weights.sum() < 0.75


def test_one_agent_gets_its_own_component_with_all_the_weight():
    packets = aggregate(GUIDE, {7: upload([0.25, 0.75], mass=0.125, score=-2.0)})
    assert list(packets) == [7]
    c = packets[7].components
    assert c.weights.tolist() == [1.0]
    assert c.centers.tolist() == [[0.25, 0.75]]
    assert c.variances == pytest.approx(np.full((1, 2), 0.01), rel=1e-15)


def test_agents_that_agree_are_one_component():
    """E24, E25, E28: sixteen identical uploads merge into themselves."""
    packets = aggregate(GUIDE, {n: upload([0.25, 0.75], mass=0.25) for n in range(16)})
    assert len(packets) == 16
    for packet in packets.values():
        c = packet.components
        assert c.weights.tolist() == [1.0]
        assert c.centers[0] == pytest.approx([0.25, 0.75], rel=1e-15)
        assert c.variances[0] == pytest.approx([0.01, 0.01], rel=1e-14)


def test_no_upload_no_packet():
    assert aggregate(GUIDE, {}) == {}


def test_agents_keep_their_ids():
    packets = aggregate(GUIDE, {9: upload([0.1]), 2: upload([0.9]), 40: upload([0.5])})
    assert sorted(packets) == [2, 9, 40]


def test_another_dimension_is_left_out():
    uploads = {n: upload([0.1, 0.2]) for n in range(2)}
    (why,) = left_out(GUIDE, {**uploads, 2: upload([0.1, 0.2, 0.3])}).values()
    assert "dimension 2 as in most" in why
    assert "dimension 3. Do all sites use the same settings?" in why


def test_another_kind_of_covariance_is_left_out():
    uploads = {n: upload([0.1, 0.2]) for n in range(2)}
    odd = upload([0.1, 0.2], variance=np.eye(2))
    (why,) = left_out(GUIDE, {**uploads, 2: odd}).values()
    assert "expected diagonal components, dimension 2" in why
    assert "got full components, dimension 2" in why


def test_settings_reach_the_parts():
    assert GuideServerSettings().build() == GUIDE
    chosen = GuideServerSettings(
        merging="none",
        reweighting="mass-only",
        dispatch="broadcast",
        merge_threshold=0.2,
        packet_size=7,
    )
    assert chosen.build() == GuideServer(
        merging=MERGINGS["none"],
        reweighting=REWEIGHTINGS["mass-only"],
        dispatch=DISPATCHES["broadcast"],
        merge_threshold=0.2,
        packet_size=7,
    )


def test_without_merging_every_upload_stays():
    near = {n: upload([0.5, 0.5 + 0.001 * n]) for n in range(4)}
    merged = aggregate(GUIDE, near)[0].components
    apart = aggregate(VARIANTS["no merging"], near)[0].components
    assert len(merged) == 1
    assert len(apart) == 4
    assert apart.weights == pytest.approx(np.full(4, 0.25))


def test_merging_is_decided_by_the_threshold_in_rms_distance():
    """E23, E24: 0.05 apart in every coordinate is an RMS distance of 0.05."""
    for step, count in ((0.049, 1), (0.051, 2)):
        pair = {0: upload(np.full(9, 0.4)), 1: upload(np.full(9, 0.4 + step))}
        assert len(aggregate(GUIDE, pair)[0].components) == count


def test_mass_only_changes_the_weights_and_nothing_else():
    uploads = list(far_apart(5).values())
    ours, _ = GUIDE.globals(uploads)
    ablated, _ = VARIANTS["mass only"].globals(uploads)
    assert np.array_equal(ours.centers, ablated.centers)
    assert np.array_equal(ours.variances, ablated.variances)
    masses = np.array([u.mass for u in uploads])
    assert np.sort(ablated.weights) == pytest.approx(np.sort(masses / masses.sum()))
    assert not np.allclose(ours.weights, ablated.weights)


def test_broadcast_changes_who_gets_what_and_nothing_else():
    uploads = far_apart(9)
    packets = aggregate(VARIANTS["broadcast"], uploads)
    assert len({encode(packet) for packet in packets.values()}) == 1
    ours = aggregate(GUIDE, uploads)
    assert len({encode(packet) for packet in ours.values()}) > 1
    known = {c.tobytes() for c in GUIDE.globals(list(uploads.values()))[0].centers}
    assert {c.tobytes() for c in packets[0].components.centers} <= known


def test_one_false_score_of_three_takes_nearly_all_weight():
    """E28: a documented weakness of the method, measured at the packets."""
    uploads = {n: upload([0.05 + n / 16], score=(n - 7) / 7) for n in range(15)}
    uploads[15] = upload([0.999], score=3.0)
    false = [
        packet.components.weights[packet.components.centers[:, 0] > 0.99]
        for packet in aggregate(GUIDE, uploads).values()
    ]
    seen = np.concatenate(false)
    assert len(seen) > 0
    assert (seen > 0.9).all()


def test_centres_beyond_the_box_by_rounding_are_brought_back():
    packets = aggregate(GUIDE, {0: upload([1.0 + 5e-10]), 1: upload([-5e-10])})
    for packet in packets.values():
        assert packet.components.centers.min() == 0.0
        assert packet.components.centers.max() == 1.0


@pytest.mark.parametrize("variance", [5e-324, 1e-300, 1e-17, 1e300, 1.7e308])
@pytest.mark.parametrize("mass", [MIN_MASS, 1e-100, 1.0])
def test_no_valid_upload_stops_the_round_for_everybody(mass, variance):
    """An upload is refused when it arrives or served; it never breaks the others'."""
    try:
        odd = [upload([0.5, 0.5], mass=mass, variance=variance)] * 3
    except WireError:
        return
    uploads = dict(enumerate([*odd, *far_apart(4).values()]))
    for server in VARIANTS.values():
        assert len(aggregate(server, uploads)) == 7


@pytest.mark.parametrize("smallest", [1e-18, 1e-15, 1e-9])
def test_no_nearly_singular_upload_stops_the_round_for_everybody(smallest):
    angle = 0.6
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn @ np.diag([1.0, smallest]) @ turn.T
    matrix = (matrix + matrix.T) / 2.0
    uploads = {}
    for n in range(12):
        try:
            uploads[n] = upload(
                [0.5 + n / 1000, 0.5], mass=1.0 / (n + 3), variance=matrix
            )
        except WireError:
            continue
    for server in VARIANTS.values():
        assert len(aggregate(server, uploads)) == len(uploads)
