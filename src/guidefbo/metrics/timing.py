"""Seconds per stage of a run."""

import time
from collections.abc import Generator
from contextlib import contextmanager


class StageClock:
    """Accumulates wall-clock seconds under the names of stages."""

    def __init__(self, *stages: str) -> None:
        """Start the total and set every stage to zero."""
        self._seconds = dict.fromkeys(stages, 0.0)
        self._began = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Generator[None, None, None]:
        """Add the time of the enclosed block to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] += time.perf_counter() - began

    def seconds(self) -> dict[str, float]:
        """Return the total so far and every stage's share."""
        total = time.perf_counter() - self._began
        return {"total": total, **self._seconds}
