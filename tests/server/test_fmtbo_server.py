"""FMTBO's server: similar rankings, averaged hyperparameters."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from tests.numbered import aggregate, left_out, named

from guidefbo.server.strategies.fmtbo.as_run import FmtboAsRunServerSettings
from guidefbo.server.strategies.fmtbo.server import (
    FmtboServer,
    dissimilarities,
    first_then_nearest,
    geometric,
    nearest,
    raw,
)
from guidefbo.server.strategies.fmtbo.settings import FmtboServerSettings
from guidefbo.testing import check_server_side
from guidefbo.testing.codec import encode
from guidefbo.wire.fmtbo import (
    MAX_MEAN,
    MAX_SCALE,
    MIN_SCALE,
    ModelUpload,
    SharedHyperparameters,
)

METHOD = FmtboServer(averaging=geometric, similar_share=0.8, neighbours=nearest)
AS_RUN = FmtboServer(averaging=raw, similar_share=0.8, neighbours=first_then_nearest)
SERVERS = {"method": METHOD, "as-run": AS_RUN}


def upload(ranks, lengthscales=(0.5,), outputscale=1.0, mean=None):
    return ModelUpload(
        hyper=SharedHyperparameters(
            lengthscales=np.array(lengthscales, dtype=float),
            outputscale=outputscale,
            mean=mean,
        ),
        ranks=np.array(ranks),
    )


def by_definition(r, s):
    """L of two rankings, as it is written."""
    m = range(len(r))
    return sum((r[a] < r[b]) != (s[a] < s[b]) for a in m for b in m)


def test_dissimilarity_by_hand():
    """E66: a swap of neighbours costs its pair twice, once in each order."""
    ranks = np.array([[0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0]])
    assert dissimilarities(ranks).tolist() == [
        [0, 2, 6, 4],
        [2, 0, 4, 2],
        [6, 4, 0, 2],
        [4, 2, 2, 0],
    ]


@given(st.integers(1, 60), st.integers(0, 1000))
def test_dissimilarity_of_equal_and_reversed_rankings(m, seed):
    """E66: 0 and m (m-1)."""
    ranks = np.random.default_rng(seed).permutation(m)
    L = dissimilarities(np.stack([ranks, ranks, m - 1 - ranks]))
    assert L.tolist() == [
        [0.0, 0.0, m * (m - 1.0)],
        [0.0, 0.0, m * (m - 1.0)],
        [m * (m - 1.0), m * (m - 1.0), 0.0],
    ]


@given(st.integers(1, 8), st.integers(2, 12), st.integers(0, 1000))
@settings(max_examples=30)
def test_dissimilarity_is_symmetric_and_as_defined(N, m, seed):
    """E66: and it is Kendall's distance, since ranks have no ties."""
    rng = np.random.default_rng(seed)
    ranks = np.stack([rng.permutation(m) for _ in range(N)])
    L = dissimilarities(ranks)
    assert (L == L.T).all()
    assert (np.diagonal(L) == 0.0).all()
    assert L.tolist() == [[by_definition(r, s) for s in ranks] for r in ranks]
    tau = np.array([[kendalltau(r, s).statistic for s in ranks] for r in ranks])
    assert pytest.approx(m * (m - 1) * (1.0 - tau) / 2.0, abs=1e-9) == L


def test_nearest_by_hand():
    # Itself first, then ties in the order of the agents; ⌊0.5 * 5⌋ = 2 of them.
    L = np.array(
        [
            [0, 0, 0, 0, 4],
            [0, 0, 0, 0, 4],
            [0, 0, 0, 0, 4],
            [0, 0, 0, 0, 2],
            [4, 4, 4, 2, 0],
        ],
        dtype=float,
    )
    expected = [[0, 1], [0, 1], [0, 2], [0, 3], [3, 4]]
    assert nearest(L, 0.5, 1).tolist() == nearest(L, 0.5, 9).tolist() == expected
    assert first_then_nearest(L, 0.5, 1).tolist() == [[0]] * 5
    assert first_then_nearest(L, 0.5, 2).tolist() == expected


@pytest.mark.parametrize(
    ("share", "N", "k"),
    [
        (0.8, 16, 12),
        (0.8, 5, 4),
        (0.29, 100, 29),
        (0.7, 10, 7),
        (0.1, 3, 1),
        (0.0, 4, 1),
        (1.0, 7, 7),
        (0.8, 1, 1),
    ],
)
def test_size_of_a_neighbourhood(share, N, k):
    L = np.ones((N, N)) - np.eye(N)
    near = nearest(L, share, 1)
    assert near.shape == (N, k)
    assert all(n in row for n, row in enumerate(near))


def test_averages_by_hand():
    """E67: geometric mean, and softplus of the mean of softplus-inverses."""
    scales = np.array([[1.0, 2.0], [4.0, 2.0]])
    assert geometric(scales) == pytest.approx([2.0, 2.0], rel=1e-15)
    # softplus(0) = log 2 and softplus(2) = 2.126928; between them softplus(1).
    scales = np.array([[np.log(2.0)], [2.1269280110429727]])
    assert raw(scales) == pytest.approx([1.3132616875182228], rel=1e-14)


@pytest.mark.parametrize("average", [geometric, raw])
def test_averages_keep_their_digits_at_both_ends(average):
    """E67: no cancellation for tiny scales, no overflow for large ones."""
    for scale in (1e-9, 1e-3, 1.0, 50.0, 1e9):
        found = average(np.full((3, 1), scale))
        assert found == pytest.approx([scale], rel=1e-13)


def test_packets_by_hand():
    """E66, E67: every agent averages itself and the one nearest, ⌊0.7 * 3⌋ = 2.

    Agents 2 and 5 differ by 2; agent 9 differs by 4 from agent 2, by 6 from agent 5.
    """
    server = replace(METHOD, similar_share=0.7)
    packets = aggregate(
        server,
        {
            9: upload([2, 1, 0], [8.0, 1.0], 4.0),
            2: upload([0, 2, 1], [0.5, 1.0], 1.0),
            5: upload([0, 1, 2], [2.0, 4.0], 9.0),
        },
    )
    assert packets[2].hyper.lengthscales == pytest.approx([1.0, 2.0], rel=1e-14)
    assert packets[2].hyper.outputscale == pytest.approx(3.0, rel=1e-14)
    assert encode(packets[5]) == encode(packets[2])
    assert packets[9].hyper.lengthscales == pytest.approx([2.0, 1.0], rel=1e-14)
    assert packets[9].hyper.outputscale == pytest.approx(2.0, rel=1e-14)
    assert packets[9].hyper.mean is None


def test_as_run_the_first_round_is_the_first_agents():
    """E67: its hyperparameters to everybody, and averages from the second round on."""
    uploads = {
        9: upload([0, 1], [8.0], 4.0, mean=1.0),
        2: upload([0, 1], [0.5], 1.0, mean=-3.0),
    }
    server = replace(AS_RUN, similar_share=1.0)
    first = aggregate(server, uploads, t=1)
    for agent in (2, 9):
        assert first[agent].hyper.to_fields() == uploads[2].hyper.to_fields()
    later = aggregate(server, uploads, t=2)
    assert [later[n].hyper.mean for n in (2, 9)] == [-1.0, -1.0]


def test_the_mean_is_averaged_where_it_is_shared():
    """E67: arithmetically, it may have any sign."""
    uploads = {n: upload([0, 1], mean=m) for n, m in enumerate([-3.0, 1.0, 5.0])}
    server = replace(METHOD, averaging=raw, similar_share=1.0)
    assert [p.hyper.mean for p in aggregate(server, uploads).values()] == [1.0] * 3


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
@pytest.mark.parametrize("scale", [MIN_SCALE, 1 / 3, 0.1, 7.3, MAX_SCALE])
@pytest.mark.parametrize("mean", [None, 0.1, -MAX_MEAN])
def test_identical_clients_get_what_they_have(server, scale, mean):
    """E67: to the last digit, and never beyond what the wire accepts."""
    one = upload([1, 0, 2], [scale, 0.3, scale], scale, mean)
    for packet in aggregate(server, dict.fromkeys(range(7), one)).values():
        assert packet.hyper.to_fields() == one.hyper.to_fields()


@st.composite
def federations(draw):
    d, m = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    has_mean = draw(st.booleans())
    agents = draw(st.lists(st.integers(0, 99), min_size=2, max_size=8, unique=True))
    scale = st.floats(MIN_SCALE, MAX_SCALE)
    return {
        agent: upload(
            draw(st.permutations(range(m))),
            draw(st.lists(scale, min_size=d, max_size=d)),
            draw(scale),
            draw(st.floats(-MAX_MEAN, MAX_MEAN)) if has_mean else None,
        )
        for agent in agents
    }


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
@settings(max_examples=25)
@given(federations())
def test_contract(server, uploads):
    check_server_side(server, named(uploads))


def test_every_order_of_arrival_gives_the_same_bytes():
    rng = np.random.default_rng(0)
    uploads = {
        n: upload(rng.permutation(4), rng.random(3) + 0.1, rng.random() + 0.1)
        for n in (3, 1, 8, 5)
    }
    first = aggregate(METHOD, uploads)
    for order in permutations(uploads):
        packets = aggregate(METHOD, {n: uploads[n] for n in order})
        assert list(packets) == sorted(uploads)
        assert all(encode(packets[n]) == encode(first[n]) for n in uploads)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (upload([0, 1], [0.5, 0.5]), "without means, dimension 2 number of probes 2"),
        (upload([0, 1, 2]), "without means, dimension 1 number of probes 3"),
        (upload([0, 1], mean=0.0), "with means, dimension 1 number of probes 2"),
    ],
    ids=["dimension", "ranks", "mean"],
)
@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_an_upload_of_other_settings_is_left_out(server, odd, words):
    uploads = {0: odd, 1: upload([0, 1]), 2: upload([1, 0])}
    (why,) = left_out(server, uploads).values()
    assert "expected hyperparameters without means, dimension 1 number of probes" in why
    assert f"got hyperparameters {words}. Do all sites use the same settings?" in why


def test_settings_build_the_two_servers():
    assert FmtboServerSettings().build() == METHOD
    assert FmtboAsRunServerSettings().build() == AS_RUN
    for kind in (FmtboServerSettings, FmtboAsRunServerSettings):
        assert kind(similar_share=0.25).build().similar_share == 0.25
