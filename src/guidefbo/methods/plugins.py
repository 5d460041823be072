"""Plugins: strategies, rules and problems of one's own, in one file.

A plugin is a Python file. Every `Strategy`, `Rule` and `SyntheticFunction` at its top
level is entered. Its text travels to worker processes, so that they need no common
disk. It is code of the person who names it, and runs as such.
"""

from typing import Any

from guidefbo.core.errors import SettingsError
from guidefbo.core.plugin import Plugin as Plugin
from guidefbo.methods.record import Rule, Strategy
from guidefbo.methods.registry import RULES, STRATEGIES, find_rule, find_strategy
from guidefbo.methods.registry import register as register_method
from guidefbo.problems.library import PROBLEMS, register_problem
from guidefbo.problems.synthetic.function import SyntheticFunction

_sources: dict[tuple[str, str], tuple[object, Plugin]] = {}


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
    module = plugin.load()
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
        _sources[type(record).__name__, record.name] = record, plugin
    return [record.name for record in found]


def source_of(record: Strategy | Rule | SyntheticFunction) -> Plugin | None:
    """Return the plugin that brought a record, None where none did."""
    found = _sources.get((type(record).__name__, record.name))
    return found[1] if found is not None and found[0] is record else None


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
