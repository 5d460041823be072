"""Lines of progress where there is no terminal to draw on."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread

SECONDS = 10.0
"""Between two lines."""


@contextmanager
def repeated(
    say: Callable[[], object], *, is_quiet: bool = False, seconds: float = SECONDS
) -> Generator[None, None, None]:
    """Call a function at once and every so often while the block runs.

    In a thread of its own, so that one long step does not silence it.

    Args:
        say: Says how far the block is.
        is_quiet: Whether it is not called at all.
        seconds: Between two calls.
    """
    if is_quiet:
        yield
        return
    ended = Event()

    def go_on() -> None:
        while not ended.wait(seconds):
            say()

    say()
    thread = Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
