"""Group commit: letters that wait at the same time share one transaction.

A sync to disk takes as long for a hundred letters as for one. While one transaction is
being committed, the next letters gather. An outcome is handed back after the commit:
what is acknowledged is on disk.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Thread

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError

from guidefbo.coordinator.points import reached
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.request import Request
from guidefbo.coordinator.store import Store, StoreError
from guidefbo.coordinator.work import Outcome

MAX_BATCH = 256
"""Most letters of one transaction."""
MAX_WAITING = 2048
"""Most letters that wait; further ones are told to come back."""
SHORTEST, LONGEST = 0.01, 0.25
"""Most seconds for which letters gather, where a transaction takes little or much."""
PATIENCE = 4.0
"""After this part of that time without a new letter, a transaction begins."""
RETRY = 5.0
"""Seconds after which a letter that could not be stored may come again."""
log = logging.getLogger(__name__)

Process = Callable[[Connection, Sequence[Request]], list[Outcome]]
Job = tuple[Request, "Future[Outcome]"]


class Writer:
    """One thread that does what letters ask for, many in a transaction."""

    def __init__(self, store: Store, process: Process) -> None:
        """Start the thread.

        Args:
            store: Where to.
            process: Does the work of several letters, at most one of each site.
        """
        self.store = store
        self.num_batches = 0
        self.num_letters = 0
        self._process = process
        self._waiting: deque[Job] = deque()
        self._num_arriving = 0
        self._last_size = 0
        self._last_seconds = 0.0
        self._changed = Condition()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="guidefbo-writer", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        """How many letters wait."""
        return len(self._waiting)

    @contextmanager
    def arriving(self) -> Generator[None, None, None]:
        """Have the next transaction wait a moment for a letter that is being read."""
        with self._changed:
            self._num_arriving += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_arriving -= 1
                self._changed.notify()

    def submit(self, request: Request) -> "Future[Outcome]":
        """Put a letter in line; its outcome is there once it is on disk."""
        future: Future[Outcome] = Future()
        with self._changed:
            if self._is_closed or len(self._waiting) >= MAX_WAITING:
                future.set_result(
                    Refusal("unavailable", "Too many letters wait.", RETRY)
                )
                return future
            self._waiting.append((request, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Finish what waits, and end the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._next():
            self._commit(batch)

    def _next(self) -> list[Job]:
        """Wait for letters and return some, at most one of each site, none at the end.

        A second letter of a site waits for the next transaction, so that it finds what
        the first one left.
        """
        with self._changed:
            while not self._waiting:
                if self._is_closed:
                    return []
                self._changed.wait()
            self._gather()
            batch: dict[tuple[str, str], Job] = {}
            later: list[Job] = []
            while self._waiting and len(batch) < MAX_BATCH:
                job = self._waiting.popleft()
                if job[0].whose in batch:
                    later.append(job)
                else:
                    batch[job[0].whose] = job
            self._waiting.extendleft(reversed(later))
            return list(batch.values())

    def _gather(self) -> None:
        """Let further letters come in while they do, but not for long.

        Whoever is alone is not held up: where the last transaction had one letter and
        nobody else is being read, there is nothing to wait for.
        """
        if self._last_size < 2 and self._num_arriving == 0:
            return
        began = time.monotonic()
        most = min(max(self._last_seconds, SHORTEST), LONGEST)
        while not self._is_closed and len(self._waiting) < MAX_BATCH:
            num_waiting = len(self._waiting)
            left = began + most - time.monotonic()
            if left <= 0.0:
                return
            # Every letter that comes, or is refused, ends the wait.
            is_woken = self._changed.wait(timeout=min(left, most / PATIENCE))
            is_same = len(self._waiting) == num_waiting and self._num_arriving == 0
            if is_same and not is_woken:
                return

    def _commit(self, batch: list[Job]) -> None:
        began = time.monotonic()
        try:
            with self.store.writing() as connection:
                outcomes = self._process(connection, [request for request, _ in batch])
                reached("before commit")
            reached("after commit")
        except Exception as error:
            self._fail(batch, error)
            return
        self._last_size, self._last_seconds = len(batch), time.monotonic() - began
        self.num_batches += 1
        self.num_letters += len(batch)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            future.set_result(outcome)

    def _fail(self, batch: list[Job], error: Exception) -> None:
        """Answer letters of a transaction that was rolled back."""
        if len(batch) > 1 and not _is_outage(error):
            # One of them is at fault; the others are done without it.
            for job in batch:
                self._commit([job])
            return
        if isinstance(error, StoreError):
            log.error("store failed", extra={"reason": str(error)})
        else:
            log.error("letters failed", exc_info=error)
        for _, future in batch:
            if isinstance(error, Refusal):
                future.set_result(error)
            else:
                future.set_result(
                    Refusal(
                        "unavailable",
                        "The coordinator cannot store anything at the moment. Nothing "
                        "was changed; the same letter may come again.",
                        RETRY,
                    )
                )


def _is_outage(error: Exception) -> bool:
    cause = error.__cause__
    return isinstance(error, StoreError) and not isinstance(
        cause, IntegrityError | DataError
    )
