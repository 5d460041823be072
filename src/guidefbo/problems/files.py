"""Problems in files of their own: `FILE.py:NAME` and `TABLE.toml`.

`FILE.py:NAME` is a function NAME() or NAME(seed) in a Python file that returns
`gf.Tasks`. The text of the file travels to worker processes, so that they need no
common disk. `TABLE.toml` is what `guidefbo problems from-table` writes.
"""

import inspect
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from guidefbo.core.errors import SettingsError
from guidefbo.core.plugin import Plugin
from guidefbo.problems.own import Tasks

SEPARATOR = ".py:"
TABLE = ".toml"

_sent: dict[str, Plugin] = {}


def is_file(name: Any) -> bool:
    """Whether a problem is named by its file.

    >>> is_file("tasks/mine.py:reaction"), is_file("ackley")
    (True, False)
    """
    return isinstance(name, str) and (SEPARATOR in name or name.endswith(TABLE))


def file_of(name: str) -> Path:
    """Return the file a problem is in."""
    return Path(name if name.endswith(TABLE) else name.rpartition(":")[0])


def code_of(name: str) -> Plugin | None:
    """Return the text of the Python file a problem is in, None for a table."""
    if name.endswith(TABLE):
        return None
    path = file_of(name)
    return _sent.get(str(path)) or Plugin.read(path, "problem")


def take_code(code: Plugin) -> None:
    """Keep the text of a problem's file that another process sent."""
    _sent[code.name] = code


@contextmanager
def given_code(codes: Iterable[Plugin]) -> Generator[None, None, None]:
    """Use these texts in place of the files, as long as the block lasts."""
    before = dict(_sent)
    _sent.update({code.name: code for code in codes})
    try:
        yield
    finally:
        _sent.clear()
        _sent.update(before)


def read_tasks(name: str) -> tuple[Callable[[int], Tasks], bool]:
    """Return what makes the tasks of a problem in a file, from a seed.

    And whether the seed matters: of some problems all repetitions are the same.
    """
    code = code_of(name)
    if code is None:
        # Here, because a table needs its emulator and most problems need no table.
        from guidefbo.problems.table import table_problem

        return lambda seed: table_problem(file_of(name)), False
    wanted = name.rpartition(":")[2]
    found = getattr(code.load(), wanted, None)
    if not callable(found):
        known = sorted(
            key
            for key, value in vars(code.load()).items()
            if inspect.isfunction(value) and not key.startswith("_")
        )
        raise SettingsError(
            f"{code.name} has no function {wanted!r} that returns guidefbo.Tasks. "
            f"It has {', '.join(known) or 'no function'}."
        )
    takes_seed = "seed" in inspect.signature(found).parameters

    def make(seed: int) -> Tasks:
        try:
            made: Any = found(seed=seed) if takes_seed else found()
        except (Exception, SystemExit) as error:  # whatever somebody's code may raise
            raise SettingsError(
                f"{name} cannot make its tasks: {type(error).__name__}: {error}"
                f"{code.advice(error)}"
            ) from error
        if not isinstance(made, Tasks):
            raise SettingsError(
                f"{name} must return guidefbo.Tasks, got {type(made).__name__}. "
                "For example Tasks(space, [f, g], goal='max')."
            )
        return made

    return make, takes_seed
