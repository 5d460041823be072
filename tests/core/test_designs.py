import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import qmc

from guidefbo.core import sobol_words as words
from guidefbo.core.designs import collaborative_latin_hypercube, sobol, sobol_grid
from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Purpose, Streams


def make_design(num_agents, num_points, dim, seed=0):
    streams = Streams(seed)
    return collaborative_latin_hypercube(
        num_agents,
        num_points,
        dim,
        streams.at(Purpose.DESIGN_CELLS),
        [streams.at(Purpose.DESIGN_JITTER, agent=n) for n in range(num_agents)],
    )


def levels_once_each(points, num_levels):
    cells = np.floor(points * num_levels).astype(int)
    return (np.sort(cells, axis=0) == np.arange(num_levels)[:, None]).all()


@given(
    num_agents=st.integers(1, 9),
    num_points=st.integers(1, 12),
    dim=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None)
def test_pool_and_every_agent_are_latin_hypercubes(num_agents, num_points, dim, seed):
    design = make_design(num_agents, num_points, dim, seed)
    assert design.shape == (num_agents, num_points, dim)
    assert ((design >= 0) & (design <= 1)).all()
    assert levels_once_each(design.reshape(-1, dim), num_agents * num_points)
    assert all(levels_once_each(own, num_points) for own in design)


def test_dimensions_and_agents_are_dealt_independently():
    design = make_design(16, 30, 10)
    cells = np.floor(design * 30).astype(int)
    orders = cells.transpose(0, 2, 1).reshape(-1, 30)
    assert len(np.unique(orders, axis=0)) == 160
    seats = np.floor(design[:, 0] * 480).astype(int) % 16
    assert len(np.unique(seats, axis=1).T) == 10


def test_each_agent_keeps_one_seat_per_dimension():
    seats = np.floor(make_design(5, 7, 3) * 35).astype(int) % 5
    assert (seats == seats[:, :1]).all()


def test_jitter_of_one_agent_leaves_the_others_alone():
    streams = Streams(3)
    jitters = [streams.at(Purpose.DESIGN_JITTER, agent=n) for n in range(4)]
    jitters[2] = streams.at(Purpose.SEARCH)
    changed = collaborative_latin_hypercube(
        4, 6, 2, streams.at(Purpose.DESIGN_CELLS), jitters
    )
    same = (changed == make_design(4, 6, 2, seed=3)).all(axis=(1, 2))
    assert same.tolist() == [True, True, False, True]


def test_design_refuses_missing_jitter_streams():
    streams = Streams(0)
    cells, jitter = streams.at(Purpose.DESIGN_CELLS), streams.at(Purpose.DESIGN_JITTER)
    with pytest.raises(SettingsError, match="one stream per agent, got 1 for 2"):
        collaborative_latin_hypercube(2, 3, 1, cells, [jitter])


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 3, 0)])
def test_design_refuses_empty_sizes(sizes):
    with pytest.raises(SettingsError, match="must be at least 1, got 0"):
        make_design(*sizes)


@given(power=st.integers(0, 8), dim=st.integers(1, 12), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_sobol_is_balanced_in_every_coordinate(power, dim, seed):
    points = sobol(2**power, dim, Streams(seed).at(Purpose.SEARCH))
    assert ((points > 0) & (points < 1)).all()
    assert levels_once_each(points, 2**power)


@pytest.mark.parametrize("num_points", [1, 2, 3, 77, 1024])
@pytest.mark.parametrize("dim", [1, 2, 10, 100, words.MAX_DIM, words.MAX_DIM + 1])
def test_sobol_is_the_sequence_of_scipy(num_points, dim):
    found = words.sobol_words(num_points, dim)
    expected = words.words_of_scipy(num_points, dim)
    assert found.dtype == expected.dtype
    assert (found == expected).all()


def test_sobol_without_the_table_is_asked_of_scipy(monkeypatch):
    usual = words.sobol_words(9, 3)
    monkeypatch.setattr(words, "TABLE", ("stats", "renamed.npz"))
    assert (words.sobol_words(9, 3) == usual).all()


def test_sobol_pairs_of_coordinates_stay_a_net():
    # The first two coordinates of a Sobol sequence are a (0, m, 2)-net: 16 points put
    # one into each of the 4 x 4 squares, also after a digital shift.
    points = sobol(16, 2, Streams(5).at(Purpose.SEARCH))
    squares = np.floor(points * 4).astype(int) @ [4, 1]
    assert sorted(squares) == list(range(16))


def test_sobol_points_are_uniform_over_scrambles():
    streams = Streams(0)
    firsts = [
        sobol(3, 2, streams.at(Purpose.SEARCH, t=t))[0].tolist() for t in range(2000)
    ]
    # Standard error of a mean of 2000 uniforms: 0.2887 / sqrt(2000) = 0.0065.
    assert np.abs(np.mean(firsts, axis=0) - 0.5).max() < 4 * 0.0065


def test_sobol_repeats_with_its_stream_and_only_then():
    streams = Streams(1)
    one = sobol(10, 3, streams.at(Purpose.SEARCH))
    assert (one == sobol(10, 3, streams.at(Purpose.SEARCH))).all()
    assert (one != sobol(10, 3, streams.at(Purpose.SEARCH, t=1))).all()


@pytest.mark.parametrize("num_points", [1, 2, 3, 100, 512])
def test_sobol_grid_is_scipys_sequence(num_points):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # SciPy on 3 and 100 points.
        expected = qmc.Sobol(5, scramble=False).random(num_points)
    assert (sobol_grid(num_points, 5) == expected).all()


def test_sobol_grid_is_cached_and_read_only():
    grid = sobol_grid(8, 2)
    assert grid is sobol_grid(8, 2)
    with pytest.raises(ValueError, match="read-only"):
        grid[0, 0] = 0.5


@pytest.mark.parametrize(("num_points", "dim"), [(0, 2), (4, 0), (4, -1)])
def test_sobol_refuses_empty_sizes(num_points, dim):
    stream = Streams(0).at(Purpose.SEARCH)
    with pytest.raises(SettingsError, match="must be at least 1"):
        sobol(num_points, dim, stream)
    with pytest.raises(SettingsError, match="must be at least 1"):
        sobol_grid(num_points, dim)


def test_sobol_is_cheap_enough_for_every_decision():
    stream = Streams(0).at(Purpose.SEARCH)
    sobol(100, 10, stream)
    seconds = []
    for _ in range(200):
        started = time.perf_counter()
        sobol(100, 10, stream)
        seconds.append(time.perf_counter() - started)
    # About 11 microseconds; the fastest call, since the others may have been disturbed.
    assert min(seconds) < 100e-6
