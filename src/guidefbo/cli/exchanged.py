"""`guidefbo join` and `guidefbo sync`: what they do and what they say."""

import re
import shlex
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from guidefbo.cli.opened import command
from guidefbo.cli.speech import ALONE, notice
from guidefbo.connect.courier import new_key_line
from guidefbo.connect.errors import ForeignAnswerError, OfflineError, RefusedError
from guidefbo.connect.join import Joined
from guidefbo.connect.places import Places
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import OutputError
from guidefbo.core.lock import LockedError

if TYPE_CHECKING:
    from guidefbo.connect.link import Synced

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds of each unit of time."""
TOLD = re.compile(r"\bguidefbo (change|audit) FILE ")
"""Beginnings of the commands that other parts of the package tell."""
SPREAD = 0.1
"""Share of the interval by which sites are kept from coming all at once."""


@contextmanager
def offline_means_alone(file: Path) -> Generator[None, None, None]:
    """Turn a coordinator that is not reached into a sentence and exit code 3.

    Args:
        file: The agent's file, which commands in that sentence name.
    """
    try:
        yield
    except OfflineError as error:
        notice(str(error))
        raise typer.Exit(ALONE) from error
    except RefusedError as error:
        named = _refusal_with_file(error, file)
        if not named.is_passing:
            raise named from error
        notice(str(named))
        raise typer.Exit(ALONE) from error


def with_file(text: str, file: Path) -> str:
    """Return a text whose commands name the agent's file, quoted for a shell.

    >>> with_file("say guidefbo change FILE --bounds PROFILE=0,1", Path("my site.json"))
    "say guidefbo change 'my site.json' --bounds PROFILE=0,1"

    Args:
        text: What another part of the package says, with FILE for the file.
        file: The agent's file.
    """
    quoted = shlex.quote(str(file))
    return TOLD.sub(lambda found: f"guidefbo {found[1]} {quoted} ", text)


def _refusal_with_file(error: RefusedError, file: Path) -> RefusedError:
    """Return a refusal whose commands name the agent's file."""
    return RefusedError(
        error.code,
        with_file(error.sentence, file),
        retry_after=error.retry_after,
        is_signed=error.is_signed,
        is_verified=error.is_verified,
    )


def joined_lines(joined: Joined, file: Path) -> list[str]:
    """Return what a site reads once it has joined."""
    from guidefbo.cli.create import summary

    link, places = joined.link, Places.of(file)
    lines = [f"joined the federation {link.federation} as {link.site} ({link.role})"]
    lines += [
        f"coordinator: {link.where}",
        f"its public key, which the host can confirm: {link.coordinator_key}",
        *([] if joined.new_key is None else [new_key_line(joined.new_key)]),
        f"files: {places.link}, {places.key} (keep it secret), {places.mail}",
    ]
    if link.min_sites > 1:
        lines.append(f"packets come once {link.min_sites} sites have spoken")
    if joined.is_new:
        return [*lines, *summary(joined.agent, file)]
    done = sum(bool(trial.records) for trial in joined.agent.trials)
    attached = f"attached {file} with its {done} results"
    return [*lines, attached, f"next: {command('sync', file)}"]


def sync_once(
    file: Path, *, mail_only: bool = False, patience: float = 2.0, wait: float = 30.0
) -> bool:
    """Exchange once and say what happened; return whether there was an answer."""
    if mail_only:
        with offline_means_alone(file):
            return _move_once(file, patience, wait)
    return _sync_once(file, patience, wait).is_online


def _sync_once(file: Path, patience: float, wait: float) -> "Synced":
    from guidefbo.connect.link import Link

    synced = Link(file, patience=patience).sync(wait=wait, notice=notice)
    if synced.trouble is not None:
        first, *rest = synced.lines()
        notice(with_file(first, file))
        lines = rest
    else:
        lines = synced.lines()
    for line in lines:
        typer.echo(with_file(line, file))
    return synced


def sync_before(file: Path, wait: float) -> None:
    """Exchange before a question; what goes wrong is said and stops nobody."""
    from guidefbo.connect.link import Link

    link = Link(file, patience=2.0)
    try:
        synced = link.sync(wait=wait, notice=notice)
    except (ForeignAnswerError, RefusedError) as error:
        notice(f"{error} The question is asked with what the agent holds.")
        return
    # The points are the command's result, so this is said beside them.
    notice(with_file("; ".join(synced.lines()), file))


def _move_once(file: Path, patience: float, wait: float) -> bool:
    from guidefbo.connect.move import move

    moved = move(Places.of(file), patience=patience, wait=wait, notice=notice)
    for line in moved.lines():
        typer.echo(with_file(line, file))
    return moved.is_answered


def sync_every(
    file: Path, every: str, *, mail_only: bool, patience: float, wait: float
) -> None:
    """Exchange once in a while until a signal ends it."""
    interval = read_time(every)
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    former: dict[int, Any] = {
        number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        notice(f"exchanging every {every}; Ctrl-C or SIGTERM ends it.")
        count = 0
        while not stop.is_set():
            left_alone = _attempt(file, mail_only, patience, wait)
            count += 1
            pause = max(interval, left_alone)
            stop.wait(pause * (1.0 + SPREAD * _share(file, count)))
        notice("ended; no letter was left half-way.")
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _attempt(file: Path, mail_only: bool, patience: float, wait: float) -> float:
    """Exchange once, whatever comes; return for how long not to come again."""
    try:
        if not mail_only:
            return _sync_once(file, patience, wait).retry_after or 0.0
        _move_once(file, patience, wait)
    except OfflineError as error:
        notice(str(error))
        return error.retry_after or 0.0
    except RefusedError as error:
        named = _refusal_with_file(error, file)
        if not named.is_passing:
            raise named from error
        notice(str(named))
        return named.retry_after or 0.0
    except ForeignAnswerError as error:
        notice(str(error))
    except (LockedError, OutputError) as error:
        # A file that is held for long, a full disk: both pass. What came stays in the
        # mailbox, and what could not leave is still there.
        notice(f"{error} The next exchange is tried as usual.")
    return 0.0


def read_time(text: str) -> float:
    """Return the seconds of a time such as 10m.

    >>> read_time("10m"), read_time("1.5h")
    (600.0, 5400.0)
    """
    number, unit = text[:-1], text[-1:]
    try:
        seconds = float(number) * UNITS[unit]
    except (ValueError, KeyError):
        seconds = 0.0
    if not 1.0 <= seconds <= 366 * 86400.0:
        raise SettingsError(
            f"Expected a time of a second or more such as 30s, 10m, 2h, got {text!r}."
        )
    return seconds


def _share(file: Path, count: int) -> float:
    """Return a number in [0, 1) that differs from site to site and time to time."""
    place = f"{file.absolute()}#{count}".encode()
    return int.from_bytes(sha256(place).digest()[:4]) / 2**32
