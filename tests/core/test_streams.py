import os
import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Purpose, Streams

ADDRESSES = st.tuples(
    st.integers(0, 2**64),
    st.sampled_from(Purpose),
    st.none() | st.integers(0, 10_000),
    st.integers(0, 10_000),
)

FROZEN_AGENT = [1225472496, 1975605864, 2585569634]
FROZEN_FEDERATION = [2239379059, 4267040158, 2499670446]
FROZEN_TEXT = [761212618, 980620098, 4278781222]
FROZEN_NAME = [4165095049, 1723465597, 3227032728]


def numbers(address, count=4):
    seed, purpose, agent, t = address
    return Streams(seed).at(purpose, agent=agent, t=t).random(count)


def test_numbers_of_one_address_are_frozen():
    """Whoever changes these changes every published run."""
    stream = Streams(7).at(Purpose.NOISE, agent=2, t=5)
    assert stream.integers(0, 2**32, 3).tolist() == FROZEN_AGENT
    stream = Streams(7).at(Purpose.DESIGN_CELLS)
    assert stream.integers(0, 2**32, 3).tolist() == FROZEN_FEDERATION


def test_purposes_keep_their_numbers():
    """Append only: a number is part of every address."""
    frozen = [
        "TASK_SHIFT",
        "TASK_ROTATION",
        "COMMON_SHIFT",
        "DESIGN_CELLS",
        "DESIGN_JITTER",
        "NOISE",
        "CANDIDATES",
        "FEATURES",
        "WEIGHTS",
        "MIXTURE",
        "DISPATCH",
        "SEARCH",
        "RULE",
    ]
    assert [Purpose(number).name for number in range(len(frozen))] == frozen
    assert len({int(purpose) for purpose in Purpose}) == len(Purpose.__members__)


@given(ADDRESSES)
def test_same_address_same_numbers(address):
    assert np.array_equal(numbers(address), numbers(address))


@given(ADDRESSES, ADDRESSES)
def test_other_address_other_numbers(a, b):
    assert (a == b) == np.array_equal(numbers(a), numbers(b))


def test_neighbouring_addresses_are_uncorrelated():
    """Correlations of 60 streams of 2000 normals, against their largest by chance."""
    streams = [
        Streams(seed).at(purpose, agent=agent, t=t).standard_normal(2_000)
        for seed, purpose, agent, t in product(
            (0, 1), list(Purpose)[:3], (None, 0, 1, 2, 3), (0, 1)
        )
    ]
    correlations = np.corrcoef(streams)[np.triu_indices(len(streams), 1)]
    # 1770 pairs of sd 0.022 each: six sd are out of reach by chance.
    assert np.abs(correlations).max() < 6.0 / np.sqrt(2_000)


def test_reading_one_stream_disturbs_no_other():
    streams = Streams(3)
    before = streams.at(Purpose.RULE, agent=1, t=2).random(5)
    streams.at(Purpose.RULE, agent=0, t=2).random(1_000)
    streams.at(Purpose.RULE, agent=1, t=2).random(1_000)
    assert np.array_equal(streams.at(Purpose.RULE, agent=1, t=2).random(5), before)


def test_federation_and_agents_have_streams_of_their_own():
    owners = [None, 0, 1, 2]
    first = [Streams(0).at(Purpose.NOISE, agent=agent).random() for agent in owners]
    assert all(a != b for a, b in combinations(first, 2))


def test_address_of_an_agent_in_a_round():
    address = Streams(5).of(agent=3, t=4)
    expected = Streams(5).at(Purpose.SEARCH, agent=3, t=4).random(3)
    assert np.array_equal(address.at(Purpose.SEARCH).random(3), expected)


def test_purposes_of_others_are_texts():
    """A plugin names its own streams; they meet no stream of the package."""
    address = Streams(7).of(agent=2, t=5)
    assert address.at("beacon").integers(0, 2**32, 3).tolist() == FROZEN_TEXT
    texts = ["beacon", "beacons", "", "12"]
    first = [
        *(address.at(text).random() for text in texts),
        *(address.at(purpose).random() for purpose in Purpose),
        *(Streams(7).named(Purpose.RULE, text, 5).random() for text in texts),
        Streams(7).at("beacon", t=5).random(),
        Streams(7).at("beacon", agent=2).random(),
    ]
    assert len(set(first)) == len(first)


def test_numbers_of_a_named_owner_are_frozen():
    stream = Streams(7).named(Purpose.DISPATCH, "default/north", 5)
    assert stream.integers(0, 2**32, 3).tolist() == FROZEN_NAME


def test_another_process_gets_the_same_numbers():
    code = (
        "from guidefbo.core.streams import Purpose, Streams;"
        "print(Streams(7).at(Purpose.NOISE, agent=2, t=5).integers(0, 2**32, 3))"
    )
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        assert done.stdout.split() == str(np.array(FROZEN_AGENT)).split()


@pytest.mark.parametrize("seed", [-1, -(2**70)])
def test_negative_seed_is_refused(seed):
    with pytest.raises(SettingsError, match=rf"whole number of at least 0, got {seed}"):
        Streams(seed)


@pytest.mark.parametrize("seed", [1.5, "7", None])
def test_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(SettingsError, match="seed"):
        Streams(seed)
