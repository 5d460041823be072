"""Reader of the files of Human Activity Recognition Using Smartphones.

Two folders, `train` and `test`, hold the official parts. Each has three text files with
one line a window of 2.56 seconds: 561 features from -1 to 1, the activity from 1 to 6,
and the subject from 1 to 30.

References:
    Anguita, Ghio, Oneto, Parra and Reyes-Ortiz, ESANN 2013.
"""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError

PARTS = ("train", "test")
NUM_FEATURES = 561
NUM_CLASSES = 6
NUM_SUBJECTS = 30
MAX_BYTES = 256 << 20
"""Most bytes of one file; the largest of the public ones has 66 million."""

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordings:
    """All windows of both parts, the official training part first."""

    features: NDArray[np.float32]
    """561 features a window."""
    activities: Whole
    """Activity of each window, from 0 to 5."""
    subjects: Whole
    """Who was recorded, from 1 to 30."""


@lru_cache(maxsize=1)
def read_har(folder: Path) -> Recordings:
    """Return the recordings in a folder; the last answer is kept in memory."""
    parts = [_read_part(folder, part) for part in PARTS]
    features, activities, subjects = (
        np.concatenate([part[k] for part in parts]) for k in range(3)
    )
    for array in (features, activities, subjects):
        array.setflags(write=False)
    return Recordings(features=features, activities=activities - 1, subjects=subjects)


def _read_part(folder: Path, part: str) -> tuple[Any, Any, Any]:
    features_path = folder / part / f"X_{part}.txt"
    features = _numbers(features_path, np.float32)
    if features.ndim != 2 or features.shape[1] != NUM_FEATURES:
        raise _refused(
            features_path,
            f"lines of {NUM_FEATURES} numbers",
            f"numbers of shape {features.shape}",
        )
    if not (np.abs(features) <= 1).all():
        raise _refused(features_path, "numbers from -1 to 1", "others among them")
    columns: list[Any] = []
    for name, highest in (("y", NUM_CLASSES), ("subject", NUM_SUBJECTS)):
        path = folder / part / f"{name}_{part}.txt"
        column = _numbers(path, np.int64).ravel()
        if column.size != len(features):
            raise _refused(
                path,
                f"a line for each of the {len(features)} of {features_path.name}",
                f"{column.size} numbers",
            )
        if not ((column >= 1) & (column <= highest)).all():
            raise _refused(path, f"numbers from 1 to {highest}", shown(column))
        columns.append(column)
    return features, columns[0], columns[1]


def _numbers(path: Path, kind: type[np.float32] | type[np.int64]) -> NDArray[Any]:
    """Return the numbers of a text file, a row a line."""
    try:
        if not path.is_file() or os.path.getsize(path) > MAX_BYTES:
            raise DataError(
                f"{path} must be a text file of at most {MAX_BYTES} bytes, and it is "
                "not. Fetch it again: guidefbo data fetch har."
            )
        if os.path.getsize(path) == 0:
            raise _refused(path, "numbers", "an empty file")
        return np.loadtxt(path, dtype=kind, comments=None, encoding="ascii", ndmin=2)
    except (OSError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise _refused(path, "numbers", str(error)[:200]) from error


def _refused(path: Path, expected: str, found: str) -> DataError:
    return DataError(
        f"{path} must hold {expected}, got {found}. Fetch it again: guidefbo data "
        "fetch har."
    )
