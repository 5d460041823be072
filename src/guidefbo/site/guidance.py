"""The packet an agent holds, whether it is in use, and why the last one was refused."""

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from guidefbo.agent.side import OTHERS
from guidefbo.core.checks import require_count, shown
from guidefbo.core.errors import WireError
from guidefbo.site.judgement import Judgement
from guidefbo.site.summary import ACTIVE, DOUBTED, NONE, STALE, guidance_text
from guidefbo.wire.codec import read
from guidefbo.wire.envelope import Envelope, Packet, PacketHead, Terms

Check = Callable[[Any], None]
"""Raises `WireError` if a packet of the right type does not fit."""


class GuidanceState(StrEnum):
    """Whether guidance is used."""

    NONE = NONE
    """No packet is held; the agent works alone."""
    ACTIVE = ACTIVE
    """A packet is used."""
    STALE = STALE
    """The packet held is too old; the agent works alone."""
    DOUBTED = DOUBTED
    """The own data speak against the packet held; the agent works alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """The newest packet that was taken, and what became of the last one that came."""

    state: GuidanceState = GuidanceState.NONE
    """Whether a packet is used."""
    reason: str = "no packet was received"
    """Why not, or since when."""
    message: Packet | None = field(default=None, compare=False)
    """The packet held, None where there is none."""
    text: str | None = None
    """The packet as it came."""
    since: int = 0
    """How many things had been told to the agent when it made what this answers."""
    refusal: str | None = None
    """Why the last packet that came was refused, None where it was taken."""
    judgement: Judgement | None = field(default=None, compare=False)
    """Whether the own data speak for the others; None where no packet is used, or the
    method does not compare models."""

    @property
    def weights(self) -> Mapping[str, float]:
        """How likely the own data make each model, by name; perhaps none."""
        return {} if self.judgement is None else self.judgement.weights

    @property
    def verdict(self) -> list[str]:
        """The same as a line of words, where there is one."""
        return [] if self.judgement is None else [str(self.judgement)]

    @property
    def packet(self) -> Any:
        """The body of the packet held, None where there is none or it is empty."""
        if self.message is None or is_empty(self.message.body):
            return None
        return self.message.body

    @property
    def odds(self) -> float | None:
        """How likely the own data make the model of the others; None: not compared."""
        return None if self.judgement is None else self.judgement.weights.get(OTHERS)

    @property
    def order(self) -> tuple[int, int]:
        """Order of the newest packet that was taken; no packet is older than none."""
        return (-1, -1) if self.message is None else self.message.head.order

    def __str__(self) -> str:
        return guidance_text(self.state, self.reason, self.refusal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What a packet must be to come in."""

    terms: Terms
    """Federation, space and strategy of this agent."""
    site: str
    """Its name."""
    packet_type: type[Any] | None
    """What its method expects, None where it takes no guidance."""
    check: Check
    """Whether a packet fits the method's private half."""

    def read(self, packet: Any) -> tuple[Packet, str]:
        """Return a packet checked by this side, whatever the other side sent.

        Args:
            packet: A message, or its bytes or text.
        """
        if self.packet_type is None:
            raise WireError("this method takes no guidance.")
        data = _to_bytes(packet)
        message = read(data, self.packet_type, PacketHead)
        head = message.head
        difference = self.terms.difference(head.terms)
        if difference is not None:
            raise WireError(f"{difference}.")
        if head.site != self.site:
            raise WireError(
                f"it is for the site {head.site!r}, and this is {self.site!r}."
            )
        self.check(message.body)
        return message, data.decode()


def _to_bytes(packet: Any) -> bytes:
    try:
        if isinstance(packet, str):
            return packet.encode()
        if isinstance(packet, Envelope):
            # Through the codec: an object handed over is no better than bytes.
            return cast(Packet, packet).to_bytes()
    except (ValueError, TypeError, AttributeError) as error:
        raise WireError(f"a packet must be a valid message: {error}.") from error
    if not isinstance(packet, bytes):
        raise WireError(
            f"a packet must be a message, its bytes or its text, got {shown(packet)}."
        )
    return packet


def is_empty(packet: Any) -> bool:
    """Whether a packet says that there is nothing to say."""
    return isinstance(packet, Sized) and not len(packet)


def guidance_to_form(guidance: Guidance) -> dict[str, Any]:
    """Return the guidance as plain data."""
    return {
        "state": str(guidance.state),
        "reason": guidance.reason,
        "packet": guidance.text,
        "since": guidance.since,
        "refusal": guidance.refusal,
    }


def guidance_from_form(form: Mapping[str, Any], door: Door) -> Guidance:
    """Check plain data and return the guidance it describes."""
    text, state = form["packet"], GuidanceState(form["state"])
    if state == GuidanceState.ACTIVE and text is None:
        raise WireError("guidance is active, and there is no packet.")
    message = None
    if text is not None:
        try:
            message, text = door.read(text)
        except WireError as error:
            # Results are worth more than a packet: they load, and it is let go.
            return Guidance(
                reason="the packet in the file was let go", refusal=str(error)
            )
    refusal = form["refusal"]
    return Guidance(
        state=state,
        reason=str(form["reason"]),
        message=message,
        text=text,
        since=require_count("since", form["since"], 0),
        refusal=None if refusal is None else str(refusal),
    )
