"""A letter that was opened, authenticated and checked, before anything is done."""

from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import Connection

from guidefbo.coordinator.codes import hash_code
from guidefbo.coordinator.federation import Federation, find_federation
from guidefbo.coordinator.members import (
    REVOKED,
    Member,
    find_invitation,
    find_member,
)
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.spaces import require_space
from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.server.side import PlacedSide
from guidefbo.wire.codec import read
from guidefbo.wire.entries import require_fields
from guidefbo.wire.envelope import MAX_SEQUENCE, UploadHead
from guidefbo.wire.keys import require_public
from guidefbo.wire.letter import JOIN, Letter

COMMON = {"purpose", "federation", "site", "number"}
FIELDS = {
    JOIN: {"code", "public_key", "space"},
    "exchange": {"upload", "held"},
    "leave": {"forget"},
    "rotate": {"public_key"},
}
"""Fields of a payload beyond the common ones, by purpose."""
MAX_TEXT = 128
"""Longest code or fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a site asks for. Its signature was checked with `public_key`."""

    letter: Letter
    federation: str
    site: str
    public_key: str
    """The key it is signed with."""
    upload: bytes | None = None
    """The strategy's message, read and found in order."""
    sequence: int = 0
    """Its sequence number."""
    space: str | None = None
    """Fingerprint of the space it speaks of."""

    @property
    def whose(self) -> tuple[str, str]:
        """The federation and the site."""
        return self.federation, self.site


def authenticate(connection: Connection, letter: Letter) -> Request:
    """Return the request in a letter, or refuse it; nothing is changed.

    Args:
        connection: To the store.
        letter: Its form was checked.
    """
    payload = letter.payload
    _check_fields(letter)
    if letter.purpose == JOIN:
        return _join(connection, letter)
    federation = find_federation(connection, payload["federation"])
    member = find_member(connection, federation.name, payload["site"])
    if member is None:
        raise Refusal(
            "not_a_site",
            f"{payload['site']} is no site of the federation {federation.name}. Join "
            "it first: guidefbo join.",
        )
    request = Request(
        letter=letter,
        federation=federation.name,
        site=member.name,
        public_key=_signed_with(letter, member),
    )
    if member.state == REVOKED:
        raise Refusal(
            "revoked",
            f"The host has ended the membership of {member.name}. Ask for a new "
            "invitation.",
        )
    if letter.purpose != "exchange" or payload["upload"] is None:
        return request
    return _with_upload(request, federation)


def _check_fields(letter: Letter) -> None:
    payload, purpose = letter.payload, letter.purpose
    if purpose not in FIELDS:
        raise Refusal(
            "invalid",
            f"Expected a letter for one of {', '.join(FIELDS)}, got {shown(purpose)}.",
        )
    try:
        require_fields(payload, COMMON | FIELDS[purpose], "the payload")
        if "public_key" in payload:
            require_public(payload["public_key"])
    except WireError as error:
        raise Refusal("invalid", str(error)) from error
    for name in FIELDS[purpose] & CHECKS.keys():
        if not CHECKS[name](payload[name]):
            raise Refusal(
                "invalid", f"{name} is not what it may be: {shown(payload[name])}."
            )


def _is_short_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT


def _is_order(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, list) or len(cast(list[Any], value)) != 2:
        return False
    return all(
        type(number) is int and 0 <= number <= MAX_SEQUENCE
        for number in cast(list[Any], value)
    )


def _is_short_text_or_null(value: Any) -> bool:
    return value is None or _is_short_text(value)


def _is_text_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


CHECKS = {
    "code": _is_short_text,
    "space": _is_short_text_or_null,
    "upload": _is_text_or_null,
    "held": _is_order,
    "forget": _is_truth,
}
"""What each field may be."""


def _join(connection: Connection, letter: Letter) -> Request:
    key = letter.payload["public_key"]
    _require_signature(letter, key)
    found = find_invitation(connection, hash_code(letter.payload["code"]))
    if found is None:
        raise Refusal(
            "unknown_code",
            "The code is not known here. It may have been replaced by a newer one, or "
            "belong to another coordinator. Ask the host for a new one.",
        )
    return Request(
        letter=letter, federation=found.federation, site=found.site, public_key=key
    )


def _signed_with(letter: Letter, member: Member) -> str:
    """Return which of a site's keys has signed the letter."""
    # The letter that changes a key is signed with the one before. When it comes a
    # second time, that is the former one; its number lets nothing else happen.
    if (
        letter.purpose == "rotate"
        and member.former_key is not None
        and letter.digest == member.digest
        and letter.is_signed_by(member.former_key)
    ):
        return member.public_key
    _require_signature(letter, member.public_key)
    return member.public_key


def _require_signature(letter: Letter, key: str) -> None:
    if not letter.is_signed_by(key):
        raise Refusal(
            "bad_signature",
            "The signature was not made with the key of the site that the letter "
            "names.",
        )


def _with_upload(request: Request, federation: Federation) -> Request:
    data = request.letter.payload["upload"].encode()
    server = federation.server
    if len(data) > federation.max_upload:
        raise Refusal(
            "too_large",
            f"An upload of {federation.terms.strategy} in this search space has at "
            f"most {federation.max_upload} bytes, got {len(data)}.",
        )
    try:
        upload = read(data, server.upload_type, UploadHead)
    except WireError as error:
        raise Refusal("invalid", f"The upload is refused: {error}") from error
    head = upload.head
    if replace(head.terms, space=federation.terms.space) == federation.terms:
        require_space(federation, head.terms.space)
    why = federation.terms.difference(head.terms)
    if why is None and head.site != request.site:
        why = f"it is of the site {head.site!r}, and the letter is {request.site!r}'s"
    if why is not None:
        hint = ""
        if head.terms.space != federation.terms.space:
            hint = " A space that a site has changed: guidefbo federation change."
        raise Refusal("foreign", f"The upload is refused: {why}.{hint}")
    if isinstance(server, PlacedSide):
        try:
            server.check(upload.body, federation.domain)
        except WireError as error:
            raise Refusal("foreign", f"The upload is refused: {error}") from error
    return Request(
        letter=request.letter,
        federation=request.federation,
        site=request.site,
        public_key=request.public_key,
        upload=data,
        sequence=head.sequence,
        space=head.terms.space,
    )
