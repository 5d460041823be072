"""`guidefbo data`: public data sets, listed and fetched."""

from typing import Annotated

import typer

from guidefbo.cli.flowing import FlowingGroup
from guidefbo.cli.speech import errors, notice, sentences

app = typer.Typer(
    cls=FlowingGroup,
    name="data",
    help="Public data sets of the real problems: list, fetch.",
    epilog="GUIDEFBO_DATA=FOLDER names a folder that holds copies of them.",
    no_args_is_help=True,
)


@app.command("list")
def list_() -> None:
    """List the data sets: problem, sites, size, licence, and where a copy is."""
    with sentences():
        from guidefbo.problems.datasets.registry import DATASETS

        header = ("name", "problem", "sites", "size", "licence", "where")
        rows: list[tuple[str, ...]] = [header]
        for dataset in DATASETS.values():
            rows.append(
                (
                    dataset.name,
                    dataset.task,
                    str(dataset.num_agents or "-"),
                    spoken_size(dataset.size)
                    if all(f.size for f in dataset.files)
                    else "-",
                    dataset.licence,
                    _where(dataset.name),
                )
            )
        widths = [max(len(row[i]) for row in rows) for i in range(len(header) - 1)]
        for *cells, where in rows:
            # Plain text, the longest part last: a listing is as often piped as read.
            line = "  ".join(f"{c:<{w}}" for c, w in zip(cells, widths, strict=True))
            typer.echo(f"{line}  {where}")


@app.command()
def fetch(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A data set; see: guidefbo data list.")
    ],
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for another command's download.")
    ] = 600.0,
) -> None:
    """Download a data set into the user's data folder, checked by its sha256.

    Stop it at any moment; the same command goes on from there. What cannot be
    downloaded by a program is explained instead.
    """
    with sentences():
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TaskID,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        from guidefbo.problems.datasets.fetch import fetch_dataset
        from guidefbo.problems.datasets.registry import dataset_named

        dataset = dataset_named(name)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=errors, transient=True) as progress:
            tasks: dict[str, TaskID] = {}

            def report(file: str, here: int, total: int | None) -> None:
                if file not in tasks:
                    tasks[file] = progress.add_task(file)
                progress.update(tasks[file], completed=here, total=total)

            try:
                folder = fetch_dataset(name, report=report, wait=wait, notice=notice)
            except KeyboardInterrupt:
                notice("What has arrived is kept; the same command goes on from there.")
                raise
        typer.echo(f"{name} is in {folder}")
        typer.echo(f"Licence: {dataset.licence}. {dataset.sharing}")
        typer.echo(f"Cite: {dataset.citation}")


def spoken_size(num_bytes: int) -> str:
    """Return a size as people say it.

    >>> spoken_size(812), spoken_size(3_178_724)
    ('812 B', '3.2 MB')
    """
    if num_bytes < 1000:
        return f"{num_bytes} B"
    if num_bytes < 1_000_000:
        return f"{num_bytes / 1e3:.1f} kB"
    return f"{num_bytes / 1e6:.1f} MB"


def _where(name: str) -> str:
    from guidefbo.problems.datasets.find import locate
    from guidefbo.problems.datasets.registry import dataset_named
    from guidefbo.problems.datasets.verify import differing

    dataset = dataset_named(name)
    if (found := locate(dataset)) is None:
        return "not here"
    if found.archive is not None:
        return f"{found.folder / found.archive.name}, packed"
    others = [file.name for file in differing(dataset, found.folder)]
    if others:
        return f"{found.folder}, not the tested copy: {', '.join(others)}"
    return str(found.folder)
