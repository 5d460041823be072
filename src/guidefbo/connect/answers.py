"""Is this the pinned coordinator's answer to this question?"""

from collections.abc import Mapping
from typing import Any

from guidefbo.connect.errors import ForeignAnswerError, RefusedError
from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.core.names import is_name
from guidefbo.wire.keys import require_public
from guidefbo.wire.letter import JOIN, REFUSAL, Letter, peek, read_letter

ANSWER = "answer"


def check_answer(data: bytes, question: Letter, key: str) -> Mapping[str, Any]:
    """Return what the coordinator answers, or refuse what came.

    Args:
        data: What came.
        question: The letter that was sent.
        key: The coordinator's public key, as it is pinned.
    """
    try:
        letter = read_letter(data)
    except WireError as error:
        raise ForeignAnswerError(
            f"What came back is no letter: {error} Nothing of it was taken. Is this "
            "address a coordinator?"
        ) from error
    if not letter.is_signed_by(key):
        raise ForeignAnswerError(
            "The answer is signed with another key than the coordinator's, which this "
            f"site holds as {key}. Nothing of it was taken. If the host has changed "
            "the coordinator's key, ask for a new invitation and join again; if not, "
            "somebody stands between."
        )
    payload = letter.payload
    if payload.get("answers") != question.digest:
        raise ForeignAnswerError(
            "The answer is to another question than the one that was asked, perhaps an "
            "old one sent again. Nothing of it was taken."
        )
    names = ["number"]
    if question.purpose != JOIN:
        names += ["federation", "site"]
    for name in names:
        if payload[name] != question.payload[name]:
            raise ForeignAnswerError(
                f"The answer has the {name} {shown(payload[name])}, and the question "
                f"{shown(question.payload[name])}. Nothing of it was taken."
            )
    if letter.purpose == REFUSAL:
        code, message = payload.get("error"), payload.get("message")
        raise RefusedError(
            str(code) if is_name(code) else "invalid", _sentence(message)
        )
    if letter.purpose != ANSWER:
        raise ForeignAnswerError(
            f"Expected an answer, got a letter for {letter.purpose!r}."
        )
    return payload


def claimed_key(data: bytes) -> str:
    """Return the key a coordinator says it has, in its answer to a join.

    Who joins has no key to compare with, unless the host gave it: the answer is then
    checked against the key it names itself, and that key is kept from then on.
    """
    try:
        return require_public(peek(data).get("coordinator_key"), "coordinator_key")
    except WireError as error:
        raise ForeignAnswerError(
            f"What came back is no answer to a join: {error} Is this address a "
            "coordinator?"
        ) from error


def _sentence(message: Any) -> str:
    text = message if isinstance(message, str) else "no reason was given"
    return " ".join(text.split())[:500]
