"""What a report is made of: sections of sentences, tables, figures and commands."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Datum = int | float | str | None
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
"""A stretch of code in prose, between single backticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One entry of a table."""

    text: str
    """What a reader sees."""
    under: str = ""
    """Smaller lines below it."""
    value: float | None = None
    """What the column is sorted by; None goes last."""
    mark: str = ""
    """`best` or `second` in its row, or nothing."""
    data: tuple[tuple[str, Datum], ...] = ()
    """The numbers behind it under the names of their own columns in a CSV file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under a head."""

    name: str
    """Name of its files."""
    title: str
    """One line above it."""
    columns: tuple[str, ...]
    """The head; the first column names the rows."""
    rows: tuple[tuple[Cell, ...], ...]
    """Every row has a cell for each column."""
    footer: tuple[tuple[Cell, ...], ...] = ()
    """Rows that sum up and stay at the end however the table is sorted."""
    notes: tuple[str, ...] = ()
    """Sentences under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture that is drawn when it is needed."""

    name: str
    """Name of its files."""
    title: str
    """One line above it."""
    draw: Callable[[], Any]
    """Returns the figure."""
    notes: tuple[str, ...] = ()
    """Sentences under it, also for those who cannot see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Lines for a shell."""

    lines: tuple[str, ...]
    """One command each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]
    """One point each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """A paragraph of the study's author."""

    text: str
    """What stands between single backticks is code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What a reader must not miss, set apart from the rest."""

    title: str
    """What it is about."""
    texts: tuple[str, ...]
    """Paragraphs."""


Block = str | Prose | Table | Figure | Commands | Points | Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report."""

    name: str
    """Its address in the page."""
    title: str
    """Its heading."""
    blocks: tuple[Block, ...]
    """What it holds; a text is a paragraph."""
    study: str = ""
    """Study it belongs to, where a report has several."""


def words(text: str) -> Cell:
    """Return a cell that is a name or a sentence."""
    return Cell(text=text)


def spans(prose: Prose) -> list[tuple[str, bool]]:
    """Return the stretches of a paragraph on one line, each with whether it is code.

    >>> spans(Prose(text="so `a` is"))
    [('so ', False), ('a', True), (' is', False)]
    """
    parts = CODE.split(" ".join(prose.text.split()))
    return [(part, n % 2 == 1) for n, part in enumerate(parts) if part]


def figures_of(section: Section) -> list[Figure]:
    """Return the figures of a section."""
    return [block for block in section.blocks if isinstance(block, Figure)]


def tables_of(section: Section) -> list[Table]:
    """Return the tables of a section."""
    return [block for block in section.blocks if isinstance(block, Table)]
