"""Data sets from their public addresses into the user's data folder."""

import os
from collections.abc import Callable
from pathlib import Path

from guidefbo.core.errors import DataError
from guidefbo.core.lock import exclusive
from guidefbo.problems.datasets.download import FetchError, download
from guidefbo.problems.datasets.find import (
    WAIT,
    find_dataset,
    how_to_get,
    locate,
    put_by_hand,
)
from guidefbo.problems.datasets.folders import data_folder
from guidefbo.problems.datasets.place import unpack_dataset, writing
from guidefbo.problems.datasets.record import Archive, DataFile, Dataset
from guidefbo.problems.datasets.registry import dataset_named
from guidefbo.problems.datasets.verify import damaged, matches, sha256_of

Report = Callable[[str, int, int | None], object]
"""Name of a file, bytes of it that are here, bytes in all where that is known."""


def fetch_dataset(
    name: str,
    *,
    report: Report | None = None,
    wait: float = WAIT,
    notice: Callable[[str], object] | None = None,
) -> Path:
    """Download a data set unless it is here; return the folder of its files.

    Args:
        name: Name of the set.
        report: Called as files grow.
        wait: Seconds to wait for another program that fetches the same set.
        notice: Called with a sentence where it is waited for.

    Raises:
        DataError: It cannot be fetched; the message names the address, and the folder
            where the file may be put by hand.
    """
    dataset = dataset_named(name)
    if _is_here(dataset):
        return find_dataset(name, notice=notice)
    if dataset.by_hand:
        raise FetchError(f"The data set {name} is not fetched. {how_to_get(dataset)}")
    folder = data_folder() / name
    with writing(folder, lambda: put_by_hand(dataset)):
        folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder, wait=wait, notice=notice):
        # Somebody else may have fetched it in the meantime.
        if not _is_here(dataset):
            with writing(folder, lambda: put_by_hand(dataset)):
                _fetch(dataset, folder, report)
    return find_dataset(name, notice=notice)


def _is_here(dataset: Dataset) -> bool:
    found = locate(dataset)
    if found is None:
        return False
    # What is damaged in the user's own folder is fetched again.
    is_packed = found.archive is not None
    return is_packed or not found.is_own or not damaged(dataset, found.folder)


def _fetch(dataset: Dataset, folder: Path, report: Report | None) -> None:
    try:
        for archive in dataset.archives:
            if archive.address is not None:
                return _fetch_archive(dataset, archive, folder, report)
        for file in dataset.files:
            path = folder / file.name
            if file.address and not (path.is_file() and matches(path, file)):
                _fetch_file(file, path, report)
    except FetchError as error:
        raise FetchError(f"{error} {put_by_hand(dataset)}") from error


def _fetch_file(file: DataFile, path: Path, report: Report | None) -> None:
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    address = str(file.address)
    # Complete, where an earlier attempt ended between the two steps.
    if not (part.is_file() and matches(part, file)):
        download(address, part, limit=file.size, report=_named(report, file.name))
    if not matches(part, file):
        size, digest = part.stat().st_size, sha256_of(part)
        part.unlink()
        raise FetchError(
            f"Expected {file.size} bytes with the sha256 {file.sha256} from {address}, "
            f"got {size} bytes with {digest}: it is another file, or it was damaged on "
            "the way. It was removed."
        )
    os.replace(part, path)


def _fetch_archive(
    dataset: Dataset, archive: Archive, folder: Path, report: Report | None
) -> None:
    part = folder / f"{archive.name}.part"
    address = str(archive.address)
    download(
        address, part, limit=archive.max_bytes, report=_named(report, archive.name)
    )
    try:
        unpack_dataset(dataset, archive, part, folder)
    except DataError as error:
        part.unlink()
        raise FetchError(
            f"The archive from {address} is not the expected one and was removed. "
            f"{error}"
        ) from error
    part.unlink()


def _named(
    report: Report | None, name: str
) -> Callable[[int, int | None], object] | None:
    return None if report is None else lambda here, total: report(name, here, total)
