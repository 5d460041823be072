"""`guidefbo problems`: list them, or make one of a table of results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guidefbo.cli.flowing import FlowingGroup
from guidefbo.cli.plugins import Plugins, load_plugins
from guidefbo.cli.speech import notice, print_list, sentences

if TYPE_CHECKING:
    from guidefbo.problems.table_data import Table
    from guidefbo.problems.table_form import Description

app = typer.Typer(
    cls=FlowingGroup,
    name="problems",
    epilog="Further problems of your own: guidefbo run FILE.py:NAME",
    invoke_without_command=True,
)
POOR = 0.5
"""Share of the variance below which an emulator says little about its site."""
SHOWN = 5
"""Options named in a notice."""


@app.callback()
def list_(context: typer.Context, plugin: Plugins = None) -> None:
    """List the problems, one line each, or make one of a table of results."""
    if context.invoked_subcommand is not None:
        return
    with sentences():
        load_plugins(plugin)
    from guidefbo.problems.library import all_problems

    print_list([(entry.name, entry.description) for entry in all_problems()])


Columns = list[str] | None


@app.command("from-table")
def from_table(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.csv", help="Table: one result a row.")
    ],
    site: Annotated[str, typer.Option(help="Column that names the site.")],
    value: Annotated[str, typer.Option(help="Column of the results.")],
    goal: Annotated[str, typer.Option(help="Either max or min.")] = "max",
    choice: Annotated[
        Columns,
        typer.Option(
            metavar="COL", help="Column of numbers without an order. May be repeated."
        ),
    ] = None,
    log: Annotated[
        Columns,
        typer.Option(
            metavar="COL", help="Column on a logarithmic scale. May be repeated."
        ),
    ] = None,
    ignore: Annotated[
        Columns,
        typer.Option(
            metavar="COL", help="Column that is no parameter. May be repeated."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="What the results are called.", show_default="the column"),
    ] = None,
    unit: Annotated[str, typer.Option(help="Unit of the results.")] = "",
    emulate: Annotated[
        bool, typer.Option("--emulate", help="Emulate also a complete table.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="NAME.toml",
            help="The problem; in the folder of the table.",
            show_default="FILE.toml",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a problem that is there.")
    ] = False,
) -> None:
    """Make a problem of a table: one row a result, with its site and its parameters.

    All columns but those of the site, of the results and the ignored ones are
    parameters. Where every site has a result for every combination of their levels,
    results are looked up exactly; columns of numbers are then an ordered grid. Else an
    emulator is fitted to each site, and its cross-validated error is printed.
    """
    with sentences():
        from guidefbo.core.errors import SettingsError
        from guidefbo.core.files import check_writable, write_atomically
        from guidefbo.problems.table_form import write_description
        from guidefbo.problems.table_make import describe_table

        place = out or file.with_suffix(".toml")
        if place.suffix != ".toml" or place.resolve().parent != file.resolve().parent:
            raise SettingsError(
                f"The problem must be a file NAME.toml in the folder of {file}, got "
                f"{place}."
            )
        if place.exists() and not force:
            raise SettingsError(
                f"{place} is there already. Replace it with --force, or name another "
                "file with --out."
            )
        check_writable(place)
        description, table = describe_table(
            file,
            site=site,
            value=value,
            choices=choice or (),
            logs=log or (),
            ignore=ignore or (),
            goal=goal,
            metric=metric,
            unit=unit,
            emulate=emulate,
        )
        head = (
            "Made by `guidefbo problems from-table`; bounds and budget may be edited."
        )
        write_atomically(place, write_description(description, head))
        _print(description, table)
        typer.echo(f"Wrote {place}")
        typer.echo(f"Run it: guidefbo run {place} --method guide-ucb")


def _print(description: "Description", table: "Table") -> None:
    from guidefbo.cli.create import describe as values_of
    from guidefbo.problems.table import describe
    from guidefbo.problems.table_form import EXACT
    from guidefbo.problems.table_make import unseen

    parameters = description.space.parameters
    typer.echo(
        f"{description.table}: {len(table.site_names)} sites, {len(table.values)} "
        f"results, {len(parameters)} parameters"
    )
    print_list([(f"  {name}", values_of(p)) for name, p in parameters.items()])
    typer.echo(f"{describe(description)}.")
    if description.kind == EXACT:
        return
    width = max(len(fitted.site) for fitted in description.emulators)
    for fitted in description.emulators:
        typer.echo(
            f"  {fitted.site:<{width}}  {fitted.rows:4} rows, cross-validated RMSE "
            f"{fitted.error.rmse:.3g}, R² {fitted.error.r2:.2f}"
        )
        if fitted.error.r2 < POOR:
            notice(
                f"The emulator of {fitted.site} explains little of its results: what a "
                "method achieves there says little about the real site."
            )
    for name, options in unseen(description.space, table).items():
        some = ", ".join(options[:SHOWN]) + (", ..." if len(options) > SHOWN else "")
        notice(f"{name} has no result with {some}; its emulator guesses there.")
