"""Arrays of an .npz file that may come from anywhere.

NumPy's own reader makes room for whatever a header claims. Here an array is looked at
before its numbers are read: it must have the shape and the type that are expected, and
nothing of a file is run.
"""

import math
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from guidefbo.core.files import InputError, read_file
from guidefbo.core.names import is_name

MAX_NUMBERS = 10**8
"""Numbers in one array."""
MAX_FAMILY = 64
"""Arrays of names that begin alike."""
ENDING = ".npy"

Array = NDArray[Any]
Shape = tuple[int | None, ...]
"""Length of each axis; None is any."""


Form = tuple[Shape, "np.dtype[Any]"]
"""Shape and type of an array."""


def read_arrays(
    path: Path,
    limit: int,
    expected: Mapping[str, Form],
    families: Mapping[str, Form] = MappingProxyType({}),
) -> dict[str, Array]:
    """Return the arrays of a file by name, or raise `InputError`.

    Args:
        path: The file.
        limit: Most bytes it may have.
        expected: Shape and type of each array; others in the file are passed over.
        families: Shape and type of arrays that may be there, by how their names begin.
    """
    try:
        with ZipFile(BytesIO(read_file(path, limit))) as archive:
            forms = dict(expected)
            for beginning, form in families.items():
                forms |= dict.fromkeys(_family(archive, beginning), form)
            return {name: _read(archive, name, *form) for name, form in forms.items()}
    except InputError:
        raise
    except (
        # The second line: compressions and encryption that zipfile does not know.
        *(BadZipFile, KeyError, ValueError, EOFError, zlib.error),
        *(NotImplementedError, RuntimeError, OSError),
    ) as error:
        raise InputError(str(error)) from error


def _family(archive: ZipFile, beginning: str) -> list[str]:
    """Return the names of the arrays that begin so."""
    listed = [n for n in archive.namelist() if n.startswith(beginning)]
    ends = [n.removeprefix(beginning).removesuffix(ENDING) for n in listed]
    if len(ends) > MAX_FAMILY or not all(map(is_name, ends)):
        raise ValueError(f"it has {len(ends)} arrays {beginning}..., or of odd names")
    return [beginning + end for end in ends]


def _read(archive: ZipFile, name: str, shape: Shape, kind: "np.dtype[Any]") -> Array:
    with archive.open(f"{name}{ENDING}") as file:
        if npy.read_magic(file) != (1, 0):
            raise ValueError(f"{name} is of another version of NumPy's format")
        found, is_fortran, found_kind = npy.read_array_header_1_0(file)
        fits = len(found) == len(shape) and all(
            given >= 0 and length in (None, given)
            for length, given in zip(shape, found, strict=True)
        )
        if not fits or found_kind != kind or is_fortran:
            order = ", column by column" if is_fortran else ""
            raise ValueError(
                f"{name} is a {found_kind} array of shape {found}{order}, not a {kind} "
                f"one of {shape} in C order"
            )
        if math.prod(found) > MAX_NUMBERS:
            raise ValueError(f"{name} has shape {found}: too many numbers to be read")
        size = math.prod(found) * kind.itemsize
        data = file.read(size + 1)
    if len(data) != size:
        raise ValueError(f"{name} has {len(data)} bytes, expected {size}")
    return np.frombuffer(data, dtype=kind).reshape(found)
