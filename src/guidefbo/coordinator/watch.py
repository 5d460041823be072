"""Looks into the shared folder again and again beside the service."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from guidefbo.coordinator.answer import Desk
from guidefbo.coordinator.folder import turn
from guidefbo.core.errors import FedBOError

AGAIN = 3600.0
"""Seconds after which a failure that lasts is logged once more."""
log = logging.getLogger(__name__)


async def watch(desk: Desk, folder: Path, every: float) -> None:
    """Answer the letters in a folder until the task is cancelled.

    Whatever goes wrong is logged and the next look comes as usual: a share may be away
    for a moment, and nobody would notice that its letters are not read any more.

    Args:
        desk: Where letters are answered.
        folder: The shared folder.
        every: Seconds between two looks.
    """
    failures = Failures(folder, every)
    while True:
        try:
            await run_in_threadpool(turn, desk, folder)
        except Exception as error:
            failures.tell(error)
        else:
            failures.end()
        await asyncio.sleep(every)


class Failures:
    """Logs failures to read a folder; the same one once in a while."""

    def __init__(
        self, folder: Path, every: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin where nothing has failed yet.

        Args:
            folder: The shared folder.
            every: Seconds between two looks.
            clock: Seconds, never going back.
        """
        self._folder = folder
        self._every = every
        self._clock = clock
        self._told: str | None = None
        """What was logged last; None where the last look was good."""
        self._next = 0.0

    def tell(self, error: Exception) -> None:
        """Log a failure, unless it is the one that was logged a short while ago."""
        reason = self._explain(error)
        now = self._clock()
        if reason == self._told and now < self._next:
            return
        self._told, self._next = reason, now + AGAIN
        is_foreseen = isinstance(error, FedBOError | OSError)
        log.error(
            "folder failed",
            extra={"reason": reason},
            exc_info=None if is_foreseen else error,
        )

    def end(self) -> None:
        """Log that the folder is read again, where it was not."""
        if self._told is not None:
            log.info("folder read again")
        self._told = None

    def _explain(self, error: Exception) -> str:
        if isinstance(error, FedBOError):
            what = str(error)
        elif isinstance(error, OSError):
            what = f"Cannot read {self._folder}: {error.strerror or error}."
        else:
            what = f"{type(error).__name__}: {error}."
        return f"{what} Letters wait; the service looks again every {self._every:g} s."
