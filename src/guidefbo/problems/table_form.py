"""The description of a table of results: a TOML file beside the table.

format = "guidefbo-table"
version = 2
kind = "exact"            # or "emulated"
table = "results.csv"     # beside this file
sha256 = "..."            # of the table
site = "lab"              # its column of sites
value = "yield"           # its column of results
ignore = ["comment"]      # columns that are neither
goal = "max"
metric = "yield"
unit = "%"
num_initial = 10
num_rounds = 30

[parameters.dose]         # the search space
type = "levels"           # or float, int, choice, as in a site's file
values = [0.1, 1.0, 10.0]
log = false

[[emulators]]             # one a site
site = "north"
rows = 96
rmse = 1.2                # cross-validated, in the unit of the values
r2 = 0.91
lengthscales = [0.4]      # one a parameter
outputscale = 1.1
noise = 0.02
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any, cast

from guidefbo.core.checks import is_finite_number, is_whole_number, shown
from guidefbo.core.errors import DataError
from guidefbo.core.space.form import space_from_form, space_to_form
from guidefbo.core.space.space import Space
from guidefbo.problems.emulator import CrossValidated, Hyper

FORMAT = "guidefbo-table"
VERSION = 2
EXACT, EMULATED = "exact", "emulated"
FIELDS = (
    *("kind", "table", "sha256", "site", "value", "ignore", "goal", "metric", "unit"),
    *("num_initial", "num_rounds"),
)
"""Fields that are written as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The emulator of one site."""

    site: str
    """Name of the site, as in the table."""
    rows: int
    """Rows it was fitted to."""
    hyper: Hyper
    """Its settings."""
    error: CrossValidated
    """How well it predicts rows it has not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a description says; see the head of this module."""

    kind: str
    """Either exact or emulated."""
    table: str
    """Name of the table's file, beside the description."""
    sha256: str
    """Digest of that file."""
    site: str
    """Column of the sites."""
    value: str
    """Column of the results."""
    ignore: Sequence[str] = ()
    """Columns that are neither parameters nor results."""
    goal: str = "max"
    """Either max or min."""
    metric: str = "value"
    """What the results are called."""
    unit: str = ""
    """Their unit."""
    num_initial: int = 10
    """Initial evaluations where a run does not say how many."""
    num_rounds: int = 30
    """Rounds where a run does not say how many."""
    space: Space
    """What the columns stand for."""
    emulators: Sequence[Fitted] = ()
    """One a site, of an emulated table."""


def read_description(form: Mapping[str, Any]) -> Description:
    """Check what a TOML file says and return the description."""
    known = {*FIELDS, "format", "version", "parameters", "emulators"}
    if form.get("format") != FORMAT or form.get("version") != VERSION:
        raise DataError(
            f"Expected format {FORMAT!r} and version {VERSION}, got "
            f"{shown(form.get('format'))} and {shown(form.get('version'))}."
        )
    if unknown := form.keys() - known:
        raise DataError(f"Unknown fields: {shown(sorted(unknown))}.")
    texts = {
        name: _text(form, name)
        for name in ("kind", "table", "sha256", "site", "value", "goal")
    }
    if texts["kind"] not in (EXACT, EMULATED):
        raise DataError(f"kind must be exact or emulated, got {texts['kind']!r}.")
    if texts["table"] != Path(texts["table"]).name or "\\" in texts["table"]:
        raise DataError(f"table must be a file beside it, got {texts['table']!r}.")
    parameters = {"parameters": form.get("parameters")}
    space = space_from_form(parameters, is_problem=True)
    emulators = form.get("emulators", [])
    if not isinstance(emulators, list):
        raise DataError("emulators must be a list of tables, [[emulators]].")
    return Description(
        **texts,
        ignore=_texts(form.get("ignore", [])),
        metric=_text(form, "metric", "value"),
        unit=_text(form, "unit", ""),
        num_initial=form.get("num_initial", 10),
        num_rounds=form.get("num_rounds", 30),
        space=space,
        emulators=[
            _fitted(_mapping(item, "emulators"), len(space.parameters))
            for item in cast(list[Any], emulators)
        ],
    )


def write_description(description: Description, head: str) -> str:
    """Return the TOML text of a description.

    Args:
        description: What to write.
        head: A line for the comment at the top.
    """
    lines = [f"# {head}", f"format = {dumps(FORMAT)}", f"version = {VERSION}"]
    lines += [f"{name} = {_toml(getattr(description, name))}" for name in FIELDS]
    for name, fields in space_to_form(description.space)["parameters"].items():
        lines += ["", f"[parameters.{_toml(name)}]"]
        lines += [f"{key} = {_toml(value)}" for key, value in fields.items()]
    for fitted in description.emulators:
        shown_fields = {
            "site": fitted.site,
            "rows": fitted.rows,
            "rmse": fitted.error.rmse,
            "r2": fitted.error.r2,
            "lengthscales": fitted.hyper.lengthscales,
            "outputscale": fitted.hyper.outputscale,
            "noise": fitted.hyper.noise,
        }
        lines += ["", "[[emulators]]"]
        lines += [f"{key} = {_toml(value)}" for key, value in shown_fields.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return plain data as TOML, which writes it as JSON does."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return dumps(list(cast(Any, value)) if is_list else value, ensure_ascii=False)


def _fitted(form: Mapping[str, Any], num_parameters: int) -> Fitted:
    numbers = {n: form.get(n) for n in ("rmse", "r2", "outputscale", "noise")}
    lengthscales = _numbers(form.get("lengthscales"), "lengthscales")
    positive: list[Any] = [numbers["outputscale"], numbers["noise"], *lengthscales]
    if not (
        all(map(is_finite_number, numbers.values()))
        and all(number > 0 for number in positive)
        and is_whole_number(form.get("rows"))
        and len(lengthscales) == num_parameters
    ):
        raise DataError(
            "An emulator needs rows, rmse, r2, outputscale, noise and a lengthscale "
            f"for each of {num_parameters} parameters, as numbers; got {shown(form)}."
        )
    return Fitted(
        site=_text(form, "site"),
        rows=int(form["rows"]),
        hyper=Hyper(
            lengthscales=tuple(lengthscales),
            outputscale=float(form["outputscale"]),
            noise=float(form["noise"]),
        ),
        error=CrossValidated(rmse=float(form["rmse"]), r2=float(form["r2"])),
    )


def _text(form: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = form.get(name, default)
    if not isinstance(value, str):
        raise DataError(f"{name} must be a text, got {shown(value)}.")
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(
        isinstance(item, str) for item in cast(list[Any], value)
    ):
        raise DataError(f"ignore must be a list of texts, got {shown(value)}.")
    return cast(list[str], value)


def _numbers(value: Any, name: str) -> list[float]:
    if not isinstance(value, list) or not all(
        map(is_finite_number, cast(list[Any], value))
    ):
        raise DataError(f"{name} must be a list of numbers, got {shown(value)}.")
    return [float(item) for item in cast(list[Any], value)]


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise DataError(f"{name} must be a table, got {shown(value)}.")
    return cast(Mapping[str, Any], value)
