"""Group commit: letters that wait at the same time share one transaction.

A sync to disk takes as long for a hundred letters as for one. While one transaction is
being committed, the next letters gather. An outcome is handed back after the commit:
what is acknowledged is on disk.

Each site has one place in line (`line`), so that a site that sends many letters at once
does not keep the others waiting.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median_low
from threading import Condition, Thread

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError

from guidefbo.coordinator.line import Line, Place
from guidefbo.coordinator.points import reached
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.request import Request
from guidefbo.coordinator.store import Store, StoreError
from guidefbo.coordinator.work import Outcome, replayed

MAX_BATCH = 256
"""Most letters of one transaction."""
MAX_WAITING = 2048
"""Most letters that wait; further ones are told to come back."""
SHORTEST, LONGEST = 0.01, 0.25
"""Most seconds for which letters gather, where a transaction takes little or much."""
PATIENCE = 4.0
"""After this part of that time without a new site, a transaction begins."""
REMEMBERED = 3
"""Transactions by whose usual time it is judged how long letters gather."""
RETRY = 5.0
"""Seconds after which a letter that could not be stored may come again."""
log = logging.getLogger(__name__)

Process = Callable[[Connection, Sequence[Request]], list[Outcome]]
SHARED = ("replayed", "closed", "not_a_site", "unavailable")
"""Refusals of a site's newest letter that hold for its older ones as well."""


@dataclass(frozen=True, slots=True)
class Job:
    """A letter in line, and where its outcome goes."""

    request: Request
    future: "Future[Outcome]" = field(default_factory=lambda: Future[Outcome]())

    @property
    def whose(self) -> Hashable:
        """The federation and the site."""
        return self.request.whose

    @property
    def number(self) -> int:
        """The letter's number."""
        return self.request.letter.number

    @property
    def is_overtaken(self) -> bool:
        """Whether a newer letter may be done instead: an exchange's may."""
        return self.request.letter.purpose == "exchange"


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
        self._line: Line[Job] = Line()
        self._arriving: Counter[Hashable] = Counter()
        self._last_size = 0
        # The first transaction takes long for other reasons than its letters.
        self._last_seconds = deque([0.0], maxlen=REMEMBERED)
        self._changed = Condition()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="guidefbo-writer", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        """How many letters wait."""
        return len(self._line)

    @contextmanager
    def arriving(self, whose: Hashable) -> Generator[None, None, None]:
        """Have the next transaction wait a moment for a letter that is being read.

        Args:
            whose: The site that it says it is of.
        """
        with self._changed:
            self._arriving[whose] += 1
        try:
            yield
        finally:
            with self._changed:
                self._arriving[whose] -= 1
                if self._arriving[whose] <= 0:
                    del self._arriving[whose]
                self._changed.notify()

    def submit(self, request: Request) -> "Future[Outcome]":
        """Put a letter in line; its outcome is there once it is on disk."""
        return self.submit_all([request])[0]

    def submit_all(self, requests: Sequence[Request]) -> "list[Future[Outcome]]":
        """Put letters in line at once: no transaction begins between two of them."""
        jobs = [Job(request) for request in requests]
        with self._changed:
            for job in jobs:
                if self._is_closed or len(self._line) >= MAX_WAITING:
                    job.future.set_result(
                        Refusal("unavailable", "Too many letters wait.", RETRY)
                    )
                else:
                    self._line.add(job)
            self._changed.notify()
        return [job.future for job in jobs]

    def close(self) -> None:
        """Finish what waits, and end the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._next():
            self._commit(batch)

    def _next(self) -> list[Place[Job]]:
        """Wait for letters and return some, at most one of each site, none at the end.

        A second letter of a site that must be done in its turn waits for the next
        transaction, so that it finds what the first one left.
        """
        with self._changed:
            while not self._line:
                if self._is_closed:
                    return []
                self._changed.wait()
            self._gather()
            return self._line.take(MAX_BATCH)

    def _gather(self) -> None:
        """Let further sites come in while they do, but not for long.

        Whoever is alone is not held up: where the last transaction had one letter and
        nobody else is being read, there is nothing to wait for.
        """
        if self._last_size < 2 and not self._is_somebody_coming():
            return
        most = min(max(median_low(self._last_seconds), SHORTEST), LONGEST)
        end = time.monotonic() + most
        num_sites, calm = self._line.num_sites, end - most + most / PATIENCE
        while not self._is_closed and self._line.num_sites < MAX_BATCH:
            now = time.monotonic()
            if self._line.num_sites > num_sites:
                num_sites, calm = self._line.num_sites, now + most / PATIENCE
            # Further letters of those who wait already prolong nothing.
            until = end if self._is_somebody_coming() else min(calm, end)
            if now >= until:
                return
            self._changed.wait(timeout=until - now)

    def _is_somebody_coming(self) -> bool:
        """Whether a letter is being read of a site that is not in line."""
        return any(whose not in self._line for whose in self._arriving)

    def _commit(self, batch: list[Place[Job]]) -> None:
        worked = time.thread_time()
        try:
            with self.store.writing() as connection:
                requests = [place.item.request for place in batch]
                outcomes = self._process(connection, requests)
                worked = time.thread_time() - worked
                reached("before commit")
                began = time.monotonic()
            synced = time.monotonic() - began
            reached("after commit")
        except Exception as error:
            self._fail(batch, error)
            return
        self._last_size = len(batch)
        # What it costs, not how long it was kept waiting for a processor.
        self._last_seconds.append(worked + synced)
        self.num_batches += 1
        self.num_letters += len(batch)
        for place, outcome in zip(batch, outcomes, strict=True):
            self._settle(place, outcome)

    def _settle(self, place: Place[Job], outcome: Outcome) -> None:
        """Hand out what became of a site's letter, and of those that it overtook."""
        place.item.future.set_result(outcome)
        if isinstance(outcome, Refusal) and outcome.code not in SHARED:
            with self._changed:
                self._line.put_back(place.overtaken)
            return
        newest = place.item.request.letter
        for job in place.overtaken:
            letter = job.request.letter
            if letter.digest == newest.digest or isinstance(outcome, Refusal):
                job.future.set_result(outcome)
            else:
                job.future.set_result(replayed(letter.number, newest.number))

    def _fail(self, batch: list[Place[Job]], error: Exception) -> None:
        """Answer letters of a transaction that was rolled back."""
        if len(batch) > 1 and not _is_outage(error):
            # One of them is at fault; the others are done without it.
            for place in batch:
                self._commit([place])
            return
        if isinstance(error, StoreError):
            log.error("store failed", extra={"reason": str(error)})
        else:
            log.error("letters failed", exc_info=error)
        if not isinstance(error, Refusal):
            error = Refusal(
                "unavailable",
                "The coordinator cannot store anything at the moment. Nothing was "
                "changed; the same letter may come again.",
                RETRY,
            )
        for place in batch:
            self._settle(place, error)


def _is_outage(error: Exception) -> bool:
    cause = error.__cause__
    return isinstance(error, StoreError) and not isinstance(
        cause, IntegrityError | DataError
    )
