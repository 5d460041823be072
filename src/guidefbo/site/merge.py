"""What the coordinator of a federation does with the uploads of one round."""

from collections.abc import Mapping
from typing import Any, cast

from guidefbo.core.checks import require_count, shown
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.methods.build import build_server_side
from guidefbo.methods.catalog import find_method
from guidefbo.methods.settings import Settings
from guidefbo.server.side import ServerSide
from guidefbo.wire.codec import decode, encode
from guidefbo.wire.envelope import Message


def merge(
    uploads: Mapping[str, bytes | str | Message],
    *,
    method: str = "guide-ucb",
    t: int = 1,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """Return the packet of every site that uploaded, under the same names.

    Sites are numbered in the order of their names, so that the result does not depend
    on the order in which the uploads arrived.

    Args:
        uploads: The message of each site by name: as `upload` gave it, or its bytes or
            text.
        method: Name in the method catalogue, the sites' own.
        t: Round, from 1.
        seed: Root of the server's randomness.
        settings: Settings of the method that differ from the defaults.
    """
    server = build_server_side(find_method(method), Settings.of(settings or {}))
    if server is None:
        raise SettingsError(
            f"Method {method} exchanges nothing, so there is nothing to merge. Name "
            "the method of the sites, for example guide-ucb."
        )
    if not isinstance(uploads, Mapping) or not uploads:
        raise SettingsError(
            "Expected the uploads of the sites by name, at least one, as in "
            f"{{'north': message}}, got {shown(uploads)}."
        )
    if not all(isinstance(name, str) for name in uploads):
        raise SettingsError(
            f"Expected names that are texts, got {shown(set(uploads))}."
        )
    streams, t = Streams(seed), require_count("t", t, 1)
    names = sorted(uploads)
    read = [_read(name, uploads[name], server) for name in names]
    with single_blas_thread():
        try:
            stream = streams.at(Purpose.DISPATCH, t=t)
            packets = server.aggregate(dict(enumerate(read)), t, stream)
        except WireError as error:
            odd = _odd_one(server, read, t, streams)
            raise WireError(f"{names[odd]} does not fit {names[0]}: {error}") from error
    return {names[n]: encode(packet) for n, packet in sorted(packets.items())}


def _read(name: str, data: bytes | str | Message, server: ServerSide) -> Any:
    try:
        if isinstance(data, str):
            data = data.encode(errors="replace")
        elif isinstance(data, server.upload_type):
            data = encode(cast(Message, data))
        if not isinstance(data, bytes):
            raise WireError(f"expected an upload of this method, got {shown(data)}.")
        return decode(data, server.upload_type)
    except WireError as error:
        raise WireError(f"{name}: {error}") from error


def _odd_one(server: ServerSide, read: list[Any], t: int, streams: Streams) -> int:
    """Return which upload cannot be merged with the first."""
    for n, upload in enumerate(read[1:], start=1):
        try:
            stream = streams.at(Purpose.DISPATCH, t=t)
            server.aggregate({0: read[0], n: upload}, t, stream)
        except WireError:
            return n
    return 0
