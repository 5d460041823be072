"""Packets for sites that upload nothing."""

import numpy as np
import pytest

from guidefbo.core.streams import Streams
from guidefbo.server.exchange import build_server, exchange
from guidefbo.server.registry import server_names
from guidefbo.server.side import Draws, ListeningSide
from guidefbo.wire.codec import read
from guidefbo.wire.consensus import PeakUpload
from guidefbo.wire.envelope import Envelope, PacketHead, Terms, UploadHead
from guidefbo.wire.guide import OptimumUpload
from guidefbo.wire.shape import ShapeUpload

LISTENING = ("consensus", "guide", "shape")


def body(strategy, seed):
    stream = np.random.default_rng(seed)
    center = stream.random(2)
    if strategy == "guide":
        return OptimumUpload(
            mass=0.5, center=center, variance=np.full(2, 0.01), value_score=0.1
        )
    if strategy == "consensus":
        return PeakUpload(
            mass=1.0, center=center, variance=np.full(2, 0.01), value_score=0.1
        )
    blocks = (stream.normal(size=2), stream.normal(size=3))
    spread = tuple(np.full(len(b), 0.05) for b in blocks)
    kinds = ("choice", "choice")
    return ShapeUpload(kinds=kinds, means=blocks, variances=spread)


def bodies(strategy, num_sites):
    return {f"s{n}": body(strategy, n) for n in range(num_sites)}


def draws(uploads):
    return Draws(
        streams=Streams(3),
        federation="f",
        t=2,
        sequences=dict.fromkeys(uploads, 1),
        made_of="abc",
    )


def test_which_servers_can():
    found = [
        n for n in server_names() if isinstance(build_server(n, {}), ListeningSide)
    ]
    assert found == list(LISTENING)


@pytest.mark.parametrize("num_sites", [1, 2, 7])
@pytest.mark.parametrize("strategy", LISTENING)
def test_packet_of_a_listener(strategy, num_sites):
    server = build_server(strategy, {})
    uploads = bodies(strategy, num_sites)
    heard = server.listen(uploads, ["ear", "other"], draws(uploads))
    assert set(heard) == {"ear", "other"}
    for packet in heard.values():
        assert isinstance(packet, server.packet_type)
    # Whoever came first decides nothing.
    turned = dict(reversed(uploads.items()))
    again = server.listen(turned, ["other", "ear"], draws(uploads))
    for site in heard:
        assert again[site].to_body() == heard[site].to_body()


def test_listener_of_consensus_gets_what_a_newcomer_would():
    """A site's own estimate is not part of its packet."""
    server = build_server("consensus", {"groups": "one"})
    uploads = bodies("consensus", 6)
    heard = server.listen(uploads, ["ear"], draws(uploads))["ear"]
    joined = {**uploads, "ear": body("consensus", 99)}
    expected = server.aggregate(joined, 2, draws(joined))["ear"]
    assert np.allclose(heard.components.centers, expected.components.centers)
    assert np.allclose(heard.components.variances, expected.components.variances)


def test_listener_of_shape_gets_nearly_what_a_newcomer_would():
    server = build_server("shape", {})
    uploads = bodies("shape", 30)
    heard = server.listen(uploads, ["ear"], draws(uploads))["ear"]
    joined = {**uploads, "ear": body("shape", 99)}
    expected = server.aggregate(joined, 2, draws(joined))["ear"]
    for mine, theirs in zip(heard.means, expected.means, strict=True):
        assert np.abs(mine - theirs).max() < 0.1


@pytest.mark.parametrize("num_sites", [2, 3, 7])
def test_names_of_sites_have_no_part_in_what_a_listener_hears(num_sites):
    """Who comes first in the alphabet has no second vote."""
    server = build_server("shape", {})
    uploads = bodies("shape", num_sites)
    heard = server.listen(uploads, ["ear"], draws(uploads))["ear"]
    names = sorted(uploads, reverse=True)
    renamed = dict(zip(names, (uploads[n] for n in sorted(uploads)), strict=True))
    again = server.listen(renamed, ["ear"], draws(renamed))["ear"]
    for mine, theirs in zip(heard.means, again.means, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def encoded(uploads):
    terms = Terms(federation="f", space="abc", strategy="guide")
    return {
        site: Envelope(
            head=UploadHead(terms=terms, site=site, sequence=4), body=upload
        ).to_bytes()
        for site, upload in uploads.items()
    }


def test_exchange_with_listeners_and_receivers():
    server = build_server("guide", {})
    uploads = encoded(bodies("guide", 5))
    everybody = exchange(server, uploads, t=2, seed=1, number=17)
    some = exchange(
        server,
        uploads,
        t=2,
        seed=1,
        number=17,
        receivers=["s1", "s3"],
        listeners=["ear"],
    )
    assert set(some.packets) == {"s1", "s3", "ear"}
    for name in ("s1", "s3"):
        assert some.packets[name] == everybody.packets[name]
    head = read(some.packets["ear"], server.packet_type, PacketHead).head
    assert (head.site, head.answers, head.round, head.num_uploads) == ("ear", 0, 17, 5)


def test_number_of_an_exchange_changes_no_draw():
    server = build_server("guide", {})
    uploads = encoded(bodies("guide", 9))
    one, other = (exchange(server, uploads, t=2, seed=1, number=n) for n in (2, 900))
    for site in uploads:
        a, b = (
            read(x.packets[site], server.packet_type, PacketHead) for x in (one, other)
        )
        assert a.body.to_body() == b.body.to_body()
        assert (a.head.round, b.head.round) == (2, 900)
