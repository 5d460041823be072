"""Is this the pinned coordinator's answer to this question?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guidefbo.connect.errors import ForeignAnswerError, RefusedError
from guidefbo.core.checks import is_plain_text, shown
from guidefbo.core.errors import WireError
from guidefbo.core.names import is_name
from guidefbo.wire.keys import require_public
from guidefbo.wire.letter import JOIN, REFUSAL, Letter, peek, read_letter
from guidefbo.wire.succession import Succession, follow

ANSWER = "answer"
MAX_SENTENCE = 500
"""Longest sentence of another side that is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A letter that the coordinator has signed and that answers the question."""

    letter: Letter
    """An answer, or a refusal."""
    key: str
    """The coordinator's key that has signed it."""
    successions: tuple[Succession, ...] = ()
    """How that key followed the one that was held; empty where it is the same."""

    def answer(self) -> Mapping[str, Any]:
        """Return what it says, or raise what the coordinator refuses."""
        payload = self.letter.payload
        if self.letter.purpose == REFUSAL:
            raise _refused(payload, is_signed=True)
        if self.letter.purpose != ANSWER:
            raise ForeignAnswerError(
                f"Expected an answer, got a letter for {self.letter.purpose!r}."
            )
        return payload


def check_answer(data: bytes, question: Letter, key: str) -> Checked:
    """Return the coordinator's letter, or refuse what came.

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
    successions = _signer(letter, key)
    if successions is None:
        raise ForeignAnswerError(
            "The answer is signed with another key than the coordinator's, which this "
            f"site holds as {key}. Nothing of it was taken. If the host has changed "
            "the coordinator's key, ask for a new invitation and join again; if not, "
            "somebody stands between."
        )
    _require_same_question(letter.payload, question)
    last = successions[-1].public_key if successions else key
    return Checked(letter=letter, key=last, successions=successions)


def check_first_answer(data: bytes, question: Letter) -> Checked:
    """Return the answer to a join of who holds no key of the coordinator.

    It is checked against the key it names itself, which is kept from then on. A refusal
    is raised as one that nothing verifies: a key of its own choice would prove nothing.

    Args:
        data: What came.
        question: The join that was sent.
    """
    try:
        payload = peek(data)
        if payload["purpose"] != REFUSAL:
            key = require_public(payload.get("coordinator_key"), "coordinator_key")
            return check_answer(data, question, key)
    except WireError as error:
        raise ForeignAnswerError(
            f"What came back is no answer to a join: {error} Is this address a "
            "coordinator?"
        ) from error
    _require_same_question(payload, question)
    raise _refused(payload, is_signed=False)


def _refused(payload: Mapping[str, Any], *, is_signed: bool) -> RefusedError:
    """Return the error that says what a refusal says."""
    code = payload.get("error")
    return RefusedError(
        str(code) if is_name(code) else "invalid",
        sentence(payload.get("message"), "no reason was given"),
        is_signed=is_signed,
        is_verified=is_signed,
    )


def _require_same_question(payload: Mapping[str, Any], question: Letter) -> None:
    """Refuse an answer to anything but the question."""
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


def _signer(letter: Letter, key: str) -> tuple[Succession, ...] | None:
    """Return how the signing key followed the one that is held, None if it did not."""
    if letter.is_signed_by(key):
        return ()
    steps: list[Succession] = []
    for step in follow(key, letter.payload.get("successions")):
        steps.append(step)
        if letter.is_signed_by(step.public_key):
            return tuple(steps)
    return None


def sentence(message: Any, otherwise: str) -> str:
    """Return another side's sentence as one short line that a terminal can show.

    Args:
        message: What it says.
        otherwise: What is said where that is no text.
    """
    text = message if isinstance(message, str) else otherwise
    line = " ".join(text.split())[:MAX_SENTENCE]
    return "".join(sign for sign in line if is_plain_text(sign))
