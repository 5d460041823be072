"""What this process has counted, as Prometheus reads it. No name of a site is in it."""

from collections import Counter
from collections.abc import Callable, Mapping
from threading import Lock

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the times, seconds."""


class Metrics:
    """Counters of one process; they begin at nought when it starts."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._letters: Counter[tuple[str, str]] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: Counter[float] = Counter()
        self._seconds = 0.0
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def count_letter(self, purpose: str, outcome: str, seconds: float) -> None:
        """Count a letter.

        Args:
            purpose: What it was for.
            outcome: ok, or the code of the refusal.
            seconds: From its arrival to its answer.
        """
        with self._lock:
            self._letters[purpose, outcome] += 1
            self._seconds += seconds
            for bound in BUCKETS:
                if seconds <= bound:
                    self._times[bound] += 1

    def count_request(self, method: str, status: int) -> None:
        """Count an answer over HTTP."""
        with self._lock:
            self._requests[method, status] += 1

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Have a number of somebody else's read when the page is asked for."""
        self._gauges[name] = (text, read)

    def refused(self) -> int:
        """Return how many letters were refused."""
        with self._lock:
            return sum(n for (_, code), n in self._letters.items() if code != "ok")

    def to_text(self) -> str:
        """Return everything in the text form of Prometheus."""
        with self._lock:
            letters, requests = dict(self._letters), dict(self._requests)
            times, seconds = dict(self._times), self._seconds
        name = "guidefbo_letters_total"
        lines = [*_head(name, "counter", "Letters by purpose and outcome.")]
        for (purpose, outcome), n in sorted(letters.items()):
            lines.append(_line(name, n, {"purpose": purpose, "outcome": outcome}))
        name = "guidefbo_http_requests_total"
        lines += _head(name, "counter", "Answers over HTTP by method and status.")
        for (method, status), n in sorted(requests.items()):
            lines.append(_line(name, n, {"method": method, "status": str(status)}))
        name, total = "guidefbo_letter_seconds", sum(letters.values())
        lines += _head(name, "histogram", "Time from a letter to its answer.")
        for bound in BUCKETS:
            n = times.get(bound, 0)
            lines.append(_line(f"{name}_bucket", n, {"le": f"{bound:g}"}))
        lines.append(_line(f"{name}_bucket", total, {"le": "+Inf"}))
        lines += [_line(f"{name}_sum", seconds), _line(f"{name}_count", total)]
        for name, (text, read) in sorted(self._gauges.items()):
            lines += [*_head(name, "gauge", text), _line(name, read())]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _line(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in (labels or {}).items())
    return f"{name}{{{inside}}} {value:g}" if inside else f"{name} {value:g}"
