"""Federations whose sites are numbered, for servers that know sites by name."""

from guidefbo.server.exchange import exchange
from guidefbo.testing.server_side import draws
from guidefbo.wire.envelope import Envelope, Terms, UploadHead

TERMS = Terms(federation="example", space="example", strategy="example")


def name(number):
    """Return a name; names are in the order of their numbers."""
    return f"{number:04d}"


def named(uploads):
    """Return uploads by the names of their sites."""
    return {name(n): upload for n, upload in uploads.items()}


def aggregate(server, uploads, t=1, seed=0):
    """Return the packets of numbered sites."""
    packets = server.aggregate(named(uploads), t, draws(seed, t))
    return {int(site): packet for site, packet in packets.items()}


def left_out(server, uploads):
    """Return why uploads of numbered sites are left out of an exchange."""
    sent = {
        name(n): Envelope(
            head=UploadHead(terms=TERMS, site=name(n), sequence=1), body=upload
        ).to_bytes()
        for n, upload in uploads.items()
    }
    outcome = exchange(server, sent, t=1, seed=0)
    assert outcome.packets.keys() | outcome.left_out.keys() == sent.keys()
    return {int(site): why for site, why in outcome.left_out.items()}
