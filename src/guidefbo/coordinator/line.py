"""The line of letters in front of the store: one of each site, the newest first.

A site that sends many letters at once must not have a transaction for each of them
while others wait. Sites stand in line, not letters: each has one place, whatever it
sends, and goes to the end of the line once it was served. Of the exchanges that a site
has in line the newest is done and the others are refused without any work, as if they
had come after it; the network may bring letters in any order anyhow.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Lettered(Protocol):
    """What stands in line, as far as its order goes."""

    @property
    def whose(self) -> Hashable:
        """The site that it is of."""
        ...

    @property
    def number(self) -> int:
        """Its number, as the site counts."""
        ...

    @property
    def is_overtaken(self) -> bool:
        """Whether a newer one of the same site may be done in its place."""
        ...


Item = TypeVar("Item", bound=Lettered)


@dataclass(frozen=True, slots=True)
class Place(Generic[Item]):
    """What is done for one site in a transaction."""

    item: Item
    overtaken: list[Item] = field(default_factory=list[Item])
    """Older ones, which are refused once the item is done."""


class Line(Generic[Item]):
    """Letters that wait, by site. Whoever uses it holds a lock."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._sites: OrderedDict[Hashable, list[Item]] = OrderedDict()
        self._num_items = 0

    def __len__(self) -> int:
        """Return how many letters wait."""
        return self._num_items

    def __contains__(self, whose: object) -> bool:
        """Whether a letter of a site waits."""
        return whose in self._sites

    def __iter__(self) -> Iterator[Hashable]:
        """Return the sites in the order in which they are served."""
        return iter(self._sites)

    @property
    def num_sites(self) -> int:
        """How many sites wait: as many letters can be done at once."""
        return len(self._sites)

    def add(self, item: Item) -> None:
        """Put a letter in line; that of a site which waits already gets no new place.

        Args:
            item: The letter.
        """
        self._sites.setdefault(item.whose, []).append(item)
        self._num_items += 1

    def take(self, most: int) -> list[Place[Item]]:
        """Return what is done next, at most one letter of each site.

        Args:
            most: How many sites are served.
        """
        places: list[Place[Item]] = []
        for whose in list(self._sites)[:most]:
            items = self._sites.pop(whose)
            place, rest = _choose(items)
            places.append(place)
            self._num_items -= len(items) - len(rest)
            if rest:
                self._sites[whose] = rest
        return places

    def put_back(self, items: list[Item]) -> None:
        """Put letters of one site in line again, before what it has sent since.

        Args:
            items: In their order.
        """
        for item in reversed(items):
            self._sites.setdefault(item.whose, []).insert(0, item)
            self._num_items += 1


def _choose(items: list[Item]) -> tuple[Place[Item], list[Item]]:
    """Return what is done of a site's letters, and what waits further."""
    first = items[0]
    if not first.is_overtaken:
        return Place(first), items[1:]
    # As far as nothing stands in between that has to be done in its turn.
    count = next((k for k, i in enumerate(items) if not i.is_overtaken), len(items))
    newest = max(range(count), key=lambda k: items[k].number)
    older = [item for k, item in enumerate(items[:count]) if k != newest]
    return Place(items[newest], older), items[count:]
