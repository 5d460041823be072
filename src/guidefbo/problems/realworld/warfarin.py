"""The dosing rule of a blood thinner, tuned by 21 clinics on their own patients.

The weekly dose of warfarin at which a patient is stable differs tenfold. Its square
root is nearly linear in age, weight and the variants of two genes, and the rule here
has that form. Each clinic looks for the coefficients that bring most of its patients
within 20 % of their stable dose.

The patients were treated long ago and the rule was not tried on anybody: this compares
methods of optimisation and is not medical advice.

References:
    International Warfarin Pharmacogenetics Consortium, "Estimation of the warfarin dose
    with clinical and pharmacogenetic data", N. Engl. J. Med. 360:753-764 (2009).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.errors import DataError
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Streams
from guidefbo.problems.datasets.find import find_dataset
from guidefbo.problems.own import Tasks
from guidefbo.problems.realworld.warfarin_patients import (
    Patients,
    Rows,
    read_patients,
)

EFFECTS = ("age", "weight", "vkorc1", "cyp2c9_2", "cyp2c9_3", "amiodarone")
"""Parameters that multiply the six features of a patient, in their order."""
REFERENCE = np.array([6.0, 75.0, 1.0, 0.0, 0.0, 0.0])
"""The patient who gets the base dose: 60 to 69 years, 75 kg, VKORC1 A/G, CYP2C9
without variants *2 and *3, no amiodarone."""
STEP = np.array([1.0, 10.0, 1.0, 1.0, 1.0, 1.0])
"""Difference of a feature that changes the root of the dose by one effect."""
IS_COUNT = (False, False, True, True, True, True)
"""Features whose missing entries are filled by a mean, an expected number."""
TOLERANCE = 0.2
"""Largest error of a dose that counts as right, as a share of the stable dose."""
NUM_FOLDS = 5
"""Folds of the cross-validation."""
HELD_OUT = 3
"""One patient in so many is never seen by the objective."""
MIN_PATIENTS = 30
"""Fewest patients of a clinic."""
SPLIT_SEED = 0
"""Root of the split, the same in every run."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """Patients for whom a dosing rule is judged."""

    dose: NDArray[np.float64]
    """Stable dose in mg per week."""
    steps: Rows
    """Distance of each patient from the reference patient, in steps."""

    def share(self, values: dict[str, Any]) -> float:
        """Return the percentage of patients whose dose the rule gets right."""
        effects = np.array([values[name] for name in EFFECTS])
        root = math.sqrt(values["base_dose"]) + self.steps @ effects
        error = np.abs(np.maximum(root, 0.0) ** 2 - self.dose)
        return 100.0 * float(np.mean(error <= TOLERANCE * self.dose))


def warfarin(seed: int = 0) -> Tasks:
    """Return the clinics, each with the coefficients of its dosing rule to tune.

    Args:
        seed: Not used: patients and their split are the same in every run.
    """
    del seed
    clinics = read_patients(find_dataset("iwpc_warfarin"))
    cohorts = [split_clinic(patients) for patients in clinics]
    return Tasks(
        Space(
            # The least-squares fit to all clinics lies well inside and off the centre.
            base_dose=Float(10.0, 80.0),
            age=Float(-1.0, 0.1),
            weight=Float(-0.1, 0.7),
            vkorc1=Float(-3.0, 0.2),
            cyp2c9_2=Float(-1.8, 0.2),
            cyp2c9_3=Float(-3.0, 0.2),
            amiodarone=Float(-2.2, 0.2),
        ),
        [tuned.share for tuned, _ in cohorts],
        goal="max",
        names=[f"clinic-{patients.clinic}" for patients in clinics],
        held_out=[held_out.share for _, held_out in cohorts],
        metric="patients within 20 %",
        unit="%",
        source=(
            "International Warfarin Pharmacogenetics Consortium (N. Engl. J. Med. "
            "360:753, 2009): stable doses and genotypes by clinic; retrospective, not "
            "medical advice"
        ),
    )


def split_clinic(patients: Patients) -> tuple[Cohort, Cohort]:
    """Return the patients a rule is tuned on, and those it is judged on at the end.

    What stands for a missing entry of a patient is learnt from the other folds; for
    those held out, from all patients the rule is tuned on.
    """
    count = len(patients.dose)
    if count < MIN_PATIENTS:
        raise DataError(
            f"Clinic {patients.clinic} has {count} patients with a stable dose; at "
            f"least {MIN_PATIENTS} are needed. Get the file again: `guidefbo data "
            "fetch iwpc_warfarin`."
        )
    stream = Streams(SPLIT_SEED).at("warfarin split", agent=patients.clinic)
    is_held_out = deal(patients.dose, HELD_OUT, stream) == 0
    tuned, dose = patients.features[~is_held_out], patients.dose[~is_held_out]
    folds = deal(dose, NUM_FOLDS, stream)
    filled = np.empty_like(tuned)
    for fold in range(NUM_FOLDS):
        is_fold = folds == fold
        filled[is_fold] = fill(tuned[is_fold], tuned[~is_fold])
    rest = fill(patients.features[is_held_out], tuned)
    return (
        Cohort(dose, (filled - REFERENCE) / STEP),
        Cohort(patients.dose[is_held_out], (rest - REFERENCE) / STEP),
    )


def deal(
    dose: NDArray[np.float64], parts: int, stream: np.random.Generator
) -> NDArray[np.int64]:
    """Return the part each patient falls into; doses are spread alike over parts.

    Of patients next to each other in dose, each part gets one, at random.
    """
    count = len(dose)
    blocks = [stream.permutation(parts) for _ in range(0, count, parts)]
    labels = np.empty(count, dtype=np.int64)
    labels[np.argsort(dose, kind="stable")] = np.concatenate(blocks)[:count]
    return labels


def fill(features: Rows, others: Rows) -> Rows:
    """Return features whose missing entries are what is typical of other patients.

    The median of age and weight, the mean number of variants of a gene; where the
    others have no entry either, that of the reference patient.
    """
    filled = features.copy()
    for column, is_count in enumerate(IS_COUNT):
        known: Rows = others[~np.isnan(others[:, column]), column]
        typical = np.mean if is_count else np.median
        value = float(typical(known) if len(known) else REFERENCE[column])
        filled[np.isnan(filled[:, column]), column] = value
    return filled
