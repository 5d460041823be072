"""`--plugin FILE.py`: methods and problems of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from guidefbo.methods.plugins import Plugin

Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py",
        help="Python file with strategies, rules or problems of your own, which is "
        "run here and in every worker. May be repeated.",
    ),
]

TrustPickle = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        help="Take fedhpo from the official archive, whose pickles run as programs "
        "when they are opened; only if you trust it.",
    ),
]


def trust_pickles(is_trusted: bool) -> None:
    """Let this process and its workers open the pickles of an official archive."""
    if is_trusted:
        from guidefbo.problems.realworld import fedhpo_official

        fedhpo_official.trust_pickles()


def load_plugins(paths: list[Path] | None) -> "tuple[Plugin, ...]":
    """Load the plugins a command names and return them for its workers."""
    if not paths:
        return ()
    from guidefbo.methods.plugins import Plugin, load_plugin

    plugins = tuple(Plugin.read(path) for path in paths)
    for plugin in plugins:
        load_plugin(plugin)
    return plugins
