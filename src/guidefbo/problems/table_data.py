"""A table of results as columns: sites, parameters as texts, values as numbers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from guidefbo.core.arrays import Values, frozen_array
from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError
from guidefbo.core.names import to_name
from guidefbo.core.table_text import split_cells

LARGEST = 1e100
"""Largest value in size: the squares of larger ones overflow."""
MAX_COLUMNS = 1000
"""Columns of a table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Results of several sites, one a row."""

    numbers: Sequence[int]
    """Number of each row as a spreadsheet counts, the header being 1."""
    sites: Sequence[str]
    """Site of each row."""
    values: Values
    """Result of each row."""
    columns: Mapping[str, Sequence[str]]
    """Texts of every parameter, by its name."""

    @property
    def site_names(self) -> list[str]:
        """The sites in the order in which they appear."""
        return list(dict.fromkeys(self.sites))

    def rows_of(self, site: str) -> list[int]:
        """Return the places of a site's rows."""
        return [place for place, name in enumerate(self.sites) if name == site]


def parse_table(
    text: str, path: Path, *, site: str, value: str, ignore: Collection[str] = ()
) -> Table:
    """Return the results that a text holds.

    Args:
        text: Content of the file.
        path: The file, for messages.
        site: Column that names the site.
        value: Column of the results.
        ignore: Columns that are no parameters.
    """
    lines = split_cells(text, {site, value, *ignore})
    header = [name.strip() for name in lines[0]] if lines else []
    _check_header(header, path, site, value, ignore)
    numbers: list[int] = []
    rows: list[list[str]] = []
    for number, line in enumerate(lines[1:], start=2):
        cells = [cell.strip() for cell in line]
        if not any(cells):
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{path}, row {number}: expected {len(header)} cells, got {len(cells)}."
            )
        numbers.append(number)
        rows.append(cells)
    if not rows:
        raise DataError(f"Expected results below the header of {path}, got none.")
    texts = {
        name: [row[place] for row in rows]
        for place, name in enumerate(header)
        if name not in ignore
    }
    for name, column in texts.items():
        if "" in column:
            raise DataError(
                f"{path}, row {numbers[column.index('')]}: {name} is empty. Fill it "
                f"in, leave the row out, or leave the column out: --ignore {name}."
            )
    for name in (site, value):
        if name not in texts:
            raise DataError(f"{name} is needed: it cannot be ignored as well.")
    sites = texts.pop(site)
    _check_sites(sites, path)
    values = [
        _result(cell, number, value, path)
        for cell, number in zip(texts.pop(value), numbers, strict=True)
    ]
    return Table(
        numbers=numbers, sites=sites, values=frozen_array(values), columns=texts
    )


def number_of(text: str) -> float | None:
    """Return the finite number a text stands for, None where it is none.

    >>> number_of("1e-3"), number_of("a"), number_of("nan")
    (0.001, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _check_header(
    header: list[str], path: Path, site: str, value: str, ignore: Collection[str]
) -> None:
    if site == value:
        raise DataError(f"Site and value must be two columns, got {site!r} for both.")
    missing = [name for name in (site, value, *ignore) if name not in header]
    if missing or len(set(header)) != len(header) or len(header) > MAX_COLUMNS:
        raise DataError(
            f"Expected {path} to begin with a header that names {site}, {value} and "
            f"the parameters, each once, at most {MAX_COLUMNS} of them; got "
            f"{shown(header)}" + (f", missing {missing}." if missing else ".")
        )
    used = [name for name in header if name not in ignore]
    if len(used) < 3:
        raise DataError(
            f"Expected {path} to have a column beside {site} and {value}, a parameter "
            "that the results depend on; got none."
        )
    if "" in used:
        raise DataError(f"A column of {path} has no name. Name it or remove it.")


def _check_sites(sites: list[str], path: Path) -> None:
    names = dict.fromkeys(sites)
    plain = [to_name(name) for name in names]
    if len(set(plain)) != len(plain):
        twice = [n for n, p in zip(names, plain, strict=True) if plain.count(p) > 1]
        raise DataError(
            f"{path} has sites whose names differ in signs only: {shown(twice)}. "
            "Name them apart with letters and digits."
        )


def _result(cell: str, number: int, value: str, path: Path) -> float:
    found = number_of(cell)
    if found is None or abs(found) > LARGEST:
        hint = " Write a point, not a comma." if "," in cell else ""
        raise DataError(
            f"{path}, row {number}: expected {value} as a finite number, got "
            f"{shown(cell)}.{hint} A row without a result is left out of the table."
        )
    return found
