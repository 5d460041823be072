"""A site's end of an exchange: what it tells, and which packets it takes."""

import warnings
from dataclasses import replace
from typing import Any

from guidefbo.agent.policy import Policy
from guidefbo.core.errors import FallbackWarning, GuidanceWarning, WireError
from guidefbo.core.threads import single_blas_thread
from guidefbo.site.book import Book
from guidefbo.site.guidance import Guidance, GuidanceState, is_empty
from guidefbo.site.judgement import UNLIKELY
from guidefbo.site.learner import NUMERICAL, Learner
from guidefbo.site.setup import Setup, door_of
from guidefbo.site.summary import staleness
from guidefbo.wire.envelope import Envelope, Packet, Upload, UploadHead


def upload_of(
    setup: Setup, policy: Policy, book: Book, learner: Learner, held: Guidance
) -> Upload | None:
    """Return what a site tells the others, None where there is nothing to tell."""
    if not book.results():
        return None
    address = setup.address(book.num_told)
    try:
        with single_blas_thread():
            body = policy.upload(learner.fit(), learner.study(), held.packet, address)
    except (*NUMERICAL, WireError) as error:
        warnings.warn(
            f"No message could be computed from these data ({error}).",
            FallbackWarning,
            stacklevel=3,
        )
        return None
    if body is None:
        return None
    head = UploadHead(terms=setup.terms, site=str(setup.site), sequence=book.num_told)
    return Envelope(head=head, body=body)


def take(
    packet: Any, held: Guidance, setup: Setup, policy: Policy, book: Book
) -> Guidance:
    """Return what is held once a packet came, which may be what was held before.

    Args:
        packet: A message, its bytes or text.
        held: The newest packet that was taken.
        setup: The agent's configuration.
        policy: What it does with its data.
        book: Its trials.
    """
    try:
        message, text = door_of(setup, policy).read(packet)
        _refuse_old(message, held, setup, book)
    except WireError as error:
        warnings.warn(f"the packet was refused: {error}", GuidanceWarning, stacklevel=3)
        return replace(held, refusal=str(error))
    if _keeps(in_use(held, setup, book), message):
        return replace(held, refusal=None)
    head, told = message.head, book.num_told
    num_results = book.results_since(0)
    state, reason = GuidanceState.ACTIVE, f"received after {num_results} results"
    if is_empty(message.body):
        state = GuidanceState.NONE
        reason = "the packet is empty, nobody else has spoken"
    since = head.answers or told
    return Guidance(state=state, reason=reason, message=message, text=text, since=since)


def in_use(held: Guidance, setup: Setup, book: Book) -> Guidance:
    """Return what is held, and whether it is used; nothing is computed."""
    why = None
    if held.state == GuidanceState.ACTIVE:
        why = staleness(held.since, setup, book)
    return held if why is None else replace(held, state=GuidanceState.STALE, reason=why)


def doubted(held: Guidance, setup: Setup, book: Book) -> Guidance:
    """Return what is held, not in use where the own data spoke against it for long.

    They do now, and did in the rounds before, as often as the site is patient.

    Args:
        held: What is held, with the judgement of the own data.
        setup: Knows how patient the site is.
        book: Holds what they said when questions were asked.
    """
    odds = held.odds
    if held.state != GuidanceState.ACTIVE or odds is None or not setup.patience:
        return held
    told = book.num_told
    # The newest word of each round before this one; None: nothing of others was held.
    rounds = {
        trial.basis.told: trial.basis.odds
        for trial in book.trials
        if trial.basis and trial.basis.told < told
    }
    before = [rounds[k] for k in sorted(rounds)][-(setup.patience - 1) or len(rounds) :]
    spoken = [odds, *before]
    spoke_against = [word is not None and word < UNLIKELY for word in spoken]
    if len(spoken) < setup.patience or not all(spoke_against):
        return held
    return replace(
        held,
        state=GuidanceState.DOUBTED,
        reason=f"your own data spoke against the others in {setup.patience} rounds",
    )


def _keeps(held: Guidance, message: Packet) -> bool:
    """Whether what is held of others is worth more than a packet of nobody else."""
    if held.state != GuidanceState.ACTIVE or held.message is None:
        return False
    is_of_others = held.message.head.num_uploads > 1
    is_alone = message.head.num_uploads == 1 or is_empty(message.body)
    return is_of_others and is_alone


def _refuse_old(message: Packet, held: Guidance, setup: Setup, book: Book) -> None:
    head, told = message.head, book.num_told
    if head.answers > told:
        raise WireError(
            f"it answers an upload made after {head.answers} results and corrections, "
            f"and this agent has {told}. Was an older copy of its file put back?"
        )
    if head.order < held.order:
        raise WireError("it is older than the packet that is held.")
    age = book.results_since(head.answers or told)
    if age >= setup.packet_lifetime:
        raise WireError(
            f"it answers an upload {age} results ago, and packets are used for "
            f"{setup.packet_lifetime}. Upload again."
        )
