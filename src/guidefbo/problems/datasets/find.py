"""Where the files of a data set lie."""

import os
from pathlib import Path

from guidefbo.core.errors import DataError


def find_dataset(name: str) -> Path:
    """Return the folder that holds the files of a data set."""
    root = os.environ.get("GUIDEFBO_DATA")
    folder = Path(root) / name if root else None
    if folder is None or not folder.is_dir():
        raise DataError(
            f"The data set {name} is not here. Get it by `guidefbo data fetch {name}`."
        )
    return folder
