"""Where data sets are kept: a folder of the user's choice, else the user's own.

    $GUIDEFBO_DATA/NAME                     a copy that the user vouches for
    the user's data folder/NAME             what `guidefbo data fetch` downloads
    the user's cache folder/NAME            what was unpacked from an archive

The user's folders follow the customs of the system: XDG_DATA_HOME and XDG_CACHE_HOME
where they are set (https://specifications.freedesktop.org/basedir-spec/latest/), else
`~/.local/share/guidefbo` and `~/.cache/guidefbo`, `~/Library/Application Support` and
`~/Library/Caches` on macOS, `%LOCALAPPDATA%` on Windows.
"""

import os
import sys
from pathlib import Path

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError

LOCAL_COPY = "GUIDEFBO_DATA"
"""Variable that names the folder of a local copy."""


def local_copy() -> Path | None:
    """Return the folder that GUIDEFBO_DATA names, None where it is not set."""
    given = os.environ.get(LOCAL_COPY, "")
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"{LOCAL_COPY} must name a folder that holds data sets, got "
            f"{shown(given)}, and there is no such folder. Correct it or unset it."
        )
    return folder


def data_folder() -> Path:
    """Return the folder of the data sets this user has fetched; it need not exist."""
    return _own("XDG_DATA_HOME", "Library/Application Support", ".local/share", "data")


def cache_folder() -> Path:
    """Return the folder of what can be made again; it need not exist."""
    return _own("XDG_CACHE_HOME", "Library/Caches", ".cache", "cache")


def _own(variable: str, mac: str, linux: str, windows: str) -> Path:
    # A relative path there is to be ignored, says the specification.
    if (given := os.environ.get(variable)) and Path(given).is_absolute():
        return Path(given) / "guidefbo"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else _home()) / "guidefbo" / windows
    return _home() / (mac if sys.platform == "darwin" else linux) / "guidefbo"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise DataError(
            "This user has no home folder, so that there is no place for data sets. "
            f"Name one: {LOCAL_COPY}=FOLDER."
        ) from error
