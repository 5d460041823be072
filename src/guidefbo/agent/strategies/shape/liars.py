"""Sites that lie together about their trends.

The liars see what the honest sites send and agree on false coefficients. Large ones of
the greatest precision pull most where they are believed, and stand out; small ones of
honest precision pull less and hide among the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.lying import LyingSettings, LyingSites
from guidefbo.core.arrays import Matrix
from guidefbo.core.settings import real
from guidefbo.wire.envelope import Message
from guidefbo.wire.shape import (
    BENDS,
    CUBICS,
    LARGEST,
    PLACE,
    QUARTICS,
    SHARPEST,
    WIDEST,
    ShapeUpload,
)

Numbers = NDArray[np.float64]
REACHES: Mapping[str, float] = MappingProxyType(
    {BENDS: 0.0, CUBICS: 0.0, QUARTICS: 0.0, PLACE: 0.5}
)
"""Largest number of some kinds of blocks in a corner, where it is not `LARGEST`."""
TO_SD = 1.4826
"""What makes a standard deviation of a normal's median absolute deviation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """What the honest sites sent, (sites, coefficients)."""

    means: Matrix
    variances: Matrix
    form: tuple[tuple[str, int], ...]
    """Kind and size of each block."""
    share: float
    """Share of the run that is over."""
    distance: float
    """How far from the honest median those go who hide, in standard deviations."""


Lie = Callable[[Heard], tuple[Numbers, Numbers]]
"""What was heard -> false coefficients and the variances that are claimed."""


def corner(heard: Heard) -> tuple[Numbers, Numbers]:
    """Return the steepest slopes to one corner, always, and no bends.

    The corner is that of large values, but for the last number; of a choice, all
    options are praised but the last.
    """
    blocks = [
        np.full(size, REACHES.get(kind, LARGEST)) * np.append(np.ones(size - 1), -1.0)
        for kind, size in heard.form
    ]
    return _surely(np.concatenate(blocks))


def drift(heard: Heard) -> tuple[Numbers, Numbers]:
    """Return the honest mean at first, and in the end the corner."""
    end, _ = corner(heard)
    return _surely((1.0 - heard.share) * heard.means.mean(axis=0) + heard.share * end)


def respond(heard: Heard) -> tuple[Numbers, Numbers]:
    """Return the opposite of what the first site sent, as large as may be.

    The best response to that site: it is told of a trend as far from its own as four
    others can make it.
    """
    return _surely(LARGEST * _against(heard.means[0]))


def hide(heard: Heard) -> tuple[Numbers, Numbers]:
    """Return what pulls most of all that does not stand out.

    From the median of the honest towards the opposite of their mean, so far as is set,
    with the precision of the surest honest site.
    """
    median = np.median(heard.means, axis=0)
    spread = TO_SD * np.median(np.abs(heard.means - median), axis=0)
    reach = heard.distance * np.sqrt(spread**2 + np.median(heard.variances, axis=0))
    false = median + reach * _against(heard.means.mean(axis=0))
    return false, heard.variances.min(axis=0)


LIES: Mapping[str, Lie] = MappingProxyType(
    {"corner": corner, "drift": drift, "respond": respond, "hide": hide}
)
"""By the name that the setting `lie` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeLiars(LyingSites):
    """The last sites of a run, who lie."""

    lie: Lie
    """What they say of their trend."""
    distance: float
    """How far those go who hide."""

    def false(self, honest: Sequence[Message], share: float) -> ShapeUpload:
        """Return the false coefficients as a message."""
        uploads = [upload for upload in honest if isinstance(upload, ShapeUpload)]
        form = uploads[0].form
        kinds, sizes = zip(*form, strict=True)
        means, variances = self.lie(
            Heard(
                means=np.stack([np.concatenate(u.means) for u in uploads]),
                variances=np.stack([np.concatenate(u.variances) for u in uploads]),
                form=form,
                share=share,
                distance=self.distance,
            )
        )
        ends = np.cumsum(sizes)[:-1]
        return ShapeUpload(
            kinds=kinds,
            means=tuple(np.split(np.clip(means, -LARGEST, LARGEST), ends)),
            variances=tuple(np.split(np.clip(variances, SHARPEST, WIDEST), ends)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeLiarSettings(LyingSettings):
    """Settings of simulated runs in which some sites lie."""

    hide_distance: float = real(
        2.5,
        "simulation: standard deviations from the honest median that hiding sites "
        "claim; 2.5 passes robust, 1.4 passes screened",
    )

    def liars(self, num_rounds: int) -> ShapeLiars:
        """Return as many sites as lie, of a run of so many rounds."""
        return ShapeLiars(
            count=self.num_liars,
            num_rounds=num_rounds,
            lie=LIES[self.lie],
            distance=self.hide_distance,
        )


def _surely(means: Numbers) -> tuple[Numbers, Numbers]:
    return means, np.full(len(means), SHARPEST)


def _against(means: Numbers) -> Numbers:
    """Return the opposite signs; of zero, which has none, a minus."""
    return np.where(means < 0.0, 1.0, -1.0)
