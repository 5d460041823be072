"""Reads a search space from a TOML file."""

from pathlib import Path

from guidefbo.core.errors import SpaceError
from guidefbo.core.files import InputError
from guidefbo.core.space.form import space_from_form
from guidefbo.core.space.space import Space
from guidefbo.core.toml import TomlError, read_toml

EXAMPLE_HINT = "For one to start from: guidefbo init --example > space.toml"


def read_space(path: Path, hint: str = EXAMPLE_HINT) -> Space:
    """Return the space in a TOML file.

    Args:
        path: The file.
        hint: What to do where there is none.
    """
    try:
        # Some editors put a byte order mark first; this encoding drops it.
        form = read_toml(path)
    except InputError as error:
        raise SpaceError(f"Cannot read the space {path}: {error}. {hint}") from error
    except TomlError as error:
        raise SpaceError(f"{path} is not TOML of a space: {error}.") from error
    try:
        return space_from_form(form)
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}") from error
