"""From a study to its rows: one per run, repetitions outermost.

Repetitions come first so that an interrupted study holds whole tables of the first
seeds. Equal runs have one key: a row may stand in two grids and is run once. A setting
that a method does not use changes no run of it and is left out of its rows, so that
along an axis of such a setting the method has one row.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, cast

from guidefbo.core.checks import is_whole_number
from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.core.settings import Setting
from guidefbo.experiments.fingerprint import Codes
from guidefbo.experiments.keys import base_of, run_key
from guidefbo.experiments.study import Study, Table, as_list, require_repetitions
from guidefbo.experiments.study_json import Row
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import PROBLEMS
from guidefbo.simulation.spec import RunSpec

ALL = "all"
"""Stands for every problem of the catalogue."""
DEFAULT_METHOD = "guide-ucb"
"""What is run where a study names no method."""
MAX_ROWS = 200_000
"""Most runs of a study: years of work, and more files than a folder likes."""
TASK_FIELDS = ("problem", "dim", "level", "common_shift", "num_agents", "seed")
"""Fields the agents' tasks depend on."""


def plan_rows(
    study: Study, *, repetitions: int | None = None, where: Sequence[str] = ()
) -> tuple[Row, ...]:
    """Return the rows of a study.

    Args:
        study: What is to be run.
        repetitions: Seeds, if not the study's own number.
        where: Conditions `key=a,b` that rows must meet, all of them.
    """
    count = study.repetitions
    if repetitions is not None:
        count = require_repetitions(repetitions)
    _check_size(study, count)
    _check_settings(study)
    seeds = range(study.first_seed, study.first_seed + count)
    codes = Codes()
    rows = [
        _row(study, grid, combination, seed, codes)
        for number, seed in enumerate(seeds)
        for grid in study.grids
        if number < grid.get("repetitions", count)
        for combination in _combinations(grid, study.variants)
    ]
    unique = list(dict.fromkeys((row.key, row.variant, row.group) for row in rows))
    first = {(row.key, row.variant, row.group): row for row in reversed(rows)}
    return _narrow([first[identity] for identity in unique], where)


def merge_rows(
    study: Study, former: Collection[Row], asked: Collection[Row]
) -> tuple[Row, ...]:
    """Return former and newly asked rows together, in the order of the study.

    A row that was asked for before is asked for anew, by the code of now.
    """
    wanted = {_identity(row): row for row in (*former, *asked)}
    if len(wanted) == len(asked):
        return tuple(asked)
    # One repetition tells the order; what the study no longer asks for comes last.
    one = (_kind(row) for row in plan_rows(study, repetitions=1))
    order = {kind: place for place, kind in enumerate(one)}
    places = {
        identity: (_seed(row), order.get(_kind(row), len(order)))
        for identity, row in wanted.items()
    }
    return tuple(
        wanted[identity] for identity in sorted(wanted, key=places.__getitem__)
    )


def canonical_spec(spec: RunSpec) -> dict[str, Any]:
    """Return the spec without the settings that are at their default."""
    known = find_method(spec.method).run_settings
    form = spec.to_dict()
    form["settings"] = {
        name: value
        for name, value in sorted(form["settings"].items())
        if known[name].default != value
    }
    return form


def unused_settings(study: Study, rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Return which of the rows' methods do not use a setting the study gives them."""
    planned = {row.spec.get("method") for row in rows}
    given = {m: names for m, names in _given_settings(study).items() if m in planned}
    found: dict[str, list[str]] = {}
    for method, names in given.items():
        for name in sorted(names - find_method(method).run_settings.keys()):
            found.setdefault(name, []).append(method)
    return {name: tuple(methods) for name, methods in found.items()}


def _given_settings(study: Study) -> dict[str, set[str]]:
    """Return the settings that the study gives to each method."""
    given: dict[str, set[str]] = {}
    for grid in study.grids:
        for table in _combinations(grid, study.variants):
            given.setdefault(_method_of(table), set()).update(table["settings"])
    return given


def _check_settings(study: Study) -> None:
    """Refuse a setting that no method of the study has."""
    given = _given_settings(study)
    known = {n for method in given for n in find_method(method).run_settings}
    for name in sorted({name for names in given.values() for name in names} - known):
        refuse_unknown("setting of the study's methods", name, known)


def _method_of(table: Mapping[str, Any]) -> str:
    return cast(str, table.get("method", DEFAULT_METHOD))


def _check_size(study: Study, count: int) -> None:
    """Refuse more runs than anybody waits for, before they are listed."""
    sizes = (
        math.prod(map(len, _axes_of(grid).values())) * count for grid in study.grids
    )
    if (num_rows := sum(sizes)) > MAX_ROWS:
        raise SettingsError(
            f"A study has at most {MAX_ROWS} runs, and {study.name} asks for "
            f"{num_rows}: the product of its axes and {count} repetitions. Shorten an "
            "axis, or split the study."
        )


def _seed(row: Row) -> int:
    seed = row.spec.get("seed")
    return cast(int, seed) if is_whole_number(seed) else -1


def _kind(row: Row) -> str:
    """Return what rows have in common that differ in their seed only."""
    spec = {name: value for name, value in row.spec.items() if name != "seed"}
    return json.dumps([row.variant, row.group, spec], sort_keys=True)


def _identity(row: Row) -> tuple[str, str | None, str | None]:
    return base_of(row.key), row.variant, row.group


def _row(
    study: Study, grid: Table, given: dict[str, Any], seed: int, codes: Codes
) -> Row:
    variant = given.pop("variant", None)
    known = find_method(_method_of(given)).run_settings
    settings = {k: v for k, v in given["settings"].items() if k in known}
    arguments: dict[str, Any] = {**given, "settings": settings, "seed": seed}
    form = canonical_spec(RunSpec(**arguments))
    if study.measure == "similarity":
        form = {name: form[name] for name in TASK_FIELDS}
    code = codes.of(form)
    return Row(
        key=run_key(form, code),
        spec=form,
        code=code,
        variant=variant,
        group=grid.get("name"),
    )


def _combinations(grid: Table, variants: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Return one table of plain values for each combination of the axes."""
    axes = _axes_of(grid)
    combinations = product(*axes.values())
    return [_table(dict(zip(axes, c, strict=True)), variants) for c in combinations]


def _axes_of(grid: Table) -> dict[str, list[Any]]:
    """Return the values of each field."""
    axes: dict[str, list[Any]] = {}
    for key, value in grid.items():
        if key == "settings":
            for name, item in cast(Table, value).items():
                axes[f"settings.{name}"] = as_list(item)
        elif key == "problem" and value == ALL:
            axes[key] = list(PROBLEMS)
        elif key not in ("name", "repetitions"):
            axes[key] = as_list(value)
    return axes


def _table(chosen: dict[str, Any], variants: Mapping[str, Table]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    table: dict[str, Any] = {}
    for key, value in chosen.items():
        if key.startswith("settings."):
            settings[key.removeprefix("settings.")] = value
        else:
            table[key] = value
    if "variant" in table:
        variant = variants[table["variant"]]
        settings |= variant.get("settings", {})
        table |= {k: v for k, v in variant.items() if k != "settings"}
    return table | {"settings": settings}


def _narrow(rows: list[Row], where: Sequence[str]) -> tuple[Row, ...]:
    all_settings = {name for row in rows for name in _settings_of(row)}
    for condition in where:
        key, separator, text = condition.partition("=")
        if not separator or not text:
            raise SettingsError(
                f"A condition is written key=a,b, got {condition!r}. For example "
                "--where method=ucb,guide-ucb --where level=1."
            )
        key = key.strip().removeprefix("settings.")
        allowed = {part.strip() for part in text.split(",") if part.strip()}
        present = {
            _shown(row, key) for row in rows if _uses(row, key, all_settings)
        } - {None}
        if not present:
            refuse_unknown("field", key, _axes(rows))
        unknown = {part for part in allowed if not any(_same(part, p) for p in present)}
        if unknown:
            raise SettingsError(
                f"No run of the study has {key}={','.join(sorted(unknown))}. "
                f"There is {', '.join(sorted(map(str, present)))}."
            )
        rows = [
            row
            for row in rows
            if not _uses(row, key, all_settings)
            or any(_same(part, _shown(row, key)) for part in allowed)
        ]
    return tuple(rows)


def _shown(row: Row, key: str) -> str | None:
    """Return a row's value on an axis as a text, None where it has none."""
    if key == "variant":
        return row.variant
    if key in ("grid", "group"):
        return row.group
    if key in row.spec and key != "settings":
        return str(row.spec[key])
    settings = row.spec.get("settings", {})
    if key in settings:
        return str(settings[key])
    known = _settings_of(row)
    return str(known[key].default) if key in known else None


def _uses(row: Row, key: str, all_settings: Collection[str]) -> bool:
    """Whether a row has a value on an axis.

    A row whose method does not use a setting stands for all values of it.
    """
    return key not in all_settings or key in _settings_of(row)


def _settings_of(row: Row) -> dict[str, Setting]:
    """Return what the method of a row can be set to."""
    method = row.spec.get("method")
    return {} if method is None else find_method(method).run_settings


def _axes(rows: list[Row]) -> set[str]:
    names: set[str] = set()
    for row in rows:
        names |= set(row.spec) | set(row.spec.get("settings", {}))
        names |= {"variant"} if row.variant else set()
        names |= {"group"} if row.group else set()
    return names - {"settings"}


def _same(asked: str, present: str | None) -> bool:
    if present is None:
        return False
    try:
        return float(asked) == float(present)
    except ValueError:
        return asked == present
