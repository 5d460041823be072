"""The mailbox of a site: what is ready to leave, what came, and the letter under way.

`upload.json` is written by who may read the observations. What talks to the network
reads it, writes `packet.json`, `state.json` and `audit.jsonl`, and needs nothing else.
"""

import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from guidefbo.connect.audit import AuditLog
from guidefbo.connect.errors import LinkError
from guidefbo.connect.forms import read_form, write_form
from guidefbo.core.checks import shown
from guidefbo.core.files import OutputError
from guidefbo.core.lock import exclusive, lock_path
from guidefbo.wire.envelope import MAX_BYTES, MAX_SEQUENCE
from guidefbo.wire.letter import MAX_LETTER
from guidefbo.wire.succession import MAX_SUCCESSIONS, newest_key

MAX_FILE = 2 * MAX_LETTER
"""Longest file of a mailbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """An upload that is ready to leave."""

    sequence: int
    """How many results and corrections had been told when it was made."""
    upload: str
    """The strategy's message."""
    words: list[str]
    """What it says, in the site's own units."""

    def __post_init__(self) -> None:
        _require_count("sequence", self.sequence)
        _require_message("upload", self.upload)

    @property
    def digest(self) -> str:
        """What tells it from another upload."""
        return digest(self.upload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """The newest packet that came."""

    packet: str
    """The strategy's message."""
    order: list[int]
    """Its order, [answers, round]."""
    num_uploads: int
    """How many uploads it is made of."""

    def __post_init__(self) -> None:
        _require_message("packet", self.packet)
        if not isinstance(self.order, list) or len(self.order) != 2:
            raise LinkError(f"order must be two numbers, got {shown(self.order)}.")
        for number in self.order:
            _require_count("order", number)
        _require_count("num_uploads", self.num_uploads)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Numbers of letters, and the letter that was not answered yet."""

    number: int = 0
    """The largest number a letter of this site ever had."""
    pending: str | None = None
    """The letter under way, sealed; sent again as it is until it is answered."""
    pending_upload: str | None = None
    """Digest of the upload in it."""
    accepted: str | None = None
    """Digest of the upload that the coordinator has."""

    def __post_init__(self) -> None:
        _require_count("number", self.number)
        for name in ("pending", "pending_upload", "accepted"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise LinkError(f"{name} must be a text, got {shown(value)}.")


F = TypeVar("F", Outgoing, Incoming, State)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """The folder beside an agent's file."""

    path: Path
    """The folder."""

    @classmethod
    def make(cls, path: Path) -> Self:
        """Return the mailbox of a folder, made where it is not there."""
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            mailbox = cls(path=path)
            lock = lock_path(mailbox._state)
            if not lock.exists():
                # With the folder's rights: a second user locks it as well.
                lock.touch()
                lock.chmod(mailbox.mode)
        except OSError as error:
            raise OutputError(
                f"Cannot make the mailbox {path}: {error.strerror}."
            ) from error
        return mailbox

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the mailbox of a folder that is there."""
        if not path.is_dir():
            raise LinkError(
                f"There is no mailbox {path}. Join a federation first: guidefbo join "
                "https://HOST:8443 --code CODE FILE"
            )
        return cls(path=path)

    @property
    def mode(self) -> int:
        """Rights of the files: those of the folder, so that a group may share it."""
        return stat.S_IMODE(os.stat(self.path).st_mode) & 0o666

    @property
    def audit(self) -> AuditLog:
        """The log of what left and came."""
        return AuditLog(path=self.path / "audit.jsonl", mode=self.mode)

    @property
    def _state(self) -> Path:
        return self.path / "state.json"

    @contextmanager
    def held(
        self, *, wait: float = 30.0, notice: Callable[[str], object] | None = None
    ) -> Generator[None, None, None]:
        """Hold the mailbox: one process at a time changes it."""
        with exclusive(self._state, wait=wait, notice=notice):
            # Whoever writes holds the mailbox: a temporary file is a dead process's.
            for path in self.path.glob(".*"):
                with suppress(OSError):
                    path.unlink()
            yield

    def state(self) -> State:
        """Return the numbers and the letter under way."""
        return self._read(self._state, "guidefbo-mail-state", State) or State()

    def set_state(self, state: State) -> None:
        """Replace them, on disk when this returns."""
        self._write(self._state, "guidefbo-mail-state", asdict(state))

    def outgoing(self) -> Outgoing | None:
        """Return the upload that is ready to leave, None where there is none."""
        return self._read(self.path / "upload.json", "guidefbo-outgoing", Outgoing)

    def put(self, outgoing: Outgoing) -> None:
        """Make an upload ready to leave, in the place of an older one."""
        path = self.path / "upload.json"
        self._write(path, "guidefbo-outgoing", asdict(outgoing))

    def withdraw(self) -> None:
        """Let nothing more leave."""
        (self.path / "upload.json").unlink(missing_ok=True)

    def incoming(self) -> Incoming | None:
        """Return the newest packet that came, None where there is none."""
        return self._read(self.path / "packet.json", "guidefbo-incoming", Incoming)

    def receive(self, incoming: Incoming) -> None:
        """Keep a packet for the agent, in the place of an older one."""
        path = self.path / "packet.json"
        self._write(path, "guidefbo-incoming", asdict(incoming))

    def newest_key(self, key: str) -> str:
        """Return the coordinator's key that followed the one in the link, if one did.

        What is kept here are letters that prove it: who may write into the mailbox
        cannot make the site trust a key that the coordinator has not vouched for.
        """
        return newest_key(key, self._successions())

    def add_successions(self, letters: list[str]) -> None:
        """Keep letters that prove which key followed which."""
        known = [*self._successions(), *letters][-MAX_SUCCESSIONS:]
        path = self.path / "successions.json"
        self._write(path, "guidefbo-successions", {"letters": known})

    def _successions(self) -> list[str]:
        path = self.path / "successions.json"
        if not path.exists():
            return []
        kind = "guidefbo-successions"
        letters: Any = read_form(path, kind, {"letters"}, limit=MAX_FILE)["letters"]
        return cast(list[str], letters) if isinstance(letters, list) else []

    def forget(self) -> None:
        """Remove the packet and the letter under way; numbers go on."""
        for name in ("packet.json", "successions.json"):
            (self.path / name).unlink(missing_ok=True)
        self.withdraw()
        self.set_state(State(number=self.state().number))

    def _write(self, path: Path, kind: str, fields: dict[str, Any]) -> None:
        # The other user of the mailbox gets no further than the mailbox: what it links
        # to elsewhere is not written.
        write_form(path, kind, fields, mode=self.mode, is_followed=False)

    def _read(self, path: Path, kind: str, form: type[F]) -> F | None:
        if not path.exists():
            return None
        names = {f.name for f in fields(form)}
        values: dict[str, Any] = read_form(path, kind, names, limit=MAX_FILE)
        try:
            return form(**values)
        except LinkError as error:
            raise LinkError(f"{path} is damaged: {error}") from error


def digest(text: str) -> str:
    """Return what tells an upload from another."""
    return sha256(text.encode()).hexdigest()


def _require_count(name: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value <= MAX_SEQUENCE:
        raise LinkError(
            f"{name} must be a whole number from 0 to {MAX_SEQUENCE}, got "
            f"{shown(value)}."
        )


def _require_message(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) > MAX_BYTES:
        raise LinkError(f"{name} must be a message's text, got {shown(value)}.")
