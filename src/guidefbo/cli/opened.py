"""Opens an agent's file for a command, and checks output paths."""

import shlex
from contextlib import AbstractContextManager
from pathlib import Path

from guidefbo.cli.speech import notice
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import InputError, check_writable, read_start
from guidefbo.site.agent import Agent
from guidefbo.site.file import FORMAT as AGENT_FORMAT


def changing(file: Path, wait: float) -> AbstractContextManager[Agent]:
    """Hold the file, load its agent, and save it where the block raises nothing."""
    return Agent.update(file, wait=wait, notice=notice)


def check_output(out: Path, *inputs: Path) -> None:
    """Refuse an output that cannot be written or is an input as well."""
    for file in inputs:
        if out.exists() and file.exists() and out.samefile(file):
            raise SettingsError(
                f"{out} is read by this command and would be overwritten. Name another "
                "file."
            )
    check_writable(out)


def refuse_agent(out: Path) -> None:
    """Refuse to write a message or a picture over somebody's results."""
    if _is_agent(out):
        raise SettingsError(
            f"{out} holds an agent and would be lost. Name another file, or remove it "
            "first."
        )


def _is_agent(path: Path) -> bool:
    return path.is_file() and AGENT_FORMAT.encode() in read_bytes(path, 200)


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the start of a file, a byte more than the limit where it is longer."""
    try:
        return read_start(path, limit)
    except InputError as error:
        raise InputError(f"Cannot read {path}: {error}.") from error


def command(name: str, file: Path, *words: str) -> str:
    """Return a command a person can paste into a shell."""
    return " ".join(["guidefbo", name, shlex.quote(str(file)), *words])
