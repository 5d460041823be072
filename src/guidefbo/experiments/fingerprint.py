"""What code computes a run: the package's version, and the files that are not its own.

A problem or a method may come from a plugin file, from a file that the problem names,
from an installed package, or be entered by hand. The sha256 of such a file and the
version of such a package are part of the run's key. What a file imports is not, unless
the file names the package: PACKAGES = ["optuna"]. Where a problem of the package has
two sources of its numbers, it says which one is in use.
"""

import sys
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import guidefbo
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import InputError, read_file
from guidefbo.methods.plugins import Plugin, source_of
from guidefbo.methods.record import Rule, Strategy
from guidefbo.methods.registry import GROUPS, RULES, STRATEGIES, find_method
from guidefbo.problems.files import code_of, file_of, is_file
from guidefbo.problems.library import GROUP, PROBLEMS, find_problem
from guidefbo.problems.realworld.entries import REAL_PROBLEMS
from guidefbo.problems.synthetic.function import SyntheticFunction

MAX_BYTES = 256 << 20
"""Longest file of one's own."""
PACKAGE = "guidefbo"
NO_FILE = "without a file"
"""In place of a digest where code was typed in, as in a notebook."""

Record = Strategy | Rule | SyntheticFunction


class Codes:
    """The codes of the runs of one plan; each file is read once."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[tuple[str, str | None], dict[str, str]] = {}

    def of(self, spec: Mapping[str, Any]) -> dict[str, str]:
        """Return what computes a run: versions and digests, by name."""
        what = spec["problem"], spec.get("method")
        if what not in self._known:
            self._known[what] = _code_of(*what)
        return self._known[what]


def _code_of(problem: str, method: str | None) -> dict[str, str]:
    code = {PACKAGE: guidefbo.__version__}
    _add(code, _of_problem(problem))
    if method is not None:
        found = find_method(method)
        if found.strategy.name not in STRATEGIES:
            _add(code, _of_record(found.strategy, GROUPS[Strategy]))
        if found.rule.name not in RULES:
            _add(code, _of_record(found.rule, GROUPS[Rule]))
    return code


def _of_problem(name: str) -> Iterable[tuple[str, str]]:
    if is_file(name):
        code = code_of(name)
        if code is None:
            return [(file_of(name).name, _digest_of(file_of(name)))]
        return _of_file(code)
    for real in REAL_PROBLEMS:
        if real.name == name:
            return real.data_code().items()
    function = find_problem(name).function
    if function is None or name in PROBLEMS:
        return ()
    return _of_record(function, GROUP)


def _of_record(record: Record, group: str) -> Iterable[tuple[str, str]]:
    """Return where a record comes from that is no part of the package."""
    plugin = source_of(record)
    if plugin is not None:
        return _of_file(plugin)
    for point in entry_points(group=group, name=record.name):
        if point.dist is not None and _brings(point, record):
            return [(point.dist.name, point.dist.version)]
    files = [(path.name, _digest_of(path)) for path in _files_of(record)]
    return files or [(record.name, NO_FILE)]


def _of_file(code: Plugin) -> Iterable[tuple[str, str]]:
    """Return a user's file and the packages that it says it computes with."""
    digest = sha256(code.source.encode()).hexdigest()
    return [(Path(code.name).name, digest), *code.packages.items()]


def _brings(point: EntryPoint, record: Record) -> bool:
    try:
        return point.load() is record
    except Exception:  # somebody else's package must not end ours
        return False


def _files_of(record: Record) -> set[Path]:
    """Return the files that define a record that was entered by hand."""
    match record:
        case Strategy():
            parts = (record.agent, record.server)
        case Rule():
            parts = (record.settings,)
        case _:
            parts = (record.function,)
    names = {part.__module__ for part in parts if hasattr(part, "__module__")}
    own = [name for name in names if name.partition(".")[0] != PACKAGE]
    files = [getattr(sys.modules.get(name), "__file__", None) for name in own]
    return {path for path in map(Path, filter(None, files)) if path.is_file()}


def _digest_of(path: Path) -> str:
    try:
        return sha256(read_file(path, MAX_BYTES)).hexdigest()
    except InputError as error:
        raise SettingsError(f"Cannot read {path}: {error}.") from error


def _add(code: dict[str, str], parts: Iterable[tuple[str, str]]) -> None:
    for name, version in parts:
        # Two files of one name, in two folders, are two files.
        while code.get(name, version) != version:
            name += "'"
        code[name] = version
