"""What every picture needs; matplotlib is loaded only here, when one is asked for.

Figures are made without pyplot, so no window opens and no global state changes.
"""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Values
from guidefbo.core.errors import FedBOError

COLOURS = MappingProxyType(
    {
        "black": "#000000",
        "grey": "#757575",
        "orange": "#E69F00",
        "sky": "#56B4E9",
        "green": "#009E73",
        "blue": "#0072B2",
        "red": "#D55E00",
        "purple": "#CC79A7",
    }
)
"""Okabe and Ito, 2008: told apart with any kind of colour vision."""
_RING = {"markerfacecolor": "none", "markeredgewidth": 1.6}
_RIM = {"markeredgecolor": "white", "markeredgewidth": 0.6}
LOOKS: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        "grey square": {"marker": "s", "color": COLOURS["grey"], "markersize": 4.5},
        "blue disc": {"marker": "o", "color": COLOURS["blue"], "markersize": 5},
        "purple triangle": {"marker": "v", "color": COLOURS["purple"], "markersize": 6},
        "green diamond": {"marker": "D", "color": COLOURS["green"], "markersize": 5},
        "ring": {"marker": "o", "color": COLOURS["orange"], "markersize": 10} | _RING,
        "star": {"marker": "*", "color": COLOURS["red"], "markersize": 12} | _RIM,
        "cross": {"marker": "x", "color": COLOURS["red"], "markersize": 6},
        "bar": {"marker": "_", "color": COLOURS["purple"], "markersize": 14},
        "tick": {"marker": "|", "color": COLOURS["grey"], "markersize": 8},
    }
)
"""Markers that differ in shape as well as in colour."""


def require_matplotlib(path: str | Path | None = None) -> None:
    """Refuse to start what could not be drawn or saved under that ending."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise FedBOError(
            "Drawing needs matplotlib, which is not installed. Install it with: "
            "pip install 'guidefbo[plot]'"
        ) from error
    endings = FigureCanvasBase.get_supported_filetypes()
    if path is not None and Path(path).suffix[1:].lower() not in endings:
        raise FedBOError(
            f"Expected a picture's ending, one of {', '.join(sorted(endings))}, got "
            f"{Path(path).name!r}."
        )


def new_figure(path: str | Path | None, width: float = 6.4, height: float = 4.0) -> Any:
    """Return an empty figure that can be saved under that path, sizes in inches."""
    require_matplotlib(path)
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panel_shape(number: int) -> tuple[int, int]:
    """Return the rows and columns in which to arrange a number of panels."""
    columns = 2 if number == 4 else min(3, max(1, number))
    return -(-number // columns), columns


def panels(figure: Any, number: int, y_label: str = "value") -> list[Any]:
    """Return so many axes on one y axis, with room for a strip under each."""
    rows, columns = panel_shape(number)
    spaces = {"gridspec_kw": {"hspace": 0.05, "wspace": 0.02}}
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False, **spaces)
    for axes in grid[:, 0]:
        axes.set_ylabel(y_label)
    axes_in_order = list(grid.flat)
    for axes in axes_in_order[number:]:
        axes.remove()
    return axes_in_order[:number]


def new_panels(
    number: int, columns: int, size: tuple[float, float], rest: tuple[float, float]
) -> tuple[Any, list[Any]]:
    """Return a figure and so many axes of it in rows.

    Args:
        number: Number of axes.
        columns: How many stand in a row.
        size: Width and height of each, in inches.
        rest: Width and height that the figure has beside them.
    """
    rows = -(-number // columns)
    figure = new_figure(None, rest[0] + size[0] * columns, rest[1] + size[1] * rows)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for spare in axes[number:]:
        spare.remove()
    return figure, axes[:number]


def tidy(axes: Any) -> None:
    """Give axes the look of the house: a faint grid and no box."""
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def caption(text: object, length: int) -> str:
    """Return a text on one line, its middle left out where it is too long.

    >>> caption("temperature of the second reactor", 16)
    'temperat…reactor'
    """
    line = " ".join(str(text).split()) or "(empty)"
    if len(line) > length:
        head = length // 2
        line = f"{line[:head].rstrip()}…{line[-(length - head - 1) :].lstrip()}"
    # A dollar would start a formula.
    return line.replace("$", r"\$")


def say(axes: Any, text: str, size: float = 10.0) -> None:
    """Write a sentence into the middle of axes."""
    place = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    axes.text(0.5, 0.5, text, **place, fontsize=size, color="0.35")


def draw_marks(
    axes: Any,
    x: Values,
    y: Values,
    word: str,
    look: str,
    reach: NDArray[np.float64] | None = None,
) -> None:
    """Draw points by the name of a look, with error bars where they reach.

    Args:
        axes: Where.
        x: (n,) their places.
        y: (n,) their values.
        word: What the legend calls them.
        look: How they look.
        reach: (2, n) how far the bars go down and up; None: no bars.
    """
    if len(x) == 0:
        return
    if reach is not None and reach.any():
        axes.errorbar(x, y, yerr=reach, linestyle="", color="0.6", linewidth=0.8)
    axes.plot(x, y, linestyle="", label=word, zorder=3, **LOOKS[look])


def draw_on_edge(axes: Any, x: Values, word: str, look: str, is_top: bool) -> None:
    """Draw what has no value as marks on the lower or the upper edge."""
    if len(x):
        y = np.full(len(x), 0.96 if is_top else 0.04)
        place = {"transform": axes.get_xaxis_transform(), "linestyle": ""}
        axes.plot(x, y, label=word, **place, **LOOKS[look])


def draw_steps(axes: Any, x: Values, y: Values, end: float, word: str) -> None:
    """Draw values that hold until the next one, and on to the end."""
    look = {"color": COLOURS["black"], "linewidth": 1.2, "where": "post"}
    axes.step([*x, end], [*y, y[-1]], label=word, **look)


def draw_star(
    axes: Any,
    x: float,
    y: float,
    reach: NDArray[np.float64] | None = None,
    word: str | None = None,
) -> None:
    """Draw the one point that matters, with an error bar where it reaches.

    Args:
        axes: Where.
        x: Its place.
        y: Its value.
        reach: (2, 1) how far the bar goes down and up; None: no bar.
        word: What the legend calls it.
    """
    if reach is not None and reach.any():
        axes.errorbar(x, y, yerr=reach, color=COLOURS["red"], linewidth=1.4, zorder=4)
    axes.plot(x, y, linestyle="", label=word, zorder=5, **LOOKS["star"])


def draw_dots(
    axes: Any, x: Values, y: Values, is_aside: bool, near: NDArray[np.bool_]
) -> None:
    """Draw dots, a little aside where something else stands at the same x.

    Those that are not near are faint.
    """
    at = x - 0.2 if is_aside else x
    for part, alpha in ((~near, 0.18), (near, 0.75)):
        look = {"marker": ".", "color": "0.35", "alpha": alpha, "markersize": 5}
        axes.plot(at[part], y[part], linestyle="", **look)


def draw_function(
    axes: Any,
    x: Values,
    mean: Values,
    low: Values,
    high: Values,
    solid: NDArray[np.bool_],
    kind: str,
) -> None:
    """Draw a function within a band, dashed and paler where it is not solid.

    Args:
        axes: Where to draw.
        x: Arguments, in order.
        mean: Values of the function.
        low: Lower end of the band.
        high: Its upper end.
        solid: Where the function counts.
        kind: "line", "steps" or "points", the last with error bars for a band.
    """
    tidy(axes)
    blue = COLOURS["blue"]
    if kind == "points":
        look = {"fmt": "o", "markersize": 4.5, "linewidth": 1.6, "capsize": 3.0}
        axes.errorbar(x, mean, yerr=(mean - low, high - mean), color=blue, **look)
        return
    step, drawn = ("mid", "steps-mid") if kind == "steps" else (None, "default")
    # The pale part begins at the last solid point, so that no gap is left.
    pale = ~solid
    pale[1:] |= ~solid[:-1]
    pale[:-1] |= ~solid[1:]
    for part, alpha in ((solid, 0.22), (pale, 0.08)):
        look = {"where": part, "step": step, "alpha": alpha, "linewidth": 0.0}
        axes.fill_between(x, low, high, color=blue, **look)
    for part, style, width in ((solid, "-", 1.8), (pale, (0, (3, 2)), 1.1)):
        look = {"linestyle": style, "linewidth": width, "drawstyle": drawn}
        axes.plot(x, np.where(part, mean, np.nan), color=blue, **look)


LOW_TOP = 0.1
"""A strip that stays below is drawn up to its own highest value."""
LOWEST_TOP = 1e-6
"""One that stays below is not drawn."""


def draw_strip(
    axes: Any, x: Values, height: Values | None, kind: str, name: str, empty: str
) -> Any:
    """Draw heights from 0 to 1 in a thin strip under axes, on the same x axis.

    Args:
        axes: The axes above.
        x: Where the heights belong.
        height: The heights, or None for an empty strip.
        kind: "line", "steps" or "points".
        name: What the heights are.
        empty: What to write into an empty strip.

    Returns:
        The strip's axes, which carry the names and numbers of the x axis.
    """
    axes.tick_params(which="both", labelbottom=False)
    strip = axes.inset_axes((0.0, -0.21, 1.0, 0.16), sharex=axes)
    strip.set_ylim(0.0, 1.0)
    strip.tick_params(which="both", labelsize=8)
    if height is None:
        strip.set_yticks([])
        say(strip, empty, 7.5)
        return strip
    top = float(height.max())
    if top < LOWEST_TOP:
        strip.set_yticks([])
        say(strip, f"{name} is below {LOWEST_TOP:g} throughout", 7.5)
        return strip
    if top < LOW_TOP:
        # Too low to be seen beside 1, and not nothing.
        strip.set_ylim(0.0, top)
    ticks = [0.0, 1.0] if top >= LOW_TOP else [0.0, top]
    strip.set_yticks(ticks, [f"{tick:.1g}" for tick in ticks], fontsize=7)
    strip.set_ylabel(name, rotation=0, fontsize=8, labelpad=2, va="center")
    if kind == "points":
        strip.vlines(x, 0.0, height, color=COLOURS["orange"], linewidth=7.0)
    else:
        look = {"step": "mid" if kind == "steps" else None, "linewidth": 0.0}
        strip.fill_between(x, 0.0, height, color=COLOURS["orange"], **look)
    return strip


def draw_shares(
    axes: Any, names: Sequence[str], shares: Values, errors: Values, title: str
) -> None:
    """Draw shares as horizontal bars, the first on top, each with its percentage.

    Args:
        axes: Where.
        names: Whose they are.
        shares: At least 0.
        errors: Their standard errors, not-a-number where they are not known.
        title: What they are shares of.
    """
    rows = np.arange(len(names))
    known = np.isfinite(errors)
    axes.barh(rows, shares, color=COLOURS["sky"], height=0.65)
    if known.any():
        # No share is below nought or above one.
        down, up = np.minimum(errors, shares), np.minimum(errors, 1.0 - shares)
        reach = np.array([down[known], up[known]])
        look = {"color": "0.35", "linewidth": 1.0, "linestyle": "", "capsize": 2}
        axes.errorbar(shares[known], rows[known], xerr=reach, **look)
    axes.set_yticks(rows, [caption(name, 22) for name in names], fontsize=8)
    ends = shares + np.where(known, np.minimum(errors, 1.0 - shares), 0.0)
    for row, share, end, error in zip(rows, shares, ends, errors, strict=True):
        spread = f" ± {100.0 * error:.0f}" if np.isfinite(error) else ""
        axes.text(end, row, f" {share:.0%}{spread}", va="center", fontsize=8)
    axes.set_ylim(max(len(names), 4) - 0.4, -0.6)
    axes.set_xlim(0.0, 1.35 * float(ends.max()))
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(title, fontsize=9.5)


def finish_history(axes: Any, end: int, x_label: str, y_label: str) -> None:
    """Finish a drawing over 1, 2, ..., end: labels, ticks, a legend above."""
    tidy(axes)
    axes.margins(y=0.12)
    axes.set_xlim(0.4, max(end, 1) + 0.6)
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if axes.get_legend_handles_labels()[0]:
        place = {"loc": "lower left", "bbox_to_anchor": (0.05, 1.0)}
        axes.legend(frameon=False, fontsize=8, ncols=4, **place)


def number_ticks(axes: Any, x: Values, is_log: bool, is_whole: bool) -> None:
    """Put numbers on the x axis, written out where their range is short."""
    if is_log:
        from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

        axes.set_xscale("log")
        if x[-1] / x[0] < 1e7:
            axes.xaxis.set_major_formatter("{x:g}")
        ratio = x[-1] / x[0]
        if ratio < 30.0:
            steps = [1, 2, 5, 10]
            axes.xaxis.set_major_locator(MaxNLocator(5, steps=steps, integer=is_whole))
        elif ratio < 1e4:
            # Decades alone would be two or three numbers.
            subs = (1.0, 2.0, 5.0) if ratio < 1e3 else (1.0, 3.0)
            axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif is_whole:
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)


def name_ticks(axes: Any, labels: Sequence[str]) -> None:
    """Put names on the x axis at 0, 1, 2, ..., turned where they are long or many."""
    differ = (len(set(letters)) > 1 for letters in zip(*labels, strict=False))
    shared = next((i for i, is_other in enumerate(differ) if is_other), 0)
    if shared > 3 and max(map(len, labels)) > 14:
        labels = [f"…{label[shared:]}" for label in labels]
    names = [caption(label, 14) for label in labels]
    look: dict[str, Any] = {}
    if len(names) > 8:
        look = {"rotation": 90, "fontsize": 7}
    elif sum(map(len, names)) > 34:
        look = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(names)), names, **look)
    axes.set_xlim(-0.6, len(names) - 0.4)


def log_scale(axes: Any, low: float, high: float) -> None:
    """Make the y axis logarithmic from low to high, its numbers written out."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    decades = np.log10(high / low)
    steps = (
        (1.0,) if decades > 3.0 else (1.0, 3.0) if decades > 1.3 else (1.0, 2.0, 5.0)
    )
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    if high < 1e5 and low > 1e-4:
        axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def draw_band(
    axes: Any, x: Values, mean: Values, error: Values, look: dict[str, Any], word: str
) -> Any:
    """Draw a line within a band of so much on both sides; return the line."""
    band = {"color": look["color"], "alpha": 0.16, "linewidth": 0.0}
    axes.fill_between(x, mean - error, mean + error, **band)
    (line,) = axes.plot(x, mean, label=word, **look)
    return line


def legend_below(figure: Any, handles: Sequence[Any], words: Sequence[str]) -> None:
    """Put one legend for all axes under them."""
    longest = max(map(len, words), default=1)
    width = figure.get_figwidth()
    columns = max(1, min(len(words), int(width / (0.62 + 0.085 * longest))))
    # Full rows: five entries in four columns would leave one alone.
    rows = -(-len(words) // columns)
    columns = -(-len(words) // rows)
    place = {"loc": "outside lower center", "frameon": False, "fontsize": 10}
    figure.legend(list(handles), list(words), ncols=columns, handlelength=2.6, **place)
