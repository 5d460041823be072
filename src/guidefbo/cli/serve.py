"""`guidefbo serve`: the coordinator as a service."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from guidefbo.cli.speech import sentences
from guidefbo.core.errors import SettingsError

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        help="The store: a file, or postgresql://user:password@host/name. "
        "GUIDEFBO_STORE says it as well.",
        show_default="guidefbo.db",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command(
        epilog="Examples: guidefbo serve; guidefbo serve --host 0.0.0.0 --tls-cert "
        "c.pem --tls-key k.pem; guidefbo serve --config coordinator.toml"
    )(serve)


def serve(
    store: StoreOption = None,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen at.", show_default="127.0.0.1"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen at; 0: a free one.", show_default="8443"),
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option(metavar="PEM", help="Certificate chain.")
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option(metavar="PEM", help="The certificate's key.")
    ] = None,
    insecure: Annotated[
        bool | None,
        typer.Option(
            "--insecure", help="Offer plain HTTP to other machines all the same."
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(help="Address of a proxy whose X-Forwarded-For is believed."),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Answer letters in this folder, too."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            help="Seconds between two looks into the folder.", show_default="5"
        ),
    ] = None,
    rate_site: Annotated[
        float | None,
        typer.Option(
            help="Letters a second of one site, per process; 0: no limit.",
            show_default="10",
        ),
    ] = None,
    rate_address: Annotated[
        float | None,
        typer.Option(
            help="Requests a second from one address, per process; 0: no limit.",
            show_default="100",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="Seconds within which a request must arrive.", show_default="10"
        ),
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option(help="Connections at the same time.", show_default="1000"),
    ] = None,
    connections_address: Annotated[
        int | None,
        typer.Option(
            help="Connections at the same time from one address; 0: no limit.",
            show_default="100",
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(help="debug, info, warning or error.", show_default="info"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="The same words as the options."),
    ] = None,
) -> None:
    """Answer the sites' letters until Ctrl-C.

    Every option can also stand in the environment (GUIDEFBO_PORT=8443) or in a TOML
    file (port = 8443). The option wins, then the environment, then the file.

    Plain HTTP is offered on this machine alone. Other machines need TLS: either
    --tls-cert and --tls-key, or a proxy in front. The log goes to stderr, one JSON
    object a line.
    """
    given = {k: v for k, v in locals().items() if k != "config"}
    with sentences(), needs_service():
        from guidefbo.coordinator.config import make_config
        from guidefbo.coordinator.logs import start_logging
        from guidefbo.coordinator.serve import serve as run

        settings = make_config(given, file=config)
        start_logging(settings.log_level)
        run(settings, lambda address: typer.echo(f"listening at {address}"))


@contextmanager
def needs_service() -> Generator[None, None, None]:
    """Say which packages are missing where some are."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("guidefbo"):
            raise
        raise SettingsError(
            f"Hosting needs more packages ({error.name} is missing): pip install "
            "'guidefbo[service]'"
        ) from error
