"""Letters through a shared folder, for sites that may not open connections.

`DIR/in/FEDERATION/SITE/NUMBER.letter` is written by the site, `DIR/out/...` the same by
the coordinator. A file appears whole or not at all; a temporary name begins with a dot.
No clock is read and no order of arrival is assumed, so that any tool may carry the
files.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from guidefbo.connect.errors import OfflineError
from guidefbo.connect.transport import Post
from guidefbo.core.files import InputError, OutputError, read_file, write_atomically
from guidefbo.wire.letter import JOIN, MAX_LETTER

STEP = 0.05
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTransport:
    """A coordinator that reads a folder."""

    folder: Path
    """The folder that both sides see."""
    patience: float = 0.0
    """Seconds to wait for an answer before one goes on without it."""

    def deliver(self, post: Post) -> bytes | None:
        """Put a letter into the folder and return the answer if it is there."""
        place = _place(post)
        question = self.folder / "in" / place
        answer = self.folder / "out" / place
        if not self.folder.is_dir():
            raise OfflineError(
                f"The folder {self.folder} is not there. Is the share mounted? The "
                "next attempt puts the same letter there."
            )
        found = _take(answer)
        if found is not None:
            return found
        if any((self.folder / "in" / part).is_symlink() for part in place.parents):
            raise OfflineError(
                f"{question.parent} is a link to another place, and no letter goes "
                "there. Who may write into the share?"
            )
        try:
            question.parent.mkdir(parents=True, exist_ok=True)
            if not question.is_file() or question.is_symlink():
                write_atomically(question, post.data, is_followed=False)
        except OSError as error:
            raise OfflineError(
                f"Cannot write into {question.parent}: {error.strerror or error}. May "
                "you write there? The next attempt puts the same letter there."
            ) from error
        deadline = time.monotonic() + self.patience
        while (found := _take(answer)) is None and time.monotonic() < deadline:
            time.sleep(STEP)
        return found

    def withdraw(self, post: Post) -> None:
        """Remove a letter that was not read and that another one replaces."""
        try:
            (self.folder / "in" / _place(post)).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"Cannot remove a letter: {error.strerror}.") from error

    def finish(self, post: Post) -> None:
        """Remove an answer that was looked at."""
        # Where it cannot be removed it stays: nobody reads it again.
        with suppress(OSError):
            (self.folder / "out" / _place(post)).unlink(missing_ok=True)


def _place(post: Post) -> Path:
    payload = post.letter.payload
    if payload["purpose"] == JOIN:
        return Path("_join") / f"{post.letter.digest[:32]}.letter"
    number = f"{payload['number']:012d}.letter"
    return Path(payload["federation"]) / payload["site"] / number


def _take(answer: Path) -> bytes | None:
    if not answer.exists():
        return None
    try:
        return read_file(answer, MAX_LETTER)
    except InputError as error:
        raise OfflineError(f"Cannot read the answer {answer}: {error}.") from error
