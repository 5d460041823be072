"""Which share of what sharing everything would bring a method brings.

    share = (lone rule - method) / (lone rule - everything shared),

in the unit of the metric, or in logarithms of regrets where functions are averaged. The
ratio of the means of two paired differences; its error is that of the mean of
a - share * b, a and b the two differences of a pair.

References:
    Cochran, Sampling Techniques, 1977, chapter 6: the ratio estimator.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from guidefbo.reports.contenders import Contender
from guidefbo.reports.formats import MISSING, gain_text, number
from guidefbo.reports.statistics import (
    LEVEL_OF_SIGNIFICANCE,
    Difference,
    paired_difference,
    summarise,
)
from guidefbo.reports.table import Cell

COLUMN = "share of sharing everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The gain of one contender beside that of sharing all raw data."""

    ceiling: Contender
    """The run with the same rule in which everything was shared."""
    plain: Contender
    """The lone rule of both."""
    most: Difference
    """What sharing everything gains over the lone rule."""
    ratio: float | None
    """The share, None where sharing everything gains nothing beyond the noise."""
    error: float | None
    """Its standard error."""


def share_of(
    ours: Mapping[Any, float],
    most: Mapping[Any, float],
    *,
    ceiling: Contender,
    plain: Contender,
) -> Share | None:
    """Return the share of two gains over one lone rule, None without common pairs.

    Args:
        ours: Gains of the method over the lone rule, pair by pair.
        most: Gains of sharing everything.
        ceiling: Who shares everything.
        plain: The lone rule.
    """
    common = [key for key in ours if key in most]
    gain = paired_difference({k: most[k] for k in common}, dict.fromkeys(common, 0.0))
    if gain is None:
        return None
    ratio = error = None
    if gain.p is not None and gain.p <= LEVEL_OF_SIGNIFICANCE and gain.mean > 0.0:
        ratio = math.fsum(ours[key] for key in common) / len(common) / gain.mean
        rest = summarise([ours[key] - ratio * most[key] for key in common])
        if rest is not None and rest.error is not None:
            error = rest.error / gain.mean
    return Share(ceiling=ceiling, plain=plain, most=gain, ratio=ratio, error=error)


def share_cell(share: Share | None) -> Cell:
    """Return a share with its error."""
    if share is None or share.ratio is None:
        return Cell(text=MISSING)
    error = "" if share.error is None else f" ± {number(share.error, 2)}"
    return Cell(
        text=f"{number(share.ratio, 2)}{error}",
        under=f"of {share.ceiling.label}",
        value=share.ratio,
        data=(("share", share.ratio), ("error", share.error)),
    )


def share_notes(shares: Iterable[Share | None], unit: str = "") -> list[str]:
    """Return what a share is, and where there was nothing to have a share of."""
    known = [share for share in shares if share is not None]
    if not known:
        return []
    notes = [
        f"Share of sharing everything: the gain over the lone rule{unit} divided by "
        "that of the control with the same rule in which all raw data are shared, ± "
        "standard error of the ratio. Above 1 a method brings more, by a better model "
        "of its own."
    ]
    by_ceiling = {share.ceiling: share for share in known}
    for share in by_ceiling.values():
        if share.ratio is None:
            p = "" if share.most.p is None else f", p {number(share.most.p, 2)}"
            notes.append(
                f"Even sharing everything brings nothing beyond the noise over "
                f"{share.plain.label} ({share.ceiling.label}: {gain_text(share.most)}"
                f"{p}), so no share of it is told."
            )
    return notes
