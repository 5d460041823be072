"""The git commit of the running code, stored with results."""

import re
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
UNKNOWN = "unknown"
STAMP = re.compile(r"^(?:Made|Committed) at commit [^.;]+[.;].*$", flags=re.M)
"""A line with which a table says what code it measured."""


@lru_cache(maxsize=1)
def code_commit() -> str:
    """Return the commit this package was loaded from.

    With `-dirty` at its end where tracked files differ from it, documents apart;
    "unknown" where the package is no part of a checkout.
    """
    try:
        # Not any checkout around it: a virtual environment may lie within one.
        _git("ls-files", "--error-unmatch", "__init__.py")
        commit = _git("rev-parse", "--short=10", "HEAD")
        top = _git("rev-parse", "--show-toplevel")
        changes = _git(
            *("-C", top, "status", "--porcelain", "--untracked-files=no"),
            *("--", ".", ":(exclude)docs"),
        )
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return f"{commit}-dirty" if changes else commit


def stamp(*commits: str) -> str:
    """Return the line with which a table says what code it measured.

    Args:
        commits: Of its parts; none for the code that runs.
    """
    return f"Made at commit {', '.join(sorted(set(commits)) or [code_commit()])}."


def with_commit(record: dict[str, Any]) -> dict[str, Any]:
    """Return a run record that names the code that made it."""
    environment = {**record["environment"], "commit": code_commit()}
    return {**record, "environment": environment}


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=PACKAGE, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
