"""Named moments of the coordinator's work.

Nothing happens at them. A test hangs a function of its own on one, say to end the
process there, and then looks at what is left.
"""

from collections.abc import Callable

NAMES = (
    "before commit",
    "after commit",
    "before answer",
    "in migration",
    "in backup",
    "before folder answer",
)

hooks: dict[str, Callable[[], object]] = {}
"""What a test has hung on a moment; empty outside tests."""


def reached(name: str) -> None:
    """Call what hangs on this moment, if anything does."""
    if name in hooks:
        hooks[name]()
