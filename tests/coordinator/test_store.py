"""The store: versions, copies, two writers, readable errors."""

import json
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import inspect, select, text
from tests.coordinator.running import environment
from tests.coordinator.world import SPACE, World, make_upload, read_packet

from guidefbo.coordinator import host, schema
from guidefbo.coordinator.backup import back_up
from guidefbo.coordinator.host import MAX_SITES
from guidefbo.coordinator.schema import HEAD, RELEASED, bring_up_to_date, open_current
from guidefbo.coordinator.store import Store, StoreError, open_store
from guidefbo.coordinator.tables import IN_ORDER, metadata
from guidefbo.core.errors import FedBOError, SettingsError
from guidefbo.core.files import OutputError

VERSIONS = Path(schema.__file__).parent / "migrations" / "versions"


def everything(store):
    with store.reading() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table))))
            for table in IN_ORDER
        }


@pytest.mark.parametrize("version", RELEASED)
def test_every_released_version_gets_to_the_newest(address, version):
    store = open_store(address)
    bring_up_to_date(store, version)
    bring_up_to_date(store)
    with store.reading() as connection:
        assert schema.version_of(connection) == HEAD
        found = inspect(connection)
        for table in metadata.tables.values():
            columns = {c["name"]: c for c in found.get_columns(table.name)}
            assert columns.keys() == {c.name for c in table.columns}
            for column in table.columns:
                assert columns[column.name]["nullable"] == bool(column.nullable)
            keys = found.get_pk_constraint(table.name)["constrained_columns"]
            assert keys == [c.name for c in table.primary_key.columns]
    store.close()


def test_first_version_with_sites_in_it_goes_on(address):
    """What a store of the first version holds is there after the migration."""
    world = World(address)
    sites = world.joined("north", "south", "west")
    letters = [site.exchange(1) for site in sites]
    first = [world.ok(letter) for letter in letters]
    before = everything(world.store)
    with world.store.writing() as connection:
        connection.execute(text("DROP TABLE successions"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    world.restart()
    assert everything(world.store) == before
    assert [world.ok(letter) for letter in letters] == first
    host.rotate_key(world.store)
    assert len(world.ok(sites[0].exchange(2))["successions"]) == 1
    world.close()


def test_migrations_end_at_the_newest_version():
    texts = [path.read_text() for path in VERSIONS.glob("v*.py")]
    assert sum(f'revision = "{HEAD}"' in t for t in texts) >= 1
    assert len(texts) == len(RELEASED)


def test_store_of_a_newer_guidefbo_is_left_alone(address):
    World(address).close()
    store = open_store(address)
    with store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="version 9999"):
        bring_up_to_date(store)
    store.close()


def test_many_processes_may_open_a_new_store(address):
    code = (
        "import sys; from guidefbo.coordinator.schema import open_current; "
        "open_current(sys.argv[1], create=True).close()"
    )
    many = [
        subprocess.Popen(
            [sys.executable, "-c", code, address],
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in many:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    World(address).close()


def test_what_is_written_is_there_after_a_restart(world):
    sites = world.joined("north", "south", "west")
    for site in sites:
        world.ok(site.exchange(1))
    before = everything(world.store)
    world.restart()
    assert everything(world.store) == before


def test_backup_is_a_store_that_goes_on(world, tmp_path):
    sites = world.joined("north", "south", "west")
    for site in sites:
        world.ok(site.exchange(1))
    host.add_reader(world.store, "reaction", "board")
    target = tmp_path / "copy.db"
    num_rows = back_up(world.store, str(target))
    assert num_rows == sum(map(len, everything(world.store).values()))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert not list(tmp_path.glob(".copy*"))
    copy = World(str(target), create=False)
    assert everything(copy.store) == everything(world.store)
    letters = [sites[0].exchange(2), sites[1].exchange(2)]
    said = [copy.ok(letter) for letter in letters]
    # And both give the same answers from here on.
    assert [world.ok(letter) for letter in letters] == said
    assert read_packet(said[1]["packet"]).head.num_uploads == 3
    copy.close()
    with pytest.raises(OutputError, match="exists"):
        back_up(world.store, str(target))


def test_backup_while_letters_come(small, tmp_path):
    sites = small.joined(*(f"s{n}" for n in range(6)))
    is_over = threading.Event()

    def write():
        sequence = 0
        while not is_over.is_set():
            sequence += 1
            for site in sites:
                small.ok(site.exchange(sequence))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for n in range(5):
            back_up(small.store, str(tmp_path / f"copy{n}.db"))
    finally:
        is_over.set()
        thread.join()
    for n in range(5):
        copy = World(str(tmp_path / f"copy{n}.db"), create=False)
        # Every number in it is of the same moment.
        seen = host.overview(copy.store, "reaction")
        sent = sum(member.num_uploads for member in seen.members)
        assert seen.federation.round == sent
        copy.close()


@pytest.mark.slow
def test_from_sqlite_to_postgres_and_back(small, new_database, tmp_path):
    (north,) = small.joined("north")
    small.ok(north.exchange(1))
    url = new_database()
    back_up(small.store, url)
    moved = World(url, create=False)
    assert everything(moved.store) == everything(small.store)
    moved.ok(north.exchange(2))
    back_up(moved.store, str(tmp_path / "back.db"))
    again = World(str(tmp_path / "back.db"), create=False)
    assert everything(again.store) == everything(moved.store)
    with pytest.raises(SettingsError, match="holds federations already"):
        back_up(small.store, url)
    again.close()
    moved.close()


@pytest.mark.parametrize("num_rounds", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_reader_open_during_many_writes(small, num_rounds):
    """A listing that is slow to be read holds nobody up."""
    sites = small.joined(*(f"s{n}" for n in range(10)))
    with small.store.reading() as connection:
        table = IN_ORDER[2]
        before = connection.execute(select(table)).all()
        for sequence in range(1, num_rounds + 1):
            answers = small.together([site.exchange(sequence) for site in sites])
            assert {status for status, _ in answers} == {200}
        assert connection.execute(select(table)).all() == before
    assert host.overview(small.store, "reaction").federation.round == 10 * num_rounds


def test_export_has_no_secrets(world):
    sites = world.joined("north", "south")
    code = host.invite(world.store, "reaction", "west").code
    token = host.add_reader(world.store, "reaction", "board")
    for site in sites:
        world.ok(site.exchange(3))
    text_ = host.export(world.store, "reaction").decode()
    form = json.loads(text_)
    assert [s["name"] for s in form["sites"]] == ["north", "south"]
    assert form["sites"][0]["upload"] == json.loads(make_upload("north", 3))
    assert form["space"] == SPACE
    secret = str(host.overview(world.store, "reaction").federation.secret_seed)
    for hidden in (code, token, secret, "PRIVATE KEY"):
        assert hidden not in text_


def test_store_holds_no_code_and_no_token(small, tmp_path):
    code = host.invite(small.store, "reaction", "north").code
    token = host.add_reader(small.store, "reaction", "board")
    small.close()
    data = (tmp_path / "guidefbo.db").read_bytes()
    assert code.encode() not in data
    assert code.replace("-", "").encode() not in data
    assert token.encode() not in data
    small.store = open_current(small.address)


def test_store_is_its_owners_alone(small, tmp_path):
    assert stat.S_IMODE((tmp_path / "guidefbo.db").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mysql://host/name", "sqlite or postgresql"),
        ("sqlite://", "in a file"),
        ("sqlite:///:memory:", "in a file"),
        ("postgresql://user:secret@host:port/name", "cannot be read"),
    ],
)
def test_addresses_that_are_refused(given, said):
    with pytest.raises(SettingsError, match=said) as refused:
        open_store(given)
    assert "secret" not in str(refused.value)


def test_password_is_never_shown():
    store = open_store("postgresql://user:secret@127.0.0.1:1/name?connect_timeout=1")
    assert "secret" not in store.shown
    with pytest.raises(StoreError, match="does not answer") as refused, store.reading():
        pass
    assert "secret" not in str(refused.value)


def test_missing_store_is_a_sentence(tmp_path):
    with pytest.raises(StoreError, match="federation create"):
        open_current(str(tmp_path / "guidefbo.db"))
    assert not (tmp_path / "guidefbo.db").exists()
    with pytest.raises(StoreError, match="No such file"):
        open_current(str(tmp_path / "nowhere" / "guidefbo.db"), create=True)


def test_file_that_is_no_store(tmp_path):
    path = tmp_path / "guidefbo.db"
    path.write_bytes(b"something else entirely, and long enough to be read" * 100)
    with pytest.raises(StoreError, match="no store of guidefbo"):
        open_current(str(path))


def test_disk_full_is_refused_and_it_goes_on(small):
    """A limit on the size of files stands for the end of the disk."""
    (north,) = small.joined("north")
    small.ok(north.exchange(1))
    letter = north.exchange(2)
    wal = os.path.getsize(small.address + "-wal")
    import signal

    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(wal, 4096), hard))
    try:
        assert small.refused(letter) == "unavailable"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert small.ok(letter)["accepted"] == 2
    assert host.overview(small.store, "reaction").federation.round == 2


def test_store_that_may_not_be_written(small):
    """As on a disk mounted read-only; root may write everywhere else."""
    (north,) = small.joined("north")
    letter = north.exchange(1)
    with small.store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    assert small.refused(letter) == "unavailable"
    with (
        pytest.raises(StoreError, match="may not be written"),
        small.store.writing() as connection,
    ):
        connection.execute(text("UPDATE federations SET round = 7"))
    small.store.engine.dispose()
    assert small.ok(letter)["accepted"] == 1


def test_another_writer_is_waited_for(small):
    (north,) = small.joined("north")
    other = sqlite3.connect(small.address, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    future = small.desk.take(small.desk.open(north.exchange(1), limit=65536))
    assert not future.done()
    other.execute("ROLLBACK")
    other.close()
    assert future.result(timeout=30).status == 200


@pytest.mark.slow
def test_database_that_is_gone_for_a_while(new_database, postgres):
    """Connections are cut and refused; then it goes on by itself."""
    url = new_database()
    name = url.split("?")[0].rpartition("/")[2]
    world = World(url)
    (north,) = world.joined("north")
    letter = north.exchange(1)
    postgres.psql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false;")
    postgres.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{name}';"
    )
    assert world.refused(letter) == "unavailable"
    postgres.psql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true;")
    assert world.ok(letter)["accepted"] == 1
    world.close()


def test_limits_of_names_and_numbers(small):
    for days in (0.0, -1.0, 1000.0):
        with pytest.raises(SettingsError, match="days"):
            host.invite(small.store, "reaction", "north", days=days)
    with pytest.raises(FedBOError, match="no federation 'reactio'"):
        host.invite(small.store, "reactio", "north")
    with pytest.raises(SettingsError, match="site's name"):
        host.invite(small.store, "reaction", "../north")
    with pytest.raises(SettingsError, match="at most"):
        small.create("b", max_sites=MAX_SITES + 1)
    with pytest.raises(SettingsError, match="no reader 'x'"):
        host.remove_reader(small.store, "reaction", "x")


def test_stores_are_values(small):
    assert isinstance(small.store, Store)
    assert small.store.is_sqlite
