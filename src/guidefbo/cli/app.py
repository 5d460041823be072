"""The `guidefbo` command."""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from guidefbo.cli import (
    between_sites,
    data,
    federated,
    host,
    pictures,
    problems,
    serve,
    site,
    study,
)
from guidefbo.cli.flowing import FlowingGroup
from guidefbo.cli.plugins import (
    Plugins,
    TrustPickle,
    load_plugins,
    trust_pickles,
)
from guidefbo.cli.speech import console, errors, print_list, sentences
from guidefbo.core.errors import SettingsError

SELDOM = 100_000
"""New objects after which garbage is looked for: most commands end before, and what
they load is none."""

app = typer.Typer(
    cls=FlowingGroup,
    name="guidefbo",
    help="Federated Bayesian optimisation: sites optimise together without showing "
    "each other an observation.",
    epilog="Start with: guidefbo init --example, or, to see it work: guidefbo run",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
site.register(app)
pictures.register(app)
between_sites.register(app)
federated.register(app)
serve.register(app)
app.add_typer(host.app)
app.add_typer(problems.app)
app.add_typer(study.app)
app.add_typer(data.app)


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Federated Bayesian optimisation."""
    if version:
        from guidefbo import __version__

        console.print(f"guidefbo {__version__}", highlight=False)
        raise typer.Exit


@app.command()
def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROBLEM]",
            show_default="ackley",
            help="Problem; see: guidefbo problems. Or one of your own: FILE.py:NAME, a "
            "function that returns guidefbo.Tasks.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="Method; see: guidefbo methods.")
    ] = "guide-ucb",
    level: Annotated[
        int | None,
        typer.Option(
            help="Heterogeneity of synthetic tasks: 1 identical, 2 mild, 3 severe.",
            show_default="2",
        ),
    ] = None,
    common_shift: Annotated[
        float | None,
        typer.Option(
            help="Shift shared by all synthetic tasks, share of the box width.",
            show_default="0",
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation of the observation noise.",
            show_default="0.1, or the problem's own",
        ),
    ] = None,
    noise_units: Annotated[
        str | None,
        typer.Option(
            help="Units of the noise of synthetic tasks: scaled or raw.",
            show_default="scaled",
        ),
    ] = None,
    dim: Annotated[
        int | None,
        typer.Option(help="Coordinates of a synthetic problem.", show_default="10"),
    ] = None,
    agents: Annotated[
        int | None,
        typer.Option(
            help="Number of sites: the first ones of a problem with real sites.",
            show_default="16, or the problem's own",
        ),
    ] = None,
    init: Annotated[
        int | None,
        typer.Option(
            help="Initial evaluations of each agent.",
            show_default="30, or the problem's own",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Rounds after the initial design.",
            show_default="50, or the problem's own",
        ),
    ] = None,
    exchange_interval: Annotated[
        int | None,
        typer.Option(
            help="Rounds from one exchange to the next; the first follows the initial "
            "design.",
            show_default="1",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Processes that evaluate, where that takes long.",
            show_default="one a core for problems on real data, else 1",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Root of all randomness.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change settings, e.g. --set beta=2 belief=single-gaussian; "
            "see: guidefbo methods --settings.",
        ),
    ] = None,
    plugin: Plugins = None,
    trust_pickle: TrustPickle = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the run record (JSON) here.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the regret here (png, svg, pdf).")
    ] = None,
) -> None:
    """Run one method on one problem, all agents in this process.

    Without arguments: guide-ucb on ackley at full size, 16 agents with 30 + 50
    evaluations each. On one machine and one set of library versions the same seed
    gives the same record, times and versions apart.
    """
    with sentences():
        from guidefbo.cli.run import evaluators, run_and_report
        from guidefbo.core.settings import parse_settings
        from guidefbo.simulation.spec import RunSpec

        load_plugins(plugin)
        trust_pickles(trust_pickle)
        problem, pairs = _sort_words(words or [], set_ or [])
        given: dict[str, Any] = {
            "dim": dim,
            "level": level,
            "common_shift": common_shift,
            "noise": noise,
            "noise_units": noise_units,
            "num_agents": agents,
            "num_initial": init,
            "num_rounds": rounds,
            "exchange_interval": exchange_interval,
        }
        spec = RunSpec(
            problem=problem,
            method=method,
            seed=seed,
            settings=parse_settings(pairs),
            **{key: value for key, value in given.items() if value is not None},
        )
        run_and_report(spec, out, plot, evaluators(spec, jobs), console)


@app.command()
def methods(
    settings: Annotated[
        bool, typer.Option("--settings", help="List the settings instead.")
    ] = False,
    cost: Annotated[
        bool, typer.Option("--cost", help="Print what each method sends instead.")
    ] = False,
    dim: Annotated[int, typer.Option(help="Coordinates, with --cost.")] = 10,
    advise: Annotated[
        bool,
        typer.Option(
            "--advise", help="Say instead which method to use where, and what says so."
        ),
    ] = False,
    plugin: Plugins = None,
) -> None:
    """List the methods, one line each.

    With --cost: scalars and bytes per agent and round, counted from real messages, and
    beside them the paper's own accounting, which differs where "paper" is marked.
    """
    with sentences():
        load_plugins(plugin)
        if cost:
            from guidefbo.cli.cost_table import print_costs

            print_costs(dim, console, errors)
        elif advise:
            from guidefbo.cli.advice import advice_lines

            for line in advice_lines():
                typer.echo(line)
        elif settings:
            from guidefbo.cli.settings import describe_settings

            print_list(describe_settings())
        else:
            from guidefbo.methods.registry import all_methods

            print_list([(method.name, method.description) for method in all_methods()])


def _sort_words(words: list[str], pairs: list[str]) -> tuple[str, list[str]]:
    """Part the problem from further key=value words that follow one --set."""
    names = [word for word in words if "=" not in word]
    if len(names) > 1:
        raise SettingsError(f"Expected one problem, got {', '.join(names)}.")
    further = [word for word in words if "=" in word]
    if further and not pairs:
        raise SettingsError(f"Write --set before {' '.join(further)}.")
    return (names[0] if names else "ackley"), pairs + further


def main() -> None:
    """Run the command."""
    thresholds = gc.get_threshold()
    gc.set_threshold(SELDOM)
    try:
        with only(*sys.argv[1:2]):
            app()
    finally:
        gc.set_threshold(*thresholds)


@contextmanager
def only(name: str = "") -> Generator[None, None, None]:
    """Leave out all other commands for a while, where a command is named.

    Typer prepares every command that it knows, which takes as long as a tenth of what
    `tell` takes in all.

    Args:
        name: The first word after `guidefbo`; of what is no command all are kept.
    """
    every = app.registered_commands, app.registered_groups
    commands = [
        command
        for command in app.registered_commands
        if name in (command.name, getattr(command.callback, "__name__", None))
    ]
    groups = [
        group
        for group in app.registered_groups
        if group.typer_instance is not None and group.typer_instance.info.name == name
    ]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups
    try:
        yield
    finally:
        app.registered_commands, app.registered_groups = every
