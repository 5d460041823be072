"""What a message says in a site's own units, for the audit log and for people."""

from typing import Any

from guidefbo.core.errors import WireError
from guidefbo.methods.record import Strategy
from guidefbo.methods.registry import find_method
from guidefbo.site.setup import Setup
from guidefbo.wire.codec import read
from guidefbo.wire.cost import Cost
from guidefbo.wire.envelope import PacketHead, UploadHead


def upload_words(text: str, setup: Setup) -> list[str]:
    """Return what an upload says."""
    strategy = find_method(setup.method).strategy
    if strategy.messages is None:
        return []
    data = text.encode()
    try:
        message = read(data, strategy.messages[0], UploadHead)
    except WireError as error:
        return [f"it cannot be read here: {error}"]
    told = f"{message.head.sequence} results and corrections"
    return [
        f"made after {told}; {_size(data)}",
        *_lines(strategy, 0, message.body, setup),
    ]


def packet_words(text: str, setup: Setup) -> list[str]:
    """Return what a packet says."""
    strategy = find_method(setup.method).strategy
    if strategy.messages is None:
        return []
    data = text.encode()
    try:
        message = read(data, strategy.messages[1], PacketHead)
    except WireError as error:
        return [f"it cannot be read here: {error}"]
    head = message.head
    first = (
        f"made of {head.num_uploads} uploads, yours of {head.answers} results and "
        f"corrections among them; {_size(data)}"
    )
    return [first, *_lines(strategy, 1, message.body, setup)]


def _lines(strategy: Strategy, which: int, body: Any, setup: Setup) -> list[str]:
    if strategy.words is None:
        return ["the strategy does not say what its numbers mean"]
    try:
        return strategy.words[which](body, setup.space)
    except (ValueError, IndexError):
        # Whoever sends a packet may write any numbers; the agent refuses these too.
        return ["it does not fit this site's search space"]


def _size(data: bytes) -> str:
    cost = Cost.of(data)
    return f"{cost.num_bytes} bytes, {cost.scalars} numbers"
