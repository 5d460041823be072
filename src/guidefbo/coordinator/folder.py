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
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from guidefbo.coordinator.answer import Answered, Desk
from guidefbo.coordinator.points import reached
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.files import InputError, OutputError, read_file, write_atomically
from guidefbo.core.names import is_name
from guidefbo.wire.letter import JOIN, MAX_LETTER, read_letter

JOIN_FOLDER = "_join"
"""No federation's name begins with this sign."""
NAME = re.compile(r"[0-9a-f]{1,64}\.letter")
"""A number or a digest; what a sync tool writes beside them is passed over."""
MAX_TURN = 16
"""Most letters of one site in a turn; a site needs one, and others wait behind it."""
MAX_JOINS = 256
"""Most joins in a turn."""
Notice = Callable[[str], object]
log = logging.getLogger(__name__)


def turn(desk: Desk, folder: Path, *, notice: Notice | None = None) -> int:
    """Answer every letter in a folder once, and return how many there were.

    Args:
        desk: Where letters are answered.
        folder: The shared folder.
        notice: Called with a sentence for each letter that was refused.
    """
    require_folder(folder)
    tell = notice or _tell_nobody
    num_answered = 0
    for path in _requests(folder / "in"):
        try:
            num_answered += _answer(desk, folder, path, tell)
        except (InputError, OutputError, OSError) as error:
            # One file that cannot be read or answered does not stop the others.
            log.error("folder failed", extra={"reason": str(error)})
            tell(f"{path.relative_to(folder)} was not answered: {error}")
    return num_answered


def require_folder(folder: Path) -> None:
    """Refuse a shared folder that is not there.

    Args:
        folder: The shared folder.
    """
    if not folder.is_dir():
        raise SettingsError(f"The folder {folder} does not exist. Create it first.")


def _requests(folder: Path) -> Iterator[Path]:
    """Return the requests, those of one site in the order of their numbers."""
    joins = folder / JOIN_FOLDER
    yield from islice(_letters(joins), MAX_JOINS)
    for federation in _folders(folder):
        for site in _folders(federation):
            yield from islice(_letters(site), MAX_TURN)


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if is_name(path.name) and path.is_dir() and not path.is_symlink()
    )


def _letters(folder: Path) -> list[Path]:
    if not folder.is_dir() or folder.is_symlink():
        return []
    return sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))


def _tell_nobody(text: str) -> None:
    del text


def _answer(desk: Desk, folder: Path, path: Path, tell: Notice) -> bool:
    place = path.relative_to(folder / "in")
    out = folder / "out" / place
    if path.is_symlink():
        # Others may write here: no letter of theirs names a file of this machine.
        _refuse(path.relative_to(folder), "it is a link", tell)
        path.unlink(missing_ok=True)
        return False
    if not out.is_file() or out.is_symlink():
        try:
            data = read_file(path, MAX_LETTER)
        except InputError as error:
            _refuse(path.relative_to(folder), str(error), tell)
            return False
        if not _is_in_place(data, place):
            _refuse(path.relative_to(folder), "it is another's place", tell)
            path.unlink(missing_ok=True)
            return False
        named = place.parts[0] if len(place.parts) == 3 else None
        limit = desk.limit_of(named)
        answered = desk.answer(data, limit=limit, is_sealed=True)
        if answered.refusal is not None:
            code, why = answered.refusal.code, answered.refusal
            tell(f"{path.relative_to(folder)} was refused ({code}): {why}")
        if _should_wait(answered):
            # It stays where it is: the next turn finds it.
            return False
        _make_folders(folder, out)
        reached("before folder answer")
        write_atomically(out, answered.body, is_followed=False)
    path.unlink(missing_ok=True)
    return True


def _refuse(file: Path, reason: str, tell: Notice) -> None:
    """Say why a file is not looked at any further."""
    log.warning("file refused", extra={"reason": reason})
    tell(f"{file} was passed over: {reason}")


def _is_in_place(data: bytes, place: Path) -> bool:
    """Whether a letter lies where its sender puts it; what is none is refused later."""
    try:
        letter = read_letter(data)
    except WireError:
        return True
    payload = letter.payload
    if letter.purpose == JOIN:
        return place == Path(JOIN_FOLDER) / f"{letter.digest[:32]}.letter"
    names = str(payload["federation"]), str(payload["site"])
    return place.parts == (*names, f"{letter.number:012d}.letter")


def _make_folders(folder: Path, out: Path) -> None:
    """Make the folders of an answer; a link among them would lead elsewhere."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for part in out.relative_to(folder).parents:
        if (folder / part).is_symlink() and part != Path():
            raise OutputError(f"{folder / part} is a link, and no answer goes there.")


def _should_wait(answered: Answered) -> bool:
    return answered.status in (429, 503)
