"""The folder door: the same letters as files."""

import json
import logging
import os
import time
from hashlib import sha256

import pytest
from tests.coordinator.running import run, serving, wait_for
from tests.coordinator.world import Site, checked, read_packet

from guidefbo.coordinator import host
from guidefbo.coordinator.folder import turn
from guidefbo.coordinator.watch import Failures
from guidefbo.core.errors import SettingsError
from guidefbo.wire.letter import open_letter, read_letter


def put(folder, letter):
    """Write a letter as a site does."""
    said = read_letter(letter)
    if said.purpose == "join":
        name = sha256(said.data).hexdigest()[:32]
        place = folder / "in" / "_join"
    else:
        name = f"{said.number:012d}"
        place = folder / "in" / said.payload["federation"] / said.payload["site"]
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}.letter"
    draft = place / f".{name}.letter.tmp"
    draft.write_bytes(letter)
    draft.rename(path)
    return path


def out(folder, path):
    return folder / "out" / path.relative_to(folder / "in")


def test_join_and_exchange_through_a_folder(small, tmp_path):
    folder = tmp_path / "share"
    folder.mkdir()
    assert turn(small.desk, folder) == 0
    sites = [Site(name) for name in ("north", "south", "west")]
    for site in sites:
        letter = site.join(host.invite(small.store, "reaction", site.name).code)
        path = put(folder, letter)
        assert turn(small.desk, folder) == 1
        said = checked(out(folder, path).read_bytes(), letter, small.public_key)
        assert said["method"] == "guide-ucb"
        assert not path.exists()
    letters = [site.exchange(1) for site in sites]
    paths = [put(folder, letter) for letter in letters]
    assert turn(small.desk, folder) == 3
    said = [
        checked(out(folder, path).read_bytes(), letter, small.public_key)
        for path, letter in zip(paths, letters, strict=True)
    ]
    assert read_packet(said[-1]["packet"]).head.num_uploads == 3
    assert turn(small.desk, folder) == 0


def test_a_turn_pools_the_letters_that_lie_there(small, tmp_path):
    """All changes first, the packets after that, also beside what is no letter."""
    sites = small.joined("aa", "bb", "cc")
    old = put(tmp_path, sites[2].exchange(1))
    letters = [site.exchange(2) for site in sites]
    paths = [put(tmp_path, letter) for letter in letters]
    paths[0].with_name("000000000077.letter").mkdir()
    (tmp_path / "in" / "reaction" / "nobody").mkdir()
    nonsense = tmp_path / "in" / "reaction" / "nobody" / "000000000001.letter"
    nonsense.write_bytes(b"nonsense")
    forged = put(tmp_path, Site("bb").exchange(9))
    told = []
    assert turn(small.desk, tmp_path, notice=told.append) == 6
    for path, letter in zip(paths, letters, strict=True):
        said = checked(out(tmp_path, path).read_bytes(), letter, small.public_key)
        assert said["num_uploads"] == 3
        assert read_packet(said["packet"]).head.num_uploads == 3
    assert out(tmp_path, old).exists()
    assert [line.split(":")[0] for line in told if "refused" in line] == [
        f"{forged.relative_to(tmp_path)} was refused (bad_signature)",
        "in/reaction/nobody/000000000001.letter was refused (invalid)",
    ]
    assert small.desk.writer.num_letters == 3 + 4
    # Exactly once: the same letters again change nothing and get the same answers.
    before = [out(tmp_path, path).read_bytes() for path in paths]
    for path, letter in zip(paths, letters, strict=True):
        out(tmp_path, path).unlink()
        path.write_bytes(letter)
    assert turn(small.desk, tmp_path) == 3
    assert [out(tmp_path, path).read_bytes() for path in paths] == before
    assert host.overview(small.store, "reaction").federation.round == 4


def test_same_answer_as_by_other_doors(small, tmp_path):
    (north,) = small.joined("north")
    letter = north.exchange(1)
    path = put(tmp_path, letter)
    turn(small.desk, tmp_path)
    got = small.desk.answer(letter, limit=65536)
    assert out(tmp_path, path).read_bytes() == got.body


def test_letters_of_one_site_are_taken_in_order(small, tmp_path):
    (north,) = small.joined("north")
    letters = [north.exchange(n) for n in range(1, 13)]
    paths = [put(tmp_path, letter) for letter in reversed(letters)]
    assert turn(small.desk, tmp_path) == 12
    for path in paths:
        open_letter(out(tmp_path, path).read_bytes(), small.public_key)
    assert host.overview(small.store, "reaction").members[0].sequence == 12


def test_refusals_are_signed_letters(small, tmp_path):
    (north,) = small.joined("north")
    letter = Site("north", number=4).exchange(1)
    path = put(tmp_path, letter)
    unknown = Site("north").join("ABCD-EFGH-JKMN-PQRS")
    other = put(tmp_path, unknown)
    assert turn(small.desk, tmp_path) == 2
    said = open_letter(out(tmp_path, path).read_bytes(), small.public_key).payload
    assert (said["purpose"], said["error"]) == ("refusal", "bad_signature")
    assert said["answers"] == read_letter(letter).digest
    said = open_letter(out(tmp_path, other).read_bytes(), small.public_key).payload
    assert said["error"] == "unknown_code"
    assert (said["federation"], said["site"]) == (None, None)
    assert north.number == 1


def test_kill_between_answer_and_removal(small, tmp_path):
    """The request is still there, and so is its answer."""
    (north,) = small.joined("north")
    letter = north.exchange(1)
    path = put(tmp_path, letter)
    turn(small.desk, tmp_path)
    answer = out(tmp_path, path).read_bytes()
    path.write_bytes(letter)
    assert turn(small.desk, tmp_path) == 1
    assert not path.exists()
    assert out(tmp_path, path).read_bytes() == answer


def test_what_is_no_letter_is_passed_over(small, tmp_path):
    (north,) = small.joined("north")
    place = tmp_path / "in" / "reaction" / "north"
    place.mkdir(parents=True)
    (place / ".000000000009.letter.tmp").write_bytes(b"half")
    (place / "notes.txt").write_bytes(b"hello")
    (place / "000000000003.letter").mkdir()
    os.symlink("/etc", tmp_path / "in" / "reaction" / "link")
    (tmp_path / "in" / "..data").mkdir()
    good = put(tmp_path, north.exchange(1))
    assert turn(small.desk, tmp_path) == 1
    assert out(tmp_path, good).exists()
    assert (place / ".000000000009.letter.tmp").exists()


def test_nonsense_is_answered_and_removed(small, tmp_path):
    place = tmp_path / "in" / "reaction" / "north"
    place.mkdir(parents=True)
    path = place / "000000000003.letter"
    path.write_bytes(b"nonsense")
    assert turn(small.desk, tmp_path) == 1
    assert b"invalid" in out(tmp_path, path).read_bytes()


def test_letters_wait_while_the_store_fails(small, tmp_path):
    (north,) = small.joined("north")
    path = put(tmp_path, north.exchange(1))
    with small.store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    assert turn(small.desk, tmp_path) == 0
    assert path.exists()
    small.store.engine.dispose()
    assert turn(small.desk, tmp_path) == 1


def test_folder_that_is_not_there(small, tmp_path):
    with pytest.raises(SettingsError, match="does not exist"):
        turn(small.desk, tmp_path / "nowhere")


def test_a_service_does_not_start_without_its_folder(small, tmp_path):
    words = ["--port", "0", "--folder", str(tmp_path / "nowhere")]
    done = run("serve", "--store", small.address, *words)
    assert done.returncode == 2
    assert f"The folder {tmp_path / 'nowhere'} does not exist" in done.stderr
    assert "Traceback" not in done.stderr


def folder_lines(log):
    """Return what a service's log says of the folder."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line for line in lines if line["event"].startswith("folder")]


def test_a_service_goes_on_once_its_folder_is_back(small, tmp_path):
    """A share that is unmounted for a moment; said once and not at every look."""
    (north,) = small.joined("north")
    folder, gone, log = tmp_path / "share", tmp_path / "gone", tmp_path / "log"
    folder.mkdir()
    words = ["--folder", str(folder), "--every", "0.05"]
    with serving(small.address, *words, log=log):
        first = put(folder, north.exchange(1))
        wait_for(lambda: not first.exists())
        folder.rename(gone)
        wait_for(lambda: folder_lines(log))
        time.sleep(1.0)  # twenty looks
        gone.rename(folder)
        second = put(folder, north.exchange(2))
        wait_for(lambda: not second.exists())
        assert out(folder, second).exists()
        wait_for(lambda: folder_lines(log)[-1]["event"] == "folder read again")
    *failed, _ = folder_lines(log)
    # One more where it went away in the middle of a look.
    assert len(failed) <= 2
    assert failed[-1]["level"] == "error"
    assert f"The folder {folder} does not exist" in failed[-1]["reason"]
    assert "looks again every 0.05 s" in failed[-1]["reason"]
    assert "Traceback" not in log.read_text()
    assert "shutdown failed" not in log.read_text()


def test_the_same_failure_is_logged_once_in_a_while(caplog, tmp_path):
    times = iter([0.0, 5.0, 3599.0, 3600.0, 3605.0, 3610.0, 3615.0])
    failures = Failures(tmp_path, 5.0, clock=lambda: next(times))
    with caplog.at_level(logging.INFO, logger="guidefbo.coordinator"):
        failures.end()
        for _ in range(5):
            failures.tell(SettingsError("It is not there."))
        failures.tell(OSError(5, "Input/output error"))
        failures.tell(ZeroDivisionError("by zero"))
        failures.end()
        failures.end()
    again = "Letters wait; the service looks again every 5 s."
    said = [(r.getMessage(), getattr(r, "reason", None)) for r in caplog.records]
    assert said == [
        ("folder failed", f"It is not there. {again}"),
        ("folder failed", f"It is not there. {again}"),
        ("folder failed", f"Cannot read {tmp_path}: Input/output error. {again}"),
        ("folder failed", f"ZeroDivisionError: by zero. {again}"),
        ("folder read again", None),
    ]
    # Where nobody has foreseen it, the log says where it came from.
    assert [bool(r.exc_info) for r in caplog.records] == [False] * 3 + [True, False]


def test_one_pass_by_command(small, tmp_path):
    (north,) = small.joined("north")
    path = put(tmp_path, north.exchange(1))
    done = run("federation", "turn", str(tmp_path), "--store", small.address)
    assert (done.returncode, done.stdout) == (0, "1 letters answered\n"), done.stderr
    open_letter(out(tmp_path, path).read_bytes(), small.public_key)


def test_one_pass_by_command_says_what_was_refused(small, tmp_path):
    path = put(tmp_path, Site("north").join("ABCD-EFGH-JKMN-PQRS"))
    done = run("federation", "turn", str(tmp_path), "--store", small.address)
    assert (done.returncode, done.stdout) == (0, "1 letters answered\n"), done.stderr
    said = " ".join(done.stderr.split())
    assert f"in/_join/{path.name} was refused (unknown_code): The code is not" in said
    assert said.endswith("Ask the host for a new one.")


def test_links_in_the_folder_lead_nowhere(small, tmp_path):
    """Others may write there: neither read nor written is what they point at."""
    (north,) = small.joined("north")
    folder, secret = tmp_path / "share", tmp_path / "secret"
    secret.mkdir()
    # A request that is a link.
    letter = north.exchange(1)
    path = put(folder, letter)
    path.rename(secret / "letter")
    path.symlink_to(secret / "letter")
    assert turn(small.desk, folder) == 0
    assert not path.is_symlink()
    assert host.overview(small.store, "reaction").federation.round == 0
    # An answer that is a link to a file that is not there yet.
    path = put(folder, letter)
    place = out(folder, path)
    place.parent.mkdir(parents=True)
    place.symlink_to(secret / "made")
    assert turn(small.desk, folder) == 1
    assert not (secret / "made").exists()
    checked(place.read_bytes(), letter, small.public_key)
    # A folder of answers that is a link.
    place.unlink()
    place.parent.rmdir()
    place.parent.symlink_to(secret)
    path = put(folder, north.exchange(2))
    assert turn(small.desk, folder) == 0
    assert sorted(p.name for p in secret.iterdir()) == ["letter"]
    assert path.exists()


def test_letters_in_anothers_place_are_not_answered_there(small, tmp_path):
    north, south = small.joined("north", "south")
    folder = tmp_path / "share"
    path = put(folder, north.exchange(1))
    elsewhere = folder / "in" / "reaction" / "south" / path.name
    elsewhere.parent.mkdir()
    path.rename(elsewhere)
    assert turn(small.desk, folder) == 0
    assert not elsewhere.exists()
    assert not (folder / "out").exists()
    assert small.ok(south.exchange(1))["num_uploads"] == 1


def test_one_site_does_not_hold_up_a_turn(small, tmp_path):
    from guidefbo.coordinator.folder import MAX_TURN

    (north,) = small.joined("north")
    (west,) = small.joined("west")
    folder = tmp_path / "share"
    for n in range(1, MAX_TURN + 5):
        put(folder, north.exchange(n))
    path = put(folder, west.exchange(1))
    assert turn(small.desk, folder) == MAX_TURN + 1
    assert out(folder, path).exists()
    assert turn(small.desk, folder) == 4
