"""The search space of a table, and whether the table answers every question.

A column of numbers is a `Float`, or an `Int` where all are whole; a column of texts is
a `Choice`. Where every site has a row for every combination of the levels of all
columns, the table is complete and is looked up exactly. Its numbers are then an ordered
grid: consecutive whole numbers are an `Int`, other columns `Levels`.
"""

import re
from collections.abc import Collection, Sequence
from math import prod
from pathlib import Path
from typing import Any

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError, SpaceError
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Choice, Float, Int, Parameter
from guidefbo.core.space.space import Space
from guidefbo.problems.table_data import Table, number_of

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
"""A number as spreadsheets of many countries write it."""
LARGEST_WHOLE = 2**53
"""Whole numbers beyond this are not exact as floats."""


def settings_of(space: Space, table: Table) -> list[dict[str, Any]]:
    """Return the values of the parameters in every row of a table."""
    columns: dict[str, list[Any]] = {}
    for name, parameter in space.parameters.items():
        texts = table.columns[name]
        known = {text: _value(name, parameter, text) for text in dict.fromkeys(texts)}
        columns[name] = [known[text] for text in texts]
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def infer(
    table: Table,
    path: Path,
    *,
    choices: Collection[str] = (),
    logs: Collection[str] = (),
    is_exact: bool,
) -> Space:
    """Return what the columns of a table stand for.

    Args:
        table: The results.
        path: The file, for messages.
        choices: Columns of numbers that have no order.
        logs: Columns of numbers on a logarithmic scale.
        is_exact: Whether the table is looked up.
    """
    for name in (*choices, *logs):
        if name not in table.columns:
            raise DataError(
                f"{path} has no parameter {name!r}; it has {', '.join(table.columns)}."
            )
    parameters: dict[str, Parameter] = {}
    for name, texts in table.columns.items():
        numbers = _numbers(name, texts, table, path, is_choice=name in choices)
        if len(set(texts)) < 2 or (numbers and len(set(numbers)) < 2):
            raise DataError(
                f"{path}: {name} is {texts[0]} in every row, so that nothing is known "
                f"about it. Leave it out: --ignore {name}."
            )
        try:
            if numbers is None and all(map(DECIMAL_COMMA.fullmatch, texts)):
                raise DataError(
                    f"{path}: {name} has numbers with a decimal comma, such as "
                    f"{texts[0]}. Write a point, not a comma."
                )
            if numbers is None:
                parameters[name] = Choice(*sorted(set(texts)))
            elif name in choices:
                parameters[name] = Choice(*map(_tidy, sorted(set(numbers))))
            elif is_exact and not _are_consecutive(numbers):
                levels = map(_tidy, sorted(set(numbers)))
                parameters[name] = Levels(*levels, log=name in logs)
            else:
                parameters[name] = _range(numbers, log=name in logs)
        except SpaceError as error:
            raise DataError(f"{path}: {name}: {error}") from error
    try:
        return Space(**parameters)
    except SpaceError as error:
        raise DataError(f"{path}: {error}") from error


def count_settings(space: Space) -> int | None:
    """Return how many settings a space has, None where a number is not in steps."""
    sizes = [
        p.num_levels if isinstance(p, Int | Levels) else p.size
        for p in space.parameters.values()
        if not isinstance(p, Float)
    ]
    return prod(sizes) if len(sizes) == len(space.parameters) else None


def _numbers(
    name: str, texts: Sequence[str], table: Table, path: Path, *, is_choice: bool
) -> list[float] | None:
    """Return a column as numbers, None where it is one of texts."""
    numbers = [number_of(text) for text in texts]
    if None not in numbers:
        return [n for n in numbers if n is not None]
    is_mixed = any(number is not None for number in numbers)
    if is_mixed and not is_choice:
        place = numbers.index(None)
        hint = " Write a point, not a comma." if "," in texts[place] else ""
        raise DataError(
            f"{path}, row {table.numbers[place]}: {name} is {shown(texts[place])} "
            f"here and a number elsewhere. Correct it, leave the row out, or say that "
            f"all are options without an order: --choice {name}.{hint}"
        )
    return None


def _are_consecutive(numbers: list[float]) -> bool:
    distinct = sorted(set(numbers))
    return all(n.is_integer() for n in distinct) and (
        distinct[-1] - distinct[0] == len(distinct) - 1
    )


def _range(numbers: list[float], *, log: bool) -> Parameter:
    low, high = min(numbers), max(numbers)
    if all(n.is_integer() and abs(n) < LARGEST_WHOLE for n in numbers):
        return Int(int(low), int(high), log=log)
    return Float(low, high, log=log)


def _tidy(number: float) -> float:
    return int(number) if number.is_integer() else number


def _value(name: str, parameter: Parameter, text: str) -> Any:
    """Return the value of a parameter that a cell stands for."""
    if isinstance(parameter, Choice):
        return _option(text, parameter)
    number = number_of(text)
    if number is None:
        raise SpaceError(f"Parameter {name}: expected a number, got {shown(text)}.")
    if isinstance(parameter, Levels):
        if number not in parameter.values:
            raise SpaceError(f"Parameter {name}: {text} is none of its levels.")
        return parameter.clean(number)
    return int(number) if isinstance(parameter, Int) else number


def _option(text: str, choice: Choice) -> Any:
    if text in choice.options:
        return text
    number = number_of(text)
    if number is not None and number in choice.options:
        return choice.clean(number)
    raise SpaceError(f"{shown(text)} is none of the options {choice!r}.")
