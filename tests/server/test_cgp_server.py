"""CGP's server: groups of the round, and the designs shown within them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numbered import aggregate, left_out, named

from guidefbo.core.streams import Purpose, Streams
from guidefbo.server.strategies.cgp.server import MARGIN, CgpServer, deal
from guidefbo.testing import check_server_side
from guidefbo.testing.codec import encode
from guidefbo.wire.cgp import MAX_DESIGNS, DesignUpload

ONE_GROUP = CgpServer(group_size=99)


def upload(x, lower_bound, best_mean, dim=2):
    return DesignUpload(
        design=np.full(dim, float(x)), lower_bound=lower_bound, best_mean=best_mean
    )


def stream(seed=0, t=1):
    return Streams(seed).at(Purpose.DISPATCH, t=t)


def shown(server, uploads, seed=0):
    """Return {agent: first coordinates of the designs it is shown}."""
    packets = aggregate(server, uploads, seed=seed)
    return {n: (p.designs[:, 0].tolist() if len(p) else []) for n, p in packets.items()}


@st.composite
def federations(draw):
    dim = draw(st.integers(1, 4))
    level = st.floats(-2.0, 2.0)
    return {
        agent: upload(draw(st.floats(0, 1)), draw(level), draw(level), dim)
        for agent in draw(st.lists(st.integers(0, 99), min_size=2, unique=True))
    }


@pytest.mark.parametrize("group_size", [1, 2, 4, 99])
@settings(max_examples=15)
@given(uploads=federations())
def test_contract(group_size, uploads):
    check_server_side(CgpServer(group_size=group_size), named(uploads))


@settings(max_examples=50)
@given(federations(), st.randoms(use_true_random=False))
def test_order_of_arrival_changes_no_bit(uploads, random):
    items = list(uploads.items())
    random.shuffle(items)
    server = CgpServer(group_size=4)
    first = aggregate(server, uploads)
    second = aggregate(server, dict(items))
    assert {n: encode(p) for n, p in first.items()} == {
        n: encode(p) for n, p in second.items()
    }


def test_an_agent_is_shown_what_should_beat_its_best():
    """E57: by hand, l_j > b_k + 1e-4."""
    uploads = {
        5: upload(0.5, lower_bound=0.0, best_mean=1.0),
        2: upload(0.2, lower_bound=-3.0, best_mean=-2.0),
        7: upload(0.7, lower_bound=1.5, best_mean=1.6),
    }
    assert shown(ONE_GROUP, uploads) == {2: [0.5, 0.7], 5: [0.7], 7: []}


def test_a_bound_must_exceed_the_best_by_the_margin():
    """E57."""
    for step, expected in ((0.9, []), (1.0, []), (1.1, [0.75])):
        uploads = {
            0: upload(0.25, lower_bound=-1.0, best_mean=0.0),
            1: upload(0.75, lower_bound=step * MARGIN, best_mean=2.0),
        }
        assert shown(ONE_GROUP, uploads)[0] == expected


def test_nobody_is_shown_anything_when_no_bound_exceeds_a_best():
    """E57."""
    uploads = {
        n: upload(n / 9, lower_bound=0.1 * n - 1.0, best_mean=0.0) for n in range(9)
    }
    assert all(not designs for designs in shown(ONE_GROUP, uploads).values())


def test_nobody_is_shown_its_own_design():
    """E57: not even where its levels contradict each other."""
    uploads = {n: upload(n / 4, lower_bound=5.0, best_mean=0.0) for n in range(4)}
    for n, designs in shown(ONE_GROUP, uploads).items():
        assert designs == [m / 4 for m in range(4) if m != n]


def test_groups_of_one_show_nothing():
    uploads = {n: upload(n / 9, lower_bound=n, best_mean=0.0) for n in range(9)}
    assert all(not d for d in shown(CgpServer(group_size=1), uploads).values())


@pytest.mark.parametrize(
    ("num_agents", "group_size", "sizes"),
    [
        (16, 4, [4, 4, 4, 4]),
        (5, 4, [2, 3]),
        (3, 4, [3]),
        (9, 4, [3, 3, 3]),
        (1, 4, [1]),
    ],
)
def test_groups_are_as_few_as_can_be_and_even(num_agents, group_size, sizes):
    """E57: ⌈N/4⌉ groups of at most 4."""
    groups = deal(num_agents, group_size, stream())
    assert len(groups) == num_agents
    assert sorted(np.bincount(groups).tolist()) == sizes


def test_groups_are_dealt_anew_every_round():
    """E57: over many rounds any two of 16 agents meet as often, 3 times in 15."""
    rounds = 3000
    met = np.zeros((16, 16))
    for t in range(1, rounds + 1):
        groups = deal(16, 4, stream(t=t))
        met += groups == groups[:, None]
    share = met[~np.eye(16, dtype=bool)] / rounds
    # Five standard errors of a binomial share.
    assert np.abs(share - 0.2).max() < 5.0 * np.sqrt(0.2 * 0.8 / rounds)


def test_designs_stay_within_the_group():
    """E57."""
    uploads = {n: upload(n / 16, lower_bound=n, best_mean=n - 0.5) for n in range(16)}
    groups = deal(16, 4, stream())
    for n, designs in shown(CgpServer(group_size=4), uploads).items():
        group = np.flatnonzero(groups == groups[n])
        assert designs == [m / 16 for m in group if m > n]


def test_a_large_group_shows_the_surest_designs():
    """E57: at most 15 fit a packet, those of highest bound, in order of their ids."""
    uploads = {n: upload(n / 32, lower_bound=-n, best_mean=-n) for n in range(32)}
    designs = shown(ONE_GROUP, uploads)[31]
    assert designs == [n / 32 for n in range(MAX_DESIGNS)]


def test_another_dimension_is_left_out():
    uploads = {n: upload(0, 0, 0) for n in range(2)}
    assert left_out(ONE_GROUP, {**uploads, 2: upload(0, 0, 0, 3)}) == {
        2: "expected dimension 2 as in most uploads, got dimension 3. Do all sites use "
        "the same settings?"
    }


def test_designs_beyond_the_box_by_rounding_are_brought_back():
    uploads = {0: upload(1.0 + 5e-10, 1.0, 0.0), 1: upload(-5e-10, 1.0, 0.0)}
    assert shown(ONE_GROUP, uploads) == {0: [0.0], 1: [1.0]}
