"""Messages to bytes and back: JSON, versioned, strict.

The receiver names the type it expects, so nothing on the wire chooses what is built.
Floats survive unchanged: JSON carries their shortest exact representation.
"""

from typing import TypeVar

from guidefbo.wire.envelope import Message, unwrap, wrap

M = TypeVar("M", bound=Message)


def encode(message: Message) -> bytes:
    """Return the message as bytes."""
    return wrap(message.KIND, message.to_body())


def decode(data: bytes, expected: type[M]) -> M:
    """Return the message of the expected type, or raise `WireError`."""
    return expected.from_body(unwrap(data, expected.KIND))
