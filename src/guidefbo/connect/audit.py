"""The audit log: one line of JSON for everything that leaves a site or comes to it.

A line is on disk before what it describes leaves. Lines are added and never changed. A
line that a power cut has torn stays where it is, and the next one begins after it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from guidefbo.core.files import InputError, OutputError

MAX_LINE = 8 << 20
"""Longest line that is read."""
EVENTS = ("ready", "left", "undelivered", "came", "taken", "refused", "succession")
"""Made ready to leave; about to leave; nobody was reached or answered; came back; taken
by the agent; not taken; the coordinator has another key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log."""

    event: str
    """One of `EVENTS`, or `torn` for a line that cannot be read."""
    at: str
    """When, by this machine's clock; nothing depends on it."""
    fields: Mapping[str, Any]
    """What, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """The log of one site; whoever adds to it holds the mailbox."""

    path: Path
    """The file."""
    mode: int = 0o600
    """Its rights."""

    def add(self, event: str, **fields: Any) -> None:
        """Add a line, on disk when this returns."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({"event": event, "at": at, **fields}, allow_nan=False)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            # A link would lead to a file that is no log.
            flags |= getattr(os, "O_NOFOLLOW", 0)
            is_new = not self.path.exists()
            handle = os.open(self.path, flags, self.mode)
            try:
                if is_new and hasattr(os, "fchmod"):
                    # What the umask took away, a second user may need.
                    os.fchmod(handle, self.mode)
                # A torn line is closed first.
                start = b"" if _ends_well(handle) else b"\n"
                _write_all(handle, start + line.encode() + b"\n")
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise OutputError(
                f"Cannot write the audit log {self.path}: {error.strerror}. Nothing "
                "leaves before it is written there."
            ) from error

    def entries(self) -> Iterator[Entry]:
        """Go through the lines, oldest first."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"Cannot read {self.path}: {error.strerror}.") from error
        with file:
            while line := file.readline(MAX_LINE):
                if line.strip():
                    yield _read(line)


def _read(line: bytes) -> Entry:
    try:
        form: Any = json.loads(line)
        fields = dict(cast(dict[str, Any], form))
        return Entry(
            event=str(fields.pop("event")), at=str(fields.pop("at")), fields=fields
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return Entry(event="torn", at="", fields={"bytes": len(line)})


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _ends_well(handle: int) -> bool:
    size = os.fstat(handle).st_size
    if size == 0:
        return True
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"
