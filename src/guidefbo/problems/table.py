"""A table of results as a problem: looked up exactly, or emulated.

Where every site of the table has a result for every setting, questions are answered
from the table alone: an observation is one of the results, the truth is their mean,
and the best setting is known. Elsewhere an emulator is fitted to each site's rows; an
observation has noise of the size that was found in them.

`table_form.py` has the description from which a problem is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError, FedBOError
from guidefbo.core.files import InputError, read_file
from guidefbo.core.names import to_name
from guidefbo.core.space.space import Space
from guidefbo.core.table_text import MAX_TABLE, read_text
from guidefbo.core.toml import TomlError, read_toml
from guidefbo.problems.emulator import Emulator, condition, groups_of
from guidefbo.problems.own import Tasks
from guidefbo.problems.table_data import Table, parse_table
from guidefbo.problems.table_form import (
    EXACT,
    Description,
    read_description,
    write_description,
)
from guidefbo.problems.table_space import count_settings, settings_of

Key = tuple[Any, ...]
"""Values of one setting in the order of the parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class LookedUp:
    """A site whose every setting is in the table."""

    names: Sequence[str]
    """Parameters, in the order of the keys."""
    results: Mapping[Key, Sequence[float]]
    """Results by setting, several where it was repeated."""

    def value(self, values: dict[str, Any]) -> float:
        """Return the mean of the results with a setting."""
        return float(np.mean(self._at(values)))

    def observe(self, values: dict[str, Any], stream: np.random.Generator) -> float:
        """Return one of the results with a setting."""
        found = self._at(values)
        return found[int(stream.integers(len(found)))]

    def _at(self, values: dict[str, Any]) -> Sequence[float]:
        return self.results[tuple(values[name] for name in self.names)]


@dataclass(frozen=True, slots=True, eq=False)
class Emulated:
    """A site whose table is continued by an emulator."""

    space: Space
    """What the values stand for."""
    emulator: Emulator
    """The function."""

    def value(self, values: dict[str, Any]) -> float:
        """Return the emulated result."""
        return float(self.emulator.predict(self.space.to_unit(values)[None])[0])

    def observe(self, values: dict[str, Any], stream: np.random.Generator) -> float:
        """Return it with noise of the size that was found in the table."""
        noise = np.sqrt(self.emulator.hyper.noise) * float(np.std(self.emulator.y))
        return self.value(values) + float(noise * stream.standard_normal())


def table_problem(path: Path) -> Tasks:
    """Return the sites of the table that a description, a TOML file, names."""
    try:
        description = read_description(read_toml(path))
    except (InputError, TomlError) as error:
        raise DataError(f"Cannot read {path}: {error}.") from error
    except FedBOError as error:
        raise DataError(
            f"{path}: {error} Expected what `guidefbo problems from-table` writes."
        ) from error
    table = path.parent / description.table
    try:
        state = table.stat()
    except OSError as error:
        raise DataError(
            f"Cannot read {table}, the table of {path}: {error.strerror}. It belongs "
            "beside its description."
        ) from error
    return _load(_Same(description), path, (state.st_size, state.st_mtime_ns))


class _Same:
    """A description that is the same as another one with equal content."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self._text = write_description(description, "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


# A study asks for its problem many times over.
@lru_cache(maxsize=8)
def _load(same: _Same, path: Path, state: tuple[int, int]) -> Tasks:
    description = same.description
    file = path.parent / description.table
    if digest(file) != description.sha256:
        raise DataError(
            f"{file} has changed since {path} was made of it. Run `guidefbo problems "
            "from-table` again."
        )
    try:
        table = parse_table(
            read_text(file),
            file,
            site=description.site,
            value=description.value,
            ignore=description.ignore,
        )
        return make_tasks(description, table)
    except FedBOError as error:
        raise DataError(f"{path} does not fit its table: {error}") from error


def digest(path: Path) -> str:
    """Return the digest of a table's file."""
    try:
        return sha256(read_file(path, MAX_TABLE)).hexdigest()
    except InputError as error:
        raise DataError(f"Cannot read {path}: {error}.") from error


def make_tasks(description: Description, table: Table) -> Tasks:
    """Return the sites of a table."""
    if description.kind == EXACT:
        sites, optima = _looked_up(description, table)
    else:
        sites, optima = _emulated(description, table), None
    has_noise = description.kind != EXACT or len(table.values) > sum(
        len(site.results) for site in sites if isinstance(site, LookedUp)
    )
    return Tasks(
        description.space,
        [site.value for site in sites],
        goal=description.goal,
        names=[to_name(name) for name in table.site_names],
        observers=[site.observe for site in sites] if has_noise else None,
        optima=optima,
        metric=description.metric,
        unit=description.unit,
        num_initial=description.num_initial,
        num_rounds=description.num_rounds,
        source=describe(description),
    )


def describe(description: Description) -> str:
    """Return in one sentence where the numbers come from, and which kind it is."""
    if description.kind == EXACT:
        return (
            f"{description.table}, looked up exactly: every site has a result for "
            "every setting"
        )
    errors = [fitted.error.rmse for fitted in description.emulators]
    shares = [fitted.error.r2 for fitted in description.emulators]
    unit = f" {description.unit}" if description.unit else ""
    return (
        f"{description.table}, emulated by a Gaussian process a site; cross-validated "
        f"error {_span(errors, '.3g')}{unit}, R² {_span(shares, '.2f')}"
    )


def _span(numbers: Sequence[float], form: str) -> str:
    ends = [format(number, form) for number in (min(numbers), max(numbers))]
    return " to ".join(dict.fromkeys(ends))


def results_by_site(space: Space, table: Table) -> dict[str, dict[Key, list[float]]]:
    """Return the results of every site by setting."""
    found: dict[str, dict[Key, list[float]]] = {name: {} for name in table.site_names}
    rows = zip(table.sites, settings_of(space, table), table.values, strict=True)
    for site, values, result in rows:
        found[site].setdefault(tuple(values.values()), []).append(float(result))
    return found


def is_complete(space: Space, table: Table) -> bool:
    """Whether every site has a result for every setting."""
    total = count_settings(space)
    found = results_by_site(space, table).values()
    return total is not None and all(len(results) == total for results in found)


def _looked_up(
    description: Description, table: Table
) -> tuple[list[LookedUp], list[float]]:
    if not is_complete(description.space, table):
        raise DataError("It does not hold every setting of every site.")
    found = results_by_site(description.space, table)
    names = tuple(description.space.parameters)
    sites = [LookedUp(names, results) for results in found.values()]
    best = max if description.goal == "max" else min
    optima = [best(float(np.mean(r)) for r in s.results.values()) for s in sites]
    return sites, optima


def _emulated(description: Description, table: Table) -> list[Emulated]:
    fitted = {emulator.site: emulator for emulator in description.emulators}
    if list(fitted) != table.site_names or len(fitted) != len(description.emulators):
        raise DataError(
            f"Expected an emulator for each of {shown(table.site_names)}, got "
            f"{shown(list(fitted))}."
        )
    space = description.space
    X = np.array([space.to_unit(row) for row in settings_of(space, table)])
    sites: list[Emulated] = []
    for name, emulator in fitted.items():
        rows = table.rows_of(name)
        made = condition(X[rows], table.values[rows], groups_of(space), emulator.hyper)
        sites.append(Emulated(space, made))
    return sites
