"""What letters do: many of them in one transaction, each at most once.

First all changes, then the packets of each federation from what is stored by then, then
the answers, which are stored too: a letter that comes again gets the same answer.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection

from guidefbo.coordinator import members
from guidefbo.coordinator.codes import hash_code
from guidefbo.coordinator.federation import (
    Federation,
    find_federation,
    list_successions,
    set_round,
    signing_key,
)
from guidefbo.coordinator.members import JOINED, LEFT, Member, NewUpload
from guidefbo.coordinator.packets import Packets, make_packets
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.request import Request
from guidefbo.coordinator.spaces import require_space, what_changed
from guidefbo.wire.codec import read_head
from guidefbo.wire.envelope import UploadHead
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import JOIN, seal

PRUNE_EVERY = 256
"""Changes of a federation after which those who sent last lose their oldest uploads."""
LEAVE = "leave"
"""Purpose of the letter that a closed federation takes as well."""
Outcome = bytes | Refusal
"""The signed answer, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A change that was made and is not answered yet."""

    request: Request
    member: Member
    fields: dict[str, Any]
    """What the answer says so far."""
    wants_packet: bool = False


@dataclass(slots=True, kw_only=True)
class _Ledger:
    """One federation during a transaction: what is there, and what will be."""

    federation: Federation
    was: int
    """Its counter before."""
    public_key: str
    """The key answers are signed with."""
    members: dict[str, Member]
    """The sites that have written."""
    changed: list[Member] = field(default_factory=list[Member])
    uploads: list[NewUpload] = field(default_factory=list[NewUpload])

    def count_change(self) -> None:
        self.federation = replace(self.federation, round=self.federation.round + 1)

    def flush(self, connection: Connection) -> None:
        members.put_members(connection, self.changed)
        members.add_uploads(connection, self.uploads)
        if self.federation.round != self.was:
            set_round(connection, self.federation.name, self.federation.round)
        if self.federation.round // PRUNE_EVERY != self.was // PRUNE_EVERY:
            # Whoever fills the disk is found sooner or later.
            for upload in self.uploads:
                members.prune_uploads(connection, upload.federation, upload.site)


def process(connection: Connection, requests: Sequence[Request]) -> list[Outcome]:
    """Do what some sites ask for, and return an outcome for each.

    Args:
        connection: In a transaction that is committed afterwards.
        requests: At most one of each site.
    """
    key = signing_key(connection, lock=True)
    successions = list_successions(connection)
    # In one order, so that two processes never wait for each other.
    ledgers = {
        name: _open_ledger(connection, name, requests, key.public)
        for name in sorted({request.federation for request in requests})
    }
    drafts: list[Draft | Outcome] = []
    for request in requests:
        try:
            drafts.append(_change(connection, request, ledgers[request.federation]))
        except Refusal as refusal:
            drafts.append(refusal)
    packets: dict[str, Packets] = {}
    for name, ledger in ledgers.items():
        ledger.flush(connection)
        mine = [
            d for d in drafts if isinstance(d, Draft) and d.member.federation == name
        ]
        packets[name] = _packets(connection, ledger.federation, mine)
    answers = {
        draft.member: _answer(draft, packets[draft.member.federation], key, successions)
        for draft in drafts
        if isinstance(draft, Draft)
    }
    members.put_answers(connection, answers)
    return [answers[d.member] if isinstance(d, Draft) else d for d in drafts]


def _open_ledger(
    connection: Connection, name: str, requests: Sequence[Request], public_key: str
) -> _Ledger:
    federation = find_federation(connection, name, lock=True)
    names = [request.site for request in requests if request.federation == name]
    return _Ledger(
        federation=federation,
        was=federation.round,
        public_key=public_key,
        members=members.find_members(connection, name, names),
    )


def _change(
    connection: Connection, request: Request, ledger: _Ledger
) -> Draft | Outcome:
    """Make the change a letter asks for; nothing was written where it is refused."""
    letter = request.letter
    member = ledger.members.get(request.site)
    if member is not None and member.digest == letter.digest and member.answer:
        return member.answer
    # Who leaves may also do so afterwards, and have its uploads removed.
    if not ledger.federation.is_open and letter.purpose != LEAVE:
        raise Refusal("closed", f"The federation {request.federation} is closed.")
    if letter.purpose == JOIN:
        return _join(connection, request, member, ledger)
    if member is None or member.state != JOINED:
        raise Refusal(
            "not_a_site",
            f"{request.site} is no longer a site of {request.federation}. To come back "
            "it needs a new invitation.",
        )
    if member.public_key != request.public_key:
        raise Refusal("bad_signature", "The site's key has changed meanwhile.")
    if letter.number <= member.number:
        raise replayed(letter.number, member.number)
    heard = replace(
        member,
        number=letter.number,
        digest=letter.digest,
        answer=b"",
        seen=time.time(),
    )
    do = {"exchange": _exchange, LEAVE: _leave, "rotate": _rotate}[letter.purpose]
    draft = do(connection, request, heard, ledger)
    ledger.changed.append(draft.member)
    return draft


def replayed(number: int, newest: int) -> Refusal:
    """Return why a letter is refused that came after a newer one of its site.

    Args:
        number: The letter's.
        newest: That of the newer one.
    """
    return Refusal(
        "replayed",
        f"Letter {number} came after letter {newest} of the same site, or is another "
        "one of the same number. Every letter needs a larger number than the one "
        "before.",
    )


def _join(
    connection: Connection, request: Request, former: Member | None, ledger: _Ledger
) -> Draft:
    federation, letter = ledger.federation, request.letter
    code_hash = hash_code(letter.payload["code"])
    invitation = members.find_invitation(connection, code_hash)
    if invitation is None or invitation.used_by is not None:
        raise Refusal("unknown_code", "The code was used. Ask the host for a new one.")
    if invitation.expires < time.time():
        raise Refusal(
            "expired_code",
            "The code has expired. Ask the host for a new one: guidefbo federation "
            f"invite {request.federation} {request.site}.",
        )
    space = letter.payload["space"]
    if space is not None:
        require_space(federation, space)
    if space not in (None, federation.terms.space):
        raise Refusal(
            "foreign",
            "The agent searches another space than this federation: names, kinds, "
            "bounds, options and their order must be the same at all sites.",
        )
    is_more = former is None or former.state != JOINED
    num_joined = members.count_joined(connection, federation.name)
    if is_more and num_joined >= federation.max_sites:
        raise Refusal(
            "full", f"The federation has {num_joined} sites, the most it may have."
        )
    if former is not None and former.speaks:
        ledger.count_change()
    number = letter.number if former is None else max(letter.number, former.number)
    member = Member(
        federation=federation.name,
        name=request.site,
        state=JOINED,
        role=invitation.role,
        public_key=request.public_key,
        former_key=None,
        number=number,
        digest=letter.digest,
        answer=b"",
        upload=None,
        sequence=None,
        num_uploads=0,
        seen=time.time(),
    )
    if former is None:
        members.add_member(connection, member)
    else:
        members.put_members(connection, [member])
    members.use_invitation(connection, invitation, letter.digest)
    terms = federation.terms
    fields = {
        "terms": {
            "federation": terms.federation,
            "space": terms.space,
            "strategy": terms.strategy,
            "strategy_version": terms.strategy_version,
        },
        "space": federation.space,
        "goal": federation.goal,
        "method": federation.method,
        "settings": dict(federation.settings),
        "seed": federation.shared_seed,
        "role": invitation.role,
        "coordinator_key": ledger.public_key,
        "min_sites": federation.min_sites,
        "last_number": number,
    }
    return Draft(request=request, member=member, fields=fields)


def _exchange(
    connection: Connection, request: Request, member: Member, ledger: _Ledger
) -> Draft:
    if request.upload is not None and member.role != "listen-only":
        member = _take(connection, request, request.upload, member, ledger)
    return Draft(
        request=request,
        member=member,
        fields={"accepted": member.sequence},
        wants_packet=True,
    )


def _take(
    connection: Connection,
    request: Request,
    upload: bytes,
    member: Member,
    ledger: _Ledger,
) -> Member:
    """Store an upload that is not older than the one that is there."""
    # The space may have been changed since the letter was read.
    require_space(ledger.federation, str(request.space))
    sequence, former = request.sequence, member.sequence
    if former is not None and sequence < former:
        raise Refusal(
            "older",
            f"The upload was made of {sequence} results and corrections, and one of "
            f"{former} is here already. Was the site's file replaced by an older copy?",
        )
    if sequence == former and members.newest_upload(connection, member) == upload:
        return member
    number = request.letter.number
    ledger.uploads.append(
        NewUpload(
            federation=member.federation,
            site=member.name,
            number=number,
            sequence=sequence,
            body=upload,
        )
    )
    ledger.count_change()
    # A correction of results that were counted is no further round.
    num_uploads = member.num_uploads + (sequence != former)
    return replace(member, upload=number, sequence=sequence, num_uploads=num_uploads)


def _leave(
    connection: Connection, request: Request, member: Member, ledger: _Ledger
) -> Draft:
    if member.speaks:
        ledger.count_change()
    if request.letter.payload["forget"]:
        member = members.forget_uploads(connection, member)
    left = replace(member, state=LEFT)
    return Draft(request=request, member=left, fields={"left": True})


def _rotate(
    connection: Connection, request: Request, member: Member, ledger: _Ledger
) -> Draft:
    del connection, ledger
    new = request.letter.payload["public_key"]
    changed = replace(member, public_key=new, former_key=member.public_key)
    return Draft(request=request, member=changed, fields={"rotated": True})


def _packets(
    connection: Connection, federation: Federation, drafts: Sequence[Draft]
) -> Packets:
    """Return the packets of those sites of a federation that take one."""
    takers = [draft for draft in drafts if draft.wants_packet]
    if not takers:
        return Packets(num_uploads=0, by_site={}, reasons={})
    newest = members.newest_uploads(connection, federation.name)
    reasons: dict[str, str] = {}
    receivers: list[str] = []
    for draft in takers:
        why = _needs_none(connection, draft, newest, federation)
        if why is None:
            receivers.append(draft.member.name)
        else:
            reasons[draft.member.name] = why
    made = make_packets(federation, newest, receivers)
    return replace(made, reasons={**made.reasons, **reasons})


def _needs_none(
    connection: Connection,
    draft: Draft,
    newest: Collection[str],
    federation: Federation,
) -> str | None:
    """Return why a site gets no packet, whatever the others have sent."""
    member = draft.member
    if member.role == "speak-only":
        return "this site hands over uploads and takes no packets"
    if member.role == "site" and member.name not in newest:
        if federation.former and member.num_uploads:
            last = members.last_upload(connection, member)
            head = None if last is None else read_head(last, UploadHead)
            told = what_changed(federation, None if head is None else head.terms.space)
            if told is not None:
                return told
        return "a packet answers an upload, and this site has sent none yet"
    if draft.request.letter.payload["held"] == [member.sequence or 0, federation.round]:
        return "nothing is newer than the packet that is held"
    return None


def _answer(
    draft: Draft, packets: Packets, key: SigningKey, successions: Sequence[str]
) -> bytes:
    """Return the signed answer to a letter."""
    letter, name = draft.request.letter, draft.member.name
    fields = dict(draft.fields)
    if draft.wants_packet:
        packet = packets.by_site.get(name)
        fields["packet"] = None if packet is None else packet.decode()
        fields["reason"] = None if packet is not None else packets.reasons[name]
        fields["num_uploads"] = packets.num_uploads
    return seal(
        {
            "purpose": "answer",
            "federation": draft.member.federation,
            "site": name,
            "number": letter.number,
            "answers": letter.digest,
            "successions": successions,
            **fields,
        },
        key,
    )
