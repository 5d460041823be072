"""Turns of callers: so many at a time, and nobody waits behind another's hundred."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager


class Turns:
    """Places that callers take for a moment; who waits is let in caller by caller.

    For one event loop.
    """

    def __init__(self, places: int, of_one: int) -> None:
        """Begin with all places free.

        Args:
            places: How many may be in at a time.
            of_one: How many of one caller, so that others find a place.
        """
        self._free = places
        self._of_one = of_one
        self._inside: Counter[Hashable] = Counter()
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = (
            OrderedDict()
        )

    @asynccontextmanager
    async def of(self, caller: Hashable) -> AsyncGenerator[bool, None]:
        """Wait for a place, and hold it for the block; say whether there was a wait.

        Args:
            caller: Whose place it is; callers are served in turn.
        """
        has_waited = caller in self._waiting or not self._may_enter(caller)
        if has_waited:
            await self._wait(caller)
        else:
            self._enter(caller)
        try:
            yield has_waited
        finally:
            self._leave(caller)

    def _may_enter(self, caller: Hashable) -> bool:
        return self._free > 0 and self._inside[caller] < self._of_one

    def _enter(self, caller: Hashable) -> None:
        self._free -= 1
        self._inside[caller] += 1

    def _leave(self, caller: Hashable) -> None:
        self._free += 1
        self._inside[caller] -= 1
        self._admit()
        if self._inside[caller] <= 0:
            del self._inside[caller]

    async def _wait(self, caller: Hashable) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                # Let in and called away at the same moment.
                self._leave(caller)
            else:
                self._forget(caller, place)
            raise

    def _forget(self, caller: Hashable, place: asyncio.Future[None]) -> None:
        line = self._waiting.get(caller)
        if line is not None and place in line:
            line.remove(place)
            if not line:
                del self._waiting[caller]

    def _admit(self) -> None:
        """Let in whoever is next, and put its caller behind the others."""
        for caller in list(self._waiting):
            if self._free <= 0:
                return
            if not self._may_enter(caller):
                continue
            line = self._waiting.pop(caller)
            while line:
                place = line.popleft()
                # Who was called away and has not noticed yet gets no place.
                if not place.done():
                    self._enter(caller)
                    place.set_result(None)
                    break
            if line:
                self._waiting[caller] = line
