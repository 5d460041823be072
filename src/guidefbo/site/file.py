"""An agent in one file: JSON, versioned, checked when read, replaced as a whole."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError, FedBOError, UnknownNameError
from guidefbo.core.files import (
    InputError,
    OutputError,
    check_writable,
    read_file,
    write_atomically,
)
from guidefbo.core.lock import exclusive
from guidefbo.site.old import renew_guidance, renew_setup
from guidefbo.site.setup import Setup, door_of
from guidefbo.site.summary import Held, Summary
from guidefbo.site.trial import Trial
from guidefbo.site.trial_form import as_list, as_table, trial_from_form, trial_to_form

if TYPE_CHECKING:
    from guidefbo.site.agent import Agent
    from guidefbo.site.guidance import Guidance

FORMAT = "guidefbo-agent"
VERSION = 3
MAX_BYTES = 64 << 20
"""Longest file that is written or read: 50 000 trials of 40 parameters fit."""

Notice = Callable[[str], object]
"""Called with a sentence where a wait is a long one."""


class AgentFileError(FedBOError, ValueError):
    """A file does not hold an agent that can be loaded."""


def save_agent(
    agent: "Agent", path: Path, known: str | None, *, overwrite: bool
) -> str:
    """Write an agent, whole or not at all, and return the text's fingerprint.

    The caller holds the file: between the look at what is there and the writing nobody
    else may write.

    Args:
        agent: The agent.
        path: Where it is written, links followed.
        known: Fingerprint of what this agent last read or wrote there, None if nothing.
        overwrite: Whether anything else that is there may be lost.
    """
    form = {
        "format": FORMAT,
        "version": VERSION,
        "setup": agent.setup.to_form(),
        "guidance": agent.guidance_form(),
        "summary": agent.summary_form(),
        "trials": [trial_to_form(trial) for trial in agent.trials],
    }
    text = json.dumps(form, indent=1, allow_nan=False) + "\n"
    if len(text) > MAX_BYTES:
        raise OutputError(
            f"Cannot write {path}: the agent needs {len(text)} bytes, and at most "
            f"{MAX_BYTES} are read again. Begin a new agent with fewer results."
        )
    if path.exists() and not overwrite:
        _refuse_other(path, known)
    write_atomically(path, text)
    return _fingerprint(text)


@contextmanager
def held(
    path: Path, *, wait: float, notice: Notice | None = None
) -> Generator[None, None, None]:
    """Hold the file that an agent is saved to, where it can be written at all."""
    # First, so that a refusal leaves no lock behind.
    check_writable(path)
    with exclusive(path, wait=wait, notice=notice):
        yield


def _refuse_other(path: Path, known: str | None) -> None:
    """Refuse to write over what this agent does not know."""
    if known is None:
        raise AgentFileError(
            f"{path} exists, and this agent was neither loaded from it nor saved to "
            "it; saving would lose what is there. Load it with Agent.load, save under "
            "another name, or say save(path, overwrite=True)."
        )
    if _fingerprint(_read(path)) != known:
        raise AgentFileError(
            f"{path} was changed by another process since this agent was loaded from "
            "it or saved to it; saving would lose that. Load it again and repeat, or "
            "change it under `with Agent.update(path) as agent`, which holds the file; "
            "or save under another name."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a file holds; its method and its packet are looked into when they are used.

    To write a result down needs neither, and to load what they need takes longer than
    all the rest.
    """

    path: Path
    """The file."""
    setup: Setup
    """The configuration, its method and settings not checked yet."""
    guidance: Mapping[str, Any]
    """What is held of the other sites, as it was written."""
    trials: tuple[Trial, ...]
    """Every trial."""
    summary: Summary
    """What the model last said."""
    fingerprint: str
    """Of the file's text."""

    def opened(self) -> "tuple[Setup, Guidance]":
        """Return the configuration and what is held, checked to the last field."""
        from guidefbo.site.guidance import guidance_from_form

        with _blamed_on(self.path):
            setup = self.setup.checked()
            return setup, guidance_from_form(
                self.guidance, door_of(setup, setup.policy())
            )


def load_agent(path: Path) -> Stored:
    """Return what a file holds, every field checked but those of its method."""
    text = _read(path)
    with _blamed_on(path):
        form = _parse(text)
        is_old = form["version"] == 1
        described = as_table(form["setup"], "setup")
        setup = Setup.from_form(
            renew_setup(described, path.stem) if is_old else described,
            knows_method=is_old,
        )
        held = as_table(form["guidance"], "guidance")
        held = renew_guidance(held, setup) if is_old else held
        trials = [
            _trial_from_form(item, k, setup)
            for k, item in enumerate(as_list(form["trials"], "trials"), start=1)
        ]
        orders = [record.order for trial in trials for record in trial.records]
        if len(set(orders)) != len(orders):
            raise DataError("expected every record to have an order of its own.")
        return Stored(
            path=path,
            setup=setup,
            guidance=held,
            trials=tuple(trials),
            summary=_summary(form, held, setup, trials),
            fingerprint=_fingerprint(text),
        )


def _trial_from_form(form: Any, number: int, setup: Setup) -> Trial:
    try:
        return trial_from_form(form, number, setup)
    except KeyError as error:
        raise DataError(f"trial {number}: {error} is missing.") from error
    except (FedBOError, ValueError, TypeError) as error:
        raise DataError(f"trial {number}: {error}") from error


def _summary(
    form: Mapping[str, Any],
    held: Mapping[str, Any],
    setup: Setup,
    trials: list[Trial],
) -> Summary:
    """Return what a file says the model said.

    Earlier files say nothing of it, and somebody may have changed the results by hand:
    then there is what the guidance says, or nothing.
    """
    damaged = (FedBOError, KeyError, ValueError, TypeError)
    with suppress(*damaged):
        return Summary.from_form(form["summary"], setup, trials)
    with suppress(*damaged):
        return Summary(held=Held.from_guidance(held))
    return Summary()


@contextmanager
def _blamed_on(path: Path) -> Generator[None, None, None]:
    """Say of an error in the block that it is in a file."""
    try:
        yield
    except AgentFileError as error:
        raise AgentFileError(f"{path}: {error}") from error
    except UnknownNameError as error:
        raise AgentFileError(
            f"{path} needs a name that is not known here: {error} If it is a method of "
            "your own, install its package, or register it with guidefbo.register."
        ) from error
    except KeyError as error:
        raise AgentFileError(f"{path} is damaged: {error} is missing.") from error
    except (FedBOError, ValueError, TypeError, RecursionError) as error:
        raise AgentFileError(f"{path} is damaged or not an agent: {error}") from error


def _read(path: Path) -> str:
    try:
        return read_file(path, MAX_BYTES).decode("utf-8")
    except (InputError, ValueError) as error:
        reason = error if isinstance(error, InputError) else "it is not text"
        hint = f"Create an agent with: guidefbo init {path} SPACE.toml --goal max"
        if path.exists():
            hint = "Name the file of an agent."
        raise AgentFileError(f"Cannot read {path}: {reason}. {hint}") from error


def _fingerprint(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _parse(text: str) -> Mapping[str, Any]:
    parsed = json.loads(
        text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys
    )
    form = as_table(parsed, "the file")
    if form.get("format") != FORMAT:
        raise AgentFileError(
            f"expected an agent's file (format {FORMAT!r}), got "
            f"{shown(form.get('format'))}."
        )
    version = form.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise AgentFileError(
            f"expected version {VERSION}, got {shown(version)}. A newer guidefbo may "
            "have written it: upgrade."
        )
    return form


def _refuse_constant(name: str) -> NoReturn:
    raise DataError(f"expected finite numbers, got {name}.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"expected each field once, got {shown(twice)} twice.")
    return fields
