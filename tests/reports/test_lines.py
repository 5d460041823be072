"""Curves that are named where they end."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.reports.lines import Line, Panel, draw_panels, spread

HEIGHTS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20).map(sorted)


@given(HEIGHTS, st.floats(0.0, 1.0))
def test_names_keep_apart_and_in_order(heights, share):
    gap = share / len(heights)
    places = spread(heights, gap)
    assert all(-1e-9 <= place <= 1.0 + 1e-9 for place in places)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(places))


@given(HEIGHTS, st.floats(0.001, 1.0))
def test_no_other_places_are_nearer(heights, share):
    """Moving any block of names that touch, up or down, brings none nearer."""
    gap = share / len(heights)
    places = np.array(spread(heights, gap))
    cost = float(((places - heights) ** 2).sum())
    for first, last in itertools.combinations(range(len(heights) + 1), 2):
        for step in (-1e-3, 1e-3):
            moved = places.copy()
            moved[first:last] += step
            is_apart = (np.diff(moved) >= gap).all()
            if is_apart and moved[0] >= 0.0 and moved[-1] <= 1.0:
                assert float(((moved - heights) ** 2).sum()) >= cost - 1e-9


def test_places_that_are_far_apart_stay():
    assert spread([0.1, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.5, 0.9])
    assert spread([1.0, 1.0, 1.0], 0.2) == pytest.approx([0.6, 0.8, 1.0])


def panel(count, title="sphere", low=1.0):
    x = np.arange(4.0)
    look = {"color": "black", "linestyle": "-", "linewidth": 1.7}
    lines = [
        Line(f"method-{n}", x, low + 0.001 * n + (3.0 - x), np.full(4, 0.5), look)
        for n in range(count)
    ]
    return Panel(title=title, lines=lines, y_label="regret", view=(low, low + 3.0))


def test_twelve_names_stand_beside_each_panel_and_none_covers_another():
    figure = draw_panels([panel(12), panel(12, "levy")], "round")
    figure.draw_without_rendering()
    for axes in figure.axes:
        drawn = [text for text in axes.texts if text.get_text()]
        assert {t.get_text() for t in drawn} == {f"method-{n}" for n in range(12)}
        boxes = sorted((t.get_window_extent() for t in drawn), key=lambda box: box.y0)
        assert all(a.y1 <= b.y0 + 1.0 for a, b in itertools.pairwise(boxes))
        right = axes.get_window_extent().x1
        assert all(box.x0 > right for box in boxes)
        assert all(box.x1 <= figure.bbox.x1 for box in boxes)


def test_bands_are_for_few_curves():
    few, many = draw_panels([panel(5)], "round"), draw_panels([panel(12)], "round")

    def heights(figure):
        bands = [
            band.get_paths()[0].get_extents() for band in figure.axes[0].collections
        ]
        return [band.height - 3.0 for band in bands]

    assert heights(few) == pytest.approx([1.0] * 5)
    assert heights(many) == pytest.approx([0.0] * 12)


@pytest.mark.parametrize(("low", "scale"), [(0.001, "log"), (10.0, "linear")])
def test_the_scale_is_that_of_the_view(low, scale):
    (axes,) = draw_panels([panel(2, low=low)], "round").axes
    assert axes.get_yscale() == scale
    bottom, top = axes.get_ylim()
    assert bottom < low
    assert top > low + 3.0
    assert axes.get_xlim() == (0.0, 3.0)


def test_panels_of_different_values_name_their_own():
    one, other = panel(2), panel(2, "landmine")
    other = Panel(title="b", lines=other.lines, y_label="mean AUC", view=other.view)
    figure = draw_panels([one, other], "round")
    assert [axes.get_ylabel() for axes in figure.axes] == ["regret", "mean AUC"]
    assert draw_panels([one, one], "round").axes[0].get_ylabel() == ""
