"""Regions of the cube, and the design that puts each agent into its own."""

import numpy as np
import pytest

from guidefbo.agent.strategies.fts_de.design import regional_design
from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.wire.regions import (
    as_run,
    assign_regions,
    check_regions,
    lexicographic,
    region_boxes,
    region_of,
)


def test_four_regions_are_quarters_of_the_first_two_coordinates():
    low, high = region_boxes(4, 3)
    assert low.tolist() == [[0, 0, 0], [0, 0.5, 0], [0.5, 0, 0], [0.5, 0.5, 0]]
    assert high.tolist() == [[0.5, 0.5, 1], [0.5, 1, 1], [1, 0.5, 1], [1, 1, 1]]


def test_two_regions_and_one():
    low, high = region_boxes(2, 1)
    assert (low.tolist(), high.tolist()) == ([[0.0], [0.5]], [[0.5], [1.0]])
    low, high = region_boxes(1, 2)
    assert (low.tolist(), high.tolist()) == ([[0.0, 0.0]], [[1.0, 1.0]])


@pytest.mark.parametrize("num_regions", [1, 2, 4])
def test_every_point_lies_in_the_box_of_its_region(num_regions):
    X = np.random.default_rng(0).random((500, 3))
    X[0], X[1] = 0.5, 1.0
    home = region_of(X, num_regions)
    low, high = region_boxes(num_regions, 3)
    assert ((low[home] <= X) & (high[home] >= X)).all()
    assert set(home) == set(range(num_regions))


def test_as_run_the_quarters_come_in_another_order():
    """Both upper, both lower, lower and upper, upper and lower half."""
    low, high = region_boxes(4, 3, as_run)
    assert low.tolist() == [[0.5, 0.5, 0], [0, 0, 0], [0, 0.5, 0], [0.5, 0, 0]]
    assert high.tolist() == [[1, 1, 1], [0.5, 0.5, 1], [0.5, 1, 1], [1, 0.5, 1]]
    middles = (low + high) / 2.0
    assert region_of(middles, 4, as_run).tolist() == [0, 1, 2, 3]
    assert region_of(middles, 4).tolist() == [3, 0, 1, 2]
    for few in (1, 2):
        assert as_run(few).tolist() == lexicographic(few).tolist()


def test_as_run_the_first_agents_start_in_the_upper_quarter():
    design = regional_design(8, 5, 3, 4, Streams(0), as_run)
    for own, i in zip(design, assign_regions(8, 4), strict=True):
        assert (region_of(own, 4, as_run) == i).all()
    assert (design[:2, :, :2] >= 0.5).all()


def test_agents_are_dealt_in_equal_blocks():
    assert assign_regions(16, 4).tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert assign_regions(5, 4).tolist() == [0, 0, 1, 2, 3]
    assert assign_regions(2, 4).tolist() == [0, 2]
    assert assign_regions(3, 1).tolist() == [0, 0, 0]


@pytest.mark.parametrize("num_regions", [0, 3, 8, -1])
def test_other_numbers_are_refused(num_regions):
    with pytest.raises(SettingsError, match=f"1, 2 or 4, got {num_regions}"):
        check_regions(num_regions)


def test_one_coordinate_has_two_halves_only():
    assert check_regions(2, 1) == 1
    with pytest.raises(SettingsError, match="at most 2 with 1 coordinate, got 4"):
        region_boxes(4, 1)


@pytest.mark.parametrize("num_regions", [1, 2, 4])
def test_design_stays_in_the_agents_region(num_regions):
    design = regional_design(8, 30, 3, num_regions, Streams(0))
    assert design.shape == (8, 30, 3)
    for own, i in zip(design, assign_regions(8, num_regions), strict=True):
        assert (region_of(own, num_regions) == i).all()
        low, high = (corner[i] for corner in region_boxes(num_regions, 3))
        # 30 uniforms leave a gap of a quarter at an end with probability 0.75**30.
        assert ((own.min(axis=0) - low) < 0.25 * (high - low)).all()
        assert ((high - own.max(axis=0)) < 0.25 * (high - low)).all()


def test_design_is_addressed():
    streams = Streams(3)
    design = regional_design(4, 5, 2, 4, streams)
    own = streams.at(Purpose.DESIGN_JITTER, agent=3).random((5, 2))
    assert np.array_equal(design[3], 0.5 + own * 0.5)


def test_design_refuses_empty_sizes():
    with pytest.raises(
        SettingsError, match="num_points must be a whole number of at least 1, got 0"
    ):
        regional_design(2, 0, 2, 4, Streams(0))
