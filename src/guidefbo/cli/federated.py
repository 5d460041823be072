"""The commands of a site in a federation: join, sync, audit, leave.

They talk to the coordinator that `guidefbo serve` runs, over HTTP or through a shared
folder. What they need for that is loaded when they run, and by no other command.
"""

from pathlib import Path
from typing import Annotated

import typer

from guidefbo.cli.site import File, Wait
from guidefbo.cli.speech import ALONE, notice, sentences

Patience = Annotated[
    float,
    typer.Option(
        help="Seconds to wait for an answer that comes through a folder.",
        show_default="2",
    ),
]

Named = Annotated[
    Path,
    # Whether it can be read is no business of the half that never opens it.
    typer.Argument(metavar="FILE", help="The agent's file.", readable=False),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command(
        epilog="Examples: guidefbo join https://host:8443 --code ABCD-EFGH site.json; "
        "guidefbo join folder:/mnt/share/reaction --code ABCD-EFGH site.json"
    )(join)
    app.command(
        epilog="Examples: guidefbo sync site.json; guidefbo sync site.json --every 10m"
    )(sync)
    app.command(
        epilog="Examples: guidefbo audit site.json; guidefbo audit site.json --confirm"
    )(audit)
    app.command(epilog="Example: guidefbo rotate site.json")(rotate)
    app.command(epilog="Example: guidefbo leave site.json --forget")(leave)


def join(
    where: Annotated[
        str,
        typer.Argument(
            metavar="URL|folder:DIR",
            help="The coordinator: its address, or a folder that it reads.",
        ),
    ],
    file: File,
    code: Annotated[
        str, typer.Option(help="The one-time code of your invitation, from the host.")
    ],
    coordinator_key: Annotated[
        str | None,
        typer.Option(
            help="The coordinator's public key, if the host gave it to you: another "
            "one is refused from the beginning, unless this one vouches for it, as "
            "after guidefbo federation key --rotate. Without it the key that answers "
            "is kept, and the same holds from then on."
        ),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Certificate authority of the address, if it is the host's own.",
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Allow plain HTTP to another machine, say in a tunnel."
        ),
    ] = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Let nothing leave before somebody has looked at it: guidefbo audit "
            "FILE --confirm.",
        ),
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            help="Group of another user that will talk to the network: it may use the "
            "mailbox, the link and the key, and never reads FILE."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of a new agent; from the site's name if not said."),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(help="Standard deviation of one observation; fitted if not said."),
    ] = None,
    initial: Annotated[
        int | None,
        typer.Option(help="Results before the model takes over; 5 to 20 if not said."),
    ] = None,
    patience: Patience = 2.0,
) -> None:
    """Join a federation with the code of an invitation.

    A key is made here, and only its public half is sent. Space, goal and method come
    from the federation and FILE is created; an agent that is there already is attached
    if its space and strategy fit, with all its results. Beside FILE stand then its
    .link (where the coordinator is and who it is), its .key and its .mail folder.

    If the line is cut, say the same command again: the code is not lost. Exit code 3:
    the coordinator was not reached, or has not answered yet.
    """
    with sentences():
        from guidefbo.cli.exchanged import joined_lines, offline_means_alone
        from guidefbo.connect.join import Joining
        from guidefbo.connect.join import join as join_federation
        from guidefbo.connect.places import Places

        wish = Joining(
            places=Places.of(file),
            where=where,
            code=code.strip(),
            coordinator_key=coordinator_key,
            ca=ca,
            is_insecure=insecure,
            needs_confirmation=confirm,
            group=group,
            seed=seed,
            noise=noise,
            initial=initial,
            patience=patience,
        )
        with offline_means_alone(file):
            joined = join_federation(wish, notice=notice)
        if joined is None:
            notice(
                f"your letter is in {where}; the answer has not come yet. Say the same "
                "command again later."
            )
            raise typer.Exit(ALONE)
        for line in joined_lines(joined, file):
            typer.echo(line)


def sync(
    file: Named,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Go on, once in that time: 30s, 10m, 2h. Ctrl-C or SIGTERM ends it "
            "between two exchanges.",
        ),
    ] = None,
    mail_only: Annotated[
        bool,
        typer.Option(
            "--mail-only",
            help="Move the letters of the mailbox and never open FILE: for a user who "
            "may not read the observations. FILE only names the files beside it.",
        ),
    ] = False,
    patience: Patience = 2.0,
    wait: Wait = 30.0,
) -> None:
    """Hand over the newest upload and take the newest packet.

    Nobody waits for anybody: evaluations go on as long as they like, and where the
    coordinator is not there the agent works on and the next sync catches up.

    Exit code 3: the coordinator was not reached or has not answered yet.
    """
    with sentences():
        from guidefbo.cli.exchanged import sync_every, sync_once

        if every is not None:
            sync_every(file, every, mail_only=mail_only, patience=patience, wait=wait)
        elif not sync_once(file, mail_only=mail_only, patience=patience, wait=wait):
            raise typer.Exit(ALONE)


def audit(
    file: File,
    as_json: Annotated[
        bool, typer.Option("--json", help="The log's own lines, one JSON object each.")
    ] = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Show what would leave next, and ask whether it may. It leaves at the "
            "next sync.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --confirm: do not ask.")
    ] = False,
) -> None:
    """Show everything that ever left this site or came to it, in your own units.

    The log stands in the .mail folder beside FILE. What leaves is written there first.
    """
    with sentences():
        from guidefbo.cli.audit_lines import audit_lines, confirm_next

        if confirm:
            confirm_next(file, is_sure=yes)
            return
        for line in audit_lines(file, as_json=as_json):
            typer.echo(line)


def rotate(file: File, patience: Patience = 2.0, wait: Wait = 30.0) -> None:
    """Change this site's key, say because somebody may have seen the old one.

    The old key signs the letter that names the new one, and is replaced once the
    coordinator has answered. If the line is cut, say the same command again.

    Exit code 3: the coordinator was not reached or has not answered yet.
    """
    with sentences():
        from guidefbo.cli.exchanged import offline_means_alone
        from guidefbo.connect.link import Link

        link = Link(file, patience=patience)
        with offline_means_alone(file):
            is_changed = link.rotate(wait=wait, notice=notice)
        if not is_changed:
            notice("your letter is in the folder; the answer has not come yet.")
            raise typer.Exit(ALONE)
        typer.echo(f"the key in {link.places.key} is a new one")


def leave(
    file: File,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Have the coordinator remove your upload too."),
    ] = False,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Leave also where the coordinator does not confirm it: it refuses, is "
            "not reached, or another one answers. It is told if that can be done.",
        ),
    ] = False,
    patience: Patience = 2.0,
    wait: Wait = 30.0,
) -> None:
    """Leave the federation. FILE stays, with all its results, and works alone.

    The link and the key are removed; the log of what left and came stays. To come back
    you need a new invitation. Where the coordinator says in a signed answer that you
    are no site any more, you have left as well; its refusals over HTTP are not signed.

    Exit code 3: the coordinator was not reached or has not answered yet; you have not
    left.
    """
    with sentences():
        from guidefbo.cli.exchanged import offline_means_alone
        from guidefbo.connect.link import Link

        link = Link(file, patience=patience)
        with offline_means_alone(file):
            left = link.leave(forget=forget, anyway=anyway, wait=wait, notice=notice)
        if left is None:
            notice("your letter is in the folder; the answer has not come yet.")
            raise typer.Exit(ALONE)
        for line in left.lines():
            typer.echo(line)
        typer.echo(f"{file} works alone; the log stays in {link.places.mail}")
