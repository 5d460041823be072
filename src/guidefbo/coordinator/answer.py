"""One function under both doors: a letter's bytes in, an answer's bytes out."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from guidefbo.coordinator.federation import (
    MAX_BODY,
    find_federation,
    list_successions,
    signing_key,
)
from guidefbo.coordinator.limits import Buckets, Seldom, network_of
from guidefbo.coordinator.metrics import Metrics
from guidefbo.coordinator.points import reached
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.request import Request, authenticate
from guidefbo.coordinator.store import Store, StoreError
from guidefbo.coordinator.work import Outcome, process
from guidefbo.coordinator.writer import RETRY, Writer
from guidefbo.core.errors import WireError
from guidefbo.core.names import is_name
from guidefbo.wire.letter import JOIN, REFUSAL, Letter, read_letter, seal

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a caller gets."""

    status: int
    """The status of HTTP; 200 where the letter was taken."""
    body: bytes
    """A signed letter; of a refusal over HTTP, plain JSON."""
    retry_after: float | None = None
    """Seconds after which a refused letter may come again."""
    refusal: Refusal | None = None
    """Why the letter was refused, None where it was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A letter that was read; who signed it was not looked at."""

    letter: Letter
    began: float
    """When it came, on a clock of this process."""
    is_sealed: bool
    """Whether a refusal is a signed letter too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where letters are answered: the store, its writer, and the limits per site."""

    store: Store
    writer: Writer
    buckets: Buckets
    """Of sites."""
    claims: Buckets
    """Of what an address says in the name of a site, before its signature is read."""
    metrics: Metrics
    seldom: Seldom = field(default_factory=partial(Seldom, 1.0))
    """When letters that come too often are logged: a flood fills no disk."""

    def open(
        self,
        data: bytes,
        *,
        limit: int,
        purpose: str | None = None,
        federation: str | None = None,
        is_sealed: bool = False,
        address: str | None = None,
    ) -> "Opened | Answered":
        """Read what a letter says, or refuse it; the store is not touched.

        Args:
            data: What came.
            limit: Most bytes it may have.
            purpose: What the door is for; None: for all letters.
            federation: Whose door it is; None: everybody's.
            is_sealed: Whether a refusal is a signed letter too.
            address: Where it comes from, None where that is not known.
        """
        began = time.perf_counter()
        letter: Letter | None = None
        try:
            letter = _read(data, limit, purpose, federation)
            if address is not None:
                self._hear(letter, address)
        except Refusal as refusal:
            self._note(letter, None, refusal.code, time.perf_counter() - began)
            reached("before answer")
            return self._dress(refusal, letter, is_sealed)
        return Opened(letter=letter, began=began, is_sealed=is_sealed)

    def take(self, opened: "Opened | Answered") -> "Future[Answered]":
        """Take what was read; its answer is there once everything is on disk.

        Args:
            opened: The letter, or the refusal that `open` gave.
        """
        return self.take_all([opened])[0]

    def take_all(
        self, several: "Sequence[Opened | Answered]"
    ) -> "list[Future[Answered]]":
        """Take what was read, at once: all changes come before any packet is made.

        Args:
            several: At most one of each site, and of no more sites than a transaction
                of the writer takes; further ones come in the next one.
        """
        answers: list[Future[Answered]] = []
        admitted: list[Request] = []
        waiting: list[Callable[[Outcome], None]] = []
        with ExitStack() as arriving:
            for opened in several:
                answered: Future[Answered] = Future()
                answers.append(answered)
                if isinstance(opened, Answered):
                    answered.set_result(opened)
                    continue
                # Nobody can call a letter back, not even a caller who has gone.
                answered.set_running_or_notify_cancel()
                arriving.enter_context(self.writer.arriving(_claim(opened.letter)))
                request, refusal = self._admit(opened.letter)
                finish = partial(self._finish, answered, opened, request)
                if refusal is not None:
                    finish(refusal)
                elif request is not None:
                    admitted.append(request)
                    waiting.append(finish)
            stored = self.writer.submit_all(admitted)
        for finish, outcome in zip(waiting, stored, strict=True):
            outcome.add_done_callback(partial(_then, finish))
        return answers

    def _admit(self, letter: Letter) -> tuple[Request | None, Refusal | None]:
        """Return what a letter asks for, as far as that is certain, and why it may not.

        Nothing is changed.
        """
        request = None
        try:
            with self.store.reading() as connection:
                request = authenticate(connection, letter)
            self.buckets.take(request.whose)
        except Refusal as refusal:
            return request, refusal
        except StoreError as error:
            log.error("store failed", extra={"reason": str(error)})
            return None, unavailable()
        return request, None

    def _finish(
        self,
        answered: "Future[Answered]",
        opened: Opened,
        request: Request | None,
        outcome: Outcome,
    ) -> None:
        code = outcome.code if isinstance(outcome, Refusal) else "ok"
        self._note(opened.letter, request, code, time.perf_counter() - opened.began)
        reached("before answer")
        answered.set_result(self._dress(outcome, opened.letter, opened.is_sealed))

    def _hear(self, letter: Letter, address: str) -> None:
        """Refuse what comes too often, before it costs anything.

        Nobody knows yet whether the site itself speaks: it is counted together with the
        address, so that from elsewhere nobody can use up what a site may send.
        """
        self.claims.take((network_of(address), *_claim(letter)))

    def limit_of(self, federation: str | None) -> int:
        """Return the most bytes of a request to a federation, or to none yet."""
        if federation is None or not is_name(federation):
            return MAX_BODY
        with self.store.reading() as connection:
            try:
                return find_federation(connection, federation).max_body
            except Refusal:
                return MAX_BODY

    def answer(self, data: bytes, *, limit: int, is_sealed: bool = False) -> Answered:
        """Answer a letter, and wait for it."""
        opened = self.open(data, limit=limit, is_sealed=is_sealed)
        return self.take(opened).result()

    def _note(
        self,
        letter: Letter | None,
        request: Request | None,
        code: str,
        seconds: float,
    ) -> None:
        purpose = "unread" if letter is None else letter.purpose
        known = purpose if purpose in PURPOSES else "unread"
        self.metrics.count_letter(known, code, seconds)
        left_out = self.seldom.take() if code == "rate_limited" else 0
        if left_out is None:
            return
        level = logging.INFO if code == "ok" else logging.WARNING
        said: Mapping[str, Any] = {} if letter is None else letter.payload
        log.log(
            level,
            "letter",
            extra={
                "purpose": known,
                "outcome": code,
                "federation": request.federation if request else said.get("federation"),
                "site": request.site if request else said.get("site"),
                "number": said.get("number"),
                "ms": round(1000 * seconds, 1),
                "left_out": left_out or None,
            },
        )

    def _dress(
        self, outcome: Outcome, letter: Letter | None, is_sealed: bool
    ) -> Answered:
        if isinstance(outcome, bytes):
            return Answered(status=200, body=outcome)
        body = refusal_body(outcome)
        if is_sealed and letter is not None:
            try:
                with self.store.reading() as connection:
                    key = signing_key(connection)
                    successions = list_successions(connection)
            except (StoreError, Refusal):
                pass
            else:
                said = {
                    "purpose": REFUSAL,
                    "federation": letter.payload["federation"],
                    "site": letter.payload["site"],
                    "number": letter.number,
                    "answers": letter.digest,
                    "successions": successions,
                    "error": outcome.code,
                    "message": str(outcome),
                }
                body = seal(said, key)
        return Answered(
            status=outcome.status,
            body=body,
            retry_after=outcome.retry_after,
            refusal=outcome,
        )


PURPOSES = (JOIN, "exchange", "leave", "rotate")
"""Purposes that are counted by their own name."""


def refusal_body(refusal: Refusal) -> bytes:
    """Return a refusal as JSON."""
    return json.dumps({"error": refusal.code, "message": str(refusal)}).encode()


def unavailable() -> Refusal:
    """Return what callers are told while the store fails."""
    return Refusal(
        "unavailable",
        "The coordinator's store does not answer at the moment. Nothing was changed; "
        "the same letter may come again.",
        RETRY,
    )


def open_desk(store: Store, *, rate: float) -> Desk:
    """Return a desk with a writer of its own.

    Args:
        store: Open, and of the newest version.
        rate: Letters a second of one site, in the long run; 0: no limit.
    """
    metrics = Metrics()
    writer = Writer(store, process)
    metrics.watch(
        "guidefbo_letters_waiting",
        "Letters that wait for the next transaction.",
        lambda: writer.num_waiting,
    )
    metrics.watch(
        "guidefbo_transactions",
        "Transactions since the start.",
        lambda: writer.num_batches,
    )
    return Desk(
        store=store,
        writer=writer,
        buckets=Buckets(rate=rate),
        claims=Buckets(rate=rate),
        metrics=metrics,
    )


def _then(finish: Callable[[Outcome], None], future: "Future[Outcome]") -> None:
    finish(future.result())


def _claim(letter: Letter) -> tuple[str | None, str | None]:
    """Return of which federation and site a letter says it is."""
    return letter.payload["federation"], letter.payload["site"]


def _read(
    data: bytes, limit: int, purpose: str | None, federation: str | None
) -> Letter:
    if len(data) > limit:
        raise Refusal("too_large", f"A request may have at most {limit} bytes.")
    try:
        letter = read_letter(data, limit=limit)
    except WireError as error:
        raise Refusal("invalid", str(error)) from error
    if purpose not in (None, letter.purpose):
        raise Refusal(
            "invalid",
            f"This address takes letters for {purpose}, and it is one for "
            f"{letter.purpose}.",
        )
    if federation not in (None, letter.payload["federation"]):
        raise Refusal("foreign", "The letter names another federation.")
    return letter
