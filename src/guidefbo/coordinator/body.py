"""Reading a request's body within limits of size and time."""

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import Request
from starlette.requests import ClientDisconnect

from guidefbo.coordinator.federation import MAX_BODY
from guidefbo.coordinator.refusal import Refusal

Limit = Callable[[], Awaitable[int]]
"""Finds out the limit, asked only of a body that is longer than usual."""


async def read_body(request: Request, limit: Limit, timeout: float) -> bytes:
    """Return the body, or refuse it; what is too long is not read.

    Args:
        request: Of which nothing was read.
        limit: Most bytes.
        timeout: Seconds within which all of it must arrive.
    """
    most = MAX_BODY
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:12]) > most:
        most = await limit()
        _require(int(length[:12]), most)
    try:
        return await asyncio.wait_for(_collect(request, most, limit), timeout)
    except ClientDisconnect as error:
        raise Refusal("invalid", "The request ended too early.") from error
    except TimeoutError as error:
        raise Refusal(
            "timeout", f"The request did not arrive within {timeout:g} s."
        ) from error


async def _collect(request: Request, most: int, limit: Limit) -> bytes:
    parts: list[bytes] = []
    total = 0
    async for part in request.stream():
        total += len(part)
        if total > most:
            most = await limit()
            _require(total, most)
        parts.append(part)
    return b"".join(parts)


def _require(length: int, most: int) -> None:
    if length > most:
        raise Refusal("too_large", f"A request may have at most {most} bytes.")
