"""Rate limits: token buckets, one for each caller.

They are per process: behind several processes a caller gets as many times as much.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address
from threading import Lock

from guidefbo.coordinator.refusal import Refusal

MAX_CALLERS = 100_000
"""Most callers remembered; whoever was seen longest ago is forgotten first."""


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
    """So many requests a second of each caller, and some at once."""

    def __init__(
        self,
        *,
        rate: float,
        burst: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remember nobody yet.

        Args:
            rate: Requests a second in the long run; 0: no limit.
            burst: Requests at once.
            clock: Seconds, never going back.
        """
        self._rate = rate
        self._burst = burst
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
