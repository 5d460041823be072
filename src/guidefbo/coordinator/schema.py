"""The version of a store, and how it gets to the newest one.

Migrations are Alembic's, below `migrations/versions`. A store is brought up to date
when it is opened: in one transaction, so that a kill leaves the old version whole, and
by one process at a time.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from guidefbo.coordinator.points import reached
from guidefbo.coordinator.store import Store, StoreError, open_store, protect

HEAD = "0002"
"""Newest version of the tables."""
RELEASED = ("0001", "0002")
"""Versions that stores in use may have, oldest first."""
LOCK = 7_105_322
"""Number of PostgreSQL's advisory lock for migrations."""


def open_current(address: str, *, create: bool = False) -> Store:
    """Return an open store of the newest version.

    Args:
        address: Path or URL.
        create: Whether a new file may be made.
    """
    store = open_store(address)
    try:
        if store.is_sqlite:
            path = Path(str(store.engine.url.database))
            if create:
                protect(path)
            elif not path.exists():
                raise StoreError(
                    f"There is no store {path}. Create a federation first: guidefbo "
                    "federation create NAME space.toml --goal max, or name the store: "
                    "--store."
                )
        bring_up_to_date(store)
    except BaseException:
        store.close()
        raise
    return store


def bring_up_to_date(store: Store, target: str = HEAD) -> None:
    """Run the migrations that are missing."""
    with store.reading() as connection:
        found = version_of(connection)
    if found == target:
        return
    if found is not None and found not in RELEASED:
        raise StoreError(
            f"The store has version {found} of the tables, and this guidefbo knows "
            f"{HEAD}. Use the guidefbo that made it, or a newer one. ({store.shown})"
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    with store.writing() as connection:
        if not store.is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        # Another process may have been quicker.
        if version_of(connection) == target:
            return
        config.attributes["connection"] = connection
        command.upgrade(config, target)
        reached("in migration")


def version_of(connection: Connection) -> str | None:
    """Return the version of the tables, None where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).first()
    return None if found is None else str(found[0])
