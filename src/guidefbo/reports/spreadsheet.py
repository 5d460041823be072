"""Tables as CSV: every number in a column of its own, nothing where it is missing."""

import csv
import io

from guidefbo.core.table_text import cell_text
from guidefbo.reports.table import Cell, Datum, Table


def to_csv(table: Table) -> str:
    """Return the table; a cell that holds several numbers becomes several columns."""
    parts = _parts(table)
    head = [
        _line(f"{name} {part}")
        for name, named in zip(table.columns, parts, strict=True)
        for part in named
    ]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    for row in (*table.rows, *table.footer):
        writer.writerow(
            _written(_datum(cell, part))
            for cell, named in zip(row, parts, strict=True)
            for part in named
        )
    return file.getvalue()


def _parts(table: Table) -> list[list[str]]:
    """Return the names of the numbers in each column."""
    parts: list[list[str]] = []
    for place in range(len(table.columns)):
        cells = [row[place] for row in (*table.rows, *table.footer)]
        named = dict.fromkeys(name for cell in cells for name, _ in cell.data)
        parts.append(list(named) or [""])
    return parts


def _datum(cell: Cell, part: str) -> Datum:
    data = dict(cell.data)
    if part in data:
        return data[part]
    return cell.text if not data and part == "" and cell.text != "-" else None


def _written(value: Datum) -> str:
    if value is None:
        return ""
    return _line(value) if isinstance(value, str) else repr(value)


def _line(text: str) -> str:
    return cell_text(" ".join(text.split()))
