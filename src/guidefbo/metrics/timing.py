"""Seconds per stage of a run."""

import time
from collections.abc import Generator
from contextlib import contextmanager


class StageClock:
    """Accumulates wall-clock seconds under the names of stages.

    The seconds of the processor that this process used stand beside the total: they
    are less where it waited for others.
    """

    def __init__(self, *stages: str) -> None:
        """Start the total and set every stage to zero."""
        self._seconds = dict.fromkeys(stages, 0.0)
        self._began = time.perf_counter()
        self._used = time.process_time()

    @contextmanager
    def stage(self, name: str) -> Generator[None, None, None]:
        """Add the time of the enclosed block to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] += time.perf_counter() - began

    def seconds(self) -> dict[str, float]:
        """Return the total so far, of wall and processor, and every stage's share."""
        total = time.perf_counter() - self._began
        used = time.process_time() - self._used
        return {"total": total, "processor": used, **self._seconds}
