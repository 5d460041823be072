"""Changes of a space over time, and the difference of two in words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from guidefbo.core.checks import shown
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.form import space_to_form
from guidefbo.core.space.parameters import Choice, Float, Int, Parameter
from guidefbo.core.space.space import Space


def changed(
    space: Space,
    *,
    bounds: Mapping[str, tuple[float, float]],
    options: Mapping[str, Sequence[Any]],
) -> Space:
    """Return a space with other bounds and more options; its order stays.

    >>> old = Space(heat=Float(20, 120), cat=Choice("a", "b"))
    >>> new = changed(old, bounds={"heat": (30, 130)}, options={"cat": ["c"]})
    >>> difference(old, new)
    ['heat: low 20 -> 30, high 120 -> 130', 'cat: options a, b -> a, b, c']

    Args:
        space: The space as it was.
        bounds: New bounds by name.
        options: New options by name, behind the old ones.
    """
    parameters: dict[str, Parameter] = dict(space.parameters)
    for name, (low, high) in bounds.items():
        known = parameters.get(name)
        if not isinstance(known, Float | Int):
            raise SpaceError(f"Expected a number to give bounds to, got {shown(name)}.")
        if isinstance(known, Int):
            low, high = _whole(name, low), _whole(name, high)
        parameters[name] = replace(known, low=low, high=high)
    for name, more in options.items():
        known = parameters.get(name)
        if not isinstance(known, Choice):
            raise SpaceError(f"Expected a choice to add options to, got {shown(name)}.")
        words = {"unit": known.unit, "description": known.description}
        parameters[name] = Choice(*known.options, *more, **words)
    new = Space(**parameters)
    return new.subject_to(*space.constraints) if space.constraints else new


def _whole(name: str, value: float) -> int:
    if not float(value).is_integer():
        raise SpaceError(f"Parameter {name}: expected whole bounds, got {value:g}.")
    return int(value)


def difference(old: Space, new: Space) -> list[str]:
    """Return in which way two spaces differ, a line a parameter; none where in none."""
    before, after = (space_to_form(space) for space in (old, new))
    lines: list[str] = []
    names = [*before["parameters"]]
    names += [name for name in after["parameters"] if name not in names]
    for name in names:
        a, b = before["parameters"].get(name), after["parameters"].get(name)
        if a is None or b is None:
            lines.append(f"{name}: {'added' if a is None else 'removed'}")
            continue
        fields = [*a, *(field for field in b if field not in a)]
        parts = [
            f"{field} {_text(a.get(field))} -> {_text(b.get(field))}"
            for field in fields
            if a.get(field) != b.get(field)
        ]
        if parts:
            lines.append(f"{name}: {', '.join(parts)}")
    if list(before["parameters"]) != list(after["parameters"]) and not lines:
        lines.append("the order of the parameters")
    if before.get("constraints") != after.get("constraints"):
        lines.append("the constraints")
    return lines


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast(list[Any], value)))
    return f"{value:g}" if isinstance(value, float) else str(value)
