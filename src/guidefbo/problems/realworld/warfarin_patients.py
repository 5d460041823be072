"""Patients of the International Warfarin Pharmacogenetics Consortium, by clinic.

What a dosing rule can use of a patient is a row of six numbers: age, weight, how many
variants of two genes, and amiodarone, a drug that slows the breakdown of warfarin. An
entry that the file does not have is NaN.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, read_file

FILE = "iwpc_data_7_3_09_revised3.txt"
"""File of the data set, separated by tabs."""
MAX_BYTES = 10_000_000
"""Most bytes of the file; the real one has 1.4 million."""
SITE = "Project Site"
STABLE = "Subject Reached Stable Dose of Warfarin"
DOSE = "Therapeutic Dose of Warfarin"
AGE = "Age"
WEIGHT = "Weight (kg)"
VKORC1 = "VKORC1 -1639 consensus"
CYP2C9 = "CYP2C9 consensus"
DRUGS = "Medications"
COLUMNS = (SITE, STABLE, DOSE, AGE, WEIGHT, VKORC1, CYP2C9, DRUGS)
"""Columns that are read."""
DECADES = {
    "19-Oct": 1,  # 10-19, which a spreadsheet took for a date
    "10 - 19": 1,
    **{f"{n}0 - {n}9": n for n in range(2, 9)},
    "90+": 9,
}
"""Completed decades of age by what the file says."""
MISSING = "NA"
"""What stands for an entry that is not there."""
# The file also lists what a patient does NOT take, as in "not amiodarone".
_AMIODARONE = re.compile(r"(?!not? ).*(amiod|cordarone|pacerone)", re.IGNORECASE)

Rows = NDArray[np.float64]
"""One row a patient."""


@dataclass(frozen=True, slots=True)
class Patients:
    """The patients of one clinic whose stable dose is known."""

    clinic: int
    """Number of the clinic in the file."""
    dose: NDArray[np.float64]
    """Stable dose in mg per week."""
    features: Rows
    """Decades of age, weight in kg, number of VKORC1 -1639 A alleles, of CYP2C9 *2 and
    *3 alleles, and whether amiodarone is taken."""


def read_patients(folder: Path) -> list[Patients]:
    """Return the patients of each clinic, in the order of the clinics' numbers.

    A patient without a dose, or whose dose was not stable, is left out.
    """
    path = folder / FILE
    clinics: dict[int, list[list[float]]] = {}
    try:
        for line, row in _rows(read_file(path, MAX_BYTES)):
            if row[STABLE] == "0" or row[DOSE] == MISSING:
                continue
            try:
                clinics.setdefault(_site(row), []).append(_patient(row))
            except DataError as error:
                raise DataError(f"in line {line}, {error}") from error
    except (InputError, DataError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"Cannot use {path}: {error}. Get the file again: "
            "`guidefbo data fetch iwpc_warfarin`."
        ) from error
    tables = {site: np.array(rows) for site, rows in sorted(clinics.items())}
    return [Patients(site, table[:, 0], table[:, 1:]) for site, table in tables.items()]


def _rows(data: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number and entries of each line below the head."""
    lines = csv.reader(io.StringIO(data.decode("utf-8")), delimiter="\t")
    head = next(lines, list[str]())
    absent = [name for name in COLUMNS if name not in head]
    if absent:
        raise DataError(f"the first line does not name the columns {absent}")
    for cells in lines:
        if len(cells) != len(head):
            raise DataError(
                f"line {lines.line_num} has {len(cells)} entries, not {len(head)}"
            )
        yield lines.line_num, dict(zip(head, map(str.strip, cells), strict=True))


def _site(row: dict[str, str]) -> int:
    if not re.fullmatch(r"[1-9]\d{0,2}", row[SITE], re.ASCII):
        raise DataError(f"{SITE} is {shown(row[SITE])}, not a number from 1 to 999")
    return int(row[SITE])


def _patient(row: dict[str, str]) -> list[float]:
    age, drugs = row[AGE], row[DRUGS].split(";")
    if age not in DECADES and age != MISSING:
        raise DataError(f"{AGE} is {shown(age)}, not one of {', '.join(DECADES)}")
    return [
        _number(row, DOSE, 0.1, 1000.0),
        DECADES.get(age, np.nan),
        _number(row, WEIGHT, 10.0, 500.0),
        _count(row, VKORC1, "A", r"[AG]/[AG]"),
        _count(row, CYP2C9, "*2", r"\*\d+/\*\d+"),
        _count(row, CYP2C9, "*3", r"\*\d+/\*\d+"),
        float(any(_AMIODARONE.match(drug.strip()) for drug in drugs)),
    ]


def _number(row: dict[str, str], column: str, low: float, high: float) -> float:
    if row[column] == MISSING:
        return np.nan
    try:
        number = float(row[column])
    except ValueError:
        number = np.nan
    if not low <= number <= high:
        raise DataError(
            f"{column} is {shown(row[column])}, not a number from {low:g} to {high:g}"
        )
    return number


def _count(row: dict[str, str], column: str, allele: str, form: str) -> float:
    if row[column] == MISSING:
        return np.nan
    if not re.fullmatch(form, row[column]):
        raise DataError(f"{column} is {shown(row[column])}, which is no genotype")
    return float(row[column].split("/").count(allele))
