"""The commands that make a picture or a table of one site: plot, export."""

from pathlib import Path
from typing import Annotated

import typer

from guidefbo.cli.site import File
from guidefbo.cli.speech import sentences


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command(epilog="Example: guidefbo plot site.json -o site.png")(plot)
    app.command(epilog="Example: guidefbo export site.json -o trials.csv")(export)


def plot(
    file: File,
    out: Annotated[
        Path, typer.Option("-o", "--out", help="The picture (png, svg, pdf).")
    ],
) -> None:
    """Draw progress and what the model has learnt; changes nothing."""
    with sentences():
        from guidefbo.cli.opened import check_output, refuse_agent
        from guidefbo.site.agent import Agent

        check_output(out, file)
        refuse_agent(out)
        agent = Agent.load(file)
        agent.plot(out)
        typer.echo(f"wrote {out} (goal {agent.goal})")


def export(
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="The table (csv); printed where it is not said."
        ),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option("--fit", help="Add what the model says now; slower."),
    ] = False,
) -> None:
    """Write all trials as a table for a spreadsheet or a program; changes nothing.

    A row a trial: its state, when it was asked and told, what was run and what was
    asked, the result, the guidance it was asked with, what the model expected, and with
    --fit what it says now. No cell is computed by a spreadsheet.
    """
    with sentences():
        from guidefbo.cli.opened import check_output, refuse_agent
        from guidefbo.core.files import write_atomically
        from guidefbo.site.agent import Agent
        from guidefbo.site.table import csv_of

        if out is not None:
            check_output(out, file)
            refuse_agent(out)
        agent = Agent.load(file, knows_method=fit)
        text = csv_of(agent, has_predictions=fit)
        if out is None:
            typer.echo(text, nl=False)
            return
        # With the mark by which spreadsheets know UTF-8.
        write_atomically(out, text.encode("utf-8-sig"))
        typer.echo(f"wrote {out}: {len(agent.trials)} trials (goal {agent.goal})")
