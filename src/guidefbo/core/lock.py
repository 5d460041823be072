"""An exclusive lock on an agent's or a study's file, held by one process at a time."""

import errno
import math
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from guidefbo.core.checks import is_finite_number, shown
from guidefbo.core.errors import FedBOError, SettingsError
from guidefbo.core.files import OutputError

WAIT = 30.0
"""Seconds to wait for another command."""
QUIET = 1.0
"""Seconds of waiting before a word is said about it."""
STEP = 0.02
"""Seconds between two attempts."""
BUSY = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK})
"""What the system says where another holds the lock."""


class LockedError(FedBOError, OSError):
    """Another command holds the file for longer than one would wait."""


def lock_path(path: Path) -> Path:
    """Return the neighbour that stands for a file, however the file was named."""
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.name}.lock")


@contextmanager
def exclusive(
    path: Path, *, wait: float = WAIT, notice: Callable[[str], object] | None = None
) -> Generator[None, None, None]:
    """Hold a file for one load, change and save.

    The system holds the lock on an empty neighbour `FILE.lock` and lets go of it
    however the holder ends. The neighbour stays: that it exists means nothing.

    Args:
        path: The agent's file; it need not exist.
        wait: Seconds to wait for another holder.
        notice: Called once with a sentence where the wait is a long one.
    """
    if not is_finite_number(wait) or wait < 0.0:
        raise SettingsError(
            f"The wait must be a finite number of seconds, at least 0, got "
            f"{shown(wait)}."
        )
    attempt = _find_lock()
    try:
        handle = _open(lock_path(path))
    except OSError as error:
        raise OutputError(
            f"Cannot lock {path}: {error.strerror}. May you write into its folder?"
        ) from error
    try:
        _acquire(attempt, handle, path, wait, notice)
        yield
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        # Network file systems give an exclusive lock only to those who may write.
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CREAT, 0o666)


def _acquire(
    attempt: Callable[[int], object],
    handle: int,
    path: Path,
    wait: float,
    notice: Callable[[str], object] | None,
) -> None:
    began = time.monotonic()
    quiet = QUIET
    while not _succeeds(attempt, handle, path):
        waited = time.monotonic() - began
        if waited >= wait:
            raise LockedError(
                f"{path} is in use by another command and was not free within "
                f"{wait:g} s. Nothing was changed. Try again, or wait longer: "
                "--wait 120, in Python wait=120."
            )
        if notice is not None and waited >= quiet:
            notice(f"{path} is in use by another command; waiting up to {wait:g} s.")
            quiet = math.inf
        time.sleep(min(STEP, wait - waited))


def _succeeds(attempt: Callable[[int], object], handle: int, path: Path) -> bool:
    try:
        attempt(handle)
    except OSError as error:
        if error.errno in BUSY:
            return False
        raise OutputError(
            f"Cannot lock {path}: {error.strerror}. Keep it on a file system that "
            "has locks, a local one."
        ) from error
    return True


def _find_lock() -> Callable[[int], object]:
    """Return what locks an open file at once or raises `OSError`."""
    try:
        import fcntl

        return lambda handle: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    try:
        # Windows. The first byte stands for the file; it need not exist.
        msvcrt = import_module("msvcrt")
    except ImportError as error:
        raise OutputError(
            "This system has no file locks, so that two processes could lose each "
            "other's results. Use guidefbo.Agent in one Python process without saving."
        ) from error
    return lambda handle: msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
