"""Landmine detection: 29 mine fields, each with a classifier of its own to tune.

Every field tunes C and gamma of a support vector machine on radar features of its own
spots. The objective is the mean area under the curve of a fixed three-fold
cross-validation on one half of the field's data; the other half scores the final
choice.

References:
    Xue, Liao, Carin and Krishnapuram, JMLR 8 (2007) 35-63 (the data).
    The paper, appendix, "Landmine Detection" (the task).
"""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np

from guidefbo.core.arrays import Points, Values, frozen_array
from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, read_file
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.space import Space
from guidefbo.problems.datasets.find import find_dataset
from guidefbo.problems.own import Tasks
from guidefbo.problems.realworld.svm import (
    MeanArea,
    Refitted,
    make_folds,
    split_in_halves,
)

FILE = "LandmineData.mat"
NUM_FEATURES = 9
MAX_FIELDS, MAX_ROWS = 100, 5000
MAX_BYTES = 32 << 20
NUM_FOLDS = 3
MIN_OF_A_CLASS = 2 * NUM_FOLDS
"""Rows of each label that every fold of one half needs."""
_COMPRESSED = 15
"""Type of a variable that is stored compressed, in a MATLAB file of version 5."""


@dataclass(frozen=True, slots=True)
class Field:
    """The data of one mine field."""

    features: Points
    """Radar features, a row a spot."""
    labels: Values
    """1 where there is a mine, else 0."""


def landmine(seed: int = 0) -> Tasks:
    """Return the tasks of the 29 fields.

    Args:
        seed: Not used: halves and folds are the same in every repetition.
    """
    del seed
    functions: list[MeanArea] = []
    held_out: list[Refitted] = []
    for field in read_landmine(find_dataset("landmine") / FILE):
        rows, others = split_in_halves(field.labels)
        features, labels = field.features[rows], field.labels[rows]
        functions.append(MeanArea(make_folds(features, labels, NUM_FOLDS)))
        held_out.append(
            Refitted(
                features=features,
                labels=labels,
                other_features=field.features[others],
                other_labels=field.labels[others],
            )
        )
    return Tasks(
        Space(C=Float(1e-4, 10, log=True), gamma=Float(1e-2, 10, log=True)),
        functions,
        goal="max",
        names=[f"field-{n}" for n in range(1, len(functions) + 1)],
        noise=1e-4,
        held_out=held_out,
        metric="AUC",
        settings={"num_paths": 100, "merge_threshold": 0.03},
        source="Landmine data of Xue et al., JMLR 8 (2007), an RBF-SVM for each field",
    )


def read_landmine(path: Path) -> list[Field]:
    """Return the fields of a landmine file.

    It is a MATLAB file of version 5 with two cell arrays: `feature` holds a matrix of 9
    columns for each field, `label` a column of zeros and ones.
    """
    try:
        data = read_file(path, MAX_BYTES)
    except InputError as error:
        raise DataError(f"Cannot read {path}: {error}.") from error
    if _is_compressed(data):
        # A small compressed file may hold any number of bytes.
        raise DataError(
            f"{path} holds compressed variables, which the public file does not. "
            "Fetch it again: guidefbo data fetch landmine."
        )
    from scipy import io

    reader: Any = io  # its stubs leave out files in memory
    try:
        found = reader.loadmat(BytesIO(data), variable_names=["feature", "label"])
        features, labels = (_cells(found[name]) for name in ("feature", "label"))
    except Exception as error:  # the reader raises errors of many kinds
        raise _not_landmine(path, shown(str(error))) from error
    if not 1 <= len(features) == len(labels) <= MAX_FIELDS:
        raise _not_landmine(
            path, f"{len(features)} matrices and {len(labels)} columns of labels"
        )
    return [
        _field(path, n, *pair)
        for n, pair in enumerate(zip(features, labels, strict=True))
    ]


def _cells(value: Any) -> list[Any]:
    if not _is_array(value, "O"):
        raise TypeError("a variable that is no cell array")
    return list(value.ravel())


def _is_array(value: Any, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and cast(Any, value).dtype.kind in kinds


def _field(path: Path, n: int, features: Any, labels: Any) -> Field:
    """Return one field once its two arrays are what they should be."""
    where = f"field {n + 1}:"
    for given in (features, labels):
        if not _is_array(given, "biuf"):
            raise _not_landmine(path, f"{where} {shown(given)}")
    X, y = np.asarray(features, np.float64), np.asarray(labels, np.float64).ravel()
    if X.ndim != 2 or X.shape[1] != NUM_FEATURES or not 1 <= len(X) <= MAX_ROWS:
        raise _not_landmine(path, f"{where} features of shape {X.shape}")
    if y.shape != (len(X),) or not np.isin(y, (0.0, 1.0)).all():
        raise _not_landmine(path, f"{where} labels {shown(y)}")
    # Squares and sums of these stay within what a float holds.
    if not (np.abs(X) <= 1e100).all():
        raise _not_landmine(path, f"{where} features that are no ordinary numbers")
    if min(y.sum(), (1 - y).sum()) < MIN_OF_A_CLASS:
        raise _not_landmine(
            path,
            f"{where} {int(y.sum())} mines in {y.size} spots, where {MIN_OF_A_CLASS} "
            "of each kind are needed for the folds",
        )
    return Field(frozen_array(X), frozen_array(y))


def _is_compressed(data: bytes) -> bool:
    """Whether a variable of a MATLAB file of version 5 is stored compressed.

    The file is a header of 128 bytes, whose last two are the order of bytes, and then
    variables: type, length, content.
    """
    order = "little" if data[126:128] == b"IM" else "big"
    at = 128
    while at + 8 <= len(data):
        kind = int.from_bytes(data[at : at + 4], order)
        if kind == _COMPRESSED:
            return True
        at += 8 + int.from_bytes(data[at + 4 : at + 8], order)
    return False


def _not_landmine(path: Path, found: str) -> DataError:
    return DataError(
        f"{path} must hold two cell arrays, feature (a matrix of {NUM_FEATURES} "
        f"columns a field) and label (zeros and ones), got {found}. Fetch it again: "
        "guidefbo data fetch landmine."
    )
