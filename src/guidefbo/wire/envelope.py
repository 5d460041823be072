"""The envelope of a message.

Federation, space, strategy, site and sequence number stand around the body.

Every message says to which federation, space and strategy it belongs. An upload says
which site sent it and how far that site was; a packet says for whom it is, which upload
of that site it answers, and from which uploads it was made. The uploads of other sites
are named by one digest of all of them, so that sites need not know each other.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.core.names import NAME_RULE, is_name

FORMAT = "guidefbo-message"
VERSION = 2
MAX_BYTES = 1 << 20
"""Longest message accepted; a packet of 100 full components in d = 27 always fits."""
MAX_SEQUENCE = 10**12
"""Largest sequence number of an upload: more results than a site will ever have."""
MAX_UPLOADS = 10**6
"""Most uploads that a packet can be made of."""


class Message(Protocol):
    """The body of a message: what a strategy says, and its checks."""

    KIND: ClassVar[str]
    """Name of the type on the wire."""

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        ...

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message, or raise `WireError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all messages of a federation have in common."""

    federation: str
    """Name of the federation."""
    space: str
    """Fingerprint of the search space: names, kinds, bounds, options and their order.

    The goal is no part of it: values are oriented so that larger is better."""
    strategy: str
    """Name of the strategy."""
    strategy_version: int = 1
    """Version of its messages."""

    def __post_init__(self) -> None:
        for name in ("federation", "space", "strategy"):
            _check_name(name, getattr(self, name))
        _check_number("strategy_version", self.strategy_version, 1)

    def difference(self, other: "Terms", *, here: str = "this side") -> str | None:
        """Return in one sentence how another's terms differ, None where they agree.

        Args:
            other: Those that do not fit.
            here: Whose terms these are.
        """
        if self.federation != other.federation:
            return (
                f"it is of the federation {other.federation!r}, and this is "
                f"{self.federation!r}"
            )
        if self.strategy != other.strategy:
            return (
                f"it is of the strategy {other.strategy!r}, and this federation uses "
                f"{self.strategy!r}"
            )
        if self.strategy_version != other.strategy_version:
            return (
                f"it is of version {other.strategy_version} of {self.strategy}, and "
                f"{here} has version {self.strategy_version}: use the same guidefbo on "
                "both sides"
            )
        if self.space != other.space:
            return (
                "it speaks of another search space: names, kinds, bounds, options and "
                "their order must be the same at all sites"
            )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadHead:
    """Who sends an upload."""

    terms: Terms
    """Federation, space and strategy."""
    site: str
    """Name of the sender."""
    sequence: int
    """How many results had been told at the site; the same data, the same number."""

    def __post_init__(self) -> None:
        _check_name("site", self.site)
        _check_number("sequence", self.sequence, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketHead:
    """For whom a packet is, and what it was made of."""

    terms: Terms
    """Federation, space and strategy."""
    site: str
    """Name of the receiver."""
    round: int
    """Number of the exchange it was made in, as its coordinator counts."""
    answers: int
    """Sequence number of the receiver's upload among them, 0 where it sent none."""
    num_uploads: int
    """How many uploads there were."""
    made_of: str
    """Digest of the uploads: who has all of them can check it, nobody else."""

    def __post_init__(self) -> None:
        _check_name("site", self.site)
        _check_number("round", self.round, 0)
        _check_number("answers", self.answers, 0)
        _check_number("num_uploads", self.num_uploads, 0, MAX_UPLOADS)
        _check_name("made_of", self.made_of)

    @property
    def order(self) -> tuple[int, int]:
        """What to compare: of two packets the newer one has the larger order."""
        return self.answers, self.round


M = TypeVar("M", bound=Message)
H = TypeVar("H", UploadHead, PacketHead)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope(Generic[M, H]):
    """A message: its head and its body."""

    head: H
    """Who and what."""
    body: M
    """What the strategy says."""

    def to_bytes(self) -> bytes:
        """Return the message as it travels: JSON."""
        head = self.head
        own = {f.name: getattr(head, f.name) for f in fields(head) if f.name != "terms"}
        terms = {f.name: getattr(head.terms, f.name) for f in fields(Terms)}
        form = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.body.KIND,
            **terms,
            **own,
            "body": self.body.to_body(),
        }
        return json.dumps(form, allow_nan=False, separators=(",", ":")).encode()


Upload = Envelope[Any, UploadHead]
Packet = Envelope[Any, PacketHead]


def digest(uploads: Iterable[bytes]) -> str:
    """Return the digest of some encoded uploads, in whatever order they came."""
    each = sorted(sha256(data).digest() for data in uploads)
    return sha256(b"".join(each)).hexdigest()[:32]


def _check_name(what: str, value: Any) -> None:
    if not is_name(value):
        raise WireError(f"{what} must be {NAME_RULE}, got {shown(value)}.")


def _check_number(what: str, value: Any, low: int, high: int = MAX_SEQUENCE) -> None:
    # Python's own integers alone: JSON knows no others.
    if type(value) is not int or not low <= value <= high:
        raise WireError(
            f"{what} must be a whole number from {low} to {high}, got {shown(value)}."
        )
