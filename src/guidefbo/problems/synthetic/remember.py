"""Numbers that took long to compute, kept in the user's cache folder.

A file holds numbers by key. Whatever is wrong with it or with the folder, it is as if
nothing had been kept: a cache may be lost at any time, and never ends a run.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from guidefbo.core.checks import is_finite_number
from guidefbo.core.errors import FedBOError
from guidefbo.core.files import read_file, write_atomically
from guidefbo.core.lock import exclusive
from guidefbo.problems.datasets.folders import cache_folder

MAX_BYTES = 1 << 24
"""Longest file; a longer one is not read and begun anew."""
WAIT = 5.0
"""Seconds to wait for another process that is writing."""


def recall(name: str) -> dict[str, float]:
    """Return the numbers kept under a name, by key."""
    path = _file(name)
    return {} if path is None else _read(path)


def keep(name: str, numbers: Mapping[str, float]) -> None:
    """Add numbers to those kept under a name, where the folder can be written."""
    path = _file(name)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without the lock, of two processes that add at a time one would be in vain.
        with exclusive(path, wait=WAIT):
            form = json.dumps(_read(path) | dict(numbers), indent=0, allow_nan=False)
            write_atomically(path, form + "\n")
    except (FedBOError, OSError):
        return


def _file(name: str) -> Path | None:
    try:
        return cache_folder() / f"{name}.json"
    except FedBOError:  # there is no home folder
        return None


def _read(path: Path) -> dict[str, float]:
    try:
        form: Any = json.loads(read_file(path, MAX_BYTES))
    except (FedBOError, ValueError, RecursionError):
        return {}
    if not isinstance(form, dict):
        return {}
    items = cast(dict[str, Any], form).items()
    return {key: float(n) for key, n in items if is_finite_number(n)}
