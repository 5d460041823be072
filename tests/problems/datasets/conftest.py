"""Folders of the test alone, and a web server."""

import pytest
from tests.problems.datasets.web import serving

from guidefbo.problems.datasets import registry


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("GUIDEFBO_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    # Tests put sets of their own there; the old ones come back.
    monkeypatch.setattr(registry, "DATASETS", registry.DATASETS)


@pytest.fixture
def web():
    with serving() as server:
        yield server
