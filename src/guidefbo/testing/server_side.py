"""The contract of a strategy's server side."""

from collections.abc import Mapping
from typing import Any

from guidefbo.core.streams import Streams
from guidefbo.server.side import Draws, ServerSide
from guidefbo.testing.codec import check_codec, encode
from guidefbo.testing.expect import expect
from guidefbo.wire.envelope import Message


def check_server_side(
    server: ServerSide, uploads: Mapping[str, Message], *, seed: int = 0
) -> None:
    """Check that a server is a pure function of its uploads.

    All uploads have one form. Every site that uploaded gets a packet that survives the
    wire, whoever came first; the same uploads, round and draws give the same packets;
    the uploads stay as they are; one site alone and no site at all are served too.

    Args:
        server: The strategy's server side.
        uploads: A few valid uploads by the names of their sites.
        seed: Root of the server's randomness.
    """
    expect(len(uploads) > 1, "Give two uploads or more, so that order can matter.")
    forms = {server.form(upload) for upload in uploads.values()}
    expect(len(forms) == 1, f"Uploads of one federation must be alike, got {forms}.")
    sent = {agent: encode(upload) for agent, upload in uploads.items()}
    packets = _aggregate(server, uploads, seed)
    for agent, upload in uploads.items():
        expect(
            isinstance(upload, server.upload_type),
            f"Upload {agent} must be a {server.upload_type.__name__}.",
        )
        expect(encode(upload) == sent[agent], "Uploads must not be changed.")
    expect(
        packets.keys() == uploads.keys(),
        f"Agents {sorted(uploads)} must get a packet each, got {sorted(packets)}.",
    )
    for packet in packets.values():
        expect(
            isinstance(packet, server.packet_type),
            f"A packet must be a {server.packet_type.__name__}, got {packet!r}.",
        )
        check_codec(packet)
    for order, what in _orders(uploads):
        again = _aggregate(server, order, seed)
        same = all(encode(again[n]) == encode(packets[n]) for n in uploads)
        expect(same, f"The packets must not depend on {what}.")
    for agent, upload in uploads.items():
        alone = _aggregate(server, {agent: upload}, seed)
        expect(alone.keys() == {agent}, "One agent alone must get its packet.")
    expect(len(_aggregate(server, {}, seed)) == 0, "No upload must give no packet.")


def _aggregate(
    server: ServerSide, uploads: Mapping[str, Any], seed: int
) -> Mapping[str, Any]:
    return server.aggregate(dict(uploads), 1, draws(seed))


def draws(seed: int = 0, t: int = 1) -> Draws:
    """Return a server's randomness in an example."""
    return Draws(streams=Streams(seed), federation="example", t=t)


def _orders(
    uploads: Mapping[str, Message],
) -> list[tuple[dict[str, Message], str]]:
    items = list(uploads.items())
    return [
        (dict(items), "the call"),
        (dict(reversed(items)), "the order of the uploads"),
        (dict(items[1:] + items[:1]), "the order of the uploads"),
        (dict(sorted(items)), "the order of the uploads"),
    ]
