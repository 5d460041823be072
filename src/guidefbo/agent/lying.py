"""Sites of a simulated run that lie together: what liars of all strategies share.

The last sites of the run lie. They see what the honest ones send and agree on one
message, which all of them send in the place of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from guidefbo.core.errors import SettingsError
from guidefbo.core.settings import count, part
from guidefbo.wire.envelope import Message

NOBODY = "none"
"""What the setting says where nobody lies."""
KINDS = ("corner", "drift", "respond", "hide")
"""What is said: always the same, from the truth to that by and by, the worst for the
honest as they are now, and the worst that does not stand out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LyingSites(ABC):
    """The last sites of a run, who lie."""

    count: int
    """How many."""
    num_rounds: int
    """Rounds of the run."""

    def spoil(self, uploads: Sequence[Message | None], t: int) -> list[Message | None]:
        """Return the uploads of round t with those of the last sites replaced."""
        honest = uploads[: len(uploads) - self.count]
        heard = [upload for upload in honest if upload is not None]
        false = self.false(heard, t / self.num_rounds)
        return [*honest, *[false] * self.count]

    @abstractmethod
    def false(self, honest: Sequence[Message], share: float) -> Message:
        """Return what the liars say.

        Args:
            honest: What the honest sites sent, one message or more.
            share: Share of the run that is over.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LyingSettings(ABC):
    """Settings of simulated runs in which some sites lie."""

    lie: str = part(NOBODY, "simulation: what the last sites say", (NOBODY, *KINDS))
    num_liars: int = count(4, "simulation: how many they are, where they lie")

    def build(self, num_agents: int, num_rounds: int) -> LyingSites | None:
        """Return the sites that lie, None where nobody does."""
        if self.lie == NOBODY:
            return None
        if self.num_liars >= num_agents:
            raise SettingsError(
                "Setting num_liars must be less than the number of agents, which is "
                f"{num_agents}, got {self.num_liars}."
            )
        return self.liars(num_rounds)

    @abstractmethod
    def liars(self, num_rounds: int) -> LyingSites:
        """Return as many sites as lie, of a run of so many rounds."""
