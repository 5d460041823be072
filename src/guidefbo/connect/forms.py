"""Small JSON files of a link: strictly read, limited in size, replaced as a whole."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

from guidefbo.connect.errors import LinkError
from guidefbo.core.checks import shown
from guidefbo.core.files import InputError, read_file, write_atomically


def write_form(
    path: Path,
    kind: str,
    fields: Mapping[str, Any],
    *,
    mode: int | None = None,
    is_followed: bool = True,
) -> None:
    """Write the fields under a format's name, whole or not at all.

    Args:
        path: The file.
        kind: Its format.
        fields: What it says; JSON values.
        mode: Its rights; None: as they were, or an ordinary file's.
        is_followed: Whether a link at that name is followed, or replaced because
            somebody else may have put it there.
    """
    form = {"format": kind, "version": 1, **fields}
    text = json.dumps(form, indent=1, allow_nan=False) + "\n"
    write_atomically(path, text, mode=mode, is_followed=is_followed)


def read_form(
    path: Path, kind: str, names: set[str], *, limit: int = 1 << 16
) -> dict[str, Any]:
    """Return the fields of a file, all of them and no others, or say what is wrong.

    Args:
        path: The file.
        kind: Its format.
        names: The fields it must have.
        limit: Most bytes it may have.
    """
    try:
        form: Any = json.loads(
            read_file(path, limit).decode(),
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique,
        )
    except InputError as error:
        raise LinkError(f"Cannot read {path}: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise LinkError(f"{path} is damaged: {error}.") from error
    fields = cast(dict[str, Any], form) if isinstance(form, dict) else {}
    if fields.get("format") != kind:
        raise LinkError(f"{path} is damaged: expected the format {kind!r}.")
    if fields.get("version") != 1:
        raise LinkError(
            f"{path} is of version {shown(fields.get('version'))}, and 1 is known "
            "here. A newer guidefbo may have written it: upgrade."
        )
    del fields["format"], fields["version"]
    if fields.keys() != names:
        raise LinkError(
            f"{path} is damaged: missing {sorted(names - fields.keys())}, unknown "
            f"{shown(sorted(fields.keys() - names))}."
        )
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, got {name}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    form = dict(pairs)
    if len(form) != len(pairs):
        raise ValueError("a field stands there twice")
    return form
