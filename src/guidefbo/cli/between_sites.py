"""The commands between sites: upload, receive, merge.

How the files are transported is up to the sites.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from guidefbo.cli.site import File, Wait
from guidefbo.cli.speech import ALONE, notice, sentences


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command(epilog="Example: guidefbo upload site.json -o site.upload.json")(upload)
    app.command(epilog="Example: guidefbo receive site.json site.packet.json")(receive)
    app.command(epilog="Example: guidefbo rename site.json --site north")(rename)
    app.command(
        epilog="Example: guidefbo merge a.json b.json c.json --out-dir packets"
    )(merge)


def upload(
    file: File,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the message goes.")],
) -> None:
    """Write what this site tells the others; it holds no observation.

    Exit code 3: there is nothing to tell, and nothing was written.
    """
    with sentences():
        from guidefbo.cli.message_files import write_upload

        said = write_upload(file, out)
        if said is None:
            notice(
                f"nothing to tell: {file} has no result yet, or its method exchanges "
                f"nothing; {out} was not written."
            )
            raise typer.Exit(ALONE)
        typer.echo(said)


def receive(
    file: File,
    packet: Annotated[
        Path, typer.Argument(metavar="PACKET.json", help="The coordinator's answer.")
    ],
    wait: Wait = 30.0,
) -> None:
    """Take the coordinator's answer; later questions use it.

    Exit code 3: the packet was refused; what was held before stays in use.
    """
    with sentences():
        from guidefbo.cli.message_files import receive_packet

        goal, guidance = receive_packet(file, packet, wait)
        if guidance.refusal is not None:
            # The reason was a warning.
            typer.echo(f"{replace(guidance, refusal=None)} (goal {goal}); saved")
            raise typer.Exit(ALONE)
        typer.echo(f"{guidance} (goal {goal})")


def rename(
    file: File,
    site: Annotated[
        str | None, typer.Option(help="New name of the site, which no other may have.")
    ] = None,
    federation: Annotated[
        str | None, typer.Option(help="Name of the federation it is in from now on.")
    ] = None,
    wait: Wait = 30.0,
) -> None:
    """Give a site another name, or put it into another federation.

    Results stay. A packet that is held was made for the old name and is let go.
    """
    with sentences():
        from guidefbo.cli.opened import changing

        with changing(file, wait) as agent:
            agent.rename(site=site, federation=federation)
        setup = agent.setup
        typer.echo(f"site: {setup.site} in the federation {setup.federation}")


def merge(
    uploads: Annotated[
        list[Path],
        typer.Argument(metavar="UPLOAD.json", help="What the sites uploaded."),
    ],
    out_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the packets.")
    ],
    method: Annotated[
        str | None,
        typer.Option(help="The sites' method, if not the one the uploads name."),
    ] = None,
    round_: Annotated[int, typer.Option("--round", help="Round, from 1.")] = 1,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Root of the coordinator's randomness, 0 if not said. With privacy it "
            "must be said, and no site may know it."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting of what is made of the uploads, e.g. --set "
            "pooling=robust for shape; may be repeated. Settings of the sites, such as "
            "beta, are refused. See: guidefbo methods --settings.",
        ),
    ] = None,
) -> None:
    """Answer the uploads of several sites, as their coordinator.

    For every NAME.json a NAME.packet.json; all of them or, after an error, none. An
    upload that does not fit the others is left out and named, and the exit code is 3.
    """
    with sentences():
        from guidefbo.cli.message_files import merge_files

        is_whole = merge_files(
            uploads,
            out_dir,
            method=method,
            t=round_,
            seed=seed,
            pairs=set_ or [],
            say=typer.echo,
        )
        if not is_whole:
            raise typer.Exit(ALONE)
