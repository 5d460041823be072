"""Messages of the control shared-data: raw observations up and down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import unit_points
from tests.wire.envelopes import framed, message

from guidefbo.core.errors import WireError
from guidefbo.testing import check_codec
from guidefbo.testing.codec import decode, encode
from guidefbo.wire.cost import Cost
from guidefbo.wire.shared_data import (
    LARGEST,
    LEAST_NOISE,
    MAX_ROWS,
    MOST_NOISE,
    SharedObservations,
    SharedPacket,
)

UP, DOWN = "shared-data.upload", "shared-data.packet"
BODY = {"inputs": [[0.1, 0.2], [0.3, 1.0]], "values": [1.0, -1.0], "noise": [0.1, 0.2]}


def observed(n=2, dim=2, value=0.5, noise=0.1):
    return SharedObservations(
        inputs=np.full((n, dim), 0.25),
        values=np.full(n, value),
        noise=np.full(n, noise),
    )


@st.composite
def fields(draw):
    """The fields of a valid message: built in the test, not while drawing."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return {
        "inputs": draw(unit_points(n, d)),
        "values": draw(arrays(float, n, elements=st.floats(-LARGEST, LARGEST))),
        "noise": draw(arrays(float, n, elements=st.floats(LEAST_NOISE, MOST_NOISE))),
    }


@given(fields())
def test_messages_survive_the_wire(given):
    sent = SharedObservations(**given)
    check_codec(sent)
    check_codec(SharedPacket(sites=(sent, sent)))


def test_sizes():
    """n (d + 2) scalars; none in a packet for a site alone."""
    assert Cost.of(encode(observed(7, 3))).scalars == 7 * 5
    packet = SharedPacket(sites=(observed(7, 3), observed(2, 3)))
    assert (len(packet), Cost.of(encode(packet)).scalars) == (9, 9 * 5)
    assert Cost.of(encode(SharedPacket(sites=()))).scalars == 0


def test_bytes_are_what_they_are_said_to_be():
    body = b'{"inputs":[[0.25]],"values":[0.5],"noise":[0.1]}'
    one = observed(1, 1)
    assert encode(one) == framed(UP, body)
    assert encode(SharedPacket(sites=(one,))) == framed(DOWN, b'{"sites":[%s]}' % body)
    assert len(decode(framed(DOWN, b'{"sites":[]}'), SharedPacket)) == 0


def test_messages_are_frozen_copies():
    mine = np.full((2, 2), 0.5)
    sent = SharedObservations(inputs=mine, values=np.ones(2), noise=np.ones(2))
    mine[:] = 0.9
    assert (sent.inputs == 0.5).all()
    with pytest.raises(ValueError, match="read-only"):
        sent.values[0] = 0.5


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("inputs", [], "none of them empty"),
        ("inputs", [[0.1, 0.2], [0.3]], "rows of one length"),
        ("inputs", [[0.1, 0.2], [0.3, 1.1]], "unit cube"),
        ("inputs", [[0.1, 0.2]], "for each of 1 inputs"),
        ("inputs", [0.1, 0.2], "lists 2 deep"),
        ("values", [1.0], "for each of 2 inputs"),
        ("values", [1.0, "2"], "finite numbers"),
        ("values", [1.0, 1.01 * LARGEST], "values must lie"),
        ("values", [1.0, -1.01 * LARGEST], "values must lie"),
        ("noise", [0.1, 0.0], "noise must lie"),
        ("noise", [0.1, -0.1], "noise must lie"),
        ("noise", [0.1, 1.01 * MOST_NOISE], "noise must lie"),
        ("noise", None, "lists 1 deep"),
    ],
)
def test_bodies_that_are_refused(name, value, words):
    """Whether they come as an upload or inside a packet."""
    good, bad = BODY, {**BODY, name: value}
    decode(message(good, UP), SharedObservations)
    decode(message({"sites": [good]}, DOWN), SharedPacket)
    with pytest.raises(WireError, match=words):
        decode(message(bad, UP), SharedObservations)
    with pytest.raises(WireError, match=words):
        decode(message({"sites": [good, bad]}, DOWN), SharedPacket)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"sites": None}, "list of objects"),
        ({"sites": [[0.1]]}, "list of objects"),
        ({"sites": [{"inputs": [[0.1]]}]}, "missing"),
        ({"sites": [], "names": []}, "unknown"),
        ({"sites": [BODY, {**BODY, "inputs": [[0.1], [0.2]]}]}, "one dimension"),
        ({"sites": [{}] * (MAX_ROWS + 1)}, "at most 2000 sites"),
    ],
)
def test_packets_that_are_refused(body, words):
    with pytest.raises(WireError, match=words):
        decode(message(body, DOWN), SharedPacket)


@pytest.mark.parametrize("name", ["inputs", "values", "noise"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nothing_infinite_is_even_built(name, bad):
    fields = {"inputs": np.full((1, 1), 0.5), "values": np.ones(1), "noise": np.ones(1)}
    with pytest.raises(WireError, match=f"{name} must"):
        SharedObservations(**fields | {name: np.full_like(fields[name], bad)})


def test_more_than_a_message_holds_is_refused():
    assert len(observed(MAX_ROWS)) == MAX_ROWS
    with pytest.raises(WireError, match="at most 2000 observations, got 2001"):
        observed(MAX_ROWS + 1)
    half = observed(MAX_ROWS // 2 + 1)
    with pytest.raises(WireError, match="packet has at most 2000"):
        SharedPacket(sites=(half, half))
