"""Files that are whole or absent, never half-written."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from guidefbo.core.errors import FedBOError


class OutputError(FedBOError, OSError):
    """A result cannot be written where it was asked for."""


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


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write the content to a temporary neighbour and move it into place.

    A file that is replaced keeps its rights, and a link keeps pointing at it.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(os.path.realpath(path))
    try:
        handle, name = _open_neighbour(path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, _mode(path))
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror}.") from error


def _open_neighbour(path: Path) -> tuple[int, str]:
    # The whole name stands in the neighbour's, so a name too long is found here.
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")


def _mode(path: Path) -> int:
    """Return the rights of the file that is replaced, or an ordinary file's."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()


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
