"""`guidefbo change`: what is searched, in words of the command line."""

from pathlib import Path
from typing import Any

from guidefbo.cli.opened import changing
from guidefbo.cli.reading import read_number, read_values
from guidefbo.cli.space_file import read_space
from guidefbo.core.checks import shown
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.changes import Step, takes_numbers
from guidefbo.core.space.parameters import Choice
from guidefbo.core.space.space import Space
from guidefbo.site.agent import Agent

Words = list[str] | None
"""NAME=... words of one option of the command."""


def change_space(
    file: Path,
    wait: float,
    bounds: Words,
    add_option: Words,
    within: Words,
    without: Words,
    fix: Words,
    free: Words,
    like: Path | None = None,
) -> list[str]:
    """Change an agent's space and say how.

    Args:
        file: The agent's file.
        wait: Seconds to wait for another command.
        bounds: New bounds of the shared space.
        add_option: New options of the shared space.
        within: Bounds that this site keeps.
        without: Options that this site lacks.
        fix: Values that this site always has.
        free: Parameters whose limits of this site are lifted.
        like: A space file whose bounds and options are taken over first.
    """
    target = None if like is None else read_space(like)
    with changing(file, wait) as agent:
        space = agent.space
        step = Step.between(space, space if target is None else target)
        added = _together(
            (name, _new_option(text, name, space)) for name, text in _pairs(add_option)
        )
        lines = agent.change(
            bounds={
                **step.bounds,
                **{name: _ends(text) for name, text in _pairs(bounds)},
            },
            add_options={**step.options, **added},
            within={name: _ends(text) for name, text in _pairs(within)},
            without=_together(
                (name, _value(text, name, space)) for name, text in _pairs(without)
            ),
            fix={name: _value(text, name, space) for name, text in _pairs(fix)},
            free=free or [],
        )
    return [f"changed {file}", *lines, *_outside(agent)]


def _outside(agent: Agent) -> list[str]:
    """Return how many results the model no longer uses."""
    done = [trial for trial in agent.trials if trial.value is not None]
    num_left = len(agent.unused)
    if not num_left:
        return []
    return [f"{num_left} of {len(done)} results lie outside, and are kept unused"]


def _pairs(words: Words) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words or []]
    if not all(name.strip() and text.strip() for name, _, text in pairs):
        raise SettingsError(f"Expected NAME=..., got {shown(words)}.")
    return [(name.strip(), text.strip()) for name, _, text in pairs]


def _ends(text: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise SettingsError(f"Expected LOW,HIGH such as 30,130, got {shown(text)}.")
    low, high = (read_number(part.strip(), "a bound") for part in parts)
    return low, high


def _value(text: str, name: str, space: Space) -> Any:
    return read_values({name: text}, space, some=True)[name]


def _new_option(text: str, name: str, space: Space) -> Any:
    """Return an option of the kind that the others are."""
    parameter = space.parameters.get(name)
    options = parameter.options if isinstance(parameter, Choice) else ()
    is_number = bool(options) and takes_numbers(options)
    return read_number(text, "an option") if is_number else text


def _together(pairs: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found
