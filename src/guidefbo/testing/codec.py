"""The contract of a message type."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from guidefbo.core.errors import WireError
from guidefbo.testing.expect import expect
from guidefbo.wire.codec import read
from guidefbo.wire.envelope import (
    MAX_BYTES,
    VERSION,
    Envelope,
    Message,
    Terms,
    UploadHead,
)

HEAD = UploadHead(
    terms=Terms(federation="example", space="example", strategy="example"),
    site="north",
    sequence=1,
)
"""Whose messages are in the examples."""
M = TypeVar("M", bound=Message)


def encode(message: Message) -> bytes:
    """Return a body as it travels, in an envelope of an example's."""
    return Envelope(head=HEAD, body=message).to_bytes()


def decode(data: bytes, kind: type[M]) -> M:
    """Return the body of a message in an envelope, or raise `WireError`."""
    return read(data, kind, UploadHead).body


def check_codec(message: Message) -> None:
    """Check that a message survives the wire and that damage to it is refused.

    The round trip must be exact to the bit; a missing or unknown field, another kind,
    a newer version and a cut-off message must raise `WireError` and nothing else.

    Args:
        message: Any valid message of the type.
    """
    kind, data = type(message), encode(message)
    again = decode(data, kind)
    expect(
        same_value(again, message),
        f"A decoded {kind.__name__} must equal the one encoded, bit for bit: sent "
        f"{message!r}, got {again!r}.",
    )
    expect(encode(again) == data, "Encoding twice must give the same bytes.")
    expect(
        len(data) <= MAX_BYTES,
        f"A message must fit into {MAX_BYTES} bytes, got {len(data)}.",
    )
    for damaged, what in _damage(data):
        _expect_refused(damaged, kind, what)


def same_value(a: Any, b: Any) -> bool:
    """Return whether two values agree to the bit, arrays and nested values included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        is_alike = a.shape == b.shape and a.dtype == b.dtype
        return is_alike and a.tobytes() == b.tobytes()
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]
        return all(same_value(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    return a == b and repr(a) == repr(b)


def _damage(data: bytes) -> list[tuple[bytes, str]]:
    envelope = json.loads(data)
    body = envelope["body"]
    changed = [
        ({**envelope, "version": VERSION + 1}, "of a newer version"),
        ({**envelope, "kind": "nobody's"}, "of another kind"),
        ({**envelope, "more": 1}, "with an unknown field in its envelope"),
        ({**envelope, "body": {**body, "more": 1}}, "with an unknown field"),
        ({**envelope, "body": list(body)}, "whose body is a list"),
        ({**envelope, "version": 1}, "of an older version"),
    ]
    for name in envelope:
        rest = {key: value for key, value in envelope.items() if key != name}
        changed.append((rest, f"whose envelope has no {name}"))
    for name in body:
        rest = {key: value for key, value in body.items() if key != name}
        changed.append(({**envelope, "body": rest}, f"without {name}"))
    damaged = [(json.dumps(value).encode(), what) for value, what in changed]
    return [*damaged, (data[:-1], "that is cut off"), (b"", "that is empty")]


def _expect_refused(data: bytes, kind: type[Message], what: str) -> None:
    try:
        decode(data, kind)
    except WireError as error:
        expect(bool(str(error)), f"Refusing a message {what} must say why.")
    except Exception as error:
        raise AssertionError(
            f"A message {what} must raise WireError, got {error!r}."
        ) from error
    else:
        raise AssertionError(f"A message {what} must be refused, and it was accepted.")
