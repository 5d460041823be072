"""Data sets over HTTP: resumed, checked, one program at a time."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

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

from guidefbo.core.errors import DataError
from guidefbo.core.files import OutputError
from guidefbo.core.lock import LockedError, exclusive
from guidefbo.problems.datasets import download as downloads
from guidefbo.problems.datasets.download import FetchError, download
from guidefbo.problems.datasets.fetch import fetch_dataset
from guidefbo.problems.datasets.folders import data_folder

ROOT = Path(__file__).parents[3]
HALF = len(CONTENT) // 2


def start_fetch(address, **options):
    words = [sys.executable, "-m", "tests.problems.datasets.sets", address]
    return subprocess.Popen(
        words,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def part_of(name="data.bin"):
    return data_folder() / "small" / f"{name}.part"


@pytest.fixture
def address(web):
    web.files["data.bin"] = CONTENT
    return lambda how: f"{web.address}/{how}/data.bin"


@pytest.mark.parametrize("how", ["good", "whole", "chunks"])
def test_a_file_is_fetched_once(web, address, how):
    register(single(address(how)))
    told = []
    folder = fetch_dataset("small", report=lambda *news: told.append(news))
    assert (folder / "data.bin").read_bytes() == CONTENT
    assert not part_of().exists()
    assert told[-1][:2] == ("data.bin", len(CONTENT))
    assert told[-1][2] == (None if how == "chunks" else len(CONTENT))
    assert fetch_dataset("small") == folder
    assert len(web.asked) == 1


@pytest.mark.parametrize("how", ["good", "whole", "other"])
def test_an_attempt_goes_on_where_the_last_one_stopped(web, address, how):
    register(single(address(how)))
    part_of().parent.mkdir(parents=True)
    part_of().write_bytes(CONTENT[:1000])
    folder = fetch_dataset("small")
    assert (folder / "data.bin").read_bytes() == CONTENT
    assert web.asked[0] == (how, "bytes=1000-")
    # A server that sends another part than the one asked for is asked for the whole.
    assert web.asked[1:] == ([("other", None)] if how == "other" else [])


def test_a_file_that_was_complete_is_only_moved(web, address):
    register(single(address("good")))
    part_of().parent.mkdir(parents=True)
    part_of().write_bytes(CONTENT)
    assert (fetch_dataset("small") / "data.bin").read_bytes() == CONTENT
    assert web.asked == []


def test_a_part_longer_than_the_file_is_fetched_anew(web, address, tmp_path):
    part = tmp_path / "x.part"
    part.write_bytes(CONTENT + b"more")
    download(address("good"), part, limit=len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert [asked for _, asked in web.asked] == [f"bytes={len(CONTENT) + 4}-", None]


def test_a_part_as_long_as_the_file_is_left(web, address, tmp_path):
    part = tmp_path / "x.part"
    part.write_bytes(CONTENT)
    download(address("good"), part, limit=len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert len(web.asked) == 1


def test_killed_in_the_middle_and_started_again(web, address):
    process = start_fetch(address("stall"))
    try:
        deadline = time.monotonic() + 30
        # The last block may still be in the program when it is killed.
        while not part_of().exists() or part_of().stat().st_size < HALF // 2:
            assert time.monotonic() < deadline, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
        web.go.set()
    kept = part_of().stat().st_size
    assert 0 < kept <= HALF
    assert not part_of().with_name("data.bin").exists()
    register(single(address("stall")))
    assert (fetch_dataset("small") / "data.bin").read_bytes() == CONTENT
    assert web.asked == [("stall", None), ("stall", f"bytes={kept}-")]


def test_two_programs_at_once_download_once(web, address):
    first = start_fetch(address("stall"))
    second = start_fetch(address("stall"))
    try:
        deadline = time.monotonic() + 30
        while not web.asked:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # Long enough for the other one to have asked too, if it would.
        time.sleep(1.0)
        web.go.set()
        outs = [process.communicate(timeout=30) for process in (first, second)]
    finally:
        first.kill()
        second.kill()
    folder = data_folder() / "small"
    assert [out for out, _ in outs] == [f"{folder}\n"] * 2, outs
    assert web.asked == [("stall", None)]
    assert (folder / "data.bin").read_bytes() == CONTENT


def test_waiting_for_another_program_ends(address):
    register(single(address("good")))
    folder = data_folder() / "small"
    folder.mkdir(parents=True)
    with exclusive(folder), pytest.raises(LockedError, match="in use by another"):
        fetch_dataset("small", wait=0.05)


def advice():
    """What every error ends with: the address, the folder and the digest."""
    folder = data_folder() / "small"
    return f"and put into {folder}: data.bin (sha256 "


def refused(address, kind=FetchError):
    register(single(address))
    with pytest.raises(kind) as caught:
        fetch_dataset("small")
    assert address in str(caught.value)
    assert advice() in str(caught.value)
    assert not part_of().with_name("data.bin").exists()
    return str(caught.value)


def test_nobody_answers():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert "refused" in refused(f"http://127.0.0.1:{port}/good/data.bin")


def test_no_such_name():
    """Names that end in .invalid never resolve (RFC 2606)."""
    assert "could not be read" in refused("https://nowhere.invalid/data.bin")


@pytest.mark.parametrize("code", ["404", "403", "500"])
def test_the_server_refuses(address, code):
    assert f"answered {code}" in refused(address(code))


def test_a_wrong_digest(web, address):
    web.files["data.bin"] = CONTENT[:-1] + b"?"
    text = refused(address("good"))
    assert "sha256" in text
    assert "another file" in text
    # What is wrong from the start is not gone on with.
    assert not part_of().exists()
    web.files["data.bin"] = CONTENT
    assert (fetch_dataset("small") / "data.bin").read_bytes() == CONTENT


def test_a_beginning_that_was_damaged_is_thrown_away(web, address):
    register(single(address("good")))
    part_of().parent.mkdir(parents=True)
    part_of().write_bytes(b"?" * 1000)
    with pytest.raises(FetchError, match="another file"):
        fetch_dataset("small")
    assert (fetch_dataset("small") / "data.bin").read_bytes() == CONTENT


def test_a_file_that_ends_too_early(address):
    text = refused(address("cut"))
    assert f"ended after {HALF} of {len(CONTENT)} bytes" in text
    assert part_of().stat().st_size == HALF
    register(single(address("good")))
    assert (fetch_dataset("small") / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("how", ["good", "chunks"])
def test_a_file_larger_than_it_should_be(web, address, how):
    web.files["data.bin"] = CONTENT + b"!"
    assert f"more than {len(CONTENT)} bytes" in refused(address(how))
    assert not part_of().exists()


def test_a_server_that_falls_silent(monkeypatch, address):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.2)
    text = refused(address("stall"))
    assert "timed out" in text
    assert str(part_of()) in text
    assert part_of().stat().st_size == HALF


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_a_redirection_leads_to_the_web_only(web, address, target):
    web.target = target
    assert target in refused(address("to"))
    assert not part_of().exists()


def test_a_redirection_to_the_web_is_followed(web, address):
    web.target = address("good")
    register(single(address("to")))
    assert (fetch_dataset("small") / "data.bin").read_bytes() == CONTENT


def test_a_redirection_in_a_circle_ends(web, address):
    web.target = address("to")
    assert "leads elsewhere" in refused(address("to"))


def test_from_https_nothing_leads_back_to_http():
    with pytest.raises(FetchError, match="anybody on the way"):
        downloads._require_web("http://example.org/x", since="https://example.org/y")


@pytest.mark.parametrize("bad", ["file:///etc/hostname", "ftp://x/y", "data.bin"])
def test_an_address_is_of_the_web(bad):
    assert "not opened" in refused(bad)


LIMITED = """
import resource, sys
from tests.problems.datasets.sets import register, single
from guidefbo.problems.datasets.fetch import fetch_dataset
register(single(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    fetch_dataset("small")
except OSError as error:
    print(type(error).__name__, error)
"""


def test_a_full_disk(address):
    """A limit of the system on the size of files stands for a disk with no room."""
    pytest.importorskip("resource", reason="no limits on this system")
    words = [sys.executable, "-c", LIMITED, address("good")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("OutputError Cannot write into"), done.stderr
    assert address("good") in done.stdout
    assert advice() in done.stdout


def test_a_folder_that_cannot_be_made(address, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    register(single(address("good")))
    with pytest.raises(OutputError, match="Cannot write into") as caught:
        fetch_dataset("small")
    assert address("good") in str(caught.value)


def test_a_damaged_file_is_fetched_again(address):
    register(single(address("good")))
    path = fetch_dataset("small") / "data.bin"
    path.write_bytes(CONTENT[:-1] + b"?")
    assert fetch_dataset("small") == path.parent
    assert path.read_bytes() == CONTENT


def test_only_the_file_that_misses_is_fetched(web):
    web.files |= PAIR
    files = [file_of(n, d, f"{web.address}/good/{n}") for n, d in PAIR.items()]
    register(dataset(files))
    (fetch_dataset("small") / "a/x.txt").unlink()
    fetch_dataset("small")
    assert len(web.asked) == 3


@pytest.mark.parametrize("pack", [zipped, tar_xz])
def test_an_archive_is_unpacked_and_removed(web, pack):
    inside = {f"Pair of files/{name}": data for name, data in PAIR.items()}
    web.files["p"] = pack(inside | {"Pair of files/c.txt": b"not asked for"})
    register(packed(f"{web.address}/good/p"))
    folder = fetch_dataset("small")
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert found == set(PAIR)
    assert all((folder / name).read_bytes() == data for name, data in PAIR.items())
    assert sorted(p.name for p in folder.parent.iterdir()) == ["small", "small.lock"]


def test_an_archive_inside_an_archive(web):
    inside = zipped({f"Pair of files/{name}": data for name, data in PAIR.items()})
    web.files["p"] = zipped({"inner pair.zip": inside, "readme.txt": b"Hello."})
    register(packed(f"{web.address}/good/p", nested="inner pair.zip"))
    folder = fetch_dataset("small")
    assert all((folder / name).read_bytes() == data for name, data in PAIR.items())


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"no archive", "no archive that can be read"),
        (zipped({"Pair of files/a/x.txt": PAIR["a/x.txt"]}), "found no such file"),
        (
            zipped({f"Pair of files/{n}": d + b"?" for n, d in PAIR.items()}),
            "found one with",
        ),
        (zipped({"../up.txt": b""}), "would not stay in the folder"),
    ],
)
def test_an_archive_that_is_not_the_expected_one(web, content, word):
    web.files["p"] = content
    address = f"{web.address}/good/p"
    register(packed(address))
    with pytest.raises(FetchError, match=word) as caught:
        fetch_dataset("small")
    assert address in str(caught.value)
    folder = data_folder() / "small"
    assert f"put pair.zip into {folder}" in str(caught.value)
    assert not part_of("pair.zip").exists()
    assert list(folder.iterdir()) == []
    assert not (folder.parent / "up.txt").exists()


def test_a_truncated_archive_that_announces_its_end(web):
    inside = {f"Pair of files/{name}": data for name, data in PAIR.items()}
    web.files["p"] = tar_xz(inside)[:-30]
    register(packed(f"{web.address}/good/p", name="pair.tar.xz"))
    with pytest.raises(FetchError, match="a part of it is missing"):
        fetch_dataset("small")


def test_what_is_not_public_as_a_file_is_explained():
    files = [file_of("table.npz", b"x", is_converted=True)]
    register(dataset(files, by_hand="Ask for it."))
    with pytest.raises(DataError) as caught:
        fetch_dataset("small")
    folder = data_folder() / "small"
    assert "small is not fetched. Ask for it. By hand: get it from" in str(caught.value)
    assert f"put into {folder}: table.npz (sha256 " in str(caught.value)
    # Once it is there, there is nothing to fetch.
    folder.mkdir(parents=True)
    (folder / "table.npz").write_bytes(b"another conversion")
    assert fetch_dataset("small") == folder


def test_a_local_copy_is_not_fetched(web, address, tmp_path, monkeypatch):
    copy = tmp_path / "copy" / "small"
    copy.mkdir(parents=True)
    (copy / "data.bin").write_bytes(b"mine")
    monkeypatch.setenv("GUIDEFBO_DATA", str(copy.parent))
    register(single(address("good")))
    assert fetch_dataset("small") == copy
    assert web.asked == []
    assert os.listdir(copy.parent) == ["small"]
