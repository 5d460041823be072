"""From bytes back to messages: JSON, versioned, strict, limited in size."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NoReturn, TypeVar, cast

from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.core.names import NAME_RULE, is_name
from guidefbo.wire.entries import require_fields
from guidefbo.wire.envelope import (
    FORMAT,
    MAX_BYTES,
    VERSION,
    Envelope,
    Message,
    PacketHead,
    Terms,
    UploadHead,
)

M = TypeVar("M", bound=Message)
H = TypeVar("H", UploadHead, PacketHead)


def read(data: bytes, body: type[M], head: type[H]) -> Envelope[M, H]:
    """Return the message in some bytes, every field checked, or raise `WireError`.

    The receiver names the types it expects, so nothing on the wire chooses what is
    built. Floats survive unchanged: JSON carries their shortest exact representation.

    Args:
        data: What came.
        body: Type of the body that is expected.
        head: Whether an upload or a packet is expected.
    """
    form = _parse(data)
    _check_frame(form, body.KIND)
    own = [f.name for f in fields(head) if f.name != "terms"]
    shared = [f.name for f in fields(Terms)]
    names = {"format", "version", "kind", "body", *own, *shared}
    require_fields(form, names, "the message")
    if not isinstance(form["body"], dict):
        raise WireError(
            f"The message's body must be an object, got {type(form['body']).__name__}."
        )
    terms = Terms(**{name: form[name] for name in shared})
    return Envelope(
        head=head(terms=terms, **{name: form[name] for name in own}),
        body=body.from_body(cast(dict[str, Any], form["body"])),
    )


def read_strategy(data: bytes) -> str:
    """Return the strategy that a message names, before anything else is read."""
    form = _parse(data)
    _check_frame(form, None)
    strategy = form.get("strategy")
    if not is_name(strategy):
        raise WireError(f"strategy must be {NAME_RULE}, got {shown(strategy)}.")
    return cast(str, strategy)


def read_head(data: bytes, head: type[H]) -> H:
    """Return the head of a message whose body is somebody else's business.

    Args:
        data: What came.
        head: Whether an upload or a packet is expected.
    """
    form = _parse(data)
    _check_frame(form, None)
    own = [f.name for f in fields(head) if f.name != "terms"]
    shared = [f.name for f in fields(Terms)]
    require_fields(
        form, {"format", "version", "kind", "body", *own, *shared}, "the message"
    )
    terms = Terms(**{name: form[name] for name in shared})
    return head(terms=terms, **{name: form[name] for name in own})


def _parse(data: bytes) -> Mapping[str, Any]:
    if len(data) > MAX_BYTES:
        raise WireError(
            f"A message may have at most {MAX_BYTES} bytes, got {len(data)}. "
            "Nothing of it was read."
        )
    try:
        form = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique_keys,
        )
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        # ValueError covers bytes that are no text, text that is no JSON, huge integers.
        raise WireError(
            f"Expected a JSON message, got something else: {error}."
        ) from error
    if not isinstance(form, dict):
        raise WireError(f"Expected a JSON object, got {type(form).__name__}.")
    return cast(dict[str, Any], form)


def _check_frame(form: Mapping[str, Any], kind: str | None) -> None:
    if form.get("format") != FORMAT:
        raise WireError(f"Expected format {FORMAT!r}, got {shown(form.get('format'))}.")
    version = form.get("version")
    if type(version) is not int or version < 1:
        raise WireError(f"Expected version {VERSION}, got {shown(version)}.")
    if version > VERSION:
        raise WireError(
            f"Expected version {VERSION}, got {shown(version)}, which is from a newer "
            "guidefbo. Upgrade this side."
        )
    if version < VERSION:
        raise WireError(
            f"Expected version {VERSION}, got version {version}, which does not say "
            "whose message it is. Upgrade guidefbo at the sender and make the message "
            "again."
        )
    if kind is not None and form.get("kind") != kind:
        raise WireError(f"Expected a {kind!r} message, got {shown(form.get('kind'))}.")


def _refuse_constant(name: str) -> NoReturn:
    raise WireError(f"Expected finite numbers, got {name}.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    form = dict(pairs)
    if len(form) != len(pairs):
        names = [name for name, _ in pairs]
        raise WireError(f"Expected each field once, got {shown(names)}.")
    return form
