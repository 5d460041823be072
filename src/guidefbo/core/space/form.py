"""A space as plain data, for JSON and TOML files.

[parameters.dose]
type = "float"            # float, int, choice, bool
low = 0.1
high = 10
log = true
step = 0.1                # asked are 0.1, 0.2, ...; or digits = 3; optional
unit = "mg"               # optional, and so is a description

[parameters.drug]
type = "choice"
options = ["a", "b"]

[[constraints]]
at_most = 1.5             # 1 water + 2 oil <= 1.5
coefficients = { water = 1, oil = 2 }

[[constraints]]
sum_to = 1.0              # water + oil + soap = 1
of = ["water", "oil", "soap"]
"""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, cast

from guidefbo.core.checks import shown
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.constraints import AtMost, Constraint, SumTo
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Bool, Choice, Float, Int, Parameter
from guidefbo.core.space.space import Space

LABELS = ("unit", "description")
"""Words about a parameter."""
EXTRAS = ("step", "digits", *LABELS)
"""Fields of a parameter that are written only where they are given."""

Form = Mapping[str, Any]
Kind = tuple[set[str], set[str], Callable[[Form], Parameter]]


def space_to_form(space: Space) -> dict[str, Any]:
    """Return the space as plain data."""
    form: dict[str, Any] = {
        "parameters": {
            name: _parameter_to_form(parameter)
            for name, parameter in space.parameters.items()
        }
    }
    if space.constraints:
        form["constraints"] = [_constraint_to_form(c) for c in space.constraints]
    return form


def fingerprint(space: Space) -> str:
    """Return a digest of what a message's coordinates mean.

    Names, kinds, bounds, scales, steps, options, units and the order of all of them.
    A unit is part of it, where it is given, because 20 to 120 means something else in
    another one. Constraints say where a site may look, significant digits how it writes
    what it asks, and descriptions nothing of what a coordinate means; they are left
    out.
    """
    parameters = [
        [name, _canonical(_meaning(p))] for name, p in space.parameters.items()
    ]
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:32]


def _meaning(parameter: Parameter) -> dict[str, Any]:
    form = _parameter_to_form(parameter)
    return {k: v for k, v in form.items() if k not in ("digits", "description")}


def _canonical(value: Any) -> Any:
    """Return plain data in which equal numbers are written alike."""
    if isinstance(value, bool) or not isinstance(value, int | float | dict | list):
        return value
    if isinstance(value, dict):
        return {key: _canonical(v) for key, v in cast(Form, value).items()}
    if isinstance(value, list):
        return [_canonical(item) for item in cast(list[Any], value)]
    # Minus zero is zero.
    return float(value) + 0.0


def space_from_form(form: Any, *, is_problem: bool = False) -> Space:
    """Check plain data and return the space it describes.

    Args:
        form: The data.
        is_problem: Whether it is of a problem, which may have parameters of type
            levels: increasing numbers as `values`, perhaps with `log`.
    """
    kinds = dict(KINDS) | (LEVELS if is_problem else {})
    form = _table(form, "a space", {"parameters"}, {"constraints"})
    parameters = form["parameters"]
    if not isinstance(parameters, Mapping) or not parameters:
        raise SpaceError(
            "Expected a table [parameters.NAME] for every parameter, got "
            f"{shown(parameters)}."
        )
    named = cast(Mapping[str, Any], parameters)
    made = {n: _parameter_from_form(n, item, kinds) for n, item in named.items()}
    space = Space(**made)
    constraints = form.get("constraints", [])
    if not isinstance(constraints, list):
        raise SpaceError(
            f"constraints must be a list of tables, [[constraints]] in TOML, got "
            f"{shown(constraints)}."
        )
    items = cast(list[Any], constraints)
    return space.subject_to(*map(_constraint_from_form, items)) if items else space


def _parameter_to_form(parameter: Parameter) -> dict[str, Any]:
    form = _bare_form(parameter)
    for name in EXTRAS:
        value = getattr(parameter, name, None)
        if value is not None:
            form[name] = value
    return form


def _bare_form(parameter: Parameter) -> dict[str, Any]:
    match parameter:
        case Choice():
            return {"type": "choice", "options": list(parameter.options)}
        case Levels():
            values = list(parameter.values)
            return {"type": "levels", "values": values, "log": parameter.log}
        case Bool():
            return {"type": "bool"}
        case Float() | Int():
            kind = "float" if isinstance(parameter, Float) else "int"
            bounds = {"low": parameter.low, "high": parameter.high}
            return {"type": kind, **bounds, "log": parameter.log}


def _number(kind: Callable[..., Parameter]) -> Callable[[Form], Parameter]:
    return lambda form: kind(
        form["low"], form["high"], log=form.get("log", False), **_extras(form)
    )


def _extras(form: Form) -> dict[str, Any]:
    return {name: form[name] for name in EXTRAS if name in form}


def _choice(form: Form) -> Parameter:
    options = form["options"]
    if not isinstance(options, list):
        raise SpaceError(f"options must be a list, got {shown(options)}.")
    return Choice(*cast(list[Any], options), **_extras(form))


def _levels(form: Form) -> Parameter:
    values = form["values"]
    if not isinstance(values, list):
        raise SpaceError(f"values must be a list, got {shown(values)}.")
    return Levels(*cast(list[Any], values), log=form.get("log", False))


KINDS = MappingProxyType[str, Kind](
    {
        "float": ({"low", "high"}, {"log", *EXTRAS}, _number(Float)),
        "int": ({"low", "high"}, {"log", *LABELS}, _number(Int)),
        "choice": ({"options"}, {*LABELS}, _choice),
        "bool": (set(), {"description"}, lambda form: Bool(**_extras(form))),
    }
)
"""Fields a parameter must and may have beside its type, and what builds it."""
LEVELS = {"levels": ({"values"}, {"log"}, _levels)}
"""The same of a kind that problems have, and sites do not."""


def _parameter_from_form(name: str, form: Any, kinds: Mapping[str, Kind]) -> Parameter:
    kind = cast(Form, form).get("type") if isinstance(form, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise SpaceError(
            f"Parameter {name}: expected a type, one of {', '.join(kinds)}, got "
            f"{shown(form)}."
        )
    required, optional, build = kinds[kind]
    try:
        return build(_table(form, f"a {kind}", {"type", *required}, optional))
    except SpaceError as error:
        raise SpaceError(f"Parameter {name}: {error}") from error


def _constraint_to_form(constraint: Constraint) -> dict[str, Any]:
    if isinstance(constraint, SumTo):
        return {"sum_to": constraint.total, "of": list(constraint.names)}
    return {
        "at_most": constraint.bound,
        "coefficients": dict(constraint.coefficients),
    }


def _constraint_from_form(form: Any) -> Constraint:
    if isinstance(form, Mapping) and "sum_to" in form:
        form = _table(cast(Form, form), "a sum", {"sum_to", "of"})
        if not isinstance(form["of"], list):
            raise SpaceError(f"of must be a list of names, got {shown(form['of'])}.")
        return SumTo(form["sum_to"], *cast(list[str], form["of"]))
    form = _table(form, "a constraint", {"at_most", "coefficients"})
    return AtMost(form["coefficients"], form["at_most"])


def _table(
    form: Any, what: str, required: set[str], optional: set[str] | None = None
) -> Form:
    if not isinstance(form, Mapping):
        raise SpaceError(f"Expected {what} as a table, got {shown(form)}.")
    fields = cast(Form, form)
    missing = required - fields.keys()
    unknown = fields.keys() - required - (optional or set())
    if missing or unknown:
        raise SpaceError(
            f"Expected {what} with the fields {sorted(required | (optional or set()))};"
            f" missing {sorted(missing)}, unknown {shown(sorted(unknown))}."
        )
    return fields
