"""Tables that people write with a spreadsheet: CSV text, read within limits."""

import csv
from collections.abc import Collection
from io import StringIO
from itertools import islice
from pathlib import Path

from guidefbo.core.checks import is_plain_text
from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, read_file

SEPARATORS = ",;\t"
MAX_TABLE = 16 << 20
"""Bytes of a table."""
FORMULA = ("=", "+", "-", "@")
"""How a text begins that a spreadsheet would compute."""


def cell_text(text: str) -> str:
    """Return a text as a cell of a table that a spreadsheet does not compute.

    An apostrophe goes before what would be computed, and before an apostrophe, so that
    `as_written` knows which one to drop.

    >>> cell_text("=1+1"), cell_text("two  words"), cell_text("'tis")
    ("'=1+1", 'two  words', "''tis")
    """
    line = text if is_plain_text(text) else " ".join(text.split())
    return f"'{line}" if _is_marked(line) else line


def as_written(cell: str) -> str:
    """Return the text that `cell_text` made a cell of.

    >>> as_written("'=1+1"), as_written("''tis"), as_written("'tis")
    ('=1+1', "'tis", "'tis")
    """
    return cell[1:] if cell.startswith("'") and _is_marked(cell[1:]) else cell


def _is_marked(text: str) -> bool:
    """Whether an apostrophe goes before a text."""
    return text.lstrip().startswith((*FORMULA, "'"))


def read_cells(path: Path, names: Collection[str]) -> list[list[str]]:
    """Return the cells of a table line by line, the header first.

    Cells are parted by a comma, a semicolon or a tabulator: by the sign that finds
    most of the expected names in the header, or else most cells.

    Args:
        path: The file.
        names: Columns that are expected.
    """
    return split_cells(read_text(path), names)


def read_text(path: Path) -> str:
    """Return the text of a table."""
    try:
        # Spreadsheets put a byte order mark first; this encoding drops it.
        return read_file(path, MAX_TABLE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text. Save it as CSV UTF-8.") from error
    except InputError as error:
        raise DataError(f"Cannot read {path}: {error}.") from error


def split_cells(text: str, names: Collection[str]) -> list[list[str]]:
    """Return the cells of a text, parted as `read_cells` does."""

    def found(separator: str) -> tuple[int, int]:
        header = _parse(text, separator, count=1)
        cells = {cell.strip() for row in header for cell in row}
        return len(cells & {*names}), len(cells)

    return _parse(text, max(SEPARATORS, key=found))


def _parse(text: str, separator: str, count: int | None = None) -> list[list[str]]:
    try:
        rows = csv.reader(StringIO(text, newline=""), delimiter=separator)
        return list(islice(rows, count))
    except csv.Error as error:
        raise DataError(f"Expected a table, got something else: {error}.") from error
