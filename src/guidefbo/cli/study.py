"""`guidefbo study`: plan, run, report, pack, export."""

from pathlib import Path
from typing import Annotated

import typer

from guidefbo.cli.flowing import FlowingGroup
from guidefbo.cli.plugins import (
    Plugins,
    TrustPickle,
    load_plugins,
    trust_pickles,
)
from guidefbo.cli.speech import console, errors, notice, print_list, sentences
from guidefbo.core.errors import SettingsError

app = typer.Typer(
    cls=FlowingGroup,
    name="study",
    help="Many runs from one description: plan, run, report.",
    epilog="Start with: guidefbo study run quick, then guidefbo study report "
    "results/quick",
    no_args_is_help=True,
)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME|FILE.toml", help="A study; see: guidefbo study list."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=A,B",
        help="Only runs with these values, e.g. --where method=ucb,guide-ucb "
        "--where level=1. May be repeated; all conditions must hold.",
    ),
]
Change = Annotated[
    list[str] | None,
    typer.Option(
        "--change",
        metavar="KEY=A,B",
        help="Give every run another value of a field or a setting, e.g. --change "
        "num_rounds=10 --change beta=2; several values make an axis. May be repeated.",
    ),
]
Repetitions = Annotated[
    int | None,
    typer.Option(help="Seeds, fewer or more than the study's own number."),
]
Known = Annotated[
    list[Path] | None,
    typer.Option(
        "--known",
        metavar="DIR|PACK",
        help="Take over finished runs from another folder or a pack.",
    ),
]
Redo = Annotated[
    bool,
    typer.Option(
        "--redo",
        help="Make those runs again whose results are of other code: of another "
        "version of guidefbo, or of a plugin or problem file that has changed. Without "
        "it they are kept and marked. A failed run is tried again in any case.",
    ),
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes on this machine.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the study.", show_default="results/NAME"),
]


@app.command("list")
def list_() -> None:
    """List the studies that come with guidefbo."""
    from guidefbo.experiments.study import list_studies

    print_list(list_studies())


@app.command()
def plan(
    name: Name,
    where: Where = None,
    change: Change = None,
    repetitions: Repetitions = None,
    known: Known = None,
    redo: Redo = False,
    jobs: Jobs = 2,
    plugin: Plugins = None,
    out: Out = None,
) -> None:
    """Say how many runs a study has, what is done, and how long the rest takes."""
    with sentences():
        from guidefbo.cli.study_run import print_plan
        from guidefbo.experiments.change import change_study
        from guidefbo.experiments.run import make_plan
        from guidefbo.experiments.study import load_study

        load_plugins(plugin)
        study = change_study(load_study(name), change or ())
        folder = out or default_folder(study.name)
        planned = make_plan(
            study,
            folder,
            repetitions=repetitions,
            where=where or (),
            known=known or (),
            redo=redo,
        )
        print_plan(study, planned, folder, jobs, console)


@app.command()
def run(
    name: Name,
    where: Where = None,
    change: Change = None,
    repetitions: Repetitions = None,
    known: Known = None,
    redo: Redo = False,
    jobs: Jobs = 2,
    plugin: Plugins = None,
    trust_pickle: TrustPickle = False,
    out: Out = None,
    backend: Annotated[
        str, typer.Option(help="Who works: local, dask or ray.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="Scheduler of the cluster, e.g. tcp://10.0.0.1:8786."),
    ] = None,
) -> None:
    """Run what is missing of a study. Stop it at any moment and start it again.

    Every finished run is one file, so nothing is run twice. A failed run is recorded
    with its error, does not stop the rest, and is tried again by the next call.
    """
    with sentences():
        from guidefbo.cli.study_run import run_with_progress
        from guidefbo.experiments.change import change_study
        from guidefbo.experiments.study import load_study

        plugins = load_plugins(plugin)
        trust_pickles(trust_pickle)
        study = change_study(load_study(name), change or ())
        folder = out or default_folder(study.name)
        failures = run_with_progress(
            study,
            folder,
            errors,
            repetitions=repetitions,
            where=where or (),
            known=known or (),
            redo=redo,
            jobs=jobs,
            plugins=plugins,
            backend=backend,
            address=address,
        )
        typer.echo(f"Look at it: guidefbo study report {folder}")
        if failures:
            raise typer.Exit(1)


@app.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR|PACK...", help="Studies to report on.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the report.", show_default="DIR/report"),
    ] = None,
) -> None:
    """Write tables (md, csv, tex), figures (png, svg) and one HTML page."""
    with sentences():
        from guidefbo.reports.report import write_report

        if out is None and folders[0].is_file():
            raise SettingsError("Say where the report of a pack goes: --out DIR.")
        place = out or folders[0] / "report"
        with console.status("writing tables and figures"):
            write_report(folders, place)
        typer.echo(f"Wrote {place / 'report.md'}")
        typer.echo(f"Open it: {place / 'report.html'}")


@app.command()
def pack(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE.json.gz", help="The pack to write.")
    ],
) -> None:
    """Put a study into one small file: its description and the mean curves.

    A pack can be reported on like the folder, and `study run --known PACK` goes on
    from it without repeating a run.
    """
    with sentences():
        from guidefbo.core.files import write_atomically
        from guidefbo.experiments.results import pack_study, read_study

        results = read_study(folder)
        data = pack_study(results)
        write_atomically(file, data)
        if results.missing:
            notice(f"{len(results.missing)} of {len(results.rows)} runs are missing.")
        typer.echo(f"Wrote {file}: {len(data)} bytes")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE.csv", help="The table to write.")
    ],
) -> None:
    """Write every evaluation as a CSV file: a row for each run, agent and evaluation.

    Round 0 is the initial design. Columns are what was run, the query in its own units,
    what was observed, its value without noise, and the regrets: simple, of the choice
    by the posterior mean (inference), and cumulative.
    """
    with sentences():
        from guidefbo.core.files import check_writable
        from guidefbo.experiments.study_table import read_study, require_evaluations

        if file.suffix != ".csv":
            raise SettingsError(
                f"Expected a table to write, FILE.csv, got {file}. Nothing was written."
            )
        check_writable(file)
        table = read_study(folder)
        require_evaluations(table)
        with console.status("writing the evaluations"):
            count = table.to_csv(file)
        if table.without_evaluations:
            notice(
                f"{len(table.without_evaluations)} of {len(table.results.outcomes)} "
                "finished runs are left out: their evaluations are not kept."
            )
        typer.echo(f"Wrote {file}: {count} rows")


def default_folder(name: str) -> Path:
    """Return where a study's results go unless the user says otherwise."""
    return Path("results") / name
