"""One file over HTTP, resumed where an earlier attempt stopped.

What arrives is kept in `FILE.part`, whatever ends the attempt; the next one asks for
the rest only. Addresses and redirections are followed to http and https and nowhere
else, and from https never back to http.
"""

import http.client
import os
import re
from collections.abc import Callable
from contextlib import closing
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from guidefbo.core.errors import DataError

BLOCK = 1 << 16
"""Bytes read at once."""
TIMEOUT = 30.0
"""Seconds without an answer after which an attempt ends."""
_RANGE = re.compile(r"bytes (?:(\d{1,18})-\d{1,18}|\*)/(\d{1,18})")

Report = Callable[[int, int | None], object]
"""Bytes that are here, and bytes in all where that is known."""


class FetchError(DataError):
    """A file could not be downloaded, or is not the one that was meant."""


def download(
    address: str, part: Path, *, limit: int, report: Report | None = None
) -> None:
    """Download a file into `part`, going on where it ends.

    Args:
        address: Where from, http or https.
        part: Where to; what it holds is taken for the beginning of the file.
        limit: Most bytes the file may have.
        report: Called as it grows.
    """
    here = part.stat().st_size if part.exists() else 0
    with closing(_answer(address, here)) as answer:
        start, total = _extent(answer, here)
        if start is not None:
            _receive(answer, address, part, start, total, limit, report)
    if start is None and here != total:
        # What is here is no beginning of what is there now: all of it once more.
        part.unlink()
        download(address, part, limit=limit, report=report)


def _receive(
    answer: Any,
    address: str,
    part: Path,
    here: int,
    total: int | None,
    limit: int,
    report: Report | None,
) -> None:
    with part.open("r+b" if here else "wb") as file:
        file.seek(here)
        file.truncate()
        while max(total or 0, here) <= limit and (data := _read(answer, address, part)):
            file.write(data)
            here += len(data)
            if report is not None:
                report(here, total)
        file.flush()
        os.fsync(file.fileno())
    if max(total or 0, here) > limit:
        part.unlink()
        raise FetchError(
            f"{address} has more than {limit} bytes, the most that is taken from it."
        )
    if total is not None and here < total:
        raise FetchError(
            f"{address} ended after {here} of {total} bytes. They are kept in {part}; "
            "the same command goes on from there."
        )


class _Redirects(HTTPRedirectHandler):
    """Follows redirections to the web only."""

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> Request | None:
        """Return the next request, or refuse it."""
        try:
            _require_web(newurl, since=req.full_url)
        except FetchError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> OpenerDirector:
    # Not `build_opener`, which also opens files of this machine and ftp.
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def _answer(address: str, here: int) -> Any:
    _require_web(address)
    request = Request(address, headers={"User-Agent": "guidefbo"})
    # A byte of a compressed answer would be no byte of the file.
    request.add_header("Accept-Encoding", "identity")
    if here:
        request.add_header("Range", f"bytes={here}-")
    try:
        return _opener().open(request, timeout=TIMEOUT)
    except FetchError:
        raise
    except HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and here:
            return error
        error.close()
        if error.code < HTTPStatus.BAD_REQUEST:
            raise FetchError(
                f"{address} leads elsewhere, which was not followed: {error.reason}."
            ) from error
        raise FetchError(
            f"{address} answered {error.code} {error.reason}: the file is not there "
            "any more, or not for everybody."
        ) from error
    except URLError as error:
        raise FetchError(_no_answer(address, error.reason)) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchError(_no_answer(address, error)) from error


def _extent(answer: Any, here: int) -> tuple[int | None, int | None]:
    """Return where the answer begins and how long the whole file is.

    No beginning: the server has nothing beyond what is here, or sends another part.
    """
    headers: Message = answer.headers
    found = _RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return None, int(found[2]) if found else None
    if answer.status == HTTPStatus.PARTIAL_CONTENT:
        if found is None or found[1] is None or int(found[1]) != here:
            return None, None
        return here, int(found[2])
    length = headers.get("Content-Length", "")
    return 0, int(length) if re.fullmatch(r"\d{1,18}", length) else None


def _require_web(address: str, since: str = "") -> None:
    kind = urlsplit(address).scheme.lower()
    if kind not in ("http", "https"):
        raise FetchError(
            f"Expected an address of http or https, got {address!r}"
            + (f" from {since}" if since else "")
            + ". It was not opened."
        )
    if kind == "http" and since.lower().startswith("https:"):
        raise FetchError(
            f"{since} leads to {address!r}, where anybody on the way could change the "
            "file. It was not opened."
        )


def _read(answer: Any, address: str, part: Path) -> bytes:
    try:
        return answer.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(
            f"{_no_answer(address, error)} What arrived is kept in {part}; the same "
            "command goes on from there."
        ) from error


def _no_answer(address: str, reason: object) -> str:
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return f"{address} could not be read: {text}."
