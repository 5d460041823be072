"""Letters over HTTP; needs the extra `guidefbo[connect]`.

Outbound connections only, no redirects, no compression; an answer is read up to the
longest a letter can be and for as long as one would wait, whatever the other side does.
"""

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from guidefbo.connect.answers import sentence
from guidefbo.connect.errors import OfflineError, RefusedError
from guidefbo.connect.transport import Post, is_loopback
from guidefbo.core.errors import SettingsError
from guidefbo.wire.letter import FORMAT, JOIN, MAX_LETTER

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
SILENT_SECONDS = 30.0
"""Longest wait for a sign of life."""
TOTAL_SECONDS = 60.0
"""Longest time of one exchange."""
LONGEST_WAIT = 3600.0
"""Most seconds for which a coordinator can ask to be left alone."""
API = "/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTransport:
    """A coordinator behind an address."""

    address: str
    """Such as https://host:8443."""
    ca: Path | None = None
    """File of the certificate authority; None: those the system trusts."""
    connect_seconds: float = CONNECT_SECONDS
    silent_seconds: float = SILENT_SECONDS
    total_seconds: float = TOTAL_SECONDS

    def __post_init__(self) -> None:
        _httpx()  # before anything is done for a letter that could not be sent

    def deliver(self, post: Post) -> bytes | None:
        """Send a letter and return the answer."""
        return _within(self.total_seconds, lambda: self._send(post), self.address)

    def _send(self, post: Post) -> bytes:
        httpx = _httpx()
        url = f"{self.address}{_path(post)}"
        timeout = httpx.Timeout(self.silent_seconds, connect=self.connect_seconds)
        try:
            with (
                httpx.Client(
                    timeout=timeout,
                    verify=self._trust(),
                    follow_redirects=False,
                    # A proxy of the environment is for other machines.
                    trust_env=not is_loopback(self.address),
                ) as client,
                client.stream(
                    "POST",
                    url,
                    content=post.data,
                    headers={
                        "Content-Type": "application/json",
                        "Accept-Encoding": "identity",
                        "User-Agent": "guidefbo",
                    },
                ) as response,
            ):
                body = self._read(response)
        except httpx.HTTPError as error:
            raise OfflineError(self._explain(error)) from error
        return self._judge(response, body)

    def withdraw(self, post: Post) -> None:
        """Do nothing: a letter that was sent was read."""

    def finish(self, post: Post) -> None:
        """Do nothing: an answer is nowhere but here."""

    def _trust(self) -> Any:
        if not self.address.startswith("https:"):
            return False  # there is no certificate to look at
        try:
            context = ssl.create_default_context(
                cafile=None if self.ca is None else str(self.ca)
            )
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"Cannot read the certificate authority {self.ca}: {error}."
            ) from error
        if self.ca is None:
            # Where the system has no list of its own, the one that httpx brings.
            import certifi

            context.load_verify_locations(certifi.where())
        return context

    def _read(self, response: Any) -> bytes:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise OfflineError(
                f"{self.address} answered in a compressed form that was not asked "
                "for. Nothing of it was read. Is this a coordinator?"
            )
        parts: list[bytes] = []
        size = 0
        for part in response.iter_raw():
            size += len(part)
            if size > MAX_LETTER:
                raise OfflineError(
                    f"{self.address} answered with more than {MAX_LETTER} bytes, "
                    "longer than any letter. The rest was not read. Is this a "
                    "coordinator?"
                )
            parts.append(part)
        return b"".join(parts)

    def _judge(self, response: Any, body: bytes) -> bytes:
        status = int(response.status_code)
        if status < 300:
            return body
        form = _object(body)
        if form.get("format") == FORMAT and status < 500:
            return body  # a signed refusal
        if status >= 500 or status == 408:
            raise OfflineError(
                f"{self.address} answered with status {status}: it cannot work now. "
                "The next attempt sends the same letter again.",
                retry_after=_seconds(response.headers.get("retry-after")),
            )
        code, message = form.get("error"), form.get("message")
        if status < 400 or not isinstance(code, str) or not isinstance(message, str):
            raise OfflineError(
                f"{self.address} answered with status {status} and nothing a "
                "coordinator would say. Is the address right, and is it the "
                "coordinator's own?"
            )
        raise RefusedError(
            sentence(code, ""),
            sentence(message, ""),
            retry_after=_seconds(response.headers.get("retry-after")),
        )

    def _explain(self, error: Exception) -> str:
        httpx = _httpx()
        text = sentence(str(error), "") or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in text:
            return (
                f"{self.address} shows a certificate that is not trusted here ({text})."
                " If it is the federation's own, ask its host for the authority's file "
                "and join with --ca FILE."
            )
        if isinstance(error, httpx.ConnectTimeout):
            what = f"no connection within {self.connect_seconds:g} s"
        elif isinstance(error, httpx.TimeoutException):
            what = f"no sign of life for {self.silent_seconds:g} s"
        else:
            what = text
        return (
            f"{self.address} cannot be reached: {what}. Are this machine's network and "
            "the address right, and does the coordinator run? The next attempt sends "
            "the same letter again."
        )


def _within(seconds: float, send: Callable[[], bytes], address: str) -> bytes:
    """Return what comes in time.

    The silence between two bytes is limited by the connection itself, and their number
    here: a side that sends one every few seconds could go on for days.
    """
    came: list[bytes | BaseException] = []

    def run() -> None:
        try:
            came.append(send())
        except BaseException as error:
            came.append(error)

    # Left to itself where it does not end; it changes nothing but `came`.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not came:
        raise OfflineError(
            f"{address} had not finished its answer after {seconds:g} s. The next "
            "attempt sends the same letter again."
        )
    if isinstance(came[0], BaseException):
        raise came[0]
    return came[0]


def _path(post: Post) -> str:
    payload = post.letter.payload
    if payload["purpose"] == JOIN:
        return f"{API}/{JOIN}"
    # Names have letters, digits, dots, hyphens and underscores only.
    return f"{API}/federations/{payload['federation']}/{payload['purpose']}"


def _object(body: bytes) -> dict[str, Any]:
    try:
        form: Any = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], form) if isinstance(form, dict) else {}


def _seconds(text: str | None) -> float | None:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 6:
        return None
    return min(float(text), LONGEST_WAIT)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise SettingsError(
            "HTTP needs the package httpx: pip install 'guidefbo[connect]'"
        ) from error
    return httpx
