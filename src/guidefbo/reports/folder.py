"""Writes a report's files and removes those that only an earlier report wrote.

report-files.json lists the tables and figures of a report with a digest of each. A file
that an earlier report wrote and this one does not is removed if it is still as it was
written; what somebody changed or put there stays.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from guidefbo.core.files import OutputError, write_atomically

LIST = "report-files.json"
FORMAT = "guidefbo-report"
VERSION = 1
REPLACEABLE = re.compile(
    r"tables/[a-z0-9.-]+\.(csv|tex)|figures/[a-z0-9.-]+\.(png|svg)"
)
"""Names of files that may be gone with the next report."""


def write_files(files: Mapping[str, str | bytes], out: Path) -> list[Path]:
    """Write a report's files into a folder and return them.

    Args:
        files: Contents by name; names may have folders.
        out: Folder of the report, created where it does not exist.
    """
    former = _listed(out / LIST)
    try:
        for folder in {(out / name).parent for name in files}:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"Cannot make the folder {out}: {error.strerror}. Choose another place."
        ) from error
    for name, content in files.items():
        write_atomically(out / name, content)
    for name, digest in former.items():
        if name not in files:
            _remove(out / name, digest)
    write_atomically(out / LIST, _list_of(files))
    return [out / name for name in (*files, LIST)]


def _list_of(files: Mapping[str, str | bytes]) -> str:
    listed = {
        name: _digest(content.encode() if isinstance(content, str) else content)
        for name, content in sorted(files.items())
        if REPLACEABLE.fullmatch(name)
    }
    form = {"format": FORMAT, "version": VERSION, "files": listed}
    return json.dumps(form, indent=1) + "\n"


def _listed(path: Path) -> dict[str, str]:
    """Return the digests of an earlier report's files; none from a doubtful list."""
    try:
        form = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(form, dict):
        return {}
    entries = cast(dict[str, Any], form)
    listed = entries.get("files")
    if entries.get("format") != FORMAT or entries.get("version") != VERSION:
        return {}
    if not isinstance(listed, dict):
        return {}
    pairs = cast(dict[str, Any], listed).items()
    return {name: str(digest) for name, digest in pairs if REPLACEABLE.fullmatch(name)}


def _remove(path: Path, digest: str) -> None:
    try:
        if path.is_file() and _digest(path.read_bytes()) == digest:
            path.unlink()
    except OSError as error:
        raise OutputError(
            f"Cannot remove {path}, which an earlier report wrote: {error.strerror}."
        ) from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
