"""Changes of a space over time, and the difference of two in words."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

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
            raise SpaceError(
                f"Only a number of the space has bounds, got {shown(name)}; there are "
                f"{', '.join(_names(space, Float, Int)) or 'none'}."
            )
        if isinstance(known, Int):
            low, high = _whole(name, low), _whole(name, high)
        try:
            parameters[name] = replace(known, low=low, high=high)
        except SpaceError as error:
            raise SpaceError(f"Parameter {name}: {error}") from None
    for name, more in options.items():
        known = parameters.get(name)
        if not isinstance(known, Choice):
            raise SpaceError(
                f"Only a choice of the space has options, got {shown(name)}; there are "
                f"{', '.join(_names(space, Choice)) or 'none'}."
            )
        words = {"unit": known.unit, "description": known.description}
        parameters[name] = Choice(*known.options, *more, **words)
    new = Space(**parameters)
    return new.subject_to(*space.constraints) if space.constraints else new


def takes_numbers(options: Sequence[Any]) -> bool:
    """Whether a further option of a choice is read as a number: all options are.

    >>> takes_numbers([5, 10]), takes_numbers(["none", 5]), takes_numbers([True, 5])
    (True, False, False)
    """
    return not any(isinstance(option, str | bool) for option in options)


def _names(space: Space, *kinds: type[Parameter]) -> list[str]:
    return [name for name, p in space.parameters.items() if isinstance(p, kinds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How one space becomes another, by bounds and further options alone.

    >>> old = Space(heat=Float(20, 120), cat=Choice("a", "b"))
    >>> step = Step.between(old, Space(heat=Float(30, 130), cat=Choice("a", "b", "c")))
    >>> step.words
    ['--bounds heat=30,130', '--add-option cat=c']
    """

    bounds: Mapping[str, tuple[float, float]]
    """New bounds by name."""
    options: Mapping[str, tuple[Any, ...]]
    """Further options by name, behind the old ones."""

    @classmethod
    def between(cls, old: Space, new: Space) -> Self:
        """Return the step from one space to another; refuse what is more than that."""
        bounds: dict[str, tuple[float, float]] = {}
        options: dict[str, tuple[Any, ...]] = {}
        for name, a in old.parameters.items():
            b = new.parameters.get(name)
            if isinstance(a, Float | Int) and isinstance(b, Float | Int):
                if (a.low, a.high) != (b.low, b.high):
                    bounds[name] = b.low, b.high
            elif isinstance(a, Choice) and isinstance(b, Choice):
                # Where nothing was added, whatever else differs is refused below.
                options[name] = b.options[len(a.options) :]
        added = {name: more for name, more in options.items() if more}
        step = cls(bounds=bounds, options=added)
        more = difference(step.taken(old), new)
        if more:
            raise SpaceError(
                "Only bounds and further options of a space can be changed, so that "
                f"results stay what they are; this is more: {'; '.join(more)}."
            )
        return step

    def taken(self, space: Space) -> Space:
        """Return a space after this step."""
        return changed(space, bounds=self.bounds, options=self.options)

    @property
    def words(self) -> list[str]:
        """The options of `guidefbo change` that take it, quoted for a shell."""
        words = [
            f"--bounds {shlex.quote(f'{name}={_exact(low)},{_exact(high)}')}"
            for name, (low, high) in self.bounds.items()
        ]
        return words + [
            f"--add-option {shlex.quote(f'{name}={option}')}"
            for name, more in self.options.items()
            for option in more
        ]

    def can_be_typed(self, space: Space) -> bool:
        """Whether `guidefbo change` reads the words as this very step.

        Args:
            space: The space that the step begins at.
        """
        names = [*self.bounds, *self.options]
        return all(map(_is_kept, names)) and all(
            _is_read_back(option, space.parameters[name])
            for name, more in self.options.items()
            for option in more
        )


def _is_read_back(option: Any, parameter: Parameter) -> bool:
    """Whether an option, written out, is read as itself among those of a choice."""
    if not isinstance(parameter, Choice):
        return False
    if takes_numbers(parameter.options):
        return takes_numbers([option]) and float(str(option)) == option
    return isinstance(option, str) and bool(option) and _is_kept(option)


def _is_kept(text: str) -> bool:
    """Whether a sentence with a text at its end is shown as it is.

    Spaces in a row become one there, and a full stop is taken for the sentence's own.
    """
    return text == " ".join(text.split()) and not text.endswith(".")


def _exact(number: float) -> str:
    """Return a number in as few digits as give it back."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


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
    return _exact(value) if isinstance(value, float) else str(value)
