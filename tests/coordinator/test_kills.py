"""Kills at named moments and at any moment: nothing acknowledged is lost.

GUIDEFBO_KILLS says how often each long test kills, GUIDEFBO_MESSAGES how many messages
a store has at a restart, GUIDEFBO_OUTAGE for how many seconds a database is gone;
scripts/endurance.py has those of a release.
"""

import os
import random
import shutil
import signal
import threading
import time

import httpx
import pytest
from sqlalchemy import func, select
from tests.coordinator.running import Nursery, Service, run, serving, wait_for
from tests.coordinator.test_folder import out, put
from tests.coordinator.world import World, checked, make_upload

from guidefbo.coordinator import host
from guidefbo.coordinator.members import newest_uploads
from guidefbo.coordinator.tables import uploads
from guidefbo.wire.letter import open_letter, read_letter

UNLIMITED = ("--rate-site", "0", "--rate-address", "0")
NUM_KILLS = int(os.environ.get("GUIDEFBO_KILLS", "6"))
NUM_MESSAGES = int(os.environ.get("GUIDEFBO_MESSAGES", "100000"))
NUM_SECONDS = int(os.environ.get("GUIDEFBO_OUTAGE", "5"))
few_and_many = pytest.mark.parametrize(
    "num_kills", [1, pytest.param(NUM_KILLS, marks=pytest.mark.slow)]
)
many = pytest.mark.parametrize(
    "num_kills", [pytest.param(NUM_KILLS, marks=pytest.mark.slow)]
)


def hosted_copy(tmp_path, names):
    """Return a store with sites that have joined, and a copy of its file."""
    world = World(str(tmp_path / "guidefbo.db"))
    sites = world.joined(*names)
    key = world.public_key
    world.close()
    quiet = tmp_path / "quiet.db"
    shutil.copy(tmp_path / "guidefbo.db", quiet)
    return world.address, str(quiet), sites, key


def letters_of(sites, num_rounds):
    return [site.exchange(n) for n in range(1, num_rounds + 1) for site in sites]


@pytest.mark.parametrize(
    ("point", "num_kills"),
    [
        ("after commit", 1),
        *(
            pytest.param(point, NUM_KILLS, marks=pytest.mark.slow)
            for point in ("before commit", "after commit", "before answer")
        ),
    ],
)
def test_killed_service_gives_the_answers_of_a_quiet_one(
    tmp_path, point, num_kills, record_property
):
    address, quiet, sites, key = hosted_copy(tmp_path, ["north", "south", "west"])
    num_rounds = 2 + num_kills
    letters = letters_of(sites, num_rounds)
    world = World(quiet, create=False)
    expected = [world.desk.answer(letter, limit=65536).body for letter in letters]
    world.close()
    got, killed = [], 0
    service = Service(address, *UNLIMITED, kill_at=(point, 3))
    for letter in letters:
        while True:
            try:
                answer = service.post(letter, "exchange")
                break
            except httpx.TransportError:
                # As a site does: the same letter again.
                service.stop()
                killed += 1
                again = (point, 3) if killed < num_kills else None
                service = Service(address, *UNLIMITED, kill_at=again)
        assert answer.status_code == 200, answer.text
        checked(answer.content, letter, key)
        got.append(answer.content)
    service.stop()
    assert killed == num_kills
    assert got == expected
    record_property(f"kills {point}", killed)
    record_property("letters", len(letters))
    world = World(address, create=False)
    seen = host.overview(world.store, "reaction")
    assert seen.federation.round == len(letters)
    assert [m.num_uploads for m in seen.members] == [num_rounds] * 3
    with world.store.reading() as connection:
        stored = connection.execute(select(func.count()).select_from(uploads)).scalar()
    assert stored == len(letters)
    world.close()


@many
def test_killed_migration_leaves_nothing_or_all(tmp_path, num_kills, record_property):
    space = tmp_path / "space.toml"
    space.write_text('[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n')
    create = ("federation", "create", "f", "space.toml", "--goal", "max")
    for _ in range(num_kills):
        done = run(*create, kill_at=("in migration", 1), cwd=tmp_path)
        assert done.returncode == -9
    assert run(*create, cwd=tmp_path).returncode == 0
    listed = run("federation", "list", cwd=tmp_path).stdout
    assert "f     open" in listed
    record_property("kills in migration", num_kills)


@many
def test_killed_backup_leaves_no_file_of_that_name(
    tmp_path, num_kills, record_property
):
    world = World(str(tmp_path / "guidefbo.db"))
    (north,) = world.joined("north")
    world.ok(north.exchange(1))
    backup = ("federation", "backup", "copy.db")
    for _ in range(num_kills):
        assert run(*backup, kill_at=("in backup", 1), cwd=tmp_path).returncode == -9
        assert not (tmp_path / "copy.db").exists()
    assert run(*backup, cwd=tmp_path).returncode == 0
    assert not list(tmp_path.glob(".copy*"))
    record_property("kills in backup", num_kills)
    copy = World(str(tmp_path / "copy.db"), create=False)
    assert host.overview(copy.store, "reaction").federation.round == 1
    copy.close()
    world.close()


@many
def test_killed_turn_answers_again(tmp_path, num_kills, record_property):
    world = World(str(tmp_path / "guidefbo.db"))
    (north,) = world.joined("north")
    folder = tmp_path / "share"
    letter = north.exchange(1)
    path = put(folder, letter)
    turn = ("federation", "turn", "share")
    for _ in range(num_kills):
        done = run(*turn, kill_at=("before folder answer", 1), cwd=tmp_path)
        assert done.returncode == -9
        assert path.exists()
        assert not out(folder, path).exists()
    record_property("kills before folder answer", num_kills)
    assert run(*turn, cwd=tmp_path).stdout == "1 letters answered\n"
    checked(out(folder, path).read_bytes(), letter, world.public_key)
    assert host.overview(world.store, "reaction").federation.round == 1
    world.close()


class Client(threading.Thread):
    """A site that exchanges again and again, whatever happens to the service."""

    def __init__(self, site, urls, key):
        super().__init__()
        self.site, self.urls, self.key = site, urls, key
        self.is_over = threading.Event()
        self.acknowledged = 0
        self.failure = None

    def run(self):
        try:
            with httpx.Client(timeout=30) as client:
                sequence = 0
                while not self.is_over.is_set():
                    sequence += 1
                    self.hand_over(client, self.site.exchange(sequence))
                    self.acknowledged = sequence
        except Exception as error:
            self.failure = error

    def hand_over(self, client, letter):
        number = read_letter(letter).number
        while True:
            url = self.urls[number % len(self.urls)]
            try:
                got = client.post(
                    f"{url}/api/v1/federations/reaction/exchange", content=letter
                )
            except httpx.TransportError:
                time.sleep(0.1)
                continue
            if got.status_code == 503:
                time.sleep(0.05)
                continue
            assert got.status_code == 200, got.text
            said = open_letter(got.content, self.key).payload
            assert said["accepted"] == number - 1
            return


def check_nothing_lost(world, clients):
    seen = host.overview(world.store, "reaction")
    with world.store.reading() as connection:
        newest = newest_uploads(connection, "reaction")
        stored = connection.execute(select(func.count()).select_from(uploads)).scalar()
    for client in clients:
        assert client.failure is None, client.failure
        name = client.site.name
        assert newest[name][0] == make_upload(name, client.acknowledged).encode()
        assert newest[name][1] == client.acknowledged
    total = sum(client.acknowledged for client in clients)
    assert (seen.federation.round, stored) == (total, total)
    return total


def finish(clients):
    for client in clients:
        client.is_over.set()
    for client in clients:
        client.join(timeout=60)
        assert not client.is_alive()


@few_and_many
def test_kills_at_any_moment_under_load(tmp_path, num_kills, record_property):
    world = World(str(tmp_path / "guidefbo.db"))
    sites = world.joined(*(f"s{n}" for n in range(4)))
    chance = random.Random(5)
    nursery = Nursery()
    urls = [nursery.serve(world.address, *UNLIMITED)]
    clients = [Client(site, urls, world.public_key) for site in sites]
    for client in clients:
        client.start()
    try:
        for _ in range(num_kills):
            # Not before somebody was answered, then at any moment.
            before = sum(client.acknowledged for client in clients)
            wait_for(lambda n=before: sum(c.acknowledged for c in clients) > n + 3, 120)
            time.sleep(chance.uniform(0.0, 0.3))
            nursery.kill()
            urls[0] = nursery.serve(world.address, *UNLIMITED)
        before = sum(client.acknowledged for client in clients)
        wait_for(lambda: sum(c.acknowledged for c in clients) > before + 3)
    finally:
        finish(clients)
        nursery.close()
    total = check_nothing_lost(world, clients)
    assert total > 4 * num_kills
    record_property("kills of the coordinator", num_kills)
    record_property("acknowledged uploads", total)
    world.close()


@pytest.mark.slow
def test_two_services_in_front_of_one_database(new_database):
    world = World(new_database())
    sites = world.joined(*(f"s{n}" for n in range(6)))
    with (
        serving(world.address, *UNLIMITED) as one,
        serving(world.address, *UNLIMITED) as two,
    ):
        # Every site goes to and fro between them.
        urls = [one.url, two.url]
        clients = [Client(site, urls, world.public_key) for site in sites]
        for client in clients:
            client.start()
        time.sleep(6.0)
        finish(clients)
        assert check_nothing_lost(world, clients) > 60
        # The same letter at both doors has one effect and one answer.
        letter = sites[0].exchange(10_000)
        assert (
            one.post(letter, "exchange").content == two.post(letter, "exchange").content
        )
        # A code that is used at one door is used at the other.
        code = host.invite(world.store, "reaction", "late").code
        results = []

        def join(service):
            from tests.coordinator.world import Site

            results.append(service.post(Site("late").join(code), "join").status_code)

        threads = [threading.Thread(target=join, args=(s,)) for s in (one, two) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [200] + [403] * 5
    world.close()


@pytest.mark.slow
def test_database_that_is_gone_for_a_minute(mortal_postgres, record_property):
    """The server ends while sites write: sentences meanwhile, then all go on."""
    mortal_postgres.psql("CREATE DATABASE gone;")
    world = World(mortal_postgres.get_uri(database="gone"))
    sites = world.joined(*(f"s{n}" for n in range(4)))
    with serving(world.address, *UNLIMITED) as service:
        clients = [Client(site, [service.url], world.public_key) for site in sites]
        for client in clients:
            client.start()
        try:
            wait_for(lambda: sum(c.acknowledged for c in clients) > 8)
            # At once, as when its machine is switched off.
            os.kill(mortal_postgres.get_pid(), signal.SIGQUIT)
            began = time.monotonic()
            wait_for(lambda: service.get("/healthz").status_code == 503)
            told = set()
            while time.monotonic() - began < NUM_SECONDS:
                got = service.get("/healthz")
                told.add((got.status_code, got.json()["error"]))
                assert "store does not answer" in got.json()["message"]
                assert int(got.headers["retry-after"]) >= 1
                time.sleep(0.2)
            assert told == {(503, "unavailable")}
            before = sum(client.acknowledged for client in clients)
            mortal_postgres.ensure_postgres_running()
            wait_for(lambda: sum(c.acknowledged for c in clients) > before + 8, 60)
            assert service.process.poll() is None
        finally:
            finish(clients)
    total = check_nothing_lost(world, clients)
    record_property("seconds without a database", NUM_SECONDS)
    record_property("acknowledged uploads", total)
    world.close()


def test_clock_that_jumps(small, monkeypatch):
    """Times are shown and end codes; nothing else depends on them."""
    sites = small.joined("north", "south", "west")
    real = time.time
    for sequence, days in enumerate((0, 1, -1, 400), start=1):
        monkeypatch.setattr(
            "guidefbo.coordinator.work.time.time", lambda d=days: real() + d * 86_400
        )
        for site in sites:
            said = small.ok(site.exchange(sequence))
    assert said["packet"] is not None
    assert host.overview(small.store, "reaction").federation.round == 12


@pytest.mark.slow
def test_restart_with_many_messages(tmp_path, record_property):
    """A start reads what it needs, not what is stored."""
    from sqlalchemy import insert

    world = World(str(tmp_path / "guidefbo.db"))
    (north,) = world.joined("north")

    def seconds_to_an_answer():
        began = time.monotonic()
        with serving(world.address, *UNLIMITED) as service:
            letter = north.exchange(north.number)
            assert service.post(letter, "exchange").status_code == 200
            return time.monotonic() - began

    empty = min(seconds_to_an_answer() for _ in range(3))
    body = make_upload("north", 1).encode()
    for first in range(0, NUM_MESSAGES, 50_000):
        rows = [
            {
                "federation": "reaction",
                "site": "north",
                "number": 10**9 + first + n,
                "sequence": 1,
                "body": body,
            }
            for n in range(50_000)
        ]
        with world.store.writing() as connection:
            connection.execute(insert(uploads), rows)
    full = min(seconds_to_an_answer() for _ in range(3))
    record_property("messages", NUM_MESSAGES)
    record_property("seconds to an answer, empty", round(empty, 2))
    record_property("seconds to an answer, full", round(full, 2))
    assert full < max(2.0, 1.5 * empty), (empty, full)
    world.close()
