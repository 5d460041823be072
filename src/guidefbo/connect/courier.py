"""One exchange: hand over the newest upload, take the newest packet.

This is the half that talks to the network. It needs the link, the key and the mailbox,
and never opens the agent's file. The number of a letter and the letter itself are on
disk, and what it says is in the audit log, before it leaves; until it is answered the
same letter is sent again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from guidefbo.connect.answers import Checked, check_answer, sentence
from guidefbo.connect.errors import ForeignAnswerError, OfflineError, RefusedError
from guidefbo.connect.link_file import LinkFile
from guidefbo.connect.mailbox import Incoming, Mailbox, Outgoing, State
from guidefbo.connect.transport import Post, Transport
from guidefbo.core.checks import shown
from guidefbo.core.errors import WireError
from guidefbo.wire.codec import read_head
from guidefbo.wire.envelope import MAX_BYTES, MAX_SEQUENCE, MAX_UPLOADS, PacketHead
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import seal

EXCHANGE = "exchange"


def new_key_line(key: str) -> str:
    """Return what a site reads where its coordinator has changed its key."""
    return (
        "the coordinator has a new key, and its old one vouches for it; the host can "
        f"confirm it: {key}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What one exchange moved."""

    is_answered: bool
    """Whether the coordinator has answered; through a folder that may take a while."""
    sent: int | None = None
    """Sequence number of the upload that was handed over, None where none was."""
    has_packet: bool = False
    """Whether a packet came that was not here before."""
    num_uploads: int | None = None
    """How many uploads the coordinator holds, where it says so."""
    reason: str | None = None
    """Why no packet came."""
    new_key: str | None = None
    """The coordinator's key, where it has changed and the old one vouches for it."""

    def lines(self) -> list[str]:
        """Return it in sentences."""
        if not self.is_answered:
            return ["the letter is in the folder; its answer has not come yet"]
        up = "nothing new to hand over"
        if self.sent is not None:
            # A correction is counted like a result.
            told = f"{self.sent} results and corrections"
            up = f"handed over: what was learnt from {told}"
        down = "took a new packet" if self.has_packet else f"no packet: {self.reason}"
        count = self.num_uploads
        lines = [up, down if count is None else f"{down} (uploads there: {count})"]
        if self.new_key is not None:
            lines.append(new_key_line(self.new_key))
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Courier:
    """Carries the letters of one site."""

    link: LinkFile
    """Where to, and whom to believe."""
    key: SigningKey
    """The site's key."""
    mailbox: Mailbox
    """The site's mailbox; whoever calls holds it."""
    transport: Transport
    """How letters travel."""

    def exchange(self) -> Moved:
        """Hand over the newest upload and take the newest packet."""
        held = self.mailbox.newest_key(self.link.coordinator_key)
        moved = self._exchange()
        key = self.mailbox.newest_key(self.link.coordinator_key)
        return moved if key == held else replace(moved, new_key=key)

    def _exchange(self) -> Moved:
        outgoing = self.mailbox.outgoing() if self.link.speaks else None
        state = self.mailbox.state()
        is_newer = outgoing is not None and outgoing.digest not in (
            state.accepted,
            state.pending_upload,
        )
        if state.pending is not None:
            post = Post.of(state.pending.encode())
            if post.letter.purpose == EXCHANGE:
                payload = self._deliver(post, state)
                if payload is not None:
                    moved = self._take(post, payload)
                    if not is_newer:
                        return moved
                elif not is_newer:
                    return Moved(is_answered=False)
            # Nobody waits for this answer any more.
            self.transport.withdraw(post)
        return self._begin(outgoing)

    def tell(self, purpose: str, **fields: Any) -> Mapping[str, Any] | None:
        """Send a letter of another purpose; None where no answer came yet."""
        state = self.mailbox.state()
        if state.pending is not None:
            post = Post.of(state.pending.encode())
            if post.letter.purpose == purpose and _has(post, fields):
                return self._deliver(post, state)
            self.transport.withdraw(post)
        post = self._seal(purpose, state.number + 1, fields)
        state = replace(
            state,
            number=state.number + 1,
            pending=post.data.decode(),
            pending_upload=None,
        )
        self.mailbox.set_state(state)
        return self._deliver(post, state)

    def _begin(self, outgoing: Outgoing | None) -> Moved:
        """Write, log and send a new letter."""
        state = self.mailbox.state()
        held = self.mailbox.incoming()
        is_new = outgoing is not None and outgoing.digest != state.accepted
        fields = {
            "upload": outgoing.upload if outgoing is not None and is_new else None,
            "held": None if held is None else held.order,
        }
        post = self._seal(EXCHANGE, state.number + 1, fields)
        state = replace(
            state,
            number=state.number + 1,
            pending=post.data.decode(),
            pending_upload=outgoing.digest if outgoing is not None and is_new else None,
        )
        self.mailbox.set_state(state)
        payload = self._deliver(post, state)
        if payload is None:
            return Moved(is_answered=False)
        return self._take(post, payload)

    def _seal(self, purpose: str, number: int, fields: Mapping[str, Any]) -> Post:
        payload = {
            "purpose": purpose,
            "federation": self.link.federation,
            "site": self.link.site,
            "number": number,
            **fields,
        }
        return Post.of(seal(payload, self.key))

    def _deliver(self, post: Post, state: State) -> Mapping[str, Any] | None:
        """Return what the coordinator answers to a letter that is on disk."""
        self.mailbox.audit.add(
            "left",
            where=self.link.where,
            letter=dict(post.letter.payload),
            words=self._words(post),
        )
        try:
            answer = self.transport.deliver(post)
            if answer is None:
                return None
            checked = check_answer(
                answer, post.letter, self.mailbox.newest_key(self.link.coordinator_key)
            )
            self._keep(checked)
            payload = checked.answer()
        except RefusedError as error:
            self.mailbox.audit.add(
                "refused", number=post.letter.number, reason=str(error)
            )
            if not error.is_passing:
                # The same letter would be refused again: the next one is a new one.
                state = replace(state, pending=None, pending_upload=None)
                self.mailbox.set_state(state)
            raise
        except OfflineError as error:
            self.mailbox.audit.add(
                "undelivered", number=post.letter.number, reason=str(error)
            )
            raise
        except ForeignAnswerError as error:
            self.mailbox.audit.add(
                "refused", number=post.letter.number, reason=str(error)
            )
            # What stands in the way of the true answer is removed.
            self.transport.finish(post)
            raise
        self.mailbox.audit.add("came", letter=dict(payload))
        return payload

    def _keep(self, checked: Checked) -> None:
        """Hold a new key of the coordinator, which the one before vouches for."""
        if not checked.successions:
            return
        self.mailbox.audit.add(
            "succession",
            former_key=checked.successions[0].former_key,
            public_key=checked.key,
            letters=[step.text for step in checked.successions],
        )
        self.mailbox.add_successions([step.text for step in checked.successions])

    def _words(self, post: Post) -> list[str]:
        """Return what the upload in a letter says, as the site itself put it."""
        outgoing = self.mailbox.outgoing()
        upload = post.letter.payload.get("upload")
        if outgoing is None or outgoing.upload != upload:
            return []
        return outgoing.words

    def _take(self, post: Post, payload: Mapping[str, Any]) -> Moved:
        """Keep what came, and let the letter go."""
        incoming, reason = self._packet(payload)
        if incoming is not None:
            self.mailbox.receive(incoming)
        state = self.mailbox.state()
        has_sent = post.letter.payload.get("upload") is not None
        accepted = state.pending_upload if has_sent else state.accepted
        self.mailbox.set_state(State(number=state.number, accepted=accepted))
        self.transport.finish(post)
        return Moved(
            is_answered=True,
            sent=_count(payload.get("accepted"), MAX_SEQUENCE) if has_sent else None,
            has_packet=incoming is not None,
            num_uploads=_count(payload.get("num_uploads"), MAX_UPLOADS),
            reason=reason,
        )

    def _packet(self, payload: Mapping[str, Any]) -> tuple[Incoming | None, str | None]:
        """Return the packet of an answer, or why there is none."""
        packet, reason = payload.get("packet"), payload.get("reason")
        if packet is None:
            text = reason if isinstance(reason, str) else "no packet came"
            return None, sentence(text, "").rstrip(".")
        if not isinstance(packet, str) or len(packet) > MAX_BYTES:
            raise ForeignAnswerError(
                f"packet must be a message of at most {MAX_BYTES} signs, got "
                f"{shown(packet)}."
            )
        try:
            head = read_head(packet.encode(), PacketHead)
        except WireError as error:
            raise ForeignAnswerError(
                f"The coordinator's packet cannot be read: {error} Nothing of it was "
                "taken."
            ) from error
        if (head.terms.federation, head.site) != (self.link.federation, self.link.site):
            raise ForeignAnswerError(
                f"The coordinator's packet is for {head.site!r} in "
                f"{head.terms.federation!r}, and this is {self.link.site!r} in "
                f"{self.link.federation!r}. Nothing of it was taken."
            )
        incoming = Incoming(
            packet=packet, order=list(head.order), num_uploads=head.num_uploads
        )
        return incoming, None


def _count(value: Any, most: int) -> int | None:
    return value if type(value) is int and 0 <= value <= most else None


def _has(post: Post, fields: Mapping[str, Any]) -> bool:
    return all(post.letter.payload.get(name) == value for name, value in fields.items())
