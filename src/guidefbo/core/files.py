"""Atomic writes and size-limited reads of files."""

import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from guidefbo.core.errors import FedBOError


class OutputError(FedBOError, OSError):
    """A result cannot be written where it was asked for."""


class InputError(FedBOError, OSError):
    """A file cannot be read; the message says why and no more."""


def read_file(path: Path, limit: int) -> bytes:
    """Return the bytes of an ordinary file, or refuse it before they are read.

    A pipe would be waited for and a device may never end, so that neither is read.

    Args:
        path: The file.
        limit: Most bytes it may have.
    """
    data = read_start(path, limit)
    if len(data) > limit:
        raise InputError(f"it has more than {limit} bytes, the most that is read")
    return data


def read_start(path: Path, limit: int) -> bytes:
    """Return the start of an ordinary file, a byte more where it is longer."""
    try:
        # Looked at before it is opened, since opening a device may do something, and
        # after, since it may be another file by then.
        _require_ordinary(os.stat(path).st_mode)
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            _require_ordinary(os.fstat(file.fileno()).st_mode)
            return file.read(limit + 1)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        # ValueError: a name with a null character in it.
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(reason) from error


def _require_ordinary(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise InputError(f"it is {kind}, and only an ordinary file is read")


def check_writable(path: Path) -> None:
    """Refuse a path that could not be written, before any work is done for it."""
    folder = path.parent
    try:
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} exists and is no file. Name another one.")
        if not folder.is_dir():
            raise OutputError(f"The folder {folder} does not exist. Create it first.")
        handle, name = _open_neighbour(path)
        os.close(handle)
        os.unlink(name)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"Cannot write {path}: {error.strerror}. Choose another place."
        ) from error


def write_atomically(
    path: Path,
    content: str | bytes,
    *,
    mode: int | None = None,
    is_followed: bool = True,
) -> None:
    """Write the content to a temporary neighbour and move it into place.

    A file that is replaced keeps its rights and its group, and a link keeps pointing at
    it.

    Args:
        path: The file.
        content: All of it.
        mode: Its rights; None: as they were, or an ordinary file's.
        is_followed: Whether a link at that name is followed; where others may write
            into the folder it is replaced instead.
    """
    with open_atomically(path, mode=mode, is_followed=is_followed) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(
    path: Path, *, mode: int | None = None, is_followed: bool = True
) -> Generator[IO[bytes], None, None]:
    """Open a temporary neighbour to write to, and move it into place at the end.

    Where the block raises, nothing has happened to the file itself.

    Args:
        path: The file.
        mode: Its rights; None: as they were, or an ordinary file's.
        is_followed: Whether a link at that name is followed.
    """
    if is_followed:
        path = Path(os.path.realpath(path))
    try:
        handle, name = _open_neighbour(path)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _keep_group(path, name)
            os.chmod(name, _mode(path) if mode is None else mode)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except FedBOError:
        raise  # of the block: it is no fault of this file
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror}.") from error


def _open_neighbour(path: Path) -> tuple[int, str]:
    # The whole name stands in the neighbour's, so a name too long is found here.
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")


def _keep_group(path: Path, name: str) -> None:
    """Give a file the group of the one it replaces, where this user may."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            group = os.lstat(path).st_gid
            if group != os.stat(name).st_gid:
                os.chown(name, -1, group)


def _mode(path: Path) -> int:
    """Return the rights of the file that is replaced, or an ordinary file's."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return 0o666 & ~_umask()
    return 0o666 & ~_umask() if stat.S_ISLNK(mode) else stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """See to it that the new name survives a power cut, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
