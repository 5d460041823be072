"""`guidefbo federation`: the commands of who hosts.

Every command works on the store itself, also while the service runs. What is heavy is
imported when a command runs.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from guidefbo.cli.flowing import FlowingGroup
from guidefbo.cli.serve import StoreOption, needs_service
from guidefbo.cli.speech import notice, sentences
from guidefbo.core.errors import SettingsError
from guidefbo.methods.default import DEFAULT_METHOD

app = typer.Typer(
    cls=FlowingGroup,
    name="federation",
    help="Host a federation: create it, invite sites, look after it.",
    epilog="Start: guidefbo federation create reaction space.toml --goal max, then "
    "guidefbo federation invite reaction north, then guidefbo serve",
    no_args_is_help=True,
)

Name = Annotated[
    str, typer.Argument(metavar="FEDERATION", help="Name of the federation.")
]
Site = Annotated[str, typer.Argument(metavar="SITE", help="Name of the site.")]


@app.command(
    epilog="Example: guidefbo federation create reaction space.toml --goal max "
    "--method shape-nei"
)
def create(
    name: Name,
    space: Annotated[
        Path,
        typer.Argument(
            metavar="SPACE.toml",
            help="The search space; see: guidefbo init --example.",
        ),
    ],
    goal: Annotated[
        str | None, typer.Option(help="max or min. There is no default.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="Method of all sites; see: guidefbo methods.")
    ] = DEFAULT_METHOD,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting for all sites and the server; may be repeated. "
            "See: guidefbo methods --settings.",
        ),
    ] = None,
    min_sites: Annotated[
        int, typer.Option(help="No packet is made of fewer uploads.")
    ] = 3,
    max_sites: Annotated[int, typer.Option(help="Most sites that may join.")] = 1000,
    store: StoreOption = None,
) -> None:
    """Create a federation, and the store if there is none.

    Goal and method are fixed from then on; sites take them over when they join, and the
    space, whose bounds and options can be changed: guidefbo federation change.
    """
    with sentences(), needs_service():
        from guidefbo.cli.space_file import read_space
        from guidefbo.coordinator import host
        from guidefbo.coordinator.schema import open_current
        from guidefbo.core.settings import parse_settings
        from guidefbo.core.space.form import space_to_form

        if goal is None:
            raise SettingsError(
                "Say what is better: --goal max if higher values are, --goal min if "
                "lower ones are. There is no default."
            )
        settings = parse_settings(set_ or [])
        # The rule and the settings of agents: known here, never at the coordinator.
        full, settings, version = _checked_method(method, settings)
        form = space_to_form(read_space(space))
        opened = open_current(_address(store), create=True)
        try:
            made = host.create(
                opened,
                name,
                form,
                goal=goal,
                method=full,
                settings=settings,
                strategy_version=version,
                min_sites=min_sites,
                max_sites=max_sites,
            )
        finally:
            opened.close()
        typer.echo(f"created {made.name} in {opened.shown}")
        typer.echo(f"goal: {made.goal}; method: {made.method}")
        typer.echo(f"packets are made of {made.min_sites} uploads or more")
        typer.echo(f"next: guidefbo federation invite {made.name} SITE")


@app.command(epilog="Example: guidefbo federation invite reaction north --days 3")
def invite(
    name: Name,
    site: Site,
    role: Annotated[
        str,
        typer.Option(
            help="site: uploads and packets; listen-only: packets only; speak-only: "
            "uploads only."
        ),
    ] = "site",
    days: Annotated[float, typer.Option(help="Days until the code expires.")] = 7.0,
    store: StoreOption = None,
) -> None:
    """Make a one-time code with which a site joins. It is shown once.

    A new code for the same site ends the old one. A site that has lost its key joins
    again with a new code.
    """
    with _opened(store) as (host, opened):
        made = host.invite(opened, name, site, role=role, days=days)
        typer.echo(made.code)
        notice(
            f"{site} joins with: guidefbo join https://HOST:8443 --code {made.code} "
            f"site.json. The code works once, within {days:g} days, and is not shown "
            "again."
        )


@app.command("list", epilog="Example: guidefbo federation list")
def list_(store: StoreOption = None) -> None:
    """List the federations of a store."""
    with _opened(store) as (host, opened):
        header = ("name", "state", "method", "goal", "sites", "uploads", "round")
        rows = [
            (
                seen.federation.name,
                "open" if seen.federation.is_open else "closed",
                seen.federation.method,
                seen.federation.goal,
                str(seen.num_joined),
                str(seen.num_uploads),
                str(seen.federation.round),
            )
            for seen in host.overviews(opened)
        ]
        _print_table(header, rows)


@app.command(epilog="Example: guidefbo federation sites reaction")
def sites(name: Name, store: StoreOption = None) -> None:
    """List the sites of a federation: how far they are, when they were heard of."""
    with _opened(store) as (host, opened):
        from guidefbo.coordinator.pages import describe_sites

        told = "results and corrections"
        header = ("site", "state", "role", told, "uploads", "last heard of")
        found = describe_sites(host.overview(opened, name))["sites"]
        rows = [
            (
                site["name"],
                site["state"],
                site["role"],
                "-" if site["sequence"] is None else str(site["sequence"]),
                str(site["num_uploads"]),
                site["seen"],
            )
            for site in found
        ]
        _print_table(header, rows)


@app.command(
    epilog="Examples: guidefbo federation key; guidefbo federation key --rotate"
)
def key(
    rotate: Annotated[
        bool,
        typer.Option(
            "--rotate",
            help="Make a new key first. The old one vouches for it and is destroyed; "
            "sites take the new one over at their next exchange, and say so.",
        ),
    ] = False,
    store: StoreOption = None,
) -> None:
    """Print the coordinator's public key, which signs every answer.

    Read it to the sites: each compares it with what its join has printed.
    """
    with _opened(store) as (host, opened):
        if rotate:
            host.rotate_key(opened)
            notice(
                "The key is a new one. Back the store up: older copies hold the old "
                "key, whose answers sites no longer take."
            )
        typer.echo(host.public_key(opened))


@app.command(epilog="Example: guidefbo federation revoke reaction north --forget")
def revoke(
    name: Name,
    site: Site,
    forget: Annotated[
        bool, typer.Option("--forget", help="Remove its uploads from the store, too.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """End a site's membership, or an invitation that was not used.

    Its upload is part of no packet any more.
    """
    with _opened(store) as (host, opened):
        host.revoke(opened, name, site, forget=forget)
        typer.echo(f"{site} is no longer a site of {name}")


@app.command(epilog="Example: guidefbo federation close reaction")
def close(
    name: Name,
    reopen: Annotated[bool, typer.Option("--reopen", help="Open it again.")] = False,
    store: StoreOption = None,
) -> None:
    """Take no letters of a federation any more, except of sites that leave.

    Nothing is removed.
    """
    with _opened(store) as (host, opened):
        host.set_open(opened, name, reopen)
        typer.echo(f"{name} is {'open' if reopen else 'closed'}")


@app.command(
    epilog="Examples: guidefbo federation change reaction space.toml --dry-run; "
    "guidefbo federation change reaction space.toml"
)
def change(
    name: Name,
    space: Annotated[
        Path,
        typer.Argument(
            metavar="SPACE.toml",
            help="The search space from now on: other bounds, further options.",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would change.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Change the search space of a federation; sites are told at their next sync.

    Uploads that speak of the space before are part of no packet any more. Every site
    makes the same change, keeps its results, and exchanges again.
    """
    with _opened(store) as (_, opened):
        from guidefbo.cli.space_file import read_space
        from guidefbo.coordinator.spaces import change_space

        done = change_space(opened, name, read_space(space), is_done=not dry_run)
        for line in done.lines:
            typer.echo(line)
        typer.echo(f"fingerprint {done.former} -> {done.federation.terms.space}")
        typer.echo(f"uploads no longer used: {done.num_retired}")
        who = ", ".join(done.affected) or "none has joined yet"
        typer.echo(f"sites that have to follow: {who}")
        if dry_run:
            notice("Nothing was changed.")
            return
        typer.echo(f"each of them: {done.command}, then guidefbo sync FILE")


@app.command(epilog="Example: guidefbo federation reader reaction board")
def reader(
    name: Name,
    who: Annotated[str, typer.Argument(metavar="READER", help="Name of the reader.")],
    remove: Annotated[bool, typer.Option("--remove", help="End the token.")] = False,
    store: StoreOption = None,
) -> None:
    """Make a token that may look at a federation's status page. It is shown once.

    A new token for the same reader ends the old one. A browser asks for a user and a
    password: any user, and the token.
    """
    with _opened(store) as (host, opened):
        if remove:
            host.remove_reader(opened, name, who)
            typer.echo(f"{who} may no longer look at {name}")
            return
        typer.echo(host.add_reader(opened, name, who))
        notice(f"The page is https://HOST:8443/federations/{name}.")


@app.command(epilog="Example: guidefbo federation export reaction -o reaction.json")
def export(
    name: Name,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where it goes.")],
    store: StoreOption = None,
) -> None:
    """Write a federation, its sites and their newest uploads as JSON; no secrets."""
    with _opened(store) as (host, opened):
        from guidefbo.core.files import write_atomically

        write_atomically(out, host.export(opened, name))
        typer.echo(f"wrote {out}")


@app.command(epilog="Example: guidefbo federation backup copy.db")
def backup(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|URL", help="A new file, or the URL of an empty database."
        ),
    ],
    store: StoreOption = None,
) -> None:
    """Copy the whole store while the service goes on.

    The copy is a store: --store copy.db. It holds the signing key; keep it as you keep
    the store. With a URL this is also the way from SQLite to PostgreSQL and back.
    """
    with _opened(store) as (_, opened):
        from guidefbo.coordinator.backup import back_up

        typer.echo(f"{back_up(opened, target)} rows copied")


@app.command(epilog="Example: guidefbo federation turn /mnt/share/reaction")
def turn(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The shared folder of letters.")
    ],
    store: StoreOption = None,
) -> None:
    """Answer the letters that lie in a shared folder, once."""
    with sentences(), needs_service():
        from guidefbo.coordinator.turn import turn_once

        num_answered = turn_once(_address(store), folder, notice=notice)
        typer.echo(f"{num_answered} letters answered")


def _checked_method(
    method: str, settings: dict[str, Any]
) -> tuple[str, dict[str, Any], int]:
    """Return a method's full name, its settings checked, and its messages' version."""
    from guidefbo.methods.registry import find_method

    found = find_method(method)
    if found.strategy.server is None:
        raise SettingsError(
            f"Sites that use {found.name} exchange nothing, so that there is nothing "
            "to host. See: guidefbo methods."
        )
    found.require_for_sites()
    return found.name, found.check(settings), found.strategy.version


@contextmanager
def _opened(store: str | None) -> Generator[tuple[Any, Any], None, None]:
    """Open the store for one command."""
    with sentences(), needs_service():
        from guidefbo.coordinator import host
        from guidefbo.coordinator.schema import open_current

        opened = open_current(_address(store))
        try:
            yield host, opened
        finally:
            opened.close()


def _address(store: str | None) -> str:
    from guidefbo.coordinator.config import store_address

    return store_address(store)


def _print_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        cells = (f"{c:<{w}}" for c, w in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
