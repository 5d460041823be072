"""The outer layer of every message: format, version, kind, body."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Protocol, Self, cast

from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError

FORMAT = "guidefbo-message"
VERSION = 1
MAX_BYTES = 1 << 20
"""Longest message accepted; a packet of 100 full components in d = 30 fits."""


class Message(Protocol):
    """What the codec needs to know of a message type."""

    KIND: ClassVar[str]
    """Name of the type on the wire."""

    def to_body(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        ...

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Check the fields and build the message, or raise `WireError`."""
        ...


def wrap(kind: str, body: dict[str, Any]) -> bytes:
    """Return the encoded envelope around a body."""
    envelope = {"format": FORMAT, "version": VERSION, "kind": kind, "body": body}
    text = json.dumps(envelope, allow_nan=False, separators=(",", ":"))
    return text.encode()


def unwrap(data: bytes, kind: str) -> Mapping[str, Any]:
    """Return the body of an envelope that holds a message of this kind."""
    if len(data) > MAX_BYTES:
        raise WireError(
            f"A message may have at most {MAX_BYTES} bytes, got {len(data)}. "
            "Nothing of it was read."
        )
    envelope = _parse(data)
    require_fields(envelope, {"format", "version", "kind", "body"}, "the envelope")
    if envelope["format"] != FORMAT:
        raise WireError(f"Expected format {FORMAT!r}, got {shown(envelope['format'])}.")
    _check_version(envelope["version"])
    if envelope["kind"] != kind:
        raise WireError(f"Expected a {kind!r} message, got {shown(envelope['kind'])}.")
    if not isinstance(envelope["body"], dict):
        raise WireError(
            "The message's body must be an object, got "
            f"{type(envelope['body']).__name__}."
        )
    return cast(dict[str, Any], envelope["body"])


def require_fields(fields: Mapping[str, Any], expected: set[str], what: str) -> None:
    """Refuse missing and unknown fields by name."""
    missing, unknown = expected - fields.keys(), fields.keys() - expected
    if missing or unknown:
        raise WireError(
            f"Expected {what} to have the fields {sorted(expected)}; "
            f"missing {shown(sorted(missing))}, unknown {shown(sorted(unknown))}."
        )


def _parse(data: bytes) -> Mapping[str, Any]:
    try:
        envelope = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique_keys,
        )
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        # ValueError covers bytes that are no text, text that is no JSON, huge integers.
        raise WireError(f"Expected a JSON message, got something else: {error}.") from (
            error
        )
    if not isinstance(envelope, dict):
        raise WireError(f"Expected a JSON object, got {type(envelope).__name__}.")
    return cast(dict[str, Any], envelope)


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise WireError(f"Expected version {VERSION}, got {shown(version)}.")
    if version > VERSION:
        raise WireError(
            f"Expected version {VERSION}, got {shown(version)}, which is from a newer "
            "guidefbo. Upgrade this side."
        )


def _refuse_constant(name: str) -> NoReturn:
    raise WireError(f"Expected finite numbers, got {name}.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise WireError(f"Expected each field once, got {shown(names)}.")
    return fields
