"""A study as its author writes it, in TOML.

    name = "beta"
    title = "How much exploration?"
    repetitions = 5                    # seeds 0 to 4
    sections = ["regret", "ranks"]     # of the report; none: what the runs allow
    plugins = ["mine.py"]              # methods of one's own, in files beside this one

    [common]                           # what all runs share
    level = 2
    problem = ["ackley", "sphere"]     # a list is an axis: one run per value

    [[grid]]                           # one run per combination; several add up
    repetitions = 3                    # fewer seeds than the study, if wanted
    method = ["ucb", "guide-ucb"]
    settings.beta = [1, 2, 4]

    [[grid]]
    variant = ["bold"]

    [variants.bold]                    # a name for a method with settings
    method = "guide-ucb"
    settings = { max_strength = 2.0 }

Fields are those of a run: problem ("all" for the whole catalogue), dim, level,
common_shift, noise, noise_units, method, num_agents, num_initial, num_rounds,
exchange_interval, settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from guidefbo.core.checks import (
    MAX_SEED,
    is_finite_number,
    is_plain_text,
    require_count,
    shown,
)
from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.core.files import InputError
from guidefbo.core.toml import TomlError, read_toml
from guidefbo.experiments.shipped import shipped_files
from guidefbo.methods.plugins import Plugin, load_plugin
from guidefbo.methods.record import Method
from guidefbo.methods.registry import find_method
from guidefbo.simulation.spec import RunSpec

RUN_FIELDS = frozenset(f.name for f in fields(RunSpec)) - {"seed"}
"""What a study may say about its runs; repetitions give the seeds."""
MAX_REPETITIONS = 10_000
"""Most seeds of a study."""
MEASURES = ("run", "similarity")
"""What is done for each row: run the method, or compare the agents' tasks."""
SECTIONS = (
    "realworld",
    "regret",
    "ranks",
    "matched",
    "transfer",
    "curves",
    "ablation",
    "sensitivity",
    "communication",
    "runtime",
    "similarity",
)
"""Sections a report knows."""
TOP = frozenset(
    {
        "name",
        "title",
        "text",
        "measure",
        "repetitions",
        "first_seed",
        "sections",
        "plugins",
        "common",
        "grid",
        "variants",
    }
)

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is to be run and what is to be reported."""

    name: str
    """Short name, also of its folder."""
    title: str = ""
    """One line."""
    text: str = ""
    """What the study is for."""
    measure: str = "run"
    """What is done for each row, one of `MEASURES`."""
    repetitions: int = 10
    """Seeds."""
    first_seed: int = 0
    """The first of them."""
    sections: tuple[str, ...] = ()
    """Sections of the report; none: what the runs allow."""
    grids: tuple[Table, ...]
    """Each a table of fields; a list is an axis."""
    variants: Mapping[str, Table] = field(
        default_factory=lambda: MappingProxyType(dict[str, Table]())
    )
    """Named methods with settings."""
    changes: tuple[str, ...] = ()
    """What was changed in all runs since it was written, as texts `key=value`."""
    records: tuple[Method, ...] = ()
    """Methods that were given as records; their workers need them too."""
    plugins: tuple[Plugin, ...] = ()
    """Files with methods of one's own, beside the study's."""
    definition: Table
    """The study as it was written."""


def load_study(name_or_path: str) -> Study:
    """Return the study of that name, or the one in that TOML file."""
    path = Path(name_or_path)
    if path.suffix != ".toml":
        known = shipped_files()
        if name_or_path not in known:
            if path.exists():
                raise SettingsError(
                    f"Expected the name of a study or a file NAME.toml, got {path}."
                )
            refuse_unknown("study", name_or_path, known)
        path = known[name_or_path]
    try:
        form = read_toml(path)
    except InputError as error:
        raise SettingsError(f"Cannot read {path}: {error}.") from error
    except TomlError as error:
        raise SettingsError(f"{path} is no TOML of a study: {error}.") from error
    try:
        study = parse_study(form, default_name=path.stem)
        return replace(study, plugins=_plugins(form.get("plugins", []), path.parent))
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _plugins(form: Any, folder: Path) -> tuple[Plugin, ...]:
    """Load the plugins of a study, which lie beside it."""
    names = as_list(form)
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise SettingsError(
                "plugins must be names of Python files beside the study, got "
                f"{shown(name)}."
            )
    plugins = tuple(Plugin.read(folder / name) for name in names)
    for plugin in plugins:
        load_plugin(plugin)
    return plugins


def list_studies() -> list[tuple[str, str]]:
    """Return the studies that come with the package, with their titles."""
    studies = [load_study(name) for name in shipped_files()]
    return [(study.name, study.title) for study in studies]


def parse_study(form: Table, default_name: str = "study") -> Study:
    """Check plain data and return the study it describes.

    In the place of a method's name may stand its record.
    """
    records: list[Method] = []
    form = cast(Table, _with_names(form, records))
    for key in form:
        if key not in TOP:
            refuse_unknown("entry of a study", key, TOP)
    name = form.get("name", default_name)
    if not isinstance(name, str) or not _is_plain(name):
        raise SettingsError(
            "The name of a study is letters, digits and '-' or '_' (it names a "
            f"folder), got {shown(name)}."
        )
    common = _fields(form.get("common", {}), "[common]")
    variants = _variants(form.get("variants", {}))
    grids = form.get("grid", [{}] if common else [])
    if not isinstance(grids, list) or not grids:
        raise SettingsError(
            "A study needs at least one [[grid]] with its axes, for example "
            'method = ["ucb", "guide-ucb"].'
        )
    return Study(
        name=name,
        title=_text(form, "title"),
        text=_text(form, "text"),
        measure=_one_of("measure", form.get("measure", "run"), MEASURES),
        repetitions=require_repetitions(form.get("repetitions", 10)),
        first_seed=require_count(
            "first_seed", form.get("first_seed", 0), 0, MAX_SEED - MAX_REPETITIONS
        ),
        sections=_sections(form.get("sections", [])),
        grids=tuple(_grid(item, common, variants) for item in cast(list[Any], grids)),
        variants=variants,
        records=tuple(records),
        definition=dict(form),
    )


def require_repetitions(count: Any) -> int:
    """Return a number of seeds, or refuse what arrived."""
    return require_count("repetitions", count, 1, MAX_REPETITIONS)


def _grid(item: Any, common: Table, variants: Mapping[str, Table]) -> Table:
    own = _fields(item, "[[grid]]", also=frozenset({"name", "variant", "repetitions"}))
    if "repetitions" in own:
        require_repetitions(own["repetitions"])
    for name in as_list(own.get("variant", [])):
        if name not in variants:
            refuse_unknown("variant", str(name), variants)
        _refuse_said_twice(own, str(name), variants[name])
    if not isinstance(own.get("name", ""), str):
        raise SettingsError(f"The name of a grid is a text, got {shown(own['name'])}.")
    _require_plain("The name of a grid", own.get("name", ""))
    settings = {**common.get("settings", {}), **own.get("settings", {})}
    grid = {**common, **own}
    return grid | {"settings": settings} if settings else grid


def _refuse_said_twice(grid: Table, name: str, variant: Table) -> None:
    """Refuse a variant that would overrule what its own grid says."""
    fields = (set(grid) & set(variant)) - {"settings"}
    settings = set(grid.get("settings", {})) & set(variant.get("settings", {}))
    twice = sorted(fields | {f"settings.{key}" for key in settings})
    if twice:
        raise SettingsError(
            f"Variant {name!r} says {', '.join(twice)}, and so does its [[grid]], "
            "whose values would never be run. Say it in one of the two."
        )


def _variants(form: Any) -> Mapping[str, Table]:
    if not isinstance(form, dict):
        raise SettingsError("Variants are written as tables [variants.NAME].")
    tables = cast(dict[str, Any], form)
    for name in tables:
        _require_plain("The name of a variant", name)
    return MappingProxyType(
        {name: _fields(item, f"[variants.{name}]") for name, item in tables.items()}
    )


def _fields(form: Any, where: str, also: frozenset[str] = frozenset()) -> Table:
    if not isinstance(form, dict):
        raise SettingsError(f"{where} must be a table of fields, got {shown(form)}.")
    table = cast(dict[str, Any], form)
    for key, value in table.items():
        if key not in RUN_FIELDS | also:
            if key == "seed":
                raise SettingsError(
                    f"{where} sets seed. Say `repetitions` (and `first_seed`) instead."
                )
            refuse_unknown(f"field of {where}", key, RUN_FIELDS | also)
        if key == "settings" and not isinstance(value, dict):
            raise SettingsError(
                f"{where} must give settings as a table, for example "
                f"settings.beta = 4, got {shown(value)}."
            )
        many: Table = {key: value} if key != "settings" else cast(Table, value)
        for name, item in many.items():
            check_values(name, item, where)
    return table


def check_values(name: str, value: Any, where: str) -> None:
    """Refuse what no field of a run can be; the run itself checks the rest."""
    if value == []:
        raise SettingsError(f"{where} gives no value for {name}.")
    for item in as_list(value):
        if not isinstance(item, str | bool) and not is_finite_number(item):
            raise SettingsError(
                f"{where} must give a text or a finite number for {name}, or a list "
                f"of them, got {shown(value)}."
            )


def _with_names(form: Any, records: list[Method]) -> Any:
    """Return plain data with names in the place of methods, which are entered."""
    if isinstance(form, Method):
        records.append(find_method(form))
        return form.name
    if isinstance(form, Mapping):
        table = cast(Table, form)
        return {key: _with_names(value, records) for key, value in table.items()}
    if isinstance(form, list):
        return [_with_names(item, records) for item in cast(list[Any], form)]
    return form


def as_list(value: Any) -> list[Any]:
    """Return the values of a field: those of a list, or a single one."""
    return cast(list[Any], value) if isinstance(value, list) else [value]


def _sections(form: Any) -> tuple[str, ...]:
    return tuple(_one_of("section", item, SECTIONS) for item in as_list(form))


def _one_of(kind: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        refuse_unknown(kind, str(value), known)
    return value


def _text(form: Table, key: str) -> str:
    value = form.get(key, "")
    if not isinstance(value, str):
        raise SettingsError(f"{key} must be a text, got {shown(value)}.")
    for line in value.replace("\t", " ").split("\n"):
        _require_plain(key, line.removesuffix("\r"))
    return value.strip()


def _require_plain(what: str, text: str) -> None:
    if not is_plain_text(text):
        raise SettingsError(
            f"{what} must be a text that can be printed, without control characters, "
            f"got {shown(text)}."
        )


def _is_plain(name: str) -> bool:
    return bool(name) and name.replace("-", "").replace("_", "").isalnum()
