"""Sites that lie together, for runs that ask how much guidance a lie can spoil.

The liars see what the honest sites send, agree on one place, and claim the greatest
precision for it. A place far out pulls most where it is believed and is easily told
from honest ones; a place at their edge pulls less and hides among them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from guidefbo.agent.lying import LyingSettings, LyingSites
from guidefbo.core.arrays import Point, Points
from guidefbo.wire.consensus import SHARPEST, PeakUpload
from guidefbo.wire.envelope import Message

Lie = Callable[[Points, float], Point]
"""(places the honest sites sent, share of the run that is over) -> the false place."""


def corner(honest: Points, share: float) -> Point:
    """Return the same corner, always."""
    del share
    return np.ones_like(honest[0])


def drift(honest: Points, share: float) -> Point:
    """Return the honest mean at first, and in the end the corner."""
    return (1.0 - share) * honest.mean(axis=0) + share * corner(honest, share)


def respond(honest: Points, share: float) -> Point:
    """Return the corner furthest from the honest mean as it is now."""
    del share
    return (honest.mean(axis=0) < 0.5).astype(np.float64)


def hide(honest: Points, share: float) -> Point:
    """Return a place towards that corner, a standard deviation from the honest mean.

    In every coordinate; further out the liars would stand apart from honest sites.
    """
    outwards = 2.0 * respond(honest, share) - 1.0
    return honest.mean(axis=0) + outwards * honest.std(axis=0)


LIES: Mapping[str, Lie] = MappingProxyType(
    {"corner": corner, "drift": drift, "respond": respond, "hide": hide}
)
"""By the name that the setting `lie` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusLiars(LyingSites):
    """The last sites of a run, who lie."""

    lie: Lie
    """Where they say their optimum is."""

    def false(self, honest: Sequence[Message], share: float) -> PeakUpload:
        """Return the false place, claimed with the greatest precision."""
        peaks = [upload for upload in honest if isinstance(upload, PeakUpload)]
        place = self.lie(np.stack([p.center for p in peaks]), share)
        return PeakUpload(
            mass=1.0,
            center=np.clip(place, 0.0, 1.0),
            variance=np.full(len(place), SHARPEST),
            value_score=max(p.value_score for p in peaks),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusLiarSettings(LyingSettings):
    """Settings of simulated runs in which some sites lie."""

    def liars(self, num_rounds: int) -> ConsensusLiars:
        """Return as many sites as lie, of a run of so many rounds."""
        return ConsensusLiars(
            count=self.num_liars, lie=LIES[self.lie], num_rounds=num_rounds
        )
