"""One pass over a shared folder, without a service."""

from pathlib import Path

from guidefbo.coordinator.answer import open_desk
from guidefbo.coordinator.folder import Notice, turn
from guidefbo.coordinator.schema import open_current


def turn_once(address: str, folder: Path, *, notice: Notice | None = None) -> int:
    """Answer what lies in a folder, and return how many letters there were.

    Args:
        address: The store.
        folder: The shared folder.
        notice: Called with a sentence for each letter that was refused.
    """
    store = open_current(address)
    desk = open_desk(store, rate=0.0)
    try:
        return turn(desk, folder, notice=notice)
    finally:
        desk.writer.close()
        store.close()
