"""Sites that lie together, for runs that ask how much guidance a lie can spoil.

The liars see what the honest sites send, agree on one place, and claim the greatest
precision for it. A place far out pulls most where it is believed and is easily told
from honest ones; a place at their edge pulls less and hides among them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from guidefbo.core.arrays import Point, Points
from guidefbo.core.errors import SettingsError
from guidefbo.core.settings import count, part
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
NOBODY = "none"
"""What the setting says where nobody lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusLiars:
    """The last sites of a run, who lie."""

    count: int
    """How many."""
    lie: Lie
    """Where they say their optimum is."""
    num_rounds: int
    """Rounds of the run."""

    def spoil(self, uploads: Sequence[Message | None], t: int) -> list[Message | None]:
        """Return the uploads of round t with those of the last sites replaced."""
        honest = uploads[: len(uploads) - self.count]
        peaks = [upload for upload in honest if isinstance(upload, PeakUpload)]
        place = self.lie(np.stack([p.center for p in peaks]), t / self.num_rounds)
        false = PeakUpload(
            mass=1.0,
            center=np.clip(place, 0.0, 1.0),
            variance=np.full(len(place), SHARPEST),
            value_score=max(p.value_score for p in peaks),
        )
        return [*honest, *[false] * self.count]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusLiarSettings:
    """Settings of simulated runs in which some sites lie."""

    lie: str = part("none", "simulation: what the last sites say", (NOBODY, *LIES))
    num_liars: int = count(4, "simulation: how many they are, where they lie")

    def build(self, num_agents: int, num_rounds: int) -> ConsensusLiars | None:
        """Return the sites that lie, None where nobody does."""
        if self.lie == NOBODY:
            return None
        if self.num_liars >= num_agents:
            raise SettingsError(
                "Setting num_liars must be less than the number of agents, which is "
                f"{num_agents}, got {self.num_liars}."
            )
        return ConsensusLiars(
            count=self.num_liars, lie=LIES[self.lie], num_rounds=num_rounds
        )
