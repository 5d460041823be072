"""Shared halves by the name of their strategy, without any private code.

A strategy NAME that comes with the package has its shared half in the folder
`server/strategies/NAME`: the module `settings` there, or the module `as_run` for
NAME-as-run, the variant behind the paper's tables. Each names its settings type
`SERVER`. Strategies from outside are entered with `register_server`.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.server import strategies

_registered: dict[str, type[Any]] = {}


def register_server(name: str, settings: type[Any]) -> None:
    """Enter the shared half of a strategy from outside.

    Args:
        name: The strategy's name.
        settings: Type of its settings, with a method `build`.
    """
    if _home(name) is not None:
        raise SettingsError(
            f"Strategy {name} comes with guidefbo; choose another name."
        )
    _registered[name] = settings


def find_server(name: str) -> type[Any]:
    """Return the settings type of a strategy's shared half.

    >>> find_server("guide")().build().packet_type.__name__
    'GuidancePacket'
    """
    if name in _registered:
        return _registered[name]
    home = _home(name)
    if home is None:
        refuse_unknown("strategy with a server side", name, server_names())
    return import_module(home).SERVER


def server_names() -> list[str]:
    """Return the names of all strategies that have a shared half."""
    found: list[str] = []
    for folder in _modules(strategies.__name__):
        found.append(folder)
        package = f"{strategies.__name__}.{folder}"
        found += [f"{folder}_{m}" for m in _modules(package) if m == "as_run"]
    return sorted([*_registered, *(name.replace("_", "-") for name in found)])


def _home(name: str) -> str | None:
    """Return the module of a strategy that comes with the package."""
    stem = name.replace("-", "_")
    for folder in _modules(strategies.__name__):
        package = f"{strategies.__name__}.{folder}"
        if stem == folder:
            return f"{package}.settings"
        if stem == f"{folder}_as_run" and "as_run" in _modules(package):
            return f"{package}.as_run"
    return None


@cache
def _modules(package: str) -> tuple[str, ...]:
    # Asked for every message, and to look into a folder takes as long as to read one.
    return tuple(m.name for m in iter_modules(import_module(package).__path__))
