import os
import stat
import threading

import pytest

from guidefbo.core import files
from guidefbo.core.errors import FedBOError
from guidefbo.core.files import OutputError, check_writable, write_atomically


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_arrives_whole(tmp_path):
    path = tmp_path / "run.json"
    write_atomically(path, "größer\n")
    assert path.read_bytes() == "größer\n".encode()
    write_atomically(path, "again")
    assert path.read_text() == "again"
    assert names(tmp_path) == ["run.json"]


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_failure_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, step, error):
    path = tmp_path / "run.json"
    path.write_text("old")

    def fail(*args):
        raise error

    monkeypatch.setattr(files.os, step, fail)
    expected = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_atomically(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["run.json"]


def test_text_that_cannot_be_encoded_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("old")
    with pytest.raises(ValueError, match="surrogates"):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["run.json"]


def test_reader_never_sees_half_a_file(tmp_path):
    path = tmp_path / "run.json"
    texts = {"a" * 200_000, "b" * 200_000}
    write_atomically(path, min(texts))
    seen, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for text in sorted(texts) * 5:
        write_atomically(path, text)
    stop.set()
    reader.join()
    assert seen <= texts


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_follow_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "run.json", "text")
    finally:
        after = os.umask(before)
    assert after == mask
    mode = stat.S_IMODE((tmp_path / "run.json").stat().st_mode)
    assert mode == 0o666 & ~mask


def test_missing_folder(tmp_path):
    path = tmp_path / "absent" / "run.json"
    with pytest.raises(OutputError, match=r"absent does not exist\. Create it"):
        check_writable(path)
    with pytest.raises(OutputError, match=r"Cannot write .*run\.json: No such file"):
        write_atomically(path, "text")


def test_folder_in_the_place_of_the_file(tmp_path):
    with pytest.raises(OutputError, match=r"exists and is no file\. Name another"):
        check_writable(tmp_path)


def test_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file does not exist"):
        check_writable(tmp_path / "file" / "run.json")


def test_folder_that_may_not_be_written(tmp_path, monkeypatch):
    """The refusal of the system, whoever runs the test (root is refused nothing)."""

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "mkstemp", refuse)
    with pytest.raises(OutputError, match=r"Permission denied\. Choose another place"):
        check_writable(tmp_path / "run.json")


def test_checking_leaves_nothing_behind(tmp_path):
    check_writable(tmp_path / "run.json")
    assert names(tmp_path) == []


@pytest.mark.parametrize("length", [240, 250, 300])
def test_what_passes_the_check_can_be_written(tmp_path, length):
    """A long name is refused before the work, not after it."""
    path = tmp_path / ("x" * length)
    try:
        check_writable(path)
    except OutputError:
        return
    write_atomically(path, "text")
    assert path.read_text() == "text"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_devices_are_not_replaced_by_files(tmp_path):
    """Moving a file onto /dev/null would break the machine of a superuser."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OutputError):
        check_writable(path)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_output_errors_belong_to_the_family():
    assert issubclass(OutputError, FedBOError)
    assert issubclass(OutputError, OSError)
