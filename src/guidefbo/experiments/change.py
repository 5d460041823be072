"""Change a study from the shell: every run of it gets another value of a field.

    guidefbo study run main --change num_rounds=10 --change beta=2,4

The value replaces whatever [common], the grids and the variants of the study say. A
list makes an axis.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.core.settings import number_or_text
from guidefbo.experiments.plan import DEFAULT_METHOD
from guidefbo.experiments.study import (
    RUN_FIELDS,
    Study,
    Table,
    as_list,
    check_values,
)
from guidefbo.methods.registry import find_method

FIELDS = RUN_FIELDS - {"settings"}
"""Fields of a run that can be changed as they are."""
ELSEWHERE = {
    "seed": "Say --repetitions, or first_seed in the study's file.",
    "repetitions": "Say --repetitions.",
    "first_seed": "Say first_seed in the study's file.",
    "variant": "Choose among them with --where variant=NAME.",
    "settings": "Name one of them, for example --change settings.beta=2.",
}
"""What is no field of a run, and what to do instead."""


def change_study(study: Study, changes: Iterable[str]) -> Study:
    """Return the study with other values in all of its runs.

    Args:
        study: The study as it was written, which `definition` goes on to be.
        changes: Texts `key=value` or `key=a,b`. A key is a field of a run or a setting,
            with or without `settings.` before it.
    """
    pairs = [_parse(text) for text in changes]
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise SettingsError(
                f"--change {key} is given twice. Write {key}=a,b for both values."
            )
    for key, value in pairs:
        if key in FIELDS:
            study = _with_field(study, key, value)
    # Settings after fields, since a change of method brings other settings.
    settings = {key: value for key, value in pairs if key not in FIELDS}
    known = {name for m in _methods_of(study) for name in find_method(m).run_settings}
    for key in settings:
        if key not in known:
            refuse_unknown("field or setting of the study", key, known | FIELDS)
    return replace(
        _with_settings(study, settings) if settings else study,
        changes=(*study.changes, *(f"{key}={_written(value)}" for key, value in pairs)),
    )


def _parse(text: str) -> tuple[str, Any]:
    key, separator, written = text.partition("=")
    key = key.strip().removeprefix("settings.")
    items = [number_or_text(item.strip()) for item in written.split(",")]
    if not separator or not key or "" in items:
        raise SettingsError(
            f"A change is written key=value or key=a,b, got {text!r}. For example "
            "--change num_rounds=10."
        )
    if key in ELSEWHERE:
        raise SettingsError(f"--change does not set {key}. {ELSEWHERE[key]}")
    value = items if len(items) > 1 else items[0]
    check_values(key, value, "--change")
    return key, value


def _with_field(study: Study, key: str, value: Any) -> Study:
    return replace(
        study,
        grids=tuple({**grid, key: value} for grid in study.grids),
        variants=_mapped(study.variants, lambda table: _without(table, [key])),
    )


def _with_settings(study: Study, settings: Table) -> Study:
    def changed(grid: Table) -> Table:
        return {**grid, "settings": {**grid.get("settings", {}), **settings}}

    def narrowed(table: Table) -> Table:
        kept = _without(cast(Table, table.get("settings", {})), settings)
        return {**table, "settings": kept}

    return replace(
        study,
        grids=tuple(changed(grid) for grid in study.grids),
        variants=_mapped(study.variants, narrowed),
    )


def _methods_of(study: Study) -> set[str]:
    """Return every method that a run of the study may have."""
    given = [grid.get("method", DEFAULT_METHOD) for grid in study.grids]
    given += [t["method"] for t in study.variants.values() if "method" in t]
    return {str(name) for names in given for name in as_list(names)}


def _mapped(
    tables: Mapping[str, Table], do: Callable[[Table], Table]
) -> Mapping[str, Table]:
    return MappingProxyType({name: do(table) for name, table in tables.items()})


def _without(table: Table, names: Collection[str]) -> Table:
    return {name: value for name, value in table.items() if name not in names}


def _written(value: Any) -> str:
    return ",".join(map(str, as_list(value)))
