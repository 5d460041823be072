"""Files and commands that a page shows, as its reader would take them."""

import re
import shlex
import sys
from pathlib import Path

FENCE = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    flags=re.M | re.S,
)


def fences(text):
    """Return all blocks of code of a page, in order."""
    return list(FENCE.finditer(text))


def files_in(text):
    """Return the files a page shows by name; pieces of one file are put together."""
    pieces = {}
    for block in fences(text):
        if block["title"]:
            pieces.setdefault(block["title"], []).append(block["text"])
    return {name: "\n\n".join(parts) for name, parts in pieces.items()}


def lay_out(text, folder):
    """Write the files a page shows into a folder."""
    for name, content in files_in(text).items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def commands_in(text):
    """Return the command lines of a page, in order."""
    shells = [block["text"] for block in fences(text) if block["language"] == "sh"]
    lines = [line for shell in shells for line in shell.splitlines()]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def to_words(line):
    """Return a command line as it is started here: by this interpreter."""
    program, *words = shlex.split(line, comments=True)
    if program == "guidefbo":
        return [sys.executable, "-m", "guidefbo", *words]
    assert program == "python3", f"no command of a reader's: {line}"
    return [sys.executable, *words]
