"""Files of an archive into their folder: checked first, then moved one by one.

A file appears under its name only when it is complete and has the digest that is known
of it. A program that is stopped in between leaves a set that is not complete, and the
next one starts again.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from guidefbo.core.errors import FedBOError
from guidefbo.core.files import OutputError
from guidefbo.problems.datasets.record import Archive, Dataset
from guidefbo.problems.datasets.unpack import UnpackError, unpack
from guidefbo.problems.datasets.verify import damaged, has_files, sha256_of


def unpack_dataset(
    dataset: Dataset, archive: Archive, path: Path, folder: Path
) -> None:
    """Put the files of a set, taken out of an archive, into a folder.

    Args:
        dataset: The set.
        archive: What is known about the archive.
        path: The archive.
        folder: Where to; it is made. The caller holds its lock.
    """
    with neighbour(folder) as work:
        found = _open(dataset, archive, path, work)
        for file in damaged(dataset, found):
            raise UnpackError(
                f"Expected {file.name} with the sha256 {file.sha256} in {path}, found "
                f"one with {sha256_of(found / file.name)}."
            )
        move_files(dataset, found, folder)


def move_files(dataset: Dataset, source: Path, folder: Path) -> None:
    """Move files that were checked to their places, each at one stroke."""
    for file in dataset.files:
        if (source / file.name).is_file():
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with (source / file.name).open("rb+") as written:
                os.fsync(written.fileno())
            os.replace(source / file.name, target)


@contextmanager
def neighbour(folder: Path) -> Generator[Path, None, None]:
    """Give an empty folder on the same file system, which is removed at the end."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def writing(folder: Path, advice: Callable[[], str]) -> Generator[None, None, None]:
    """Turn what the system says about a full disk or a closed folder into a sentence.

    Args:
        folder: Where it is written.
        advice: What to do instead.
    """
    try:
        yield
    except FedBOError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"Cannot write into {folder}: {reason}. {advice()}"
        ) from error


def _open(dataset: Dataset, archive: Archive, path: Path, work: Path) -> Path:
    """Unpack an archive, and the one inside it where there is one."""
    if archive.convert is not None:
        return archive.convert(path, work)
    prefix = f"{archive.inner}/" if archive.inner else ""
    names = {prefix + file.name for file in dataset.files}
    first, second = work / "outer", work / "nested"
    first.mkdir()
    unpack(path, first, only=names | ({archive.nested} if archive.nested else set()))
    found = first / archive.inner
    if not has_files(dataset, found) and archive.nested:
        inside = first / archive.nested
        if inside.is_file():
            second.mkdir()
            unpack(inside, second, only=names)
            found = second / archive.inner
    if not has_files(dataset, found):
        missing = [f.name for f in dataset.files if not (found / f.name).is_file()]
        raise UnpackError(
            f"Expected {', '.join(prefix + name for name in missing)} in {path}, and "
            f"found no such file. Get the archive again from {dataset.address}."
        )
    return found
