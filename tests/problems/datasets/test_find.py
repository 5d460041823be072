"""Where data sets are looked for, and what is said where they are not."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.problems.datasets.sets import (
    CONTENT,
    PAIR,
    dataset,
    file_of,
    packed,
    register,
    single,
)
from tests.problems.datasets.test_unpack import tar_xz, zipped

from guidefbo.core.errors import DataError, UnknownNameError
from guidefbo.core.files import OutputError
from guidefbo.problems.datasets import folders
from guidefbo.problems.datasets.find import find_dataset, how_to_get
from guidefbo.problems.datasets.folders import cache_folder, data_folder
from guidefbo.problems.datasets.registry import DATASETS
from guidefbo.problems.datasets.verify import differing

_SHARED = Path(__file__).parents[3].parent / "shared" / "data"
REAL = Path(os.environ.get("GUIDEFBO_DATA") or _SHARED)
"""Copies of the real sets, where this machine has them."""


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The folder that GUIDEFBO_DATA names, with an empty place for the set."""
    folder = tmp_path / "copy"
    (folder / "small").mkdir(parents=True)
    monkeypatch.setenv("GUIDEFBO_DATA", str(folder))
    return folder / "small"


@pytest.fixture
def own():
    """The place of the set in the user's data folder."""
    folder = data_folder() / "small"
    folder.mkdir(parents=True)
    return folder


def test_a_local_copy_comes_first_and_is_taken_as_it_is(copy, own):
    register(single("https://example.org/data.bin"))
    (own / "data.bin").write_bytes(CONTENT)
    assert find_dataset("small") == own
    (copy / "data.bin").write_bytes(b"a small stand-in")
    assert find_dataset("small") == copy


def test_a_file_in_the_own_folder_must_be_the_right_one(own):
    register(single("https://example.org/data.bin"))
    (own / "data.bin").write_bytes(CONTENT[::-1])
    with pytest.raises(DataError, match="damaged or another file") as caught:
        find_dataset("small")
    assert str(own / "data.bin") in str(caught.value)
    assert "https://example.org/data.bin" in str(caught.value)
    # The digest is computed again for a file that has changed.
    (own / "data.bin").write_bytes(CONTENT)
    assert find_dataset("small") == own


def test_another_conversion_is_taken(own):
    made = dataset([file_of("t.npz", b"tested", is_converted=True)], by_hand="Make it.")
    register(made)
    (own / "t.npz").write_bytes(b"same numbers")
    assert find_dataset("small") == own
    assert [file.name for file in differing(made, own)] == ["t.npz"]


def test_what_is_not_here_is_said(copy):
    register(single("https://example.org/data.bin"))
    with pytest.raises(DataError) as caught:
        find_dataset("small")
    text = str(caught.value)
    assert f"looked in {copy} and {data_folder() / 'small'}" in text
    assert "guidefbo data fetch small" in text
    assert "https://example.org/data.bin" in text


def test_a_set_with_a_file_missing_is_not_here(own):
    register(dataset([file_of(name, data) for name, data in PAIR.items()]))
    (own / "a").mkdir()
    (own / "a/x.txt").write_bytes(PAIR["a/x.txt"])
    with pytest.raises(DataError, match="is not here"):
        find_dataset("small")


def test_any_of_the_files_is_enough_where_none_is_needed(own):
    files = [file_of(name, b"x", is_needed=False) for name in ("a", "b")]
    register(dataset(files))
    with pytest.raises(DataError, match="is not here"):
        find_dataset("small")
    (own / "b").write_bytes(b"x")
    assert find_dataset("small") == own


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="Did you mean 'landmine'"):
        find_dataset("landmines")


def test_a_local_copy_that_is_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GUIDEFBO_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="GUIDEFBO_DATA must name a folder"):
        find_dataset("landmine")


def pair_in(pack):
    return pack({f"Pair of files/{name}": data for name, data in PAIR.items()})


@pytest.mark.parametrize("pack", [zipped, tar_xz])
def test_an_archive_is_unpacked_once_into_the_cache(copy, pack):
    """The folder of the copy may be one that nobody may write."""
    register(packed(None, name="pair"))
    (copy / "pair").write_bytes(pair_in(pack))
    copy.chmod(0o555)
    try:
        folder = find_dataset("small")
        assert folder == cache_folder() / "small"
        assert all((folder / n).read_bytes() == data for n, data in PAIR.items())
        assert os.listdir(copy) == ["pair"]
        times = {n: (folder / n).stat().st_mtime_ns for n in PAIR}
        assert find_dataset("small") == folder
        assert times == {n: (folder / n).stat().st_mtime_ns for n in PAIR}
    finally:
        copy.chmod(0o755)


def test_a_damaged_cache_is_made_again(copy):
    register(packed(None))
    (copy / "pair.zip").write_bytes(pair_in(zipped))
    path = find_dataset("small") / "a/x.txt"
    path.write_bytes(b"?")
    find_dataset("small")
    assert path.read_bytes() == PAIR["a/x.txt"]


def test_an_archive_unpacked_by_hand_beside_it(copy):
    register(packed(None))
    for name, data in PAIR.items():
        (copy / "Pair of files" / name).parent.mkdir(parents=True)
        (copy / "Pair of files" / name).write_bytes(data)
    assert find_dataset("small") == copy / "Pair of files"


def test_a_damaged_archive_is_named(copy):
    register(packed("https://example.org/pair.zip"))
    (copy / "pair.zip").write_bytes(pair_in(zipped)[:-40])
    with pytest.raises(DataError, match="Remove it and get the set again") as caught:
        find_dataset("small")
    assert str(copy / "pair.zip") in str(caught.value)
    assert "https://example.org/pair.zip" in str(caught.value)


def test_a_cache_that_cannot_be_written(copy, tmp_path):
    register(packed(None))
    (copy / "pair.zip").write_bytes(pair_in(zipped))
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(OutputError, match=r"Or unpack .*pair\.zip yourself"):
        find_dataset("small")


def test_folders_of_the_systems(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ann"))
    monkeypatch.setenv("LOCALAPPDATA", "/users/ann/local")
    expected = {
        "linux": (".local/share/guidefbo", ".cache/guidefbo"),
        "darwin": ("Library/Application Support/guidefbo", "Library/Caches/guidefbo"),
        "win32": (
            "/users/ann/local/guidefbo/data",
            "/users/ann/local/guidefbo/cache",
        ),
    }
    for system, pair in expected.items():
        monkeypatch.setattr(sys, "platform", system)
        assert (data_folder(), cache_folder()) == tuple(
            Path("/home/ann") / part for part in pair
        )
    monkeypatch.setattr(sys, "platform", "linux")
    # The specification says that a relative path is to be ignored.
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert data_folder() == Path("/home/ann/.local/share/guidefbo")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "guidefbo"


def test_a_user_without_a_home(monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME")

    def nobody():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(folders.Path, "home", nobody)
    with pytest.raises(DataError, match="GUIDEFBO_DATA=FOLDER"):
        find_dataset("landmine")


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_says_what_it_is_and_how_to_get_it(name):
    known = DATASETS[name]
    assert known.name == name
    assert known.address.startswith("https://")
    for text in (known.text, known.sharing, known.citation):
        assert text.endswith(".")
    for file in known.files:
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.address is None or file.address.startswith("https://")
    can_be_fetched = any(a.address for a in known.archives) or all(
        file.address for file in known.files
    )
    assert can_be_fetched != bool(known.by_hand)
    advice = how_to_get(known)
    assert str(data_folder() / name) in advice
    assert ("guidefbo data fetch" in advice) == can_be_fetched
    assert "https://" in advice


# The files of har are packed; the slow test unpacks them.
@pytest.mark.parametrize("name", sorted(DATASETS.keys() - {"har"}))
def test_real_files_have_the_digests_of_the_registry(name, monkeypatch):
    known = DATASETS[name]
    if not (REAL / name).is_dir():
        pytest.skip(f"needs the real data set: {REAL / name}")
    monkeypatch.setenv("GUIDEFBO_DATA", str(REAL))
    assert differing(known, find_dataset(name)) == []


@pytest.mark.slow
def test_the_real_activity_archive(monkeypatch):
    packed_copy = REAL / "har" / "uci_har_original_files.tar.xz"
    if not packed_copy.is_file():
        pytest.skip(f"needs the real file: {packed_copy}")
    monkeypatch.setenv("GUIDEFBO_DATA", str(REAL))
    folder = find_dataset("har")
    assert differing(DATASETS["har"], folder) == []
    subjects = np.loadtxt(folder / "test/subject_test.txt")
    assert len(subjects) == 2947


def test_the_page_on_data_sets_tells_what_the_registry_knows():
    page = Path(__file__).parents[3] / "docs" / "guide" / "data.md"
    text = page.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for name, known in DATASETS.items():
        about, terms = (
            row for row in rows if row.startswith((f"| `{name}` |", f"| [`{name}`]"))
        )
        assert f"| {known.task} | {known.num_agents} | {known.text} |" in about
        said = f"| {known.licence} | {known.sharing} | {known.citation} |"
        assert terms == f"| [`{name}`]({known.address}) {said}"
        for file in known.files:
            row = f"| `{name}/{file.name}` | `{file.sha256}` |"
            assert (row in rows) == (file.sha256 is not None)
