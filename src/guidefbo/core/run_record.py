"""The format of a run record, and how its fields are read.

A file may come from anywhere: a field that is malformed counts as not there.
`simulation/trace.py` writes records.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from guidefbo.core.arrays import Values
from guidefbo.core.checks import is_finite_number

RUN_FORMAT = "guidefbo-run"
RUN_VERSION = 1
WEIGHT = "weight."
"""Before the name of a model, where a run says how likely it was."""
MAX_NUMBER = 1e100
"""Largest number in a record: sums and squares of such are finite."""

Numbers = Mapping[str, float]


def is_number(value: Any) -> bool:
    """Whether a value is a number that tables and figures can be made of."""
    return is_finite_number(value) and abs(value) <= MAX_NUMBER


def numbers_of(value: Any) -> Values | None:
    """Return a list of such numbers, one or more, as an array; None for others."""
    listed = list_of(value)
    is_curve = bool(listed) and all(map(is_number, listed))
    return np.array(listed, dtype=np.float64) if is_curve else None


def numbers(value: Any) -> dict[str, float]:
    """Return the entries of a table that are numbers."""
    return {str(k): float(v) for k, v in table_of(value).items() if is_number(v)}


def texts(value: Any) -> dict[str, str]:
    """Return the entries of a table as texts."""
    return {str(k): str(v) for k, v in table_of(value).items()}


def table_of(value: Any) -> dict[str, Any]:
    """Return a table, an empty one in place of anything else."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return a list, an empty one in place of anything else."""
    return cast(list[Any], value) if isinstance(value, list) else []
