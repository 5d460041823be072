"""Runs the service: one process, HTTP and, if asked for, a folder."""

import asyncio
import contextlib
import gc
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from guidefbo.coordinator.answer import Desk, open_desk
from guidefbo.coordinator.config import Config
from guidefbo.coordinator.federation import list_federations
from guidefbo.coordinator.folder import require_folder
from guidefbo.coordinator.limits import HOLD, MAX_UNREAD, Callers, Door, Peer
from guidefbo.coordinator.schema import open_current
from guidefbo.coordinator.service import make_app
from guidefbo.coordinator.store import Store
from guidefbo.coordinator.watch import watch
from guidefbo.core.errors import SettingsError
from guidefbo.server.registry import find_server

SWITCH = 0.0005
"""Seconds that a thread computes before another one gets its turn."""
OFTEN = 700
"""New objects after which garbage is looked for: little at a time."""
KEEP_ALIVE = 30
"""Seconds that an idle connection is kept."""
BUSY = object()
"""Stands for a request that is being answered."""
MAX_HEAD = 16 << 10
"""Most bytes of a request's head."""


def serve(config: Config, ready: Callable[[str], object]) -> None:
    """Answer letters until the process is told to end.

    Args:
        config: How.
        ready: Called with the address once connections are taken.
    """
    if config.folder is not None:
        require_folder(Path(config.folder))
    # While packets are worked out, the thread that talks to the sites gets its turn
    # after this long; at Python's usual 5 ms letters come in one by one.
    sys.setswitchinterval(SWITCH)
    store = open_current(config.store)
    desk = open_desk(store, rate=config.rate_site)
    _load_strategies(store)
    app = make_app(desk, config)
    # What is there now stays: to look through it for garbage again and again would hold
    # all letters up for as long as that takes.
    gc.collect()
    gc.freeze()
    gc.set_threshold(OFTEN)
    app.router.lifespan_context = _folder_beside(desk, config)
    server = _Server(_uvicorn(app, config), ready)
    try:
        server.run()
    except SystemExit:
        # So uvicorn ends where it cannot listen; what follows says it in a sentence.
        if server.started:
            raise
    finally:
        desk.writer.close()
        store.close()
    if not server.started:
        raise SettingsError(
            f"Cannot listen at {config.host} port {config.port}. Is another service "
            "there? Name another --port."
        )


def _load_strategies(store: Store) -> None:
    """Import what the first letters will need, so that they need not wait for it."""
    with store.reading() as connection:
        for strategy in {f.terms.strategy for f in list_federations(connection)}:
            find_server(strategy)


def _uvicorn(app: FastAPI, config: Config) -> uvicorn.Config:
    for path in (config.tls_cert, config.tls_key):
        if path is not None and not Path(path).is_file():
            raise SettingsError(f"There is no file {path} for TLS.")
    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        ssl_certfile=config.tls_cert,
        ssl_keyfile=config.tls_key,
        http=_punctual(app, config),
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=config.proxy is not None,
        forwarded_allow_ips=config.proxy,
        # From this many on it refuses, the one that asks among them.
        limit_concurrency=config.max_connections + 1,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=MAX_HEAD,
    )


def _punctual(app: FastAPI, config: Config) -> type[H11Protocol]:
    """Return a protocol that closes connections on which nothing is asked for.

    A request must begin, and its head be whole, within the timeout. A connection too
    many from one address is closed before anything of it is read, and one from an
    address that has used up its requests a moment later: who waits for that comes less
    often than who is turned away at once. A proxy in front counts its own.
    """
    timeout = config.timeout
    callers: Callers = app.state.callers
    is_counted = config.proxy is None

    class Punctual(H11Protocol):
        _peer: Peer | None = None
        _unread: int | None = None
        """Bytes that came and were thrown away; None where requests are read."""
        _closing: asyncio.TimerHandle | None = None
        _looking: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            peer = transport.get_extra_info("peername")
            if is_counted and isinstance(peer, tuple):
                host, port = cast(tuple[Any, ...], peer)[:2]
                self._peer = (str(host), int(port))
                door = callers.connect(self._peer)
                if door is not Door.OPEN:
                    self._turn_away(transport, door)
                    return
            super().connection_made(transport)
            # What it was idle after when it was last looked at; None: from the start.
            self._before: Any = None
            self._looking = self.loop.call_later(timeout, self._look)

        def _turn_away(self, transport: Any, door: Door) -> None:
            self.transport, self._unread = transport, 0
            if door is Door.SHUT:
                transport.abort()
            else:
                self._closing = self.loop.call_later(HOLD, transport.abort)

        def data_received(self, data: bytes) -> None:
            if self._unread is None:
                super().data_received(data)
                return
            self._unread += len(data)
            if self._unread > MAX_UNREAD:
                self.transport.pause_reading()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._peer is not None:
                callers.disconnect(self._peer)
            if self._looking is not None:
                # It would keep all that belongs to this connection until then.
                self._looking.cancel()
            if self._closing is not None:
                self._closing.cancel()
                callers.let_go()
            if self in self.connections:
                super().connection_lost(exc)

        def _look(self) -> None:
            if self.transport.is_closing():
                return
            # None before the first request, whatever its type says.
            cycle: Any = self.cycle
            is_idle = cycle is None or cycle.response_complete
            if is_idle and cycle is self._before:
                self.transport.close()
                return
            # Who was answered a moment ago may ask again at any moment.
            self._before = cycle if is_idle else BUSY
            self._looking = self.loop.call_later(timeout, self._look)

    return Punctual


class _Server(uvicorn.Server):
    """Says where it listens once it does: port 0 means a free one."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            scheme = "https" if self.config.is_ssl else "http"
            name = f"[{host}]" if ":" in host else host
            self._ready(f"{scheme}://{name}:{port}")


def _folder_beside(
    desk: Desk, config: Config
) -> Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]:
    """Look into the shared folder again and again while the service runs."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        del app
        if config.folder is None:
            yield
            return
        folder = Path(config.folder)
        task = asyncio.create_task(watch(desk, folder, config.every))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    return lifespan
