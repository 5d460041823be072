"""The folder door: letters as files, for sites that may not open connections.

    DIR/in/FEDERATION/SITE/000000000007.letter      what a site asks
    DIR/out/FEDERATION/SITE/000000000007.letter     what it is answered
    DIR/in/_join/ID.letter, DIR/out/_join/ID.letter a site that has no name yet

Any tool may carry the files. Every file is written under another name and then moved
into place. No clock is read. A request is removed once its answer is on disk; a kill in
between does no harm, since a letter that comes again gets the same answer.
"""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from guidefbo.coordinator.answer import Answered, Desk
from guidefbo.coordinator.points import reached
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import InputError, OutputError, read_file, write_atomically
from guidefbo.core.names import is_name
from guidefbo.wire.letter import MAX_LETTER

JOIN_FOLDER = "_join"
"""No federation's name begins with this sign."""
NAME = re.compile(r"[0-9a-f]{1,64}\.letter")
"""A number or a digest; what a sync tool writes beside them is passed over."""
log = logging.getLogger(__name__)


def turn(desk: Desk, folder: Path) -> int:
    """Answer every letter in a folder once, and return how many there were.

    Args:
        desk: Where letters are answered.
        folder: The shared folder.
    """
    if not folder.is_dir():
        raise SettingsError(f"The folder {folder} does not exist. Create it first.")
    num_answered = 0
    for path in _requests(folder / "in"):
        try:
            num_answered += _answer(desk, folder, path)
        except (InputError, OutputError, OSError) as error:
            # One file that cannot be read or answered does not stop the others.
            log.error("folder failed", extra={"reason": str(error)})
    return num_answered


def _requests(folder: Path) -> Iterator[Path]:
    """Return the requests, those of one site in the order of their numbers."""
    joins = folder / JOIN_FOLDER
    yield from _letters(joins)
    for federation in _folders(folder):
        for site in _folders(federation):
            yield from _letters(site)


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if is_name(path.name) and path.is_dir() and not path.is_symlink()
    )


def _letters(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))


def _answer(desk: Desk, folder: Path, path: Path) -> bool:
    out = folder / "out" / path.relative_to(folder / "in")
    if not out.exists():
        try:
            data = read_file(path, MAX_LETTER)
        except InputError as error:
            log.warning("file refused", extra={"reason": str(error)})
            return False
        answered = desk.answer(data, limit=MAX_LETTER, is_sealed=True)
        if _should_wait(answered):
            # It stays where it is: the next turn finds it.
            return False
        out.parent.mkdir(parents=True, exist_ok=True)
        reached("before folder answer")
        write_atomically(out, answered.body)
    path.unlink(missing_ok=True)
    return True


def _should_wait(answered: Answered) -> bool:
    return answered.status in (429, 503)
