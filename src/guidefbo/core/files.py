"""Files that are whole or absent, never half-written."""

import os
import tempfile
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
    """Write the content to a temporary neighbour and move it into place."""
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, name = _open_neighbour(path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # mkstemp is private to the owner; a result is an ordinary file.
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror}.") from error


def _open_neighbour(path: Path) -> tuple[int, str]:
    # The whole name stands in the neighbour's, so a name too long is found here.
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
