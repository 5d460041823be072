"""Archives from elsewhere, unpacked so that nothing leaves the folder.

Names that climb out of the folder, links, devices, encrypted members and members that
share a name are refused. So is an archive of too many files, of too many bytes, or one
that grows too much: counted are the bytes that really come out, never those that the
archive claims.
"""

import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, cast

from guidefbo.core.checks import is_plain_text, shown
from guidefbo.core.errors import DataError

BLOCK = 1 << 20
"""Bytes copied at once."""
MAX_MEMORY = 128 << 20
"""Memory that the decompression of an xz archive may ask for."""
MAX_HEADER = 1 << 12
"""Bytes of the header and the padding of a member of a tar archive."""
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # what zipfile says of a compression it does not know
)
"""What the readers raise for a file that is no archive, or half of one."""


class UnpackError(DataError):
    """An archive is damaged, or is not one that may be unpacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large an archive may become."""

    num_bytes: int = 1 << 30
    """Bytes of all members together."""
    num_members: int = 10_000
    """Files and folders."""
    ratio: float = 200.0
    """Bytes that come out for a byte of the archive, and a little more for small
    ones."""


class _Reader(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


@dataclass(slots=True)
class _Tally:
    """Counts what comes out of one archive."""

    limits: Limits
    most_bytes: int
    num_bytes: int = 0
    num_members: int = 0
    names: set[str] = field(default_factory=set[str])

    def member(self, name: str) -> str:
        """Count a member; return its name without a slash at the end."""
        self.num_members += 1
        if self.num_members > self.limits.num_members:
            raise UnpackError(f"it has more than {self.limits.num_members} members")
        name = _safe(name)
        # Many file systems do not tell upper from lower case.
        if name.casefold() in self.names:
            raise UnpackError(f"it has two members named {shown(name)}")
        self.names.add(name.casefold())
        return name

    def block(self, size: int) -> None:
        """Count bytes."""
        self.num_bytes += size
        if self.num_bytes > self.most_bytes:
            raise UnpackError(
                f"it unpacks to more than {self.most_bytes} bytes, the most that is "
                "taken from an archive of its size"
            )


def unpack(
    archive: Path,
    folder: Path,
    *,
    only: Collection[str] | None = None,
    limits: Limits | None = None,
) -> None:
    """Unpack a zip or tar archive (plain, gz, xz) into a folder of its own.

    Args:
        archive: The file.
        folder: Where to; it exists and is empty.
        only: Members to write, by name; none given: all. The others are checked too.
        limits: How large it may become.
    """
    limits = limits or Limits()
    size = archive.stat().st_size
    most = min(limits.num_bytes, int(limits.ratio * size) + BLOCK)
    tally = _Tally(limits, most)
    try:
        for name, content in _members(archive, tally):
            if content is None:
                continue
            wanted = only is None or name in only
            _copy(content, folder / name if wanted else None, tally)
    except UnpackError as error:
        raise UnpackError(f"{archive} was refused: {error}.") from error
    except (*DAMAGE, RuntimeError) as error:
        raise UnpackError(
            f"{archive} is no archive that can be read, or a part of it is missing: "
            f"{error}."
        ) from error


def _members(archive: Path, tally: _Tally) -> Iterator[tuple[str, _Reader | None]]:
    """Yield names and contents, None for a folder."""
    with archive.open("rb") as file:
        is_zip = file.read(2) == b"PK"
    if is_zip:
        yield from _zip_members(archive, tally)
    else:
        yield from _tar_members(archive, tally)


def _zip_members(archive: Path, tally: _Tally) -> Iterator[tuple[str, _Reader | None]]:
    with zipfile.ZipFile(archive) as file:
        infos = file.infolist()
        # All names first: nothing is written of an archive that is refused for one.
        names = [tally.member(info.filename) for info in infos]
        for info in infos:
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise UnpackError(f"{shown(info.filename)} is a link or a device")
            if info.flag_bits & 1:
                raise UnpackError(f"{shown(info.filename)} is encrypted")
        for name, info in zip(names, infos, strict=True):
            if info.is_dir():
                yield name, None
            else:
                with file.open(info) as content:
                    yield name, content


def _tar_members(archive: Path, tally: _Tally) -> Iterator[tuple[str, _Reader | None]]:
    with ExitStack() as stack:
        plain = _Bounded(_decompressed(archive, stack), tally)
        # As a stream: what was read is never read again, so that it is counted once.
        file = stack.enter_context(
            tarfile.open(fileobj=cast(IO[bytes], plain), mode="r|")
        )
        for info in file:
            name = tally.member(info.name)
            if not (info.isreg() or info.isdir()):
                raise UnpackError(f"{shown(info.name)} is a link or a device")
            yield name, file.extractfile(info) if info.isreg() else None
        # To the very end, where the checksum of the compressed data is.
        while plain.read():
            pass


def _decompressed(archive: Path, stack: ExitStack) -> _Reader:
    file = stack.enter_context(archive.open("rb"))
    start = file.read(6)
    file.seek(0)
    if start == b"\xfd7zXZ\x00":
        return _Xz(file)
    if start[:2] == b"\x1f\x8b":
        return stack.enter_context(gzip.GzipFile(fileobj=file))
    return file


class _Bounded:
    """A stream that ends with an error where more comes out than may.

    Headers are read whole, before their member is known, so that they are bounded here.
    """

    def __init__(self, reader: _Reader, tally: _Tally) -> None:
        self._reader = reader
        self._tally = tally
        self._taken = 0

    def read(self, size: int = BLOCK) -> bytes:
        """Return the next bytes."""
        data = self._reader.read(size)
        self._taken += len(data)
        headers = MAX_HEADER * (1 + self._tally.num_members)
        if self._taken > self._tally.most_bytes + headers + BLOCK:
            raise UnpackError("it unpacks to more bytes than may come out of it")
        return data


class _Xz:
    """The content of an xz file, within a limit of memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_MEMORY)

    def read(self, size: int = BLOCK) -> bytes:
        """Return at most `size` bytes, none at the end."""
        while not self._decoder.eof:
            data = b""
            if self._decoder.needs_input:
                data = self._file.read(BLOCK)
                if not data:
                    raise EOFError("the compressed data ends too early")
            if out := self._decoder.decompress(data, size):
                return out
        return b""


def _copy(content: _Reader, path: Path | None, tally: _Tally) -> None:
    with ExitStack() as stack:
        file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(path.open("xb"))
        while data := content.read(BLOCK):
            tally.block(len(data))
            if file is not None:
                file.write(data)


def _safe(name: str) -> str:
    parts = name.rstrip("/").split("/")
    climbs = any(part in ("", ".", "..") for part in parts)
    # A colon names a drive or a hidden stream on Windows, a backslash parts names.
    if climbs or not is_plain_text(name) or set(name) & set('\\:*?"<>|'):
        raise UnpackError(
            f"its member {shown(name)} would not stay in the folder, or has a name "
            "that not every system can write"
        )
    return "/".join(parts)
