"""Where a data set is on this machine.

    folder = find_dataset("landmine")
    path = folder / "LandmineData.mat"

Names and files are in `registry.py`; the folder that is returned holds them under
exactly these names (`har`: `train/X_train.txt`, `test/subject_test.txt`, ...).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from guidefbo.core.errors import DataError
from guidefbo.core.lock import exclusive
from guidefbo.problems.datasets.folders import cache_folder, data_folder, local_copy
from guidefbo.problems.datasets.place import unpack_dataset, writing
from guidefbo.problems.datasets.record import Archive, Dataset
from guidefbo.problems.datasets.registry import dataset_named
from guidefbo.problems.datasets.verify import differing, has_files, require_files

WAIT = 600.0
"""Seconds to wait for another program that unpacks or fetches the same set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A place that holds a data set."""

    folder: Path
    """The folder of the files, or of the archive that holds them."""
    archive: Archive | None = None
    """The archive, where the files are still packed."""
    is_own: bool
    """Whether it is the user's data folder, whose files are checked."""


def find_dataset(name: str, *, notice: Callable[[str], object] | None = None) -> Path:
    """Return the folder that holds the files of a data set.

    A copy in the folder that GUIDEFBO_DATA names is taken as it is; files in the
    user's data folder must have the digests of the registry. A set that is still in its
    archive is unpacked once, into the user's cache folder.

    Args:
        name: Name of the set.
        notice: Called with a sentence where another program is waited for.

    Raises:
        DataError: It is not here; the message says how to get it.
    """
    dataset = dataset_named(name)
    found = locate(dataset)
    if found is None:
        raise DataError(_not_here(dataset))
    if found.archive is not None:
        path = found.folder / found.archive.name
        return _unpacked(dataset, found.archive, path, notice)
    if found.is_own:
        require_files(dataset, found.folder)
    return found.folder


def locate(dataset: Dataset) -> Found | None:
    """Return where a data set is, None where it is not here."""
    copy = local_copy()
    places = (
        [(data_folder(), True)]
        if copy is None
        else [
            (copy, False),
            (data_folder(), True),
        ]
    )
    for place, is_own in places:
        folder = place / dataset.name
        inner = [folder / a.inner for a in dataset.archives if a.inner]
        for candidate in (folder, *inner):
            if has_files(dataset, candidate):
                return Found(folder=candidate, is_own=is_own)
        for archive in dataset.archives:
            if (folder / archive.name).is_file():
                return Found(folder=folder, archive=archive, is_own=is_own)
    return None


def how_to_get(dataset: Dataset) -> str:
    """Return what to do in order to have a data set, by command and by hand."""
    folder = data_folder() / dataset.name
    files = [f for f in dataset.files if f.is_needed] or list(dataset.files)
    listing = ", ".join(
        f.name + (f" (sha256 {f.sha256})" if f.sha256 else "") for f in files
    )
    by_hand = f"put into {folder}: {listing}"
    if dataset.by_hand:
        return f"{dataset.by_hand} Look at {dataset.address}; {by_hand}."
    fetched = [a for a in dataset.archives if a.address]
    if fetched:
        by_hand += f"; or the archive {fetched[0].name} as it is"
    address = fetched[0].address if fetched else files[0].address
    return (
        f"Run `guidefbo data fetch {dataset.name}`, or by hand: get it from {address} "
        f"and {by_hand}."
    )


def _not_here(dataset: Dataset) -> str:
    looked = [data_folder() / dataset.name]
    if (copy := local_copy()) is not None:
        looked.insert(0, copy / dataset.name)
    places = " and ".join(map(str, looked))
    return (
        f"The data set {dataset.name} is not here; looked in {places}. "
        f"{how_to_get(dataset)}"
    )


def _unpacked(
    dataset: Dataset,
    archive: Archive,
    path: Path,
    notice: Callable[[str], object] | None,
) -> Path:
    """Return the folder of what was unpacked from an archive, now or before.

    The archive may be in a folder that nobody may write, so that its content is not
    put beside it.
    """
    folder = cache_folder() / dataset.name
    with writing(folder, lambda: f"Unpack {path} by hand and name the folder."):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(folder, wait=WAIT, notice=notice):
        if not has_files(dataset, folder) or differing(dataset, folder):
            unpack_dataset(dataset, archive, path, folder)
    return folder
