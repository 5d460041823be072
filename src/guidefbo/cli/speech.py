"""Output conventions of the commands.

Results go to stdout, notices and errors to stderr.
"""

import os
import sys
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import typer
from rich.console import Console

from guidefbo.core.errors import (
    FallbackWarning,
    FedBOError,
    GuidanceWarning,
    OptimumWarning,
    OutsideWarning,
    UploadWarning,
)

console = Console()
errors = Console(stderr=True)

UNPRINTED = 1
"""Exit code where everything was done but could not be printed."""
REFUSED = 2
"""Exit code of a refused argument, as for a misspelt option."""
ALONE = 3
"""Exit code of an exchange that gave nothing; the agent works on alone."""
INTERRUPTED = 130
"""Exit code of a shell command ended by Ctrl-C."""
OURS = (
    FallbackWarning,
    GuidanceWarning,
    OptimumWarning,
    OutsideWarning,
    UploadWarning,
)


@contextmanager
def sentences() -> Generator[None, None, None]:
    """Turn refusals, warnings and Ctrl-C into one sentence each, no traceback."""
    try:
        with _plain_warnings():
            yield
    except FedBOError as error:
        _print(str(error), "red")
        raise typer.Exit(REFUSED) from error
    except KeyboardInterrupt as error:
        _print("interrupted; no half-written file was left.", None)
        raise typer.Exit(INTERRUPTED) from error


def print_list(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and what they are, one a line."""
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        # Plain text: a listing is as often piped as read.
        typer.echo(f"{name:<{width}}  {text}")


def print_lines(lines: Iterable[str], done: str, see: str) -> None:
    """Print lines; where they cannot be, say what is done and saved all the same.

    Args:
        lines: The lines.
        done: What was done, for that sentence.
        see: The command that shows it.
    """
    try:
        for line in lines:
            typer.echo(line)
    except BrokenPipeError:
        raise  # Who reads has seen enough, as `head` has.
    except OSError as error:
        _discard_output()
        why = error.strerror or error
        _print(f"{done}, but that could not be printed: {why}. See: {see}", "red")
        raise typer.Exit(UNPRINTED) from error


def _discard_output() -> None:
    """Send the rest of stdout nowhere: its buffer would fail again at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def notice(text: str) -> None:
    """Say something that is no result, on stderr."""
    _print(" ".join(text.split()), "yellow")


@contextmanager
def _plain_warnings() -> Generator[None, None, None]:
    """Show the package's own warnings as one line each, and every one of them."""
    with warnings.catch_warnings():
        for category in OURS:
            warnings.simplefilter("always", category)
        usual = warnings.showwarning

        def show(
            message: Warning | str, category: type[Warning], *rest: Any, **named: Any
        ) -> None:
            if issubclass(category, OURS):
                notice(str(message))
            else:
                usual(message, category, *rest, **named)

        warnings.showwarning = show
        yield


def _print(text: str, style: str | None) -> None:
    errors.print(
        f"guidefbo: {text}",
        style=style,
        highlight=False,
        markup=False,
        emoji=False,
        # In a file or a pipe a sentence is one line; a terminal gets whole words.
        soft_wrap=not errors.is_terminal,
    )
