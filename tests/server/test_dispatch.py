"""E29: which components each agent receives."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from guidefbo.core.streams import Streams
from guidefbo.server.side import Draws
from guidefbo.server.strategies.guide.dispatch import (
    agent_specific,
    broadcast,
    draw_packet,
)
from guidefbo.testing.generators import real_arrays
from guidefbo.testing.server_side import draws

WEIGHTS = np.array([0.4, 0.3, 0.2, 0.1])


def sites(count):
    return list(map(str, range(count)))


def log_normalised(weights):
    return np.log(weights / weights.sum())


def ordered_pair_probabilities(weights):
    """Return P(first = i, second = j) of successive draws without replacement."""
    return {
        (i, j): weights[i] * weights[j] / (1.0 - weights[i])
        for i, j in permutations(range(len(weights)), 2)
    }


@given(
    real_arrays((7,), 1e-6, 1.0),
    st.integers(1, 7),
    st.integers(1, 9),
    st.integers(1, 12),
    st.sampled_from([agent_specific, broadcast]),
)
def test_packets_hold_distinct_components(weights, count, agents, size, draw):
    """E29: min(P, L) of them."""
    chosen = draw(log_normalised(weights[:count]), sites(agents), size, draws())
    assert chosen.shape == (agents, min(size, count))
    for row in chosen:
        assert len(set(row)) == len(row)
        assert set(row) <= set(range(count))


def test_frequencies_are_those_of_successive_draws():
    """E29: every ordered pair of two out of four, against their enumeration.

    Streams 0 to 19 are pooled. One stream of 4000 packets says little: stream 2 alone
    is 4.1 standard deviations off in one inclusion, the largest of 8000 such numbers
    over 2000 streams, whose p-values are uniform. A correct sampler exceeds the
    threshold with one set of streams in a thousand.
    """
    expected = ordered_pair_probabilities(WEIGHTS)
    assert sum(expected.values()) == pytest.approx(1.0)
    counts = np.zeros(16, dtype=int)
    for seed in range(20):
        chosen = agent_specific(np.log(WEIGHTS), sites(4_000), 2, draws(seed))
        counts += np.bincount(chosen[:, 0] * 4 + chosen[:, 1], minlength=16)
    observed = [counts[4 * i + j] for i, j in expected]
    assert sum(observed) == 80_000
    frequencies = 80_000 * np.array(list(expected.values()))
    assert chisquare(observed, frequencies).pvalue > 1e-3


def test_weights_are_not_taken_for_logarithms():
    """E29: the heaviest component comes first in 40 % of the packets, not in 28 %."""
    chosen = agent_specific(np.log(WEIGHTS), sites(10_000), 1, draws(3))
    share = np.bincount(chosen[:, 0], minlength=4) / 10_000
    assert share == pytest.approx(WEIGHTS, abs=4.0 * np.sqrt(0.25 / 10_000))


def test_components_whose_weight_underflows_come_last_but_come():
    """E29: exp(-1e5) is 0, its logarithm is not."""
    log_weights = np.array([-1e5, 0.0, -2e5, -1.0])
    chosen = agent_specific(log_weights, sites(50), 4, draws())
    assert (chosen[:, 2] == 0).all()
    assert (chosen[:, 3] == 2).all()
    assert set(chosen[:, 0]) == {1, 3}


def test_sites_draw_independently():
    """E29: two agents pick the same first component with probability sum w^2."""
    chosen = agent_specific(np.log(WEIGHTS), sites(20_000), 1, draws(4))[:, 0]
    share = np.mean(chosen[0::2] == chosen[1::2])
    assert share == pytest.approx((WEIGHTS**2).sum(), abs=4.0 * np.sqrt(0.25 / 10_000))


def test_broadcast_sends_everybody_the_same_packet():
    chosen = broadcast(np.log(WEIGHTS), sites(16), 3, draws())
    assert (chosen == chosen[0]).all()
    alone = draw_packet(np.log(WEIGHTS), 3, draws().shared())
    assert chosen[0].tolist() == alone.tolist()


def test_who_else_is_there_changes_nothing_for_a_site():
    """E29: a site's packet is drawn for its name, not for its place in a list."""
    log_weights = log_normalised(np.arange(1.0, 8.0))
    whole = agent_specific(log_weights, sites(25), 3, draws())
    for few in (sites(25)[::3], sites(25)[::-1], ["7"], ["3", "absent", "7"]):
        rows = agent_specific(log_weights, few, 3, draws())
        for site, row in zip(few, rows, strict=True):
            if site != "absent":
                assert np.array_equal(row, whole[int(site)])


def test_a_packet_is_of_its_site_its_federation_and_its_upload():
    """E29: each of them draws anew, and so does a new seed; the round does not."""
    log_weights = log_normalised(np.arange(1.0, 40.0))

    def of(site="north", federation="a", seed=0, t=1, sequence=4):
        drawn = Draws(
            streams=Streams(seed),
            federation=federation,
            t=t,
            sequences={} if sequence is None else {site: sequence},
        )
        return agent_specific(log_weights, [site], 10, drawn)[0].tolist()

    changed = [of("south"), of(federation="b"), of(seed=1), of(sequence=5)]
    assert of() not in changed
    assert len(set(map(tuple, changed))) == 4
    assert of(t=9) == of()
    # Where an upload has no number, the round stands for it.
    assert of(t=4, sequence=None) == of()
    assert of(t=5, sequence=None) == of(sequence=5)


def test_same_draws_same_packets():
    first, again, other = (
        agent_specific(np.log(WEIGHTS), sites(9), 2, draws(seed)) for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
