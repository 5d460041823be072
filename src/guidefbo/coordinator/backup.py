"""A copy of a store, taken while the coordinator goes on.

Rows are read in one snapshot and written to a new store, of either kind: a backup of
PostgreSQL can be one file, and a file can be moved to PostgreSQL the same way.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Table, func, insert, select

from guidefbo.coordinator.points import reached
from guidefbo.coordinator.schema import bring_up_to_date, open_current
from guidefbo.coordinator.store import Store, open_store, protect
from guidefbo.coordinator.tables import IN_ORDER, federations
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import OutputError

ROWS = 1000
"""Rows copied at a time."""


def back_up(store: Store, target: str) -> int:
    """Copy a store, and return how many rows it has.

    Args:
        store: What is copied; it may be in use.
        target: A new file, or the URL of an empty database.
    """
    if "://" in target:
        copy = open_current(target, create=True)
        try:
            return _copy(store, copy)
        finally:
            copy.close()
    path = Path(target)
    if path.exists():
        raise OutputError(f"{path} exists. Name a file that does not.")
    # The file gets its name once it is whole.
    draft = path.with_name(f".{path.name}.part")
    with _removed(draft):
        protect(draft)
        copy = open_store(str(draft))
        try:
            bring_up_to_date(copy)
            num_rows = _copy(store, copy)
            reached("in backup")
        finally:
            copy.close()
        try:
            with open(draft, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError as error:
            raise OutputError(f"Cannot write {path}: {error.strerror}.") from error
    return num_rows


@contextmanager
def _removed(draft: Path) -> Generator[None, None, None]:
    """Leave nothing of a draft, nor of one that was interrupted before."""
    _remove(draft)
    try:
        yield
    finally:
        _remove(draft)


def _remove(draft: Path) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{draft}{end}").unlink(missing_ok=True)


def _copy(store: Store, copy: Store) -> int:
    with store.snapshot() as source, copy.writing() as target:
        if target.execute(select(func.count()).select_from(federations)).scalar_one():
            raise SettingsError(
                f"{copy.shown} holds federations already. Name an empty store."
            )
        return sum(_copy_table(source, target, table) for table in IN_ORDER)


def _copy_table(source: Connection, target: Connection, table: Table) -> int:
    rows = source.execution_options(yield_per=ROWS).execute(select(table))
    num_rows = 0
    for part in rows.mappings().partitions(ROWS):
        target.execute(insert(table), [dict(row) for row in part])
        num_rows += len(part)
    return num_rows
