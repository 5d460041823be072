"""Patients as they are read from the file of the consortium."""

from pathlib import Path

import numpy as np
import pytest
from tests.problems.realworld.warfarin_file import write

from guidefbo.core.errors import DataError
from guidefbo.problems.realworld.warfarin_patients import COLUMNS, FILE, read_patients


def test_a_patient_is_read_entry_by_entry(tmp_path: Path) -> None:
    (patients,) = read_patients(write(tmp_path, {"CYP2C9 consensus": "*2/*3"}))
    assert patients.clinic == 1
    assert patients.dose.tolist() == [35.0]
    assert patients.features.tolist() == [[6.0, 80.5, 1.0, 1.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "decade"), [("19-Oct", 1), ("20 - 29", 2), ("80 - 89", 8), ("90+", 9)]
)
def test_ages_are_completed_decades(tmp_path: Path, text: str, decade: int) -> None:
    (patients,) = read_patients(write(tmp_path, {"Age": text}))
    assert patients.features[0, 0] == decade


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("*1/*1", [0, 0]),
        ("*1/*2", [1, 0]),
        ("*2/*2", [2, 0]),
        ("*3/*3", [0, 2]),
        # Alleles *11 and *13 are neither *1 nor *3.
        ("*1/*13", [0, 0]),
        ("*1/*11", [0, 0]),
    ],
)
def test_variants_of_cyp2c9_are_counted(
    tmp_path: Path, text: str, counts: list[float]
) -> None:
    (patients,) = read_patients(write(tmp_path, {"CYP2C9 consensus": text}))
    assert patients.features[0, 3:5].tolist() == counts


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("NA", False),
        ("none", False),
        ("aspirin; not simvastatin; not amiodarone", False),
        ("no aspirin; no amiodarone", False),
        ("Not Amiodarone", False),
        ("aspirin;  Amiodarone", True),
        ("cordarone or pacerone or amiodarone", True),
        ("nothing else; amiodarone hcl", True),
    ],
)
def test_a_drug_that_is_denied_is_not_taken(
    tmp_path: Path, text: str, is_taken: bool
) -> None:
    (patients,) = read_patients(write(tmp_path, {"Medications": text}))
    assert patients.features[0, 5] == is_taken


def test_what_is_missing_is_nan_and_only_a_dose_is_needed(tmp_path: Path) -> None:
    missing = dict.fromkeys(
        ("Age", "Weight (kg)", "VKORC1 -1639 consensus", "CYP2C9 consensus"), "NA"
    )
    left_out = [
        {"Therapeutic Dose of Warfarin": "NA"},
        {"Subject Reached Stable Dose of Warfarin": "0"},
    ]
    kept = {**missing, "Subject Reached Stable Dose of Warfarin": "NA"}
    (patients,) = read_patients(write(tmp_path, kept, *left_out))
    assert np.isnan(patients.features).tolist() == [[True] * 5 + [False]]


def test_clinics_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    sites = [{"Project Site": number} for number in ("10", "2", "10", "1")]
    clinics = read_patients(write(tmp_path, *sites))
    assert [(c.clinic, len(c.dose)) for c in clinics] == [(1, 1), (2, 1), (10, 2)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"Age": "67"}, "Age is '67'"),
        ({"Weight (kg)": "heavy"}, "Weight .* 'heavy'"),
        ({"Weight (kg)": "inf"}, "from 10 to 500"),
        ({"Therapeutic Dose of Warfarin": "-3"}, "from 0.1 to 1000"),
        ({"VKORC1 -1639 consensus": "A/T"}, "no genotype"),
        ({"CYP2C9 consensus": "*2"}, "no genotype"),
        ({"Project Site": "NA"}, "Project Site"),
        ({"Project Site": "1.5"}, "Project Site"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    with pytest.raises(DataError, match=words) as refused:
        read_patients(write(tmp_path, {}, change))
    assert "line 3" in str(refused.value)
    assert "guidefbo data fetch iwpc_warfarin" in str(refused.value)


def test_files_of_another_form_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_patients(tmp_path)
    with pytest.raises(DataError, match=r"columns .*'Age'"):
        read_patients(write(tmp_path, head=[c for c in COLUMNS if c != "Age"]))
    write(tmp_path, {})
    with (tmp_path / FILE).open("a") as file:
        file.write("1\t2\n")
    with pytest.raises(DataError, match="line 3 has 2 entries, not 8"):
        read_patients(tmp_path)
    (tmp_path / FILE).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="decode"):
        read_patients(tmp_path)
