"""`gf.connect` and `Link`: an agent and its coordinator."""

import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from guidefbo.connect.courier import Moved
from guidefbo.connect.errors import LinkError, OfflineError, RefusedError
from guidefbo.connect.in_words import packet_words, upload_words
from guidefbo.connect.join import Joining, join
from guidefbo.connect.leaving import Left, tell_leaving
from guidefbo.connect.link_file import LinkFile
from guidefbo.connect.mailbox import Mailbox, Outgoing
from guidefbo.connect.move import courier_of, move
from guidefbo.connect.places import Places
from guidefbo.connect.transport import check_where
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import OutputError, write_atomically
from guidefbo.core.space.form import fingerprint
from guidefbo.site.agent import Agent
from guidefbo.site.guidance import Guidance
from guidefbo.wire.codec import read_head
from guidefbo.wire.envelope import PacketHead, UploadHead
from guidefbo.wire.keys import SigningKey

Notice = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What became of a synchronisation."""

    moved: Moved | None
    """What was exchanged, None where the coordinator was not reached."""
    guidance: Guidance | None
    """What the agent holds now, None where it was not looked at."""
    trouble: str | None = None
    """Why the coordinator was not reached, or what it refused."""
    is_for_the_site: bool = False
    """Whether the site has to do something before an exchange can succeed again."""
    is_waiting: bool = False
    """Whether a newer upload waits for somebody to look at it."""
    retry_after: float | None = None
    """Seconds for which the coordinator asks to be left alone, if it does."""

    @property
    def is_online(self) -> bool:
        """Whether the coordinator has answered."""
        return self.moved is not None and self.moved.is_answered

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return it in sentences."""
        lines: list[str] = []
        if self.trouble is not None:
            lines.append(f"not synchronised: {self.trouble}")
            later = "" if self.is_for_the_site else ", the next sync catches up"
            lines.append(f"nothing is lost: the agent works on{later}")
        elif self.moved is not None:
            lines += self.moved.lines()
        if self.is_waiting:
            lines.append(
                "a newer upload waits until somebody has looked at it: guidefbo audit "
                "FILE --confirm"
            )
        if self.guidance is not None:
            lines.append(str(self.guidance))
        return lines


class Link:
    """An agent's file and its coordinator.

    `sync` hands over the newest upload and takes the newest packet. An evaluation never
    runs inside it, and where the coordinator is not there the agent works on alone.
    """

    def __init__(self, file: str | Path, *, patience: float = 0.0) -> None:
        """Open the link of an agent that has joined.

        Args:
            file: The agent's file. It is read when there is something to hand over or
                to take, and not before.
            patience: Seconds to wait for an answer in a folder.
        """
        self._places = Places.of(file)
        self._file = LinkFile.load(self._places.link)
        self._mailbox = Mailbox.open(self._places.mail)
        self._patience = patience

    @property
    def facts(self) -> LinkFile:
        """Where the coordinator is, and who this site is."""
        return self._file

    @property
    def places(self) -> Places:
        """The files."""
        return self._places

    @property
    def mailbox(self) -> Mailbox:
        """The mailbox."""
        return self._mailbox

    def sync(self, *, wait: float = 30.0, notice: Notice | None = None) -> Synced:
        """Hand over the newest upload and take the newest packet.

        Where the coordinator cannot be reached, or refuses for now, that is said in
        what is returned and nothing is lost.

        Args:
            wait: Seconds to wait for another process that holds a file.
            notice: Called with a sentence where a wait is a long one.
        """
        is_waiting = False
        if self._file.speaks:
            is_waiting = not self.post(is_looked_at=not self._file.needs_confirmation)
        moved, trouble, retry_after, is_for_the_site = None, None, None, False
        try:
            if self._places.next_key.exists() and not self.rotate(wait=wait):
                moved = Moved(is_answered=False)  # one letter after the other
            else:
                moved = self.move(wait=wait, notice=notice)
        except OfflineError as error:
            trouble, retry_after = str(error), error.retry_after
        except RefusedError as error:
            if not (error.is_passing or error.is_for_the_site):
                raise
            trouble, retry_after = str(error), error.retry_after
            is_for_the_site = error.is_for_the_site
        self._renew()
        guidance = self.take(wait=wait, notice=notice)
        return Synced(
            moved=moved,
            guidance=guidance,
            trouble=trouble,
            is_for_the_site=is_for_the_site,
            is_waiting=is_waiting,
            retry_after=retry_after,
        )

    def _renew(self) -> None:
        """Write the coordinator's newest key into the link."""
        key = self._mailbox.newest_key(self._file.coordinator_key)
        if key != self._file.coordinator_key:
            self._file = replace(self._file, coordinator_key=key)
            # Where it may not be written, the mailbox goes on proving the key.
            with suppress(OutputError):
                self._file.save(self._places.link)

    def due(self) -> Outgoing | None:
        """Return the upload that is not in the mailbox yet, None where there is none.

        The same results in the same space, the same upload: it is made once.
        """
        agent = self._load()
        ready = self._mailbox.outgoing()
        told = max((r.order for t in agent.trials for r in t.records), default=0)
        if (
            ready is not None
            and ready.sequence == told
            and read_head(ready.upload.encode(), UploadHead).terms == agent.setup.terms
        ):
            return None
        message = agent.upload()
        if message is None:
            return None
        text = message.to_bytes().decode()
        return Outgoing(
            sequence=message.head.sequence,
            upload=text,
            words=upload_words(text, agent.setup),
        )

    def post(self, *, is_looked_at: bool = True) -> bool:
        """Put the newest upload into the mailbox; return whether none is left out.

        Args:
            is_looked_at: Whether it may leave at the next exchange.
        """
        outgoing = self.due()
        if outgoing is None:
            return True
        if not is_looked_at:
            return False
        self.release(outgoing)
        return True

    def release(self, outgoing: Outgoing) -> None:
        """Let an upload leave at the next exchange; it is in the audit log first."""
        with self._mailbox.held():
            self._mailbox.audit.add(
                "ready", sequence=outgoing.sequence, words=outgoing.words
            )
            self._mailbox.put(outgoing)

    def move(self, *, wait: float = 30.0, notice: Notice | None = None) -> Moved:
        """Exchange letters; this half never opens the agent's file."""
        return move(self._places, patience=self._patience, wait=wait, notice=notice)

    def take(
        self, *, wait: float = 30.0, notice: Notice | None = None
    ) -> Guidance | None:
        """Hand the newest packet of the mailbox to the agent; say what it holds."""
        incoming = self._mailbox.incoming()
        agent = self._load()
        if incoming is None or agent.held_guidance.text == incoming.packet:
            return agent.guidance
        space = read_head(incoming.packet.encode(), PacketHead).terms.space
        if space in map(fingerprint, agent.setup.former):
            # It came before this site has changed its space.
            return agent.guidance
        with Agent.update(self._places.file, wait=wait, notice=notice) as agent:
            guidance = agent.receive(incoming.packet)
        with self._mailbox.held(wait=wait, notice=notice):
            event = "taken" if guidance.refusal is None else "refused"
            self._mailbox.audit.add(
                event,
                order=incoming.order,
                words=packet_words(incoming.packet, agent.setup),
                reason=guidance.refusal,
            )
        return guidance

    def rotate(self, *, wait: float = 30.0, notice: Notice | None = None) -> bool:
        """Change the site's key; return whether the coordinator knows the new one.

        The letter is signed with the old key and sent again until it is answered; only
        then is the old key replaced.

        Args:
            wait: Seconds to wait for another process that holds the mailbox.
            notice: Called with a sentence where a wait is a long one.
        """
        places = self._places
        with self._mailbox.held(wait=wait, notice=notice):
            if not places.next_key.exists():
                SigningKey.make().save(places.next_key)
            fresh = SigningKey.load(places.next_key)
            courier = courier_of(places, self._patience)
            if courier.tell("rotate", public_key=fresh.public) is None:
                return False
            # The rights of the old one: another user may have to read it.
            write_atomically(places.key, fresh.to_pem())
            places.next_key.unlink()
            state = self._mailbox.state()
            self._mailbox.set_state(replace(state, pending=None, pending_upload=None))
        return True

    def leave(
        self,
        *,
        forget: bool = False,
        anyway: bool = False,
        wait: float = 30.0,
        notice: Notice | None = None,
    ) -> Left | None:
        """Leave the federation; return how, None where no answer has come yet.

        The site has left where the coordinator confirms it, or says in a signed refusal
        that it takes nothing of the site any more. The agent stays and works alone: it
        lets go of the packet it holds, and of what the others foretold. The audit log
        stays.

        Args:
            forget: Whether the coordinator removes this site's upload as well.
            anyway: Whether to leave also where nothing confirms it: the coordinator
                refuses otherwise, is not reached, or what answers is not it.
            wait: Seconds to wait for another process that holds a file.
            notice: Called with a sentence where a wait is a long one.
        """
        with self._mailbox.held(wait=wait, notice=notice):
            left = tell_leaving(
                self._places,
                self._file,
                patience=self._patience,
                forget=forget,
                anyway=anyway,
            )
            if left is None:
                return None
            self._let_go(wait, notice)
            self._mailbox.forget()
            self._places.link.unlink(missing_ok=True)
            self._places.key.unlink(missing_ok=True)
            self._places.next_key.unlink(missing_ok=True)
        return left

    def _let_go(self, wait: float, notice: Notice | None) -> None:
        """Have the agent work alone; until it does, the letter can be sent again."""
        if self._places.file.exists():
            with Agent.update(self._places.file, wait=wait, notice=notice) as agent:
                agent.work_alone()

    def _load(self) -> Agent:
        agent = Agent.load(self._places.file)
        setup = agent.setup
        if (setup.federation, setup.site) != (self._file.federation, self._file.site):
            raise LinkError(
                f"{self._places.file} is the site {setup.site!r} in "
                f"{setup.federation!r}, and its link says {self._file.site!r} in "
                f"{self._file.federation!r}. Bring them together: guidefbo rename "
                f"{shlex.quote(str(self._places.file))} --site {self._file.site} "
                f"--federation {self._file.federation}"
            )
        return agent


def connect(
    file: str | Path,
    where: str | None = None,
    *,
    code: str | None = None,
    coordinator_key: str | None = None,
    ca: str | Path | None = None,
    insecure: bool = False,
    seed: int | None = None,
    patience: float = 10.0,
) -> Link:
    """Return an agent's link to its coordinator; join where a code is given.

    Args:
        file: The agent's file, `site.json`; created by a join if it is not there.
        where: The coordinator, `https://host:8443` or `folder:DIR`; None: where the
            link says.
        code: The invitation's one-time code, to join; not needed after that.
        coordinator_key: The coordinator's public key, if the host gave it.
        ca: File of the certificate authority that vouches for the address.
        insecure: Whether plain HTTP to another machine is allowed.
        seed: Seed of an agent that is created; None: of its name.
        patience: Seconds to wait for an answer in a folder.
    """
    places = Places.of(file)
    is_joining = (places.mail / "joining.json").exists() or not places.link.exists()
    if not is_joining:
        link = Link(file, patience=patience)
        if where is not None:
            _same_place(link.facts, where)
        return link
    if where is None or code is None:
        raise LinkError(
            f"{os.fspath(file)} is in no federation. Join with the code of an "
            "invitation: guidefbo.connect('site.json', 'https://host:8443', "
            "code='ABCD-EFGH')."
        )
    joined = join(
        Joining(
            places=places,
            where=where,
            code=code,
            coordinator_key=coordinator_key,
            ca=None if ca is None else Path(ca),
            is_insecure=insecure,
            seed=seed,
            patience=patience,
        )
    )
    if joined is None:
        raise OfflineError(
            f"The letter is in {where}; its answer has not come yet. Call connect "
            "again with the same code later."
        )
    return Link(file, patience=patience)


def _same_place(facts: LinkFile, where: str) -> None:
    if check_where(where, is_insecure=facts.is_insecure) != facts.where:
        raise SettingsError(
            f"This site is linked to {facts.where}, and {where} was given. If the "
            "coordinator has moved, change the address in its .link file; its key "
            "must stay the same."
        )
