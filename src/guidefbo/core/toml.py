"""TOML files that people write, read within limits."""

import re
import tomllib
from pathlib import Path
from typing import Any

from guidefbo.core.errors import FedBOError
from guidefbo.core.files import read_file

MAX_BYTES = 1 << 20
"""Far more than anybody writes by hand."""
MAX_DEPTH = 32
"""Names of a dotted key; the parser's time grows with their square."""
_NAME = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_TOO_DEEP = re.compile(
    rf"(?<![\w-]){_NAME}(?:[ \t]*+\.[ \t]*+{_NAME}){{{MAX_DEPTH},}}", re.ASCII
)


class TomlError(FedBOError, ValueError):
    """A file is not TOML; the message says why."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says, or raise `InputError` or `TomlError`."""
    data = read_file(path, MAX_BYTES)
    try:
        # Some editors put a byte order mark first; this encoding drops it.
        text = data.decode("utf-8-sig")
        if _TOO_DEEP.search(text):
            raise TomlError(f"a key of more than {MAX_DEPTH} names, one in the other")
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("lists or tables too deep in each other") from error
    except TomlError:
        raise
    except ValueError as error:
        raise TomlError(str(error)) from error
