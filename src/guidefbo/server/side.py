"""The interface of a federation strategy on the server's side."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from guidefbo.core.domain import Domain
from guidefbo.core.streams import Purpose, Streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The server's randomness in one exchange, addressed by site.

    What is drawn for one site does not depend on which other sites are there.
    """

    streams: Streams
    """Below the server's seed."""
    federation: str
    """Name of the federation."""
    t: int
    """Round, from 1."""
    sequences: Mapping[str, int] = field(default_factory=dict[str, int])
    """Sequence number of each site's upload; the round where it is not given."""
    made_of: str | None = None
    """Digest of the uploads; None where the round's number stands for them."""

    def of(self, site: str) -> np.random.Generator:
        """Return the stream of one site's packet."""
        number = self.sequences.get(site, self.t)
        return self.streams.named(Purpose.DISPATCH, f"{self.federation}/{site}", number)

    def shared(self) -> np.random.Generator:
        """Return the stream of what is drawn once for all sites together.

        Other uploads, other numbers: noise that protects them is never used twice.
        """
        if self.made_of is None:
            return self.streams.at(Purpose.DISPATCH, t=self.t)
        return self.streams.named(
            Purpose.DISPATCH, f"{self.federation}#{self.made_of}", self.t
        )


class ServerSide(Protocol):
    """A pure function of the newest upload of every site."""

    upload_type: ClassVar[type[Any]]
    """What agents send: a message type."""
    packet_type: ClassVar[type[Any]]
    """What agents get back: a message type."""

    def form(self, upload: Any) -> Hashable:
        """Return what all uploads must have in common, say their dimension.

        An upload of another form than most is left out before it is aggregated.
        """
        ...

    def aggregate(
        self, uploads: Mapping[str, Any], t: int, draws: Draws
    ) -> Mapping[str, Any]:
        """Return a packet for every site that uploaded.

        The result depends on the uploads as a set keyed by site, not on their order.

        Args:
            uploads: Newest upload by site; all of one form.
            t: Round, from 1.
            draws: The server's randomness.
        """
        ...


@runtime_checkable
class ListeningSide(Protocol):
    """A server side that has packets for sites without an upload, too."""

    def listen(
        self, uploads: Mapping[str, Any], sites: Sequence[str], draws: Draws
    ) -> Mapping[str, Any]:
        """Return a packet for each of some sites that uploaded nothing.

        Args:
            uploads: Newest upload by site, at least one; all of one form.
            sites: Who listens; none of them has an upload.
            draws: The server's randomness.
        """
        ...


@runtime_checkable
class PlacedSide(Protocol):
    """A server side that knows what an upload from a search space looks like.

    A coordinator, which has the space, refuses an upload that does not fit before it is
    stored; other code compares uploads with each other by `form` alone.
    """

    def max_numbers(self, domain: Domain) -> int:
        """Return the most numbers that an upload from this domain holds."""
        ...

    def check(self, upload: Any, domain: Domain) -> None:
        """Raise `WireError` where an upload is of another dimension or other blocks."""
        ...


class ServerSettings(Protocol):
    """Settings of a strategy's shared half: a frozen dataclass that builds it."""

    def build(self) -> ServerSide:
        """Return the shared half with these settings."""
        ...
