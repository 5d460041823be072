"""The shape server: a random-effects meta-analysis of the others' trends and places."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numbered import aggregate, left_out, named
from tests.trends import coefficients, forms

from guidefbo.core.errors import SettingsError
from guidefbo.server.exchange import build_server
from guidefbo.server.strategies.shape import pooling
from guidefbo.server.strategies.shape.pooling import (
    PRIOR_PRECISION,
    PRIOR_SITES,
    REACH,
    SMALLEST,
    START,
    USUAL_SHARE,
    by_moments,
    robust,
)
from guidefbo.server.strategies.shape.screening import screened
from guidefbo.server.strategies.shape.settings import POOLINGS, ShapeServerSettings
from guidefbo.testing import check_server_side
from guidefbo.wire.shape import KINDS, LARGEST, PLACE, SHARPEST, WIDEST, ShapeUpload

SERVERS = {name: ShapeServerSettings(pooling=name).build() for name in POOLINGS}


def upload(mean, variance=0.01, sizes=(2,), kind="slopes"):
    return ShapeUpload(
        kinds=(kind,) * len(sizes),
        means=tuple(np.full(n, mean) for n in sizes),
        variances=tuple(np.full(n, variance) for n in sizes),
    )


@st.composite
def federations(draw, max_sites=6):
    form = draw(forms)
    ids = st.lists(st.integers(0, 99), min_size=2, max_size=max_sites, unique=True)
    return {site: draw(coefficients(form)) for site in draw(ids)}


def built(uploads):
    return {site: ShapeUpload(**fields) for site, fields in uploads.items()}


def drawn(num_sites, num_columns, seed=0):
    """Return estimates and variances as sites may send them."""
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.01, 0.5, (num_sites, num_columns))
    truth = rng.standard_normal(num_columns) + 0.3 * rng.standard_normal(v.shape)
    return truth + np.sqrt(v) * rng.standard_normal(v.shape), v


def block_of(b, v, tau2):
    """Return E91 and the plain sums for one block of some sites, in plain loops."""
    excess, scale, squares = 0.0, 0.0, []
    for k in range(b.shape[1]):
        w = [1.0 / (v[n, k] + tau2[k]) for n in range(len(b))]
        sum_w = sum(w)
        mean = sum(w[n] * b[n, k] for n in range(len(b))) / sum_w
        excess += sum(w[n] * (b[n, k] - mean) ** 2 for n in range(len(b)))
        excess -= sum(
            w[n] * v[n, k] - w[n] ** 2 * v[n, k] / sum_w for n in range(len(b))
        )
        scale += sum_w - sum(x**2 for x in w) / sum_w
        squares.append((mean * sum_w / (sum_w + PRIOR_PRECISION)) ** 2)
    sites = len(b) - 1
    moment = max(excess / scale, 0.0) if sites else 0.0
    usual = USUAL_SHARE * sum(squares) / len(squares)
    return max((sites * moment + PRIOR_SITES * usual) / (sites + PRIOR_SITES), SMALLEST)


def written_out(b, v, blocks):
    """Return the packets of all sites, each from a federation without it."""
    tau2 = np.full(b.shape[1], START)
    for _ in range(2):
        found = [block_of(b[:, k], v[:, k], tau2[k]) for k in blocks]
        tau2 = np.repeat(found, [k.stop - k.start for k in blocks])
    means, variances = np.empty(b.shape), np.empty(b.shape)
    for n in range(len(b)):
        rest = np.arange(len(b)) != n
        own = [block_of(b[rest][:, k], v[rest][:, k], tau2[k]) for k in blocks]
        own = np.repeat(own, [k.stop - k.start for k in blocks])
        w = 1.0 / (v[rest] + tau2)
        total = w.sum(axis=0) + PRIOR_PRECISION
        means[n], variances[n] = (w * b[rest]).sum(axis=0) / total, 1.0 / total + own
    return means, variances


@pytest.mark.parametrize("name", SERVERS)
@settings(max_examples=15, deadline=None)
@given(uploads=federations())
def test_contract(name, uploads):
    check_server_side(SERVERS[name], named(built(uploads)))


def test_a_packet_by_hand(monkeypatch):
    """E91, E92, E94: two others, weights 1 and ½ as DerSimonian and Kacker have them.

    b = 0 and 3, v = 0.5 and 1.5, first τ² 0.5. Mean 1, Q = 1 + ½ 4 = 3, without
    heterogeneity one expects 1.25 - 0.875 / 1.5 = 2/3, scale 1.5 - 1.25 / 1.5 = 2/3, so
    that τ² = 3.5.
    With the prior of θ it is 1.5 / 2.5 = 0.6, so that 0.25 · 0.36 = 0.09 counts as much
    as the one degree of freedom: τ² = 1.795. The error is 1 / 2.5.
    """
    monkeypatch.setattr(pooling, "START", 0.5)
    monkeypatch.setattr(pooling, "NUM_PASSES", 1)
    b, v = np.array([[0.0], [3.0], [-7.0]]), np.array([[0.5], [1.5], [0.01]])
    pooled = by_moments(b, v, [slice(0, 1)])
    assert pooled.means[2, 0] == pytest.approx(0.6, rel=1e-12)
    assert pooled.variances[2, 0] == pytest.approx(0.4 + 1.795, rel=1e-12)


@pytest.mark.parametrize("num_sites", [2, 3, 9])
@pytest.mark.parametrize("sizes", [(1,), (4,), (2, 2, 3)], ids=str)
def test_leaving_out_is_working_it_out_without(num_sites, sizes):
    """E91, E92, E94: sums less one's own part, against loops over the others."""
    ends = np.cumsum([0, *sizes])
    blocks = [slice(*pair) for pair in itertools.pairwise(ends)]
    for seed in range(3):
        b, v = drawn(num_sites, sum(sizes), seed)
        means, variances = written_out(b, v, blocks)
        pooled = by_moments(b, v, blocks)
        assert pooled.means == pytest.approx(means, rel=1e-8)
        assert pooled.variances == pytest.approx(variances, rel=1e-8)


def test_one_who_is_very_sure_leaves_the_others_sums_exact():
    """Subtracting a weight of 1e4 times the rest costs a few digits, not all."""
    b, v = drawn(3, 2)
    v[0], v[1:] = SHARPEST, WIDEST
    b[0] = LARGEST
    means, variances = written_out(b, v, [slice(0, 2)])
    pooled = by_moments(b, v, [slice(0, 2)])
    assert pooled.means == pytest.approx(means, rel=1e-6, abs=1e-9)
    assert pooled.variances == pytest.approx(variances, rel=1e-6)


def test_two_sites_hear_each_other():
    """E92: w b / (w + 1), E91: no degree of freedom, a quarter of θ²."""
    packets = aggregate(SERVERS["moments"], {4: upload(0.5, 0.1), 9: upload(-0.5, 0.1)})
    for site, sign in ((9, 1.0), (4, -1.0)):
        theta, s = packets[site].means[0], packets[site].variances[0]
        shrunk = sign * theta / 0.5
        assert np.ptp(theta) == 0.0
        assert ((shrunk > 0.0) & (shrunk < 1.0)).all()
        # θ = b w / (w + 1), whatever w is, leaves an error of 1 - θ / b.
        assert s == pytest.approx(1.0 - shrunk + 0.25 * theta**2, rel=1e-9)


@pytest.mark.parametrize("name", SERVERS)
@settings(max_examples=20, deadline=None)
@given(uploads=federations(), random=st.randoms(use_true_random=False))
def test_who_is_who_changes_nothing(name, uploads, random):
    """Sites that swap their numbers swap their packets, to rounding of sums."""
    uploads = built(uploads)
    names = list(uploads)
    random.shuffle(names)
    renamed = dict(zip(names, uploads.values(), strict=True))
    first = aggregate(SERVERS[name], uploads)
    second = aggregate(SERVERS[name], renamed)
    for old, new in zip(uploads, names, strict=True):
        for field in ("means", "variances"):
            a, b = (
                np.concatenate(getattr(packet, field))
                for packet in (first[old], second[new])
            )
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SERVERS)
def test_sites_that_agree_are_believed_and_others_are_not(name):
    """E94: s is small where sites agree, and as large as they differ."""
    rng = np.random.default_rng(0)
    near, far = (
        aggregate(
            SERVERS[name],
            {n: upload(1.0 + spread * rng.standard_normal()) for n in range(20)},
        )[0]
        for spread in (0.0, 0.8)
    )
    assert near.means[0] == pytest.approx(1.0, abs=0.01)
    # The prior of τ² is worth one site of twenty: 0.25 / 19.
    assert (near.variances[0] < 0.02).all()
    assert far.variances[0] == pytest.approx(0.8**2, rel=0.6)


def test_blocks_have_a_tau_of_their_own():
    """E91: sites agree on the first block and not on the second."""
    uploads = {
        n: ShapeUpload(
            kinds=("slopes", "choice"),
            means=(np.full(2, 0.1), np.full(3, (-1.0) ** n)),
            variances=(np.full(2, 0.01), np.full(3, 0.01)),
        )
        for n in range(12)
    }
    packet = aggregate(SERVERS["moments"], uploads)[0]
    assert (packet.variances[0] < 0.01).all()
    assert (packet.variances[1] > 0.5).all()


def with_liar(pool, lie, variance, num_honest=11):
    """Return the coefficient that an honest site is told beside one liar."""
    b, v = drawn(num_honest, 1, seed=5)
    b = np.vstack([b, [[lie]]])
    v = np.vstack([v, [[variance]]])
    return float(pool(b, v, [slice(0, 1)]).means[0, 0])


@pytest.mark.parametrize("variance", [SHARPEST, 0.1, WIDEST])
def test_one_site_moves_a_coefficient_so_far_and_no_further(variance):
    """E93: bounded by what the honest ones show, whatever is sent and how surely."""
    b, v = drawn(11, 1, seed=5)
    # With one liar the medians lie among the five honest values in the middle.
    middle = np.sort(b[:, 0])[3:8]
    spread = 1.4826 * np.sort(np.abs(b[:, 0] - np.median(b)))[8]
    limit = REACH * np.sqrt(spread**2 + np.sort(v[:, 0])[8])
    low, high = min(middle[0] - limit, 0.0), max(middle[-1] + limit, 0.0)
    for lie in (-LARGEST, LARGEST):
        assert low <= with_liar(robust, lie, variance) <= high
    # A larger lie of the same sign is the same lie.
    assert with_liar(robust, LARGEST, variance) == with_liar(robust, 7.0, variance)
    assert with_liar(by_moments, 8.0, 0.1) != with_liar(by_moments, 7.0, 0.1)


def test_robust_leaves_alone_who_does_not_stand_out():
    """E93: estimates within reach of the median are pooled as they are."""
    rng = np.random.default_rng(1)
    b, v = rng.uniform(-1.0, 1.0, (15, 3)), np.full((15, 3), 0.1)
    for mine, plain in zip(
        (robust(b, v, [slice(0, 3)]).means, robust(b, v, [slice(0, 3)]).variances),
        (
            by_moments(b, v, [slice(0, 3)]).means,
            by_moments(b, v, [slice(0, 3)]).variances,
        ),
        strict=True,
    ):
        assert np.array_equal(mine, plain)


def test_nobody_hears_from_nobody():
    for server in SERVERS.values():
        packets = aggregate(server, {7: upload(0.25)})
        assert list(packets) == [7]
        assert len(packets[7]) == 0
        assert aggregate(server, {}) == {}


def test_extreme_uploads_make_packets_within_the_limits():
    """Building a packet checks them."""
    for server in SERVERS.values():
        for lie in (LARGEST, -LARGEST):
            for variance in (SHARPEST, WIDEST):
                uploads = {0: upload(lie, variance), 1: upload(-lie, SHARPEST)}
                aggregate(server, uploads | {2: upload(lie, WIDEST)})
                aggregate(server, uploads)


def test_other_blocks_are_left_out():
    uploads = {0: upload(0.1), 1: upload(0.1, sizes=(2, 1)), 2: upload(0.2)}
    assert left_out(SERVERS["robust"], uploads) == {
        1: "expected the blocks (('slopes', 2),) as in most uploads, got the blocks "
        "(('slopes', 2), ('slopes', 1)). Do all sites use the same settings?"
    }
    uploads[1] = upload(0.1, kind=PLACE)
    assert "got the blocks (('place', 2),)" in left_out(SERVERS["robust"], uploads)[1]


# The place of the optimum.


def claims(kind, num_sites=7, seed=3, sharpest=None):
    """Return uploads that differ in how sure they claim to be."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(-0.5, 0.5, (num_sites, 2))
    variances = rng.uniform(0.01, 0.08, (num_sites, 2))
    if sharpest is not None:
        variances[sharpest] = SHARPEST
    return {
        n: ShapeUpload(kinds=(kind,), means=(b,), variances=(v,))
        for n, (b, v) in enumerate(zip(means, variances, strict=True))
    }


@pytest.mark.parametrize("name", SERVERS)
def test_all_places_count_alike(name):
    """E103: as if every site had claimed the median of all claims."""
    uploads = claims(PLACE)
    middle = np.median([each.variances[0] for each in uploads.values()], axis=0)
    alike = {
        n: ShapeUpload(kinds=(PLACE,), means=each.means, variances=(middle,))
        for n, each in uploads.items()
    }
    first, second = (aggregate(SERVERS[name], each) for each in (uploads, alike))
    for n in uploads:
        assert np.array_equal(first[n].means, second[n].means)
        assert np.array_equal(first[n].variances, second[n].variances)


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_of_great_precision_gains_nothing_for_a_place(name, kind):
    """E103: one of seven moves the median of claims a little; a coefficient's claim
    moves what the others hear."""
    honest, bold = (
        np.array(
            [
                packet.means[0]
                for packet in aggregate(
                    SERVERS[name], claims(kind, sharpest=s)
                ).values()
            ]
        )
        for s in (None, 4)
    )
    moved = np.abs(np.delete(bold - honest, 4, axis=0)).max()
    if kind == PLACE:
        assert moved < 0.01
    else:
        assert moved > 0.03


def test_places_are_pooled_beside_a_trend_that_is_not_touched():
    """E103: the blocks before it are what they would be without it."""
    trends, places = claims("slopes"), claims(PLACE, seed=5)
    both = {
        n: ShapeUpload(
            kinds=("slopes", PLACE),
            means=(*trends[n].means, *places[n].means),
            variances=(*trends[n].variances, *places[n].variances),
        )
        for n in trends
    }
    together, one, two = (
        aggregate(SERVERS["robust"], each) for each in (both, trends, places)
    )
    for n in trends:
        assert together[n].kinds == ("slopes", PLACE)
        for field in ("means", "variances"):
            found = np.concatenate(getattr(together[n], field))
            alone = [*getattr(one[n], field), *getattr(two[n], field)]
            assert found == pytest.approx(np.concatenate(alone), rel=1e-12)


def test_settings_choose_the_pooling():
    assert ShapeServerSettings().build().pooling is screened
    assert build_server("shape", {"pooling": "moments"}).pooling is by_moments
    with pytest.raises(SettingsError, match="pooling must be one of moments, robust"):
        build_server("shape", {"pooling": "median"})


def test_work_grows_with_the_number_of_sites_only():
    """Sums: ten thousand sites of 40 coefficients are no matter of minutes."""
    b, v = drawn(10_000, 40)
    started = time.process_time()
    robust(b, v, [slice(0, 20), slice(20, 40)])
    assert time.process_time() - started < 2.0
