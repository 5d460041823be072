"""The folder door: letters as files, for sites that may not open connections.

    DIR/in/FEDERATION/SITE/000000000007.letter      what a site asks
    DIR/out/FEDERATION/SITE/000000000007.letter     what it is answered
    DIR/in/_join/ID.letter, DIR/out/_join/ID.letter a site that has no name yet

Any tool may carry the files. Every file is written under another name and then moved
into place. No clock is read. A request is removed once its answer is on disk; a kill in
between does no harm, since a letter that comes again gets the same answer.

Of the letters that lie there the changes are made first, the packets after that: the
newest of all sites share one transaction, as far as it takes as many.
"""

import logging
import re
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from guidefbo.coordinator.answer import Answered, Desk, Opened
from guidefbo.coordinator.points import reached
from guidefbo.coordinator.writer import MAX_BATCH
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
    return sum(
        _answer(desk, folder, paths, tell)
        for some in _rounds(folder / "in")
        for paths in _in_parts(some)
    )


def require_folder(folder: Path) -> None:
    """Refuse a shared folder that is not there.

    Args:
        folder: The shared folder.
    """
    if not folder.is_dir():
        raise SettingsError(f"The folder {folder} does not exist. Create it first.")


def _rounds(folder: Path) -> Iterator[list[Path]]:
    """Return the requests: joins, then at most one of each site at a time.

    Those of one site come in the order of their numbers, and the last of each site
    comes in the last round: its packet is made when all others were heard.
    """
    yield list(islice(_letters(folder / JOIN_FOLDER), MAX_JOINS))
    lines = [
        sorted(islice(_letters(site), MAX_TURN), key=_is_ordinary)
        for federation in _folders(folder)
        for site in _folders(federation)
    ]
    for left in range(max(map(len, lines), default=0), 0, -1):
        yield [line[-left] for line in lines if len(line) >= left]


def _in_parts(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Return as many at a time as one transaction takes."""
    for start in range(0, len(paths), MAX_BATCH):
        yield paths[start : start + MAX_BATCH]


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


def _is_ordinary(path: Path) -> bool:
    """Whether it can be a letter. What cannot stays, and takes no letter's turn."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= MAX_LETTER


def _tell_nobody(text: str) -> None:
    del text


def _answer(desk: Desk, folder: Path, paths: Sequence[Path], tell: Notice) -> int:
    """Answer some letters together, and return how many there were."""
    num_answered = 0
    opened: dict[Path, Opened | Answered] = {}
    for path in paths:
        with _going_on(path.relative_to(folder), tell):
            if _is_answered(folder, path):
                path.unlink(missing_ok=True)
                num_answered += 1
            elif (found := _open(desk, folder, path, tell)) is not None:
                opened[path] = found
    answers = desk.take_all(list(opened.values()))
    for path, answered in zip(opened, answers, strict=True):
        with _going_on(path.relative_to(folder), tell):
            num_answered += _put(folder, path, answered.result(), tell)
    return num_answered


@contextmanager
def _going_on(file: Path, tell: Notice) -> Generator[None, None, None]:
    """Say what went wrong: a file that cannot be read or answered stops no others."""
    try:
        yield
    except (InputError, OutputError, OSError) as error:
        log.error("folder failed", extra={"reason": str(error)})
        tell(f"{file} was not answered: {error}")


def _is_answered(folder: Path, path: Path) -> bool:
    """Whether a turn before this one has answered, and was ended before it tidied."""
    out = _out(folder, path)
    return out.is_file() and not out.is_symlink() and not path.is_symlink()


def _out(folder: Path, path: Path) -> Path:
    return folder / "out" / path.relative_to(folder / "in")


def _open(
    desk: Desk, folder: Path, path: Path, tell: Notice
) -> "Opened | Answered | None":
    """Read a letter; None where it is none that may lie there."""
    file, place = path.relative_to(folder), path.relative_to(folder / "in")
    if path.is_symlink():
        # Others may write here: no letter of theirs names a file of this machine.
        _refuse(file, "it is a link", tell)
        path.unlink(missing_ok=True)
        return None
    try:
        data = read_file(path, MAX_LETTER)
    except InputError as error:
        _refuse(file, str(error), tell)
        return None
    if not _is_in_place(data, place):
        _refuse(file, "it is another's place", tell)
        path.unlink(missing_ok=True)
        return None
    named = place.parts[0] if len(place.parts) == 3 else None
    return desk.open(data, limit=desk.limit_of(named), is_sealed=True)


def _put(folder: Path, path: Path, answered: Answered, tell: Notice) -> bool:
    """Write an answer and remove the letter; say whether that was done."""
    if answered.refusal is not None:
        became = "waits" if _should_wait(answered) else "was refused"
        code, why = answered.refusal.code, answered.refusal
        tell(f"{path.relative_to(folder)} {became} ({code}): {why}")
    if _should_wait(answered):
        # It stays where it is: the next turn finds it.
        return False
    out = _out(folder, path)
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
