"""The store: SQLite in one file, or PostgreSQL by URL, through the same code.

SQLite: write-ahead log, every commit synced to disk, one writer at a time, readers
beside it. All state of a coordinator is here; a process holds none.
"""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from guidefbo.core.errors import FedBOError, SettingsError

NUM_CONNECTIONS = 16
"""Connections a process keeps open; further ones are made when they are needed."""
WAIT = 30.0
"""Seconds to wait for another writer, or for a database to answer."""


class StoreError(FedBOError, OSError):
    """The store cannot be read or written at the moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An open store."""

    engine: Engine
    """Of SQLAlchemy."""
    shown: str
    """Its address without a password."""

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """Open a view of what is committed; writers go on beside it."""
        with self._sentences(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Generator[Connection, None, None]:
        """Open a view in which every row is of the same moment."""
        engine = self.engine
        if not self.is_sqlite:
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        with self._sentences(), engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection, None, None]:
        """Open a transaction: on disk when the block ends, nothing where it raises."""
        engine = self.engine.execution_options(writes=True)
        with self._sentences(), engine.begin() as connection:
            yield connection

    @contextmanager
    def _sentences(self) -> Generator[None, None, None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise StoreError(f"{explain(error)} ({self.shown})") from error

    def close(self) -> None:
        """Let go of the connections."""
        self.engine.dispose()


def open_store(address: str) -> Store:
    """Return the store at a path or URL; nothing is created or read yet.

    Args:
        address: `guidefbo.db`, `sqlite:///path` or `postgresql://user@host/name`.
    """
    url = _to_url(address)
    try:
        if url.get_backend_name() == "sqlite":
            engine = create_engine(
                url, pool_size=NUM_CONNECTIONS, connect_args={"timeout": WAIT}
            )
            _speak_sqlite(engine)
        else:
            engine = create_engine(
                url,
                pool_size=NUM_CONNECTIONS,
                pool_pre_ping=True,
                connect_args={"connect_timeout": int(WAIT)},
            )
    except ModuleNotFoundError as error:
        raise SettingsError(
            "A store on PostgreSQL needs another package: "
            "pip install 'guidefbo[postgres]'."
        ) from error
    return Store(engine=engine, shown=url.render_as_string(hide_password=True))


def _to_url(address: str) -> URL:
    if not re.match(r"[a-z+0-9]+://", address):
        return URL.create("sqlite", database=str(Path(address)))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:
        raise SettingsError(
            "Expected a store such as guidefbo.db or "
            "postgresql://user:password@host/name; the URL cannot be read."
        ) from error
    backend = url.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise SettingsError(
            f"Expected a store on sqlite or postgresql, got {backend!r}."
        )
    if not url.database or url.database == ":memory:":
        raise SettingsError("Expected a store in a file: sqlite:///guidefbo.db.")
    return url


def _speak_sqlite(engine: Engine) -> None:
    """Have transactions begin as they must: a writer is the only one from the start."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        # Transactions are begun here, not by the driver.
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            f"busy_timeout={int(1000 * WAIT)}",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


REASONS = (
    ("readonly database", "The store may not be written. May you write the file and"),
    ("disk is full", "The disk is full. Make room; nothing acknowledged is lost."),
    ("No space left", "The disk is full. Make room; nothing acknowledged is lost."),
    ("unable to open", "The store cannot be opened. Does its folder exist, and may"),
    ("disk I/O error", "The disk reports an error. Look at the disk and its mount."),
    ("database is locked", "Another process has held the store for too long."),
    ("not a database", "The file is no store of guidefbo. Name another one."),
    ("malformed", "The file of the store is damaged. Take the last backup."),
    ("password authentication", "The database refuses the user or the password."),
    ("connection", "The database does not answer. It is tried again at every request."),
)
"""What a driver says, and what that means for a host."""
ENDINGS = {"readonly database": " its folder?", "unable to open": " you read it?"}


def explain(error: SQLAlchemyError) -> str:
    """Return one sentence on why the store failed; no statement, no parameters."""
    said = str(error.orig) if isinstance(error, DBAPIError) else type(error).__name__
    for mark, sentence in REASONS:
        if mark in said:
            return sentence + ENDINGS.get(mark, "")
    first = said.strip().splitlines()[0] if said.strip() else type(error).__name__
    return f"The store failed: {first}."


def protect(path: Path) -> None:
    """Create a store's file that its owner alone may read, if it is not there.

    It holds the federation's signing keys.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(
            f"Cannot create {path}: {error.strerror}. Name another --store."
        ) from error
