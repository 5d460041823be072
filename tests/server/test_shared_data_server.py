"""The server of the control shared-data: the others' observations, thinned evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.numbered import aggregate, left_out, named

from guidefbo.core.errors import SettingsError
from guidefbo.server.exchange import build_server
from guidefbo.server.strategies.shared_data.server import (
    SharedDataServer,
    fair_shares,
    thin,
)
from guidefbo.testing import check_server_side
from guidefbo.wire.shared_data import MAX_ROWS, SharedObservations


def observed(n, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    return SharedObservations(
        inputs=rng.random((n, dim)),
        values=rng.standard_normal(n),
        noise=rng.uniform(0.01, 0.1, n),
    )


def test_contract():
    uploads = named({n: observed(4 + n, seed=n) for n in range(4)})
    check_server_side(SharedDataServer(max_shared=400), uploads)
    check_server_side(SharedDataServer(max_shared=6), uploads)


def test_every_site_gets_what_the_others_observed():
    uploads = {n: observed(4 + n, seed=n) for n in range(3)}
    packets = aggregate(SharedDataServer(max_shared=400), uploads)
    for n, packet in packets.items():
        others = [uploads[m] for m in uploads if m != n]
        for got, sent in zip(packet.sites, others, strict=True):
            assert np.array_equal(got.inputs, sent.inputs)
            assert np.array_equal(got.values, sent.values)
            assert np.array_equal(got.noise, sent.noise)
    alone = aggregate(SharedDataServer(max_shared=400), {7: observed(3)})
    assert alone[7].sites == ()


def test_no_packet_is_larger_than_the_limit():
    uploads = {n: observed(30, seed=n) for n in range(5)}
    for limit in (3, 4, 41, 119):
        packets = aggregate(SharedDataServer(max_shared=limit), uploads)
        assert {len(packet) for packet in packets.values()} == {limit}


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(1, 200))
def test_shares_are_fair(sizes, limit):
    """Whoever gets less than another gives all; nothing that could go is kept back."""
    shares = fair_shares(sizes, limit)
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    assert sum(shares) == min(limit, sum(sizes))
    for share, size in zip(shares, sizes, strict=True):
        assert share == size or share >= max(shares) - 1


def test_what_is_kept_is_spread_evenly_over_the_ranks():
    data = observed(9)
    kept = thin(data, 3)
    assert sorted(kept.values) == list(np.sort(data.values)[[0, 4, 8]])
    rows = [data.values.tolist().index(value) for value in kept.values]
    assert rows == sorted(rows)
    assert np.array_equal(kept.inputs, data.inputs[rows])
    assert np.array_equal(kept.noise, data.noise[rows])
    assert thin(data, 1).values == [data.values.max()]
    assert thin(data, 9) is data


def test_another_dimension_is_left_out():
    found = left_out(
        SharedDataServer(max_shared=9),
        {0: observed(2), 1: observed(3), 2: observed(2, 3)},
    )
    assert found.keys() == {2}
    assert "dimension 2" in found[2]


def test_settings():
    assert build_server("shared-data", {"max_shared": 12}).max_shared == 12
    with pytest.raises(SettingsError, match="max_shared"):
        build_server("shared-data", {"max_shared": MAX_ROWS + 1})
