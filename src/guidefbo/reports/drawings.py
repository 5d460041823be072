"""The figures of a report, from plain numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from guidefbo.canvas import (
    COLOURS,
    caption,
    legend_below,
    new_figure,
    new_panels,
    number_ticks,
    tidy,
)
from guidefbo.core.arrays import Values

WORDS = (
    "a fixed component in the middle gives",
    "the exchange adds on top",
    "the exchange takes away",
    "both: gain over the plain rule",
)
"""Legend of a split gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A gain and its standard error, both as logarithms of a ratio."""

    gain: float
    """Above zero: the regret is lower."""
    error: float | None
    """None where there is one function only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What a method gains over its plain rule, in two parts."""

    word: str
    """The method."""
    control: Bar
    """What the control gains over the plain rule."""
    exchange: Bar
    """What the method gains over the control."""
    total: Bar
    """What the method gains over the plain rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """Where a contender stands."""

    place: float
    """On the x axis."""
    error: float | None
    """One standard error, None where there is none."""
    papers: float | None = None
    """Where the paper has it, None where it does not say."""
    colour: str = COLOURS["blue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A panel of contenders on one axis."""

    title: str
    dots: Mapping[str, Dot]
    """By the contender's name."""
    x_label: str = ""
    """What the places are; empty: they are gains, logarithms of ratios."""
    is_log: bool = False
    """Whether the axis is logarithmic."""


def draw_stands(stands: Sequence[Stand], names: Sequence[str]) -> Any:
    """Draw panels beside each other, a row for each name, the first on top."""
    columns = min(len(stands), 3)
    height = 1.0 + 0.26 * max(len(names), 3)
    figure, grid = new_panels(len(stands), columns, (3.4, height), (1.9, 0.4))
    handles: dict[str, Any] = {}
    dots = [dot for stand in stands for dot in stand.dots.values()]
    ends = [d.place + sign * (d.error or 0.0) for d in dots for sign in (-1.0, 1.0)]
    ends += [dot.papers for dot in dots if dot.papers is not None]
    for n, (axes, stand) in enumerate(zip(grid, stands, strict=True)):
        _draw_stand(axes, stand, names, handles)
        if n % columns == 0:
            axes.set_yticks(range(len(names)), [caption(name, 30) for name in names])
        if stand.x_label:
            axes.set_xlabel(caption(stand.x_label, 60), fontsize=9)
            if stand.is_log and stand.dots:
                places = sorted(dot.place for dot in stand.dots.values())
                number_ticks(axes, np.array(places), is_log=True, is_whole=False)
            else:
                axes.locator_params(axis="x", nbins=6)
        else:
            _factor_ticks(axes, ends)
            axes.axvline(0.0, color="black", linewidth=1.0, zorder=1)
            axes.xaxis.label.set_size(9)
    if len(handles) > 1:
        legend_below(figure, list(handles.values()), list(handles))
    return figure


def _draw_stand(
    axes: Any, stand: Stand, names: Sequence[str], handles: dict[str, Any]
) -> None:
    for row, name in enumerate(names):
        if row % 2:
            axes.axhspan(row - 0.5, row + 0.5, color="0.96", linewidth=0.0, zorder=0)
        dot = stand.dots.get(name)
        if dot is None:
            continue
        look = {"fmt": "o", "markersize": 6, "linewidth": 1.6, "capsize": 3.0}
        drawn = axes.errorbar(
            dot.place, row, xerr=dot.error, color=dot.colour, zorder=3, **look
        )
        handles.setdefault("ours, ±1 standard error", drawn)
        if dot.papers is not None:
            look = {"marker": "s", "markerfacecolor": "none", "linestyle": ""}
            (drawn,) = axes.plot(dot.papers, row, color="0.35", zorder=4, **look)
            handles.setdefault("paper", drawn)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_title(caption(stand.title, 46), fontsize=11, loc="left")
    tidy(axes)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0, labelsize=10)
    axes.tick_params(axis="x", labelsize=9)


def draw_splits(groups: Mapping[str, Sequence[Split]], columns: int = 1) -> Any:
    """Draw for each method what the control gives and what the exchange adds.

    Both bars begin at zero: to the right the regret is lower, to the left higher.

    Args:
        groups: A panel for each name.
        columns: Panels beside each other; the first ones stand in the first column.
    """
    rows = -(-len(groups) // columns)
    count = max(map(len, groups.values()))
    height = 1.2 + rows * (0.65 + 0.5 * max(count, 2))
    figure = new_figure(None, 8.6 if columns == 1 else 6.6 * columns, height)
    shape = {"sharex": True, "squeeze": False}
    table = figure.subplots(rows, columns, **shape)
    grid = [table[n % rows, n // rows] for n in range(rows * columns)]
    for axes in grid[len(groups) :]:
        axes.remove()
    handles: dict[str, Any] = {}
    for axes, (title, splits) in zip(grid, groups.items(), strict=False):
        for row, split in enumerate(splits):
            _draw_split(axes, row, split)
        axes.set_yticks(range(len(splits)), [caption(s.word, 30) for s in splits])
        axes.set_ylim(len(splits) - 0.45, -0.55)
        axes.axvline(0.0, color="black", linewidth=1.4, zorder=4)
        axes.set_title(caption(title, 70), fontsize=11, loc="left")
        tidy(axes)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0, labelsize=10)
        found, names = axes.get_legend_handles_labels()
        handles |= dict(zip(names, found, strict=True))
    ends = [end for splits in groups.values() for end in _reach(splits)]
    for axes in table[-1, :]:
        _factor_ticks(axes, ends)
    words = [word for word in WORDS if word in handles]
    legend_below(figure, [handles[word] for word in words], words)
    return figure


def _draw_split(axes: Any, row: int, split: Split) -> None:
    gives, adds, takes, both = WORDS
    is_gain = split.exchange.gain >= 0.0
    colour, word = (COLOURS["blue"], adds) if is_gain else (COLOURS["red"], takes)
    parts = ((-0.2, split.control, "0.68", gives), (0.2, split.exchange, colour, word))
    for offset, bar, colour, word in parts:
        axes.barh(row + offset, bar.gain, height=0.36, color=colour, label=word)
        if bar.error is not None:
            error = {"color": "0.15", "linewidth": 1.2, "capsize": 3.0, "zorder": 5}
            axes.errorbar(bar.gain, row + offset, xerr=bar.error, **error)
    total = {"marker": "D", "color": "black", "markersize": 6.5, "linestyle": ""}
    axes.plot(split.total.gain, row, label=both, zorder=6, **total)


def _reach(splits: Sequence[Split]) -> list[float]:
    bars = [bar for s in splits for bar in (s.control, s.exchange)]
    ends = [bar.gain + sign * (bar.error or 0.0) for bar in bars for sign in (-1, 1)]
    return [*ends, *(s.total.gain for s in splits)]


def _factor_ticks(axes: Any, ends: Sequence[float]) -> None:
    """Label a log-ratio axis with what becomes of the regret."""
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = max(high - low, 0.02)
    low, high = low - 0.06 * span, high + 0.06 * span
    fine = (1.05, 1.1, 1.2) if span < 0.5 else (1.25, 1.5) if span < 1.2 else (1.5,)
    factors = (*fine, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
    if span > 3.0:
        factors = (2.0, 5.0, 10.0, 30.0, 100.0, 1000.0, 1e4)
    ticks = [(0.0, "same")]
    for f in factors:
        ticks += [(math.log(f), f"÷{f:g}"), (-math.log(f), f"×{f:g}")]
    inside = [(place, text) for place, text in ticks if low <= place <= high]
    axes.set_xlim(low, high)
    axes.set_xticks([place for place, _ in inside], [text for _, text in inside])
    axes.set_xlabel("← higher regret        final regret        lower regret →")


def draw_relative(groups: Mapping[str, Mapping[str, Bar]], y_label: str) -> Any:
    """Draw in each panel a bar per name: how much higher than the reference."""
    names = list(dict.fromkeys(name for bars in groups.values() for name in bars))
    width = 1.2 + len(groups) * max(2.6, 0.62 * len(names))
    figure = new_figure(None, min(width, 12.0), 4.2)
    grid = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for axes, (title, bars) in zip(grid, groups.items(), strict=True):
        for place, bar in enumerate(bars.values()):
            colour = COLOURS["red"] if bar.gain < 0.0 else COLOURS["blue"]
            axes.bar(place, 100.0 * math.expm1(-bar.gain), color=colour, width=0.66)
            if bar.error is not None:
                ends = [
                    100.0 * math.expm1(-bar.gain + sign * bar.error)
                    for sign in (-1.0, 1.0)
                ]
                axes.vlines(place, *ends, color="0.15", linewidth=1.3)
        axes.axhline(0.0, color="black", linewidth=1.2)
        look = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(bars)), [caption(n, 24) for n in bars], **look)
        axes.set_title(caption(title, 50), fontsize=11)
        tidy(axes)
        axes.grid(axis="x", visible=False)
    grid[0].set_ylabel(y_label)
    return figure


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """Means over the values of one setting, with the paper's where it has them."""

    values: Sequence[str]
    means: Sequence[float | None]
    errors: Sequence[float | None]
    papers: Sequence[float | None]


def draw_scans(scans: Mapping[tuple[str, str], Scan], y_label: str) -> Any:
    """Draw a panel for every pair of a setting and a problem."""
    columns = min(len({problem for _, problem in scans}), 4)
    figure, grid = new_panels(len(scans), columns, (3.4, 2.4), (0.5, 1.0))
    handles: dict[str, Any] = {}
    for axes, ((axis, problem), scan) in zip(grid, scans.items(), strict=True):
        x = np.arange(len(scan.values), dtype=np.float64)
        mean, error, papers = map(_with_gaps, (scan.means, scan.errors, scan.papers))
        look = {"fmt": "o-", "color": COLOURS["blue"], "capsize": 3.0, "markersize": 5}
        bars = axes.errorbar(x, mean, yerr=np.nan_to_num(error), **look)
        handles["ours, ±1 standard error"] = bars
        if np.isfinite(papers).any():
            look = {"marker": "s", "color": "0.5", "linestyle": "--", "markersize": 5}
            handles["paper"] = axes.plot(x, papers, **look)[0]
        axes.set_xticks(x, list(scan.values))
        axes.set_xlabel(caption(axis, 30), fontsize=10)
        axes.set_title(caption(problem, 30), fontsize=11)
        axes.margins(y=0.15)
        tidy(axes)
    figure.supylabel(y_label, fontsize=11)
    legend_below(figure, list(handles.values()), list(handles))
    return figure


def _with_gaps(values: Sequence[float | None]) -> Values:
    return np.array([math.nan if v is None else v for v in values], dtype=np.float64)
