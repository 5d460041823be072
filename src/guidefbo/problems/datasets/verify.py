"""Is a file the one that was meant? Size and digest, computed once a process."""

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from guidefbo.core.errors import DataError
from guidefbo.problems.datasets.record import DataFile, Dataset

BLOCK = 1 << 20
"""Bytes read at once."""


def has_files(dataset: Dataset, folder: Path) -> bool:
    """Whether a folder holds every needed file of a set, and at least one file."""
    there = [file for file in dataset.files if (folder / file.name).is_file()]
    return bool(there) and all(f in there for f in dataset.files if f.is_needed)


def differing(dataset: Dataset, folder: Path) -> list[DataFile]:
    """Return the files of a folder that are not the ones this package was tested with.

    A file whose digest is not known never differs.
    """
    there = [file for file in dataset.files if (folder / file.name).is_file()]
    return [file for file in there if not matches(folder / file.name, file)]


def matches(path: Path, file: DataFile) -> bool:
    """Whether a file has the size and the digest that are known of it."""
    return file.sha256 is None or (
        path.stat().st_size == file.size and sha256_of(path) == file.sha256
    )


def damaged(dataset: Dataset, folder: Path) -> list[DataFile]:
    """Return the files of a folder that are certainly wrong.

    Files that were converted are not: another conversion has other bytes.
    """
    return [file for file in differing(dataset, folder) if not file.is_converted]


def require_files(dataset: Dataset, folder: Path) -> None:
    """Refuse a folder with a file that is damaged or another one."""
    for file in damaged(dataset, folder):
        path = folder / file.name
        raise DataError(
            f"Expected {path} to have {file.size} bytes and the sha256 {file.sha256}, "
            f"got {path.stat().st_size} bytes and {sha256_of(path)}: it is damaged or "
            f"another file. Remove it and get it again from "
            f"{file.address or dataset.address}."
        )


def sha256_of(path: Path) -> str:
    """Return the digest of a file."""
    state = os.stat(path)
    return _digest(str(path), state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest(path: str, inode: int, size: int, time: int) -> str:
    # The last three only tell one state of the file from another.
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(BLOCK):
            digest.update(data)
    return digest.hexdigest()
