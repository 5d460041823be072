"""The HTTP door: versioned, described by OpenAPI, limited before anything is read."""

import asyncio
import base64
import binascii
import logging
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guidefbo.coordinator import shapes
from guidefbo.coordinator.answer import (
    Answered,
    Desk,
    Opened,
    refusal_body,
    unavailable,
)
from guidefbo.coordinator.body import read_body
from guidefbo.coordinator.codes import hash_token
from guidefbo.coordinator.config import Config
from guidefbo.coordinator.federation import (
    MAX_BODY,
    find_federation,
    signing_key,
)
from guidefbo.coordinator.host import overview
from guidefbo.coordinator.limits import Callers, Peer, network_of
from guidefbo.coordinator.members import reader_of
from guidefbo.coordinator.metrics import Metrics
from guidefbo.coordinator.pages import describe_sites, status_page
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.shapes import reference
from guidefbo.coordinator.store import StoreError
from guidefbo.coordinator.tables import federations
from guidefbo.coordinator.turns import Turns
from guidefbo.wire.letter import JOIN

NUM_READERS = 8
"""Threads that read letters."""
SHORT = 16 << 10
"""Bytes of a letter that is read at once: that takes less than to hand it on."""
OF_ADDRESS = 2
"""Letters of one address that are read at the same time; others find a thread."""
API = "/api/v1"
PREFIX = f"{API}/federations/{{federation}}"
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
"""Methods that are counted by their own name: callers may make up any."""
log = logging.getLogger(__name__)
Handler = Callable[[Request], Awaitable[Response]]


def make_app(desk: Desk, config: Config) -> FastAPI:
    """Return the service.

    Args:
        desk: Where letters are answered.
        config: Limits.
    """
    app = FastAPI(
        title="guidefbo coordinator",
        version="1",
        description="Sites hand over signed letters and get signed answers. What "
        "stands in a letter's payload is described by the schemas ...Payload and "
        "...Answer.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a path with one more is another path, and not there
    )
    app.state.callers = Callers(
        rate=config.rate_address,
        connections=config.connections_address,
        max_connections=config.max_connections,
    )
    desk.metrics.watch(
        "guidefbo_connections_unread",
        "Connections since the start that were closed before anything was read.",
        lambda: app.state.callers.num_unread,
    )
    _take_letters(app, desk, config)
    _answer_readers(app, desk)
    _tell_of_itself(app, desk)
    _guard(app, desk, config)
    _publish(app)
    return app


def _take_letters(app: FastAPI, desk: Desk, config: Config) -> None:
    # Few threads: to read a letter is arithmetic, and each holds a connection.
    callers: Callers = app.state.callers
    readers = ThreadPoolExecutor(NUM_READERS, thread_name_prefix="guidefbo-reader")
    turns = Turns(NUM_READERS, OF_ADDRESS)

    async def answer(
        request: Request, read: Callable[[], Opened | Answered], num_bytes: int
    ) -> Answered:
        loop = asyncio.get_running_loop()
        # What is short and refused for coming too often never gets to a thread.
        opened = read() if num_bytes <= SHORT else None
        if isinstance(opened, Answered):
            return opened
        async with turns.of(network_of(_address(request.scope))) as has_waited:
            if has_waited and await request.is_disconnected():
                raise Refusal("invalid", "The caller did not wait.")
            if opened is None:
                opened = await loop.run_in_executor(readers, read)
            if isinstance(opened, Answered):
                return opened
            future = await loop.run_in_executor(readers, desk.take, opened)
        return await asyncio.wrap_future(future)

    def door(purpose: str) -> Handler:
        async def take(request: Request) -> Response:
            name = request.path_params.get("federation")

            async def limit() -> int:
                return await run_in_threadpool(desk.limit_of, name)

            data = await read_body(request, limit, config.timeout)
            address = _address(request.scope)
            read = partial(
                desk.open,
                data,
                limit=max(len(data), MAX_BODY),
                purpose=purpose,
                federation=name,
                address=address,
            )
            answered = await answer(request, read, len(data))
            if answered.status == 429:
                await callers.hold(request.receive)
            return _respond(answered)

        take.__name__ = purpose
        return take

    texts = {
        JOIN: "Use an invitation: bind a key to a site's name.",
        "exchange": "Hand over the newest upload and take the newest packet.",
        "leave": "Leave the federation.",
        "rotate": "Change the site's key.",
    }
    for purpose, text in texts.items():
        path = f"{API}/join" if purpose == JOIN else f"{PREFIX}/{purpose}"
        app.add_api_route(
            path,
            door(purpose),
            methods=["POST"],
            operation_id=purpose,
            summary=text,
            responses=_responses("Letter", 400, 401, 403, 404, 408, 409, 410, 413, 422),
            response_class=Response,
            openapi_extra=_letter_schema(purpose),
        )


def _answer_readers(app: FastAPI, desk: Desk) -> None:
    async def sites(request: Request) -> Response:
        seen = await run_in_threadpool(_look, desk, request)
        return JSONResponse(describe_sites(seen))

    async def page(request: Request) -> Response:
        seen = await run_in_threadpool(_look, desk, request)
        return HTMLResponse(status_page(seen))

    needed: dict[str, Any] = {"security": [{"bearer": []}, {"basic": []}]}
    app.add_api_route(
        f"{PREFIX}/sites",
        sites,
        operation_id="sites",
        summary="The sites of a federation, for a reader.",
        responses=_responses("Sites", 401, 403, 404),
        openapi_extra={**needed, **_path_schema()},
    )
    app.add_api_route(
        "/federations/{federation}",
        page,
        operation_id="page",
        summary="The same as a page; a browser sends the token as a password.",
        response_class=HTMLResponse,
        responses=_responses(None, 401, 403, 404),
        openapi_extra={**needed, **_path_schema()},
    )


def _look(desk: Desk, request: Request) -> Any:
    """Return what a reader may see, or refuse."""
    token = _token(request.headers.get("authorization", ""))
    if token is None:
        raise Refusal("unauthorised", "A reader's token is needed.")
    name = str(request.path_params["federation"])
    with desk.store.reading() as connection:
        allowed = reader_of(connection, hash_token(token))
    if allowed is None:
        raise Refusal("unauthorised", "The token is not known.")
    if allowed != name:
        raise Refusal("forbidden", "The token is of another federation.")
    return overview(desk.store, name)


def _token(header: str) -> str | None:
    """Return the token of a bearer, or the password that a browser sends."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip() or None
    if scheme.lower() == "basic":
        try:
            text = base64.b64decode(rest.strip(), validate=True).decode()
        except (binascii.Error, ValueError):
            return None
        return text.partition(":")[2] or None
    return None


def _tell_of_itself(app: FastAPI, desk: Desk) -> None:
    async def describe(request: Request) -> Response:
        name = str(request.path_params["federation"])

        def read() -> dict[str, Any]:
            with desk.store.reading() as connection:
                found = find_federation(connection, name)
                key = signing_key(connection).public
            return {
                "federation": found.name,
                "strategy": found.terms.strategy,
                "strategy_version": found.terms.strategy_version,
                "space": found.terms.space,
                "coordinator_key": key,
                "min_sites": found.min_sites,
                "is_open": found.is_open,
            }

        return JSONResponse(await run_in_threadpool(read))

    async def healthz(request: Request) -> Response:
        del request

        def read() -> None:
            with desk.store.reading() as connection:
                connection.execute(select(federations.c.name).limit(1)).all()

        await run_in_threadpool(read)
        return JSONResponse({"status": "ok"})

    async def metrics(request: Request) -> Response:
        del request
        return PlainTextResponse(
            desk.metrics.to_text(), media_type="text/plain; version=0.0.4"
        )

    app.add_api_route(
        PREFIX,
        describe,
        operation_id="describe",
        summary="What everybody may know of a federation.",
        responses=_responses("Description", 404),
        openapi_extra=_path_schema(),
    )
    app.add_api_route(
        "/healthz",
        healthz,
        operation_id="healthz",
        summary="Whether the store can be read.",
        responses=_responses("Health", 503),
    )
    app.add_api_route(
        "/metrics",
        metrics,
        operation_id="metrics",
        summary="Counters of this process, as Prometheus reads them.",
        response_class=PlainTextResponse,
    )


def _guard(app: FastAPI, desk: Desk, config: Config) -> None:
    """Limit callers by address, count answers, and put every refusal into one form."""

    async def refuse(request: Request, error: Exception) -> Response:
        del request
        if isinstance(error, Refusal):
            return _refuse(error)
        if isinstance(error, HTTPException):
            code = "not_found" if error.status_code == 404 else "invalid"
            return Response(
                refusal_body(Refusal(code, str(error.detail))),
                status_code=error.status_code,
                media_type="application/json",
                headers=error.headers,
            )
        log.error("store failed", extra={"reason": str(error)})
        return _refuse(unavailable())

    for kind in (Refusal, HTTPException, StoreError):
        app.add_exception_handler(kind, refuse)
    app.add_middleware(_Gate, callers=app.state.callers, metrics=desk.metrics)


class _Gate:
    """Every request passes here first."""

    def __init__(self, app: ASGIApp, callers: Callers, metrics: Metrics) -> None:
        self._app = app
        self._callers = callers
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"]
                known = method if method in METHODS else "other"
                self._metrics.count_request(known, message["status"])
            await send(message)

        try:
            # Health is asked for by machines of one's own.
            if scope["path"] != "/healthz":
                self._callers.take(_peer(scope))
        except Refusal as refusal:
            await self._callers.hold(receive)
            await _refuse(refusal)(scope, receive, counted)
        else:
            await self._app(scope, receive, counted)


def _peer(scope: Scope) -> Peer:
    """Return where a request comes from: address and port."""
    client = scope.get("client")
    return (client[0], client[1]) if client else ("", 0)


def _address(scope: Scope) -> str:
    return _peer(scope)[0]


def _refuse(refusal: Refusal) -> Response:
    return _respond(
        Answered(
            status=refusal.status,
            body=refusal_body(refusal),
            retry_after=refusal.retry_after,
        )
    )


def _respond(answered: Answered) -> Response:
    headers: dict[str, str] = {}
    if answered.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(answered.retry_after)))
    if answered.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="guidefbo"'
    return Response(
        answered.body,
        status_code=answered.status,
        media_type="application/json",
        headers=headers,
    )


def _responses(name: str | None, *refused: int) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route: what it gives, and how it refuses."""
    texts: dict[int | str, dict[str, Any]] = {
        status: {
            "description": "Refused",
            "content": {"application/json": {"schema": reference("Refusal")}},
        }
        for status in (*refused, 429, 503)
    }
    if name is not None:
        texts[200] = {
            "description": "Done",
            "content": {"application/json": {"schema": reference(name)}},
        }
    return texts


def _path_schema() -> dict[str, Any]:
    where = {"name": "federation", "in": "path", "required": True}
    return {"parameters": [{**where, "schema": shapes.NAME}]}


def _letter_schema(purpose: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "requestBody": {
            "required": True,
            "description": f"A letter whose payload is a {purpose.title()}Payload; its "
            f"answer's payload is a {purpose.title()}Answer.",
            "content": {"application/json": {"schema": reference("Letter")}},
        }
    }
    return body if purpose == JOIN else {**body, **_path_schema()}


def _publish(app: FastAPI) -> None:
    """Have the description carry the schemas of letters and payloads."""
    usual = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            form = usual()
            parts = form.setdefault("components", {})
            parts["schemas"] = dict(sorted(shapes.COMPONENTS.items()))
            parts["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            }
            app.openapi_schema = form
        return app.openapi_schema

    app.openapi = openapi
