"""Letters: signed envelopes around what travels between a site and a coordinator.

The payload is a JSON object and travels as bytes, so that nobody has to agree on how
JSON is written: the signature is over exactly these bytes. A letter is the same by
HTTP, in a shared folder or inside another engine.

    {"format": "guidefbo-letter", "version": 1, "payload": BASE64, "signature": BASE64}

The signature is Ed25519 over `guidefbo-letter-1`, a line feed and the payload.
"""

import base64
import binascii
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, cast

from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.core.names import NAME_RULE, is_name
from guidefbo.wire.entries import require_fields
from guidefbo.wire.envelope import MAX_BYTES as MAX_MESSAGE
from guidefbo.wire.envelope import MAX_SEQUENCE
from guidefbo.wire.keys import SIGNATURE_BYTES, verify

FORMAT = "guidefbo-letter"
VERSION = 1
SIGNED_PREFIX = b"guidefbo-letter-1\n"
"""Stands before the payload where it is signed: no other text passes for a letter."""
JOIN = "join"
"""Purpose of the one letter whose sender does not know its own name yet."""
REFUSAL = "refusal"
"""Purpose of an answer that says no; of a join that names nobody it has no names."""
SUCCESSION = "succession"
"""Purpose of the letter in which a coordinator's key names the next one, to all."""
MAX_PAYLOAD = 2 * MAX_MESSAGE + (1 << 16)
"""Longest payload: the longest message as a JSON text, and the fields around it."""
MAX_LETTER = 4 * (MAX_PAYLOAD // 3 + 1) + 512
"""Longest letter."""
MAX_DEPTH = 16
"""Deepest nesting of lists and objects in a payload."""
MAX_PURPOSE = 32
"""Longest name of a purpose."""

_FRAME = {"format", "version", "payload", "signature"}
_COMMON = ("purpose", "federation", "site", "number")
_NAMELESS = (JOIN, REFUSAL, SUCCESSION)
# A text that never ends is taken as one as well: each byte is looked at once.
_TEXTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_DOUBTFUL = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)")


class Signer(Protocol):
    """What signs bytes: a `SigningKey`."""

    def sign(self, data: bytes) -> bytes:
        """Return the signature of some bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A letter whose form was checked."""

    payload: Mapping[str, Any]
    """What it says: purpose, federation, site, number, and fields of the purpose."""
    data: bytes = field(repr=False)
    """The payload's bytes, which are signed."""
    signature: bytes = field(repr=False)
    """Their signature."""

    @property
    def purpose(self) -> str:
        """What it is for."""
        return self.payload["purpose"]

    @property
    def number(self) -> int:
        """Number of the letter, as its sender counts; an answer has the question's."""
        return self.payload["number"]

    @property
    def digest(self) -> str:
        """Digest of the payload's bytes, which an answer repeats."""
        return sha256(self.data).hexdigest()

    def is_signed_by(self, public_key: str) -> bool:
        """Whether the signature was made with the key of this public half."""
        return verify(public_key, SIGNED_PREFIX + self.data, self.signature)


def seal(payload: Mapping[str, Any], key: Signer) -> bytes:
    """Return a letter, signed.

    Args:
        payload: What it says; JSON values.
        key: The sender's.
    """
    try:
        text = json.dumps(dict(payload), allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise WireError(f"A letter's payload must be JSON: {error}.") from error
    data = text.encode()
    _check_payload(_parse_payload(data))
    return json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "payload": base64.b64encode(data).decode(),
            "signature": base64.b64encode(key.sign(SIGNED_PREFIX + data)).decode(),
        },
        separators=(",", ":"),
    ).encode()


def read_letter(data: bytes, *, limit: int = MAX_LETTER) -> Letter:
    """Return a letter whose form is right; who signed it was not looked at.

    Args:
        data: What came.
        limit: Most bytes of a letter.
    """
    if len(data) > limit:
        raise WireError(
            f"A letter may have at most {limit} bytes, got {len(data)}. Nothing of it "
            "was read."
        )
    frame = _object(data, "a letter", depth=1)
    if frame.get("format") != FORMAT:
        raise WireError(
            f"Expected format {FORMAT!r}, got {shown(frame.get('format'))}."
        )
    version = frame.get("version")
    if type(version) is not int or version != VERSION:
        raise WireError(
            f"Expected a letter of version {VERSION}, got {shown(version)}. Use the "
            "same guidefbo on both sides."
        )
    require_fields(frame, _FRAME, "the letter")
    payload = _from_base64(frame["payload"], "payload")
    signature = _from_base64(frame["signature"], "signature")
    if len(signature) != SIGNATURE_BYTES:
        raise WireError(
            f"signature must have {SIGNATURE_BYTES} bytes, got {len(signature)}."
        )
    form = _check_payload(_parse_payload(payload))
    return Letter(payload=MappingProxyType(form), data=payload, signature=signature)


def peek(data: bytes, *, limit: int = MAX_LETTER) -> Mapping[str, Any]:
    """Return what a letter says, to find out who claims to speak.

    Its form was checked, its signature was not.

    Args:
        data: What came.
        limit: Most bytes of a letter.
    """
    return read_letter(data, limit=limit).payload


def open_letter(data: bytes, public_key: str, *, limit: int = MAX_LETTER) -> Letter:
    """Return a letter that was signed with a key, or raise `WireError`.

    Args:
        data: What came.
        public_key: The public half of the sender's key.
        limit: Most bytes of a letter.
    """
    letter = read_letter(data, limit=limit)
    if not letter.is_signed_by(public_key):
        raise WireError(
            "The letter's signature was not made with the key that is known of its "
            "sender."
        )
    return letter


def _parse_payload(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_PAYLOAD:
        raise WireError(
            f"A letter's payload may have at most {MAX_PAYLOAD} bytes, got {len(data)}."
        )
    return _object(data, "the payload", depth=MAX_DEPTH)


def _check_payload(form: dict[str, Any]) -> dict[str, Any]:
    missing = [name for name in _COMMON if name not in form]
    if missing:
        raise WireError(
            f"Expected a payload with the fields {list(_COMMON)}; missing {missing}."
        )
    purpose = form["purpose"]
    if not is_name(purpose) or len(purpose) > MAX_PURPOSE:
        raise WireError(f"purpose must be {NAME_RULE}, got {shown(purpose)}.")
    for name in ("federation", "site"):
        is_unknown = form[name] is None and purpose in _NAMELESS
        if not is_unknown and not is_name(form[name]):
            raise WireError(f"{name} must be {NAME_RULE}, got {shown(form[name])}.")
    number = form["number"]
    if type(number) is not int or not 1 <= number <= MAX_SEQUENCE:
        raise WireError(
            f"number must be a whole number from 1 to {MAX_SEQUENCE}, got "
            f"{shown(number)}."
        )
    return form


def _object(data: bytes, what: str, depth: int) -> dict[str, Any]:
    """Return a JSON object, strictly read."""
    _check_depth(data, what, depth)
    try:
        form = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique_keys,
        )
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        # ValueError covers bytes that are no text, text that is no JSON, huge integers.
        raise WireError(f"Expected {what} as JSON, got something else: {error}.") from (
            error
        )
    if not isinstance(form, dict):
        raise WireError(f"Expected {what} as a JSON object, got {type(form).__name__}.")
    if _DOUBTFUL.search(data):
        _check_texts(form)
    return cast(dict[str, Any], form)


def _check_depth(data: bytes, what: str, most: int) -> None:
    """Refuse deep nesting before anything is built from it."""
    depth = 0
    for bracket in _BRACKETS.findall(_TEXTS.sub(b"", data)):
        depth += 1 if bracket in b"[{" else -1
        if depth > most:
            raise WireError(f"Expected {what} at most {most} deep, got it deeper.")


def _check_texts(value: Any) -> None:
    """Refuse texts that no file and no database takes."""
    if isinstance(value, dict):
        for name, item in cast(dict[str, Any], value).items():
            _check_texts(name)
            _check_texts(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            _check_texts(item)
    elif isinstance(value, str) and any(
        sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in value
    ):
        raise WireError(
            "Expected texts without null characters and halves of a surrogate pair, "
            f"got {shown(value)}."
        )


def _from_base64(value: Any, name: str) -> bytes:
    if isinstance(value, str):
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            data = None
        # One text for the same bytes: what is left over in the last sign is zero.
        if data is not None and base64.b64encode(data).decode() == value:
            return data
    raise WireError(f"{name} must be base64, got {shown(value)}.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise WireError(f"Expected finite numbers, got {shown(text)}.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise WireError(f"Expected finite numbers, got {name}.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    form = dict(pairs)
    if len(form) != len(pairs):
        names = [name for name, _ in pairs]
        raise WireError(f"Expected each field once, got {shown(names)}.")
    return form
