"""Plugins: strategies, rules and problems of one's own, in one file.

A plugin is a Python file. Every `Strategy`, `Rule` and `SyntheticFunction` at its top
level is entered. Its text travels to worker processes, so that they need no common
disk. It is code of the person who names it, and runs as such.
"""

import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from guidefbo.core.errors import FedBOError, SettingsError
from guidefbo.core.files import InputError, read_file
from guidefbo.methods.record import Rule, Strategy
from guidefbo.methods.registry import RULES, STRATEGIES, find_rule, find_strategy
from guidefbo.methods.registry import register as register_method
from guidefbo.problems.library import PROBLEMS, register_problem
from guidefbo.problems.synthetic.function import SyntheticFunction

MAX_BYTES = 1 << 20
"""Longest plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """The text of a plugin."""

    name: str
    """Name of its file."""
    source: str
    """Its code."""

    @classmethod
    def read(cls, path: Path) -> "Plugin":
        """Return the plugin in a file."""
        try:
            source = read_file(path, MAX_BYTES).decode("utf-8")
        except InputError as error:
            raise SettingsError(f"Cannot read the plugin {path}: {error}.") from error
        except UnicodeDecodeError as error:
            raise SettingsError(f"The plugin {path} is not text: {error}.") from error
        return cls(name=path.name, source=source)

    @property
    def digest(self) -> str:
        """Fingerprint of the code."""
        return sha256(self.source.encode()).hexdigest()[:12]


def register(record: Strategy | Rule | SyntheticFunction) -> None:
    """Enter a strategy, a rule or a problem of one's own.

    >>> import guidefbo as gf
    >>> gf.register("guide")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    guidefbo.core.errors.SettingsError: Expected a Strategy, ... got str.
    """
    if isinstance(record, SyntheticFunction):
        register_problem(record)
    elif isinstance(record, Strategy | Rule):
        register_method(record)
    else:
        raise SettingsError(
            "Expected a Strategy, a Rule or a SyntheticFunction, got "
            f"{type(record).__name__}."
        )


def load_plugin(plugin: Plugin) -> list[str]:
    """Run a plugin, enter what it brings and return the names; once a process."""
    name = f"guidefbo_plugin_{plugin.digest}"
    module = sys.modules.get(name)
    if module is None:
        module = _run(plugin, name)
    found: list[Any] = [
        value
        for value in vars(module).values()
        if isinstance(value, Strategy | Rule | SyntheticFunction)
        and not _is_built_in(value)
    ]
    if not found:
        raise SettingsError(
            f"{plugin.name} brings nothing: expected a Strategy, a Rule or a "
            "SyntheticFunction at its top level."
        )
    for record in found:
        try:
            register(record)
        except SettingsError as error:
            raise SettingsError(f"{plugin.name}: {error}") from error
    return [record.name for record in found]


def _run(plugin: Plugin, name: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = plugin.name
    # Dataclasses look their module up while they are made.
    sys.modules[name] = module
    try:
        exec(compile(plugin.source, plugin.name, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        kind = "" if isinstance(error, FedBOError) else f"{type(error).__name__}: "
        raise SettingsError(
            f"{plugin.name}{_line_of(error, plugin.name)} cannot be loaded: "
            f"{kind}{error}"
        ) from error
    return module


def _line_of(error: BaseException, name: str) -> str:
    trace = error.__traceback__
    line = error.lineno if isinstance(error, SyntaxError) else None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f", line {line},"


def _is_built_in(record: Any) -> bool:
    """Whether a file merely imported a record of the package."""
    match record:
        case Rule():
            return record.name in RULES and find_rule(record.name) == record
        case Strategy():
            return record.name in STRATEGIES and find_strategy(record.name) == record
        case _:
            entry = PROBLEMS.get(record.name)
            return entry is not None and entry.function == record
