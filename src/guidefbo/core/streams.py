"""Random streams addressed by (seed, agent, round, purpose).

No stream depends on what was drawn before. Two different addresses give
independent streams, the same address gives the same numbers in any process, and an
added agent or a new purpose changes no other stream. Code outside the package names
purposes of its own by a text.

References:
    NumPy `SeedSequence`: the spawn key separates streams of one entropy.
"""

from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256

import numpy as np

from guidefbo.core.checks import require_count


class Purpose(IntEnum):
    """What a stream is for. The integers are frozen: never renumber, only append."""

    TASK_SHIFT = 0
    TASK_ROTATION = 1
    COMMON_SHIFT = 2
    DESIGN_CELLS = 3
    DESIGN_JITTER = 4
    NOISE = 5
    CANDIDATES = 6
    FEATURES = 7
    WEIGHTS = 8
    MIXTURE = 9
    DISPATCH = 10
    SEARCH = 11
    RULE = 12
    DESIGN_SOBOL = 13
    FALLBACK = 14
    SHARED_FEATURES = 15
    COIN = 16
    CONSTRAINT = 18
    BEST = 19
    PROBES = 20
    REPEAT = 21


@dataclass(frozen=True, slots=True)
class Streams:
    """All random streams below one root seed.

    >>> from guidefbo.core.streams import Purpose, Streams
    >>> a = Streams(7).at(Purpose.NOISE, agent=2, t=5).normal()
    >>> a == Streams(7).at(Purpose.NOISE, agent=2, t=5).normal()
    True
    """

    seed: int
    """Root seed of the run, a non-negative integer."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", require_count("seed", self.seed, 0))

    def of(self, agent: int, t: int) -> "Address":
        """Return the streams of one agent in one round."""
        return Address(streams=self, agent=agent, t=t)

    def at(
        self, purpose: Purpose | str, *, agent: int | None = None, t: int = 0
    ) -> np.random.Generator:
        """Return a fresh generator for one address.

        Args:
            purpose: What the numbers are for; a text names a purpose that the package
                does not have.
            agent: Zero-based agent id, or None for a stream of the whole federation.
            t: Round, 0 for what happens before the first round.
        """
        owner = 0 if agent is None else require_count("agent", agent, 0) + 1
        # Eight words of a text: longer than any other key, so that none is met twice.
        what = _words(purpose, 8) if isinstance(purpose, str) else (int(purpose),)
        return self._generator((owner, t, *what))

    def named(self, purpose: Purpose, name: str, t: int) -> np.random.Generator:
        """Return a fresh generator for an address that is a name, say a site's.

        Args:
            purpose: What the numbers are for.
            name: Whose they are.
            t: Round or sequence number.
        """
        return self._generator((*_words(name, 4), t, int(purpose)))

    def _generator(self, key: tuple[int, ...]) -> np.random.Generator:
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One agent in one round; only the purpose is left to name."""

    streams: Streams
    """Streams of the run."""
    agent: int
    """Zero-based agent id."""
    t: int
    """Round, from 1."""

    def at(self, purpose: Purpose | str) -> np.random.Generator:
        """Return a fresh generator for this purpose."""
        return self.streams.at(purpose, agent=self.agent, t=self.t)


def _words(text: str, count: int) -> tuple[int, ...]:
    """Return so many 32-bit words of a text's digest."""
    digest = sha256(text.encode()).digest()[: 4 * count]
    return tuple(map(int, np.frombuffer(digest, dtype="<u4")))
