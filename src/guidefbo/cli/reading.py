"""Parses parameter values from the command line or a CSV table."""

import csv
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from guidefbo.core.checks import is_plain_text, shown
from guidefbo.core.errors import DataError, SettingsError, SpaceError
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Bool, Choice, Float, Int, Parameter
from guidefbo.core.space.space import Space
from guidefbo.site.agent import Agent
from guidefbo.site.labels import Labels
from guidefbo.site.trial import Trial

TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""How yes and no may be written, in small letters."""


def refuse_options(words: list[str], known: list[str]) -> None:
    """Refuse what looks like an option and is no number.

    A command that takes negative numbers gets misspelt options among its words.

    Args:
        words: What was left after the options that are known.
        known: Those options.
    """
    for word in words:
        if word.startswith("-") and _number(word) is None:
            near = get_close_matches(word.partition("=")[0], known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
            raise SettingsError(f"There is no option {word}. {hint}")


def read_number(text: str, what: str) -> float:
    """Return a number; nan and inf are left to whoever takes it."""
    number = _number(text)
    if number is None:
        hint = " Write a point, not a comma." if "," in text else ""
        raise DataError(
            f"Expected {what} as a number such as -0.5, got {shown(text)}.{hint}"
        )
    return number


def read_ends(text: str | None) -> tuple[float | None, float | None]:
    """Return the two ends of LOW,HIGH, None where one is left out or nothing is said.

    >>> read_ends("0,")
    (0.0, None)
    """
    if text is None:
        return None, None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise SettingsError(f"Expected LOW,HIGH such as 0,100, got {shown(text)}.")
    low, high = (read_number(part, "a bound") if part else None for part in parts)
    return low, high


def read_id(text: str) -> int:
    """Return the id of a trial."""
    try:
        return int(text)
    except ValueError as error:
        raise DataError(
            "Expected a trial's id such as 3, or values such as dose=1.7,days=3, got "
            f"{shown(text)}."
        ) from error


def read_trial(text: str, agent: Agent) -> int | dict[str, Any]:
    """Return the id, or the values of `name=value,name=value`."""
    if "=" not in text:
        return read_id(text)
    return meant(agent, read_values(read_pairs(text, agent.space), agent.space))


def read_pairs(text: str, space: Space) -> dict[str, str]:
    """Return the texts by name of `name=value,name=value`.

    A single pair that names an option as a whole is one, commas and all.

    Args:
        text: What was written.
        space: Knows the options.
    """
    if not is_plain_text(text):
        raise DataError(
            "Expected values such as dose=1.7,days=3 in one line, without control "
            f"characters, got {shown(text)}."
        )
    alone, separator, option = text.partition("=")
    if separator and option.strip() in _options(alone.strip(), space):
        return {alone.strip(): option}
    try:
        # The reader of tables, so that "drug=a,b" in quotes may hold a comma.
        pairs = [pair.partition("=") for pair in next(csv.reader([text]))]
    except csv.Error as error:
        raise DataError(f"Expected values such as dose=1.7,days=3: {error}.") from error
    texts = {name.strip(): value for name, _, value in pairs}
    if len(texts) != len(pairs) or not all(separator for _, separator, _ in pairs):
        raise DataError(
            "Expected values such as dose=1.7,days=3, each parameter once, got "
            f"{shown(text)}.{_quoting(space)}"
        )
    return texts


def _options(name: str, space: Space) -> list[str]:
    """Return the options of a choice as texts, none of another parameter."""
    parameter = space.parameters.get(name)
    return list(map(str, parameter.options)) if isinstance(parameter, Choice) else []


def _quoting(space: Space) -> str:
    """Return how to write an option with a comma, nothing where there is none."""
    for name in space.parameters:
        for option in _options(name, space):
            if "," in option:
                pair = f'"{name}={option}"'.replace("'", "'\\''")
                return (
                    " A value with a comma stands in double quotes together with its "
                    f"name, all of it in single ones for the shell: '...,{pair}'."
                )
    return ""


def read_values(
    texts: Mapping[str, str], space: Space, *, some: bool = False
) -> dict[str, Any]:
    """Return values by parameter from their texts; the space checks them further.

    Args:
        texts: What was written, by name.
        space: The parameters.
        some: Whether a part of them will do.
    """
    names = space.parameters.keys()
    if texts.keys() != names and not (some and texts.keys() <= names):
        some_of = " or some of them" if some else ""
        raise SpaceError(
            f"Expected values for {list(names)}{some_of}, got {list(texts)}."
        )
    values: dict[str, Any] = {}
    for name, parameter in space.parameters.items():
        if name not in texts:
            continue
        try:
            values[name] = _read_value(texts[name], parameter)
        except (DataError, SpaceError) as error:
            raise SpaceError(f"Parameter {name}: {error}") from None
    return values


def meant(agent: Agent, values: dict[str, Any]) -> int | dict[str, Any]:
    """Return the id of the open trial that was shown with these values.

    The values where there is none; several that differ behind the digits are refused.
    """
    labels = agent.setup.labels
    fits = [t for t in agent.trials if not t.records and is_shown_as(t, values, labels)]
    if not fits:
        return values
    # Of trials with the same values any will do.
    if any(trial.as_run != fits[0].as_run for trial in fits):
        ids = ", ".join(str(trial.id) for trial in fits)
        raise DataError(
            f"Expected values of one trial, got those of several open ones, which "
            f"differ in further digits: trials {ids}. Tell the trial by its id, as in: "
            f"guidefbo tell site.json {fits[0].id} VALUE."
        )
    return fits[0].id


def is_shown_as(trial: Trial, values: Mapping[str, Any], labels: Labels) -> bool:
    """Whether values are a trial's: people type back the digits they saw."""
    return all(
        values[name] == value
        or str(values[name]) == _rounded(labels.number(name, value), value)
        for name, value in trial.as_run.items()
    )


def _rounded(text: str, value: Any) -> str:
    return str(float(text)) if isinstance(value, float) else text


def _read_value(written: str, parameter: Parameter) -> Any:
    text = written.strip()
    match parameter:
        case Float() | Levels():
            return read_number(text, "the value")
        case Int():
            number = read_number(text, "the value")
            return int(number) if number.is_integer() else number
        case Bool():
            if text.lower() not in TRUTHS:
                raise SpaceError(f"Expected true or false, got {shown(text)}.")
            return TRUTHS[text.lower()]
        case Choice():
            return _read_option(written, parameter)


def _read_option(written: str, choice: Choice) -> str | float | bool:
    text = written.strip()
    # As it stands first: an option may have blanks at its ends.
    same = [option for option in choice.options if str(option) == written]
    same = same or [option for option in choice.options if str(option) == text]
    # Written otherwise: true for True, 1.50 for 1.5.
    same = same or [
        option
        for option in choice.options
        if not isinstance(option, str) and _equals(text, option)
    ]
    if len(same) != 1:
        options = ", ".join(map(str, choice.options))
        raise SpaceError(f"Expected one of {options}, got {shown(text)}.")
    return same[0]


def _equals(text: str, option: float | bool) -> bool:
    if isinstance(option, bool):
        return text.lower() == str(option).lower()
    return _number(text) == option


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
