"""Moves the letters of a mailbox; loads nothing that could read an agent's file."""

from collections.abc import Callable
from pathlib import Path

from guidefbo.connect.courier import Courier, Moved
from guidefbo.connect.link_file import LinkFile
from guidefbo.connect.mailbox import Mailbox
from guidefbo.connect.places import Places
from guidefbo.connect.transport import Way
from guidefbo.wire.keys import SigningKey


def move(
    places: Places,
    *,
    patience: float = 0.0,
    wait: float = 30.0,
    notice: Callable[[str], object] | None = None,
) -> Moved:
    """Hand over what the mailbox has ready, and put there what comes.

    Args:
        places: The files of a link; the agent's own is not opened.
        patience: Seconds to wait for an answer in a folder.
        wait: Seconds to wait for another process that holds the mailbox.
        notice: Called with a sentence where a wait is a long one.
    """
    courier = courier_of(places, patience)
    with courier.mailbox.held(wait=wait, notice=notice):
        return courier.exchange()


def courier_of(places: Places, patience: float) -> Courier:
    """Return what carries the letters of a site."""
    facts = LinkFile.load(places.link)
    way = Way(
        where=facts.where,
        ca=None if facts.ca is None else Path(facts.ca),
        patience=patience,
    )
    return Courier(
        link=facts,
        key=SigningKey.load(places.key),
        mailbox=Mailbox.open(places.mail),
        transport=way.open(),
    )
