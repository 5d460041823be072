"""Where the tests take real data from, if it is there."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"


def real_folder(name: str, file: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a data set and let the package find it, or skip the test."""
    root = Path(os.environ.get("GUIDEFBO_DATA") or SHARED)
    if not (root / name / file).is_file():
        pytest.skip(f"needs the real {name}/{file} below GUIDEFBO_DATA")
    monkeypatch.setenv("GUIDEFBO_DATA", str(root))
    return root / name
