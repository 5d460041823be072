"""What an agent holds of the other sites, and whether it is used."""

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from guidefbo.core.checks import require_count, shown
from guidefbo.core.errors import WireError
from guidefbo.wire.codec import decode, encode

Check = Callable[[Any], None]
"""Raises `WireError` if a packet of the right type does not fit."""


class GuidanceState(StrEnum):
    """Whether guidance is used."""

    NONE = "none"
    """No packet came yet; the agent works alone."""
    ACTIVE = "active"
    """A packet is used."""
    STALE = "stale"
    """The last packet is too old; the agent works alone."""
    REFUSED = "refused"
    """The last packet was refused; the agent works alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """The newest packet, or why there is none."""

    state: GuidanceState = GuidanceState.NONE
    """Whether it is used."""
    reason: str = "no packet was received"
    """Why not, or since when."""
    packet: Any = None
    """The packet, None where none is held."""
    received_at: int = 0
    """How many things had been told to the agent when it came."""

    def __str__(self) -> str:
        alone = "" if self.state == GuidanceState.ACTIVE else "; working alone"
        return f"guidance {self.state}: {self.reason.rstrip('.')}{alone}"


def read_packet(packet: Any, packet_type: type[Any] | None, check: Check) -> Any:
    """Return a packet checked by this side, whatever the other side sent.

    Args:
        packet: Bytes or text of a message, or a message.
        packet_type: What the method expects, None where it takes no guidance.
        check: Whether it fits the method's private half.
    """
    if packet_type is None:
        raise WireError("this method takes no guidance.")
    try:
        if isinstance(packet, str):
            packet = packet.encode()
        elif isinstance(packet, packet_type):
            # Through the codec: an object handed over is no better than bytes.
            packet = encode(packet)
    except ValueError as error:
        raise WireError(f"a packet must be a valid message: {error}.") from error
    if not isinstance(packet, bytes):
        raise WireError(
            "a packet must be the bytes of a message or a "
            f"{packet_type.__name__}, got {shown(packet)}."
        )
    checked = decode(packet, packet_type)
    check(checked)
    return checked


def is_empty(packet: Any) -> bool:
    """Whether a packet says that there is nothing to say."""
    return isinstance(packet, Sized) and not len(packet)


def guidance_to_form(guidance: Guidance) -> dict[str, Any]:
    """Return the guidance as plain data."""
    packet = None if guidance.packet is None else encode(guidance.packet).decode()
    return {
        "state": str(guidance.state),
        "reason": guidance.reason,
        "packet": packet,
        "received_at": guidance.received_at,
    }


def guidance_from_form(
    form: Mapping[str, Any], packet_type: type[Any] | None, check: Check
) -> Guidance:
    """Check plain data and return the guidance it describes."""
    packet, state = form["packet"], GuidanceState(form["state"])
    if (packet is not None) != (state == GuidanceState.ACTIVE):
        raise WireError(f"guidance is {state}, its packet says otherwise.")
    if packet is not None:
        packet = read_packet(packet, packet_type, check)
    return Guidance(
        state=state,
        reason=str(form["reason"]),
        packet=packet,
        received_at=require_count("received_at", form["received_at"], 0),
    )
