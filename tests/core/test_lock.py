"""One command at a time, whatever becomes of the one before."""

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from guidefbo.core.errors import SettingsError
from guidefbo.core.files import OutputError
from guidefbo.core.lock import LockedError, exclusive, lock_path

HOLDER = """
import sys, time
from pathlib import Path
from guidefbo.core.lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of `site.json` until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "site.json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_lock_is_an_empty_neighbour_that_stays(tmp_path):
    path = tmp_path / "site.json"
    with exclusive(path):
        assert lock_path(path).read_bytes() == b""
        assert not path.exists()
    assert [p.name for p in tmp_path.iterdir()] == ["site.json.lock"]
    with exclusive(path, wait=0.0):
        pass


def test_lock_that_was_there_is_kept_as_it_is(tmp_path):
    path = tmp_path / "site.json"
    lock_path(path).write_text("somebody's")
    with exclusive(path):
        pass
    assert lock_path(path).read_text() == "somebody's"


def test_error_inside_frees_the_lock(tmp_path):
    path = tmp_path / "site.json"
    with pytest.raises(ZeroDivisionError), exclusive(path):
        _ = 1 / 0
    with exclusive(path, wait=0.0):
        pass


def test_held_lock_is_refused_after_the_wait(tmp_path, holder):
    said = []
    began = time.monotonic()
    with (
        pytest.raises(LockedError, match=r"in use by another.*within 1\.3 s.*--wait"),
        exclusive(tmp_path / "site.json", wait=1.3, notice=said.append),
    ):
        pass
    assert 1.3 <= time.monotonic() - began < 10.0
    assert len(said) == 1
    assert "waiting up to 1.3 s" in said[0]


def test_short_wait_is_silent(tmp_path, holder):
    said = []
    with (
        pytest.raises(LockedError),
        exclusive(tmp_path / "site.json", wait=0.1, notice=said.append),
    ):
        pass
    assert said == []


def test_killed_holder_frees_the_lock(tmp_path, holder):
    path = tmp_path / "site.json"
    killer = threading.Timer(0.3, holder.kill)
    killer.start()
    with exclusive(path, wait=20.0):
        assert holder.wait(timeout=5) != 0
    killer.join()


def test_threads_exclude_each_other(tmp_path):
    path = tmp_path / "count"
    path.write_text("0")

    def add():
        for _ in range(20):
            with exclusive(path):
                number = int(path.read_text())
                time.sleep(0.001)
                path.write_text(str(number + 1))

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "60"


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_two_names_of_one_file_share_the_lock(tmp_path, holder):
    (tmp_path / "site.json").write_text("")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "link.json").symlink_to(tmp_path / "site.json")
    with pytest.raises(LockedError), exclusive(folder / "link.json", wait=0.0):
        pass


@pytest.mark.parametrize("wait", [-1.0, float("nan"), float("inf"), "3"])
def test_wait_that_is_no_time(tmp_path, wait):
    with (
        pytest.raises(SettingsError, match="seconds, at least 0, got"),
        exclusive(tmp_path / "site.json", wait=wait),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_folder_that_does_not_exist(tmp_path):
    with (
        pytest.raises(OutputError, match=r"Cannot lock .*No such file"),
        exclusive(tmp_path / "absent" / "site.json"),
    ):
        pass


@pytest.mark.skipif(os.name != "posix", reason="hides the lock of posix")
def test_windows_locks_are_used_where_there_are_no_others(tmp_path, monkeypatch):
    calls = []
    fake = SimpleNamespace(LK_NBLCK=2, locking=lambda *call: calls.append(call[1:]))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    with exclusive(tmp_path / "site.json"):
        pass
    assert calls == [(2, 1)]

    def busy(*call):
        raise PermissionError(13, "Permission denied")

    fake.locking = busy
    with pytest.raises(LockedError), exclusive(tmp_path / "site.json", wait=0.0):
        pass


@pytest.mark.skipif(os.name != "posix", reason="hides the lock of posix")
def test_system_without_locks_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with (
        pytest.raises(OutputError, match=r"no file locks.*guidefbo\.Agent"),
        exclusive(tmp_path / "site.json"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="replaces the lock of posix")
def test_file_system_without_locks_is_refused(tmp_path, monkeypatch):
    def unsupported(*call):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with (
        pytest.raises(OutputError, match=r"No locks available.*a local one"),
        exclusive(tmp_path / "site.json"),
    ):
        pass
