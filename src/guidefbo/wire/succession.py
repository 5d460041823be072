"""Successions: letters in which a coordinator's old key names the one that follows it.

Sites hold the coordinator's public key and refuse another one. When the host changes
the key, the old key signs one letter that names the new one, and then it is destroyed.
Answers carry these letters, so that a site follows from the key it holds to the one
that signs now, however long it was away, by HTTP or through a folder.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from guidefbo.core.errors import WireError
from guidefbo.wire.keys import SigningKey, require_public
from guidefbo.wire.letter import SUCCESSION, read_letter, seal

MAX_SUCCESSIONS = 64
"""Most successions that an answer carries, the newest ones."""
MAX_BYTES = 2048
"""Longest of these letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """One change of a coordinator's key, its signature checked."""

    former_key: str
    """The key before, which has signed it."""
    public_key: str
    """The key after."""
    text: str
    """The letter."""


def make_succession(former: SigningKey, public_key: str, number: int) -> Succession:
    """Return the letter in which a key names the one that follows it.

    Args:
        former: The key that ends.
        public_key: The public half of the one that begins.
        number: How many keys there were before.
    """
    payload = {
        "purpose": SUCCESSION,
        "federation": None,
        "site": None,
        "number": number,
        "former_key": former.public,
        "public_key": public_key,
    }
    return Succession(
        former_key=former.public,
        public_key=public_key,
        text=seal(payload, former).decode(),
    )


def follow(key: str, letters: Any) -> Iterator[Succession]:
    """Go from a key to those that followed it, as far as the letters prove it.

    A letter that proves nothing is passed over, whoever has put it there.

    Args:
        key: The public key that is trusted.
        letters: Texts of letters in any order, as they came.
    """
    left = _texts(letters)
    while True:
        found = next((s for text in left if (s := _read(text, key)) is not None), None)
        if found is None:
            return
        # Each is used once, so that keys in a circle end, too.
        left = [text for text in left if text != found.text]
        yield found
        key = found.public_key


def newest_key(key: str, letters: Any) -> str:
    """Return the last key that the letters prove to have followed a key."""
    for step in follow(key, letters):
        key = step.public_key
    return key


def _texts(letters: Any) -> Sequence[str]:
    if not isinstance(letters, list):
        return []
    some = cast(list[Any], letters)[-MAX_SUCCESSIONS:]
    return [text for text in some if isinstance(text, str)]


def _read(text: str, key: str) -> Succession | None:
    try:
        letter = read_letter(text.encode(), limit=MAX_BYTES)
        payload = letter.payload
        if letter.purpose != SUCCESSION or payload.get("former_key") != key:
            return None
        public = require_public(payload.get("public_key"), "public_key")
    except (WireError, UnicodeEncodeError):
        return None
    if not letter.is_signed_by(key):
        return None
    return Succession(former_key=key, public_key=public, text=text)
