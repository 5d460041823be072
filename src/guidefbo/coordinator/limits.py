"""Limits of callers: token buckets, connections, and refusals that are held back.

They are per process: behind several processes a caller gets as many times as much.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from enum import Enum
from ipaddress import IPv6Address
from threading import Lock
from typing import Any

from guidefbo.coordinator.refusal import Refusal

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
"""What comes of a request, message by message, as ASGI has it."""
Peer = tuple[str, int]
"""Address and port of a connection's other end."""
MAX_CALLERS = 100_000
"""Most callers remembered; whoever was seen longest ago is forgotten first."""
AT_ONCE = 4.0
"""Requests that a caller may send at once, however few a second: joining takes two."""
HOLD = 1.0
"""Seconds that a refusal for too many requests is held back."""
MAX_UNREAD = 64 << 10
"""Most bytes of a refused request that are read, to notice that its caller goes."""
HELD_SHARE = 0.25
"""Share of all connections that refusals may occupy while they are held back."""


def network_of(address: str) -> str:
    """Return what is counted as one caller: an address, of IPv6 its network of 64 bits.

    Who has one address of IPv6 usually has all of its network.

    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '2001:db8:1:2::')
    """
    if ":" not in address:
        return address
    try:
        whole = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if whole.ipv4_mapped is not None:
        return str(whole.ipv4_mapped)
    return str(IPv6Address(int(whole) >> 64 << 64))


class Buckets:
    """So many requests a second of each caller; a second's worth, or four, at once."""

    def __init__(
        self, *, rate: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Remember nobody yet.

        Args:
            rate: Requests a second in the long run; 0: no limit.
            clock: Seconds, never going back.
        """
        self._rate = rate
        self._burst = max(rate, AT_ONCE)
        self._clock = clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, caller: Hashable) -> None:
        """Let a request pass, or refuse it."""
        if self._rate <= 0.0:
            return
        with self._lock:
            now = self._clock()
            left, then = self._left.pop(caller, (self._burst, now))
            left = min(left + (now - then) * self._rate, self._burst)
            is_allowed = left >= 1.0
            self._left[caller] = (left - is_allowed, now)
            if len(self._left) > MAX_CALLERS:
                self._left.popitem(last=False)
        if not is_allowed:
            wait = (1.0 - left) / self._rate
            raise Refusal(
                "rate_limited",
                f"Too many requests. Come back in {wait:.1f} s.",
                retry_after=wait,
            )


class Door(Enum):
    """What becomes of a connection."""

    OPEN = "read"
    HELD = "closed after a moment, and not read"
    SHUT = "closed at once"


class Seldom:
    """Lets something happen once in a while, and counts what did not."""

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Let the first one happen.

        Args:
            seconds: Between two.
            clock: Seconds, never going back.
        """
        self._seconds = seconds
        self._clock = clock
        self._next = clock()
        self._num_left_out = 0
        self._lock = Lock()

    def take(self) -> int | None:
        """Return how many were left out since the last one; None: leave it out, too."""
        with self._lock:
            now = self._clock()
            if now < self._next:
                self._num_left_out += 1
                return None
            left_out, self._num_left_out = self._num_left_out, 0
            self._next = now + self._seconds
            return left_out


class Callers:
    """Addresses: how many requests a second each may send, and over how many wires.

    Who sends too much is refused, and the refusal is held back for a moment. A caller
    that waits for it sends no further request over that connection meanwhile, which
    costs this side nothing; to answer at once would let it come as fast as it can.
    """

    def __init__(self, *, rate: float, connections: int, max_connections: int) -> None:
        """Know nobody yet.

        Args:
            rate: Requests a second from one address in the long run; 0: no limit.
            connections: At the same time from one address; 0: no limit.
            max_connections: From all of them.
        """
        self.num_unread = 0
        self._buckets = Buckets(rate=rate)
        self._most = connections
        self._max_held = int(HELD_SHARE * max_connections)
        self._open: Counter[str] = Counter()
        self._paid: set[Peer] = set()
        self._num_held = 0

    def connect(self, peer: Peer) -> Door:
        """Count a connection, and say what becomes of it.

        Its first request is counted now: who may not send one is not even read, however
        many connections it opens at the same moment.
        """
        caller = network_of(peer[0])
        self._open[caller] += 1
        try:
            if 0 < self._most < self._open[caller]:
                self.num_unread += 1
                return Door.SHUT
            self._buckets.take(caller)
        except Refusal:
            self.num_unread += 1
            return Door.HELD if self.try_hold() else Door.SHUT
        self._paid.add(peer)
        return Door.OPEN

    def disconnect(self, peer: Peer) -> None:
        """Count a connection that has ended."""
        caller = network_of(peer[0])
        self._paid.discard(peer)
        self._open[caller] -= 1
        if self._open[caller] <= 0:
            del self._open[caller]

    def take(self, peer: Peer) -> None:
        """Let a request pass, or refuse it."""
        if peer in self._paid:
            self._paid.remove(peer)
        else:
            self._buckets.take(network_of(peer[0]))

    def try_hold(self) -> bool:
        """Take one of the places of those that are held back, if there is one."""
        if self._num_held >= self._max_held:
            return False
        self._num_held += 1
        return True

    def let_go(self) -> None:
        """Give such a place back."""
        self._num_held -= 1

    async def hold(self, receive: Receive) -> None:
        """Hold a refusal back for a moment, unless too many are.

        Who does not wait for it is forgotten at once: a refusal that nobody waits for
        takes no place of those that are held back.

        Args:
            receive: Says what comes of the request, and when its caller has gone.
        """
        if not self.try_hold():
            return
        try:
            async with asyncio.timeout(HOLD):
                await _gone(receive)
        except TimeoutError:
            pass
        finally:
            self.let_go()


async def _gone(receive: Receive) -> None:
    """Return once a caller has gone; of what it still sends little is read."""
    num_bytes = 0
    while num_bytes <= MAX_UNREAD:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        num_bytes += len(message.get("body", b""))
    await asyncio.sleep(HOLD)
