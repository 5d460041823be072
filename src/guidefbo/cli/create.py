"""`guidefbo init`: from a space file to an agent's file."""

import os
from pathlib import Path
from typing import Any

from guidefbo.cli.opened import check_output, command
from guidefbo.cli.space_file import EXAMPLE_HINT, read_space
from guidefbo.cli.speech import notice
from guidefbo.cli.table import Reading, tell_rows
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import OutputError
from guidefbo.core.names import to_name
from guidefbo.core.settings import parse_settings
from guidefbo.core.space.digits import digits_of
from guidefbo.core.space.levels import Levels
from guidefbo.core.space.parameters import Bool, Choice, Float, Int, Parameter
from guidefbo.site.agent import Agent
from guidefbo.site.labels import shown_value
from guidefbo.site.setup import Setup

EXAMPLE = """\
# A search space. Remove what you do not need; names are yours.
# Then: guidefbo init site.json space.toml --goal max

[parameters.dose]
type = "float"            # a real number
low = 0.1
high = 10
log = true                # 0.1 to 1 matters as much as 1 to 10; optional
step = 0.1                # asked are 0.1, 0.2, ... only; optional
unit = "mg"               # shown everywhere; optional
description = "amount of the drug a day"    # for people; optional

[parameters.days]
type = "int"              # a whole number, both ends included
low = 1
high = 14

[parameters.drug]
type = "choice"           # one of several, without an order
options = ["a", "b", "c"]

[parameters.fasting]
type = "bool"             # true or false

[parameters.water]
type = "float"
low = 0
high = 1

[parameters.oil]
type = "float"
low = 0
high = 1

[[constraints]]           # water + 2 oil <= 1.5; linear floats only
at_most = 1.5
coefficients = { water = 1, oil = 2 }

# [[constraints]]         # shares that add up: water + oil = 1
# sum_to = 1.0
# of = ["water", "oil"]
"""


def create(
    file: Path | None,
    space_file: Path | None,
    *,
    results: Path | None,
    reading: Reading,
    force: bool,
    wait: float,
    pairs: list[str],
    **setup: Any,
) -> list[str]:
    """Create an agent's file and return its summary.

    Args:
        file: Where the agent will live.
        space_file: The space, TOML.
        results: Table of earlier results, if there is one.
        reading: How that is read.
        force: Whether an agent there may be replaced.
        wait: Seconds to wait for another command.
        pairs: Settings, key=value.
        setup: What the agent is created with.
    """
    if file is None or space_file is None:
        raise SettingsError(
            "Expected the agent's file and the space: guidefbo init site.json "
            "space.toml --goal max. For a space to start from: guidefbo init --example."
        )
    _check_setup(setup)
    if setup["site"] is None and setup["num_agents"] is None:
        setup["site"] = to_name(file.stem)
    hint = EXAMPLE_HINT
    if file.suffix == ".toml" and file.exists():
        hint = f"The agent's file comes first: guidefbo init {space_file} {file}"
    space = read_space(space_file, hint)
    agent = Agent(space, settings=parse_settings(pairs), **setup)
    if results is not None:
        tell_rows(agent, results, reading, notice)
    inputs = [space_file] if results is None else [space_file, results]
    check_output(file, *inputs)
    _refuse_existing(file, force)
    # Refused again where another init was quicker.
    agent.save(file, overwrite=force, wait=wait, notice=notice)
    return summary(agent, file)


def describe(parameter: Parameter) -> str:
    """Return what values a parameter takes, its unit and its description."""
    unit = "" if parameter.unit is None else f" {parameter.unit}"
    words = "" if parameter.description is None else f" ({parameter.description})"
    return f"{_range(parameter, unit)}{words}"


def _range(parameter: Parameter, unit: str) -> str:
    digits = digits_of(parameter)
    match parameter:
        case Choice():
            return f"one of {', '.join(map(str, parameter.options))}{unit}"
        case Levels():
            scale = ", logarithmic" if parameter.log else ""
            first, *_, last = parameter.values
            ends = f"{first:.{digits}g} to {last:.{digits}g}"
            return f"{parameter.num_levels} levels, {ends}{unit}{scale}"
        case Bool():
            return "true or false"
        case Float() | Int():
            scale = ", logarithmic" if parameter.log else ""
            kind = "whole number, " if isinstance(parameter, Int) else ""
            if isinstance(parameter, Float) and parameter.step is not None:
                scale += f", in steps of {parameter.step:g}"
            if isinstance(parameter, Float) and parameter.digits is not None:
                scale += f", {parameter.digits} digits"
            ends = f"{parameter.low:.{digits}g} to {parameter.high:.{digits}g}"
            return f"{kind}{ends}{unit}{scale}"


def _objective_line(setup: Setup) -> list[str]:
    ends = ["-" if end is None else f"{end:g}" for end in setup.outcome_bounds]
    possible = [] if ends == ["-", "-"] else [f"possible: {' to '.join(ends)}"]
    if setup.objective is None and setup.unit is None:
        return possible
    return [f"objective: {setup.labels.column}", *possible]


def _check_setup(setup: dict[str, Any]) -> None:
    if setup["goal"] is None:
        raise SettingsError(
            "Say what is better: --goal max if higher values are, --goal min if lower "
            "ones are. There is no default."
        )
    num_agents, agent_id = setup["num_agents"], setup["agent_id"]
    if num_agents is not None and agent_id is None:
        raise SettingsError(
            f"--agents {num_agents} needs --agent-id as well: this site's own number, "
            "counted from 0."
        )
    setup["agent_id"] = agent_id or 0


def _refuse_existing(file: Path, force: bool) -> None:
    if os.path.lexists(file) and not force:
        raise OutputError(
            f"{file} exists, and its results would be lost. Name another file, or say "
            "--force to replace it."
        )


def summary(agent: Agent, file: Path) -> list[str]:
    """Return the lines that describe a new agent."""
    setup, space = agent.setup, agent.space
    num_told = len(agent.trials)
    to_go = max(setup.num_initial - num_told, 0)
    given = f" ({num_told} results given, {to_go} to go)" if num_told else ""
    better = "higher" if agent.goal == "max" else "lower"
    lines = [
        f"created {file}",
        f"goal: {agent.goal} ({better} values are better)",
        *_objective_line(setup),
        *(f"parameter {n}: {describe(p)}" for n, p in space.parameters.items()),
        *(f"constraint: {constraint}" for constraint in space.constraints),
        *(f"limit: {outcome}" for outcome in setup.outcomes),
        f"method: {setup.method}{shown_settings(agent)}",
        f"seed: {setup.seed}",
        f"site: {setup.site} in the federation {setup.federation}",
        f"initial points: {setup.num_initial}{given}",
    ]
    if setup.num_agents is not None:
        lines.append(
            f"site {setup.agent_id} of {setup.num_agents}, counted from 0; all of them "
            "need the same seed"
        )
    return [*lines, f"next: {command('ask', file)}"]


def shown_settings(agent: Agent) -> str:
    """Return the settings that differ from the defaults."""
    pairs = ", ".join(f"{k}={shown_value(v)}" for k, v in agent.setup.settings.items())
    return f" ({pairs})" if pairs else ""
