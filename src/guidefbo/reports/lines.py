"""Panels of curves, every curve named where it ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from guidefbo.canvas import caption, draw_band, log_scale, new_panels, tidy
from guidefbo.core.arrays import Values

MOST_BANDS = 5
"""Curves of a panel up to which their errors are drawn; more would hide the curves."""
LOG_FROM = 4.0
"""Factor between the ends of a view from which its axis is logarithmic."""
FEW = 6
"""Curves of a panel up to which four panels stand in a row."""
NAME_INCHES = 0.155
"""Height of a curve's name."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A curve with its standard error."""

    word: str
    """Its name."""
    x: Values
    mean: Values
    error: Values
    look: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """Curves on one pair of axes."""

    title: str
    """What stands above it."""
    lines: Sequence[Line]
    """At least one."""
    y_label: str
    """What the values are."""
    view: tuple[float, float]
    """The values that are shown, from the lowest to the highest."""


def draw_panels(panels: Sequence[Panel], x_label: str) -> Any:
    """Draw the panels in rows, the axes of each fitting its curves."""
    most = max(len(panel.lines) for panel in panels)
    longest = max(len(line.word) for panel in panels for line in panel.lines)
    widest = 4 if len(panels) > 6 and most <= FEW else 3 if len(panels) > 4 else 2
    columns = min(len(panels), widest)
    width = 3.0 + 0.075 * min(longest, 22)
    height = max(2.7, 0.75 + 1.15 * NAME_INCHES * most)
    figure, grid = new_panels(len(panels), columns, (width, height), (0.4, 0.4))
    for axes, panel in zip(grid, panels, strict=True):
        _draw_panel(axes, panel, height - 0.75)
    for axes in grid[len(panels) - columns :]:
        axes.set_xlabel(x_label, fontsize=10)
    labels = {panel.y_label for panel in panels}
    if len(labels) == 1:
        figure.supylabel(caption(labels.pop(), 60), fontsize=11)
    else:
        for axes, panel in zip(grid, panels, strict=True):
            axes.set_ylabel(caption(panel.y_label, 36), fontsize=9)
    return figure


def _draw_panel(axes: Any, panel: Panel, height: float) -> None:
    for line in panel.lines:
        error = line.error
        if len(panel.lines) > MOST_BANDS:
            error = np.zeros_like(line.error)
        draw_band(axes, line.x, line.mean, error, line.look, line.word)
    tidy(axes)
    axes.set_title(caption(panel.title, 40), fontsize=11)
    axes.tick_params(labelsize=9)
    low, high = panel.view
    is_log = low > 0.0 and high / low > LOG_FROM
    if is_log:
        log_scale(axes, low, high)
    scale = math.log if is_log else float
    bottom, top = scale(low), scale(high)
    margin = 0.04 * (top - bottom) or 0.5
    ends = (bottom - margin, top + margin)
    axes.set_ylim(*(map(math.exp, ends) if is_log else ends))
    axes.set_xlim(0.0, max(1.0, *(float(line.x[-1]) for line in panel.lines)))
    axes.xaxis.get_major_locator().set_params(integer=True)
    lasts = [min(max(float(line.mean[-1]), low), high) for line in panel.lines]
    heights = [(scale(last) - ends[0]) / (ends[1] - ends[0]) for last in lasts]
    _name(axes, panel.lines, heights, NAME_INCHES / height)


def _name(
    axes: Any, lines: Sequence[Line], heights: Sequence[float], gap: float
) -> None:
    """Write the names beside the ends of the curves, each at the end of a thread."""
    order = sorted(range(len(lines)), key=lambda n: heights[n])
    places = spread([heights[n] for n in order], min(gap, 1.0 / len(lines)))
    for n, place in zip(order, places, strict=True):
        look = lines[n].look | {"linewidth": 1.0, "clip_on": False}
        thread = {"transform": axes.transAxes, "solid_capstyle": "butt"}
        axes.plot([1.0, 1.04, 1.1], [heights[n], place, place], **thread, **look)
        words = {"transform": axes.transAxes, "va": "center", "fontsize": 8}
        axes.text(1.12, place, caption(lines[n].word, 22), **words)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Return places at least a gap apart that are near the heights, within 0 and 1.

    Near: with the least sum of squared moves, by pooling neighbours that collide.

    Args:
        heights: In ascending order, between 0 and 1.
        gap: At most one over their number.

    >>> spread([0.5, 0.5], 0.25)
    [0.375, 0.625]
    """
    pools: list[tuple[float, int]] = []
    for n, height in enumerate(heights):
        mean, count = height - n * gap, 1
        while pools and pools[-1][0] > mean:
            other, size = pools.pop()
            mean = (mean * count + other * size) / (count + size)
            count += size
        pools.append((mean, count))
    free = 1.0 - (len(heights) - 1) * gap
    flat = [min(max(mean, 0.0), free) for mean, count in pools for _ in range(count)]
    return [place + n * gap for n, place in enumerate(flat)]
