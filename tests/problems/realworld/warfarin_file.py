"""A small file of patients in the form of the real one."""

from pathlib import Path

from guidefbo.problems.realworld.warfarin_patients import COLUMNS, FILE

PATIENT = {
    "Project Site": "1",
    "Subject Reached Stable Dose of Warfarin": "1",
    "Therapeutic Dose of Warfarin": "35",
    "Age": "60 - 69",
    "Weight (kg)": "80.5",
    "VKORC1 -1639 consensus": "A/G",
    "CYP2C9 consensus": "*1/*1",
    "Medications": "NA",
}


def write(folder: Path, *patients: dict[str, str], head=COLUMNS) -> Path:
    lines = ["\t".join(head)]
    lines += ["\t".join(({**PATIENT, **p}).get(c, "") for c in head) for p in patients]
    (folder / FILE).write_bytes("\r\n".join([*lines, ""]).encode())
    return folder
