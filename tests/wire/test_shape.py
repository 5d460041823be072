"""Messages of the shape strategy: trend and place up, what to expect of them down."""

import numpy as np
import pytest
from hypothesis import given
from tests.trends import coefficients
from tests.wire.envelopes import framed, message

from guidefbo.core.errors import WireError
from guidefbo.testing import check_codec
from guidefbo.testing.codec import decode, encode
from guidefbo.wire.cost import Cost
from guidefbo.wire.shape import (
    CHOICE,
    LARGEST,
    MAX_BLOCKS,
    SHARPEST,
    WIDEST,
    ShapePacket,
    ShapeUpload,
)

BODY = {
    "kinds": ["slopes", "bends", "choice", "place"],
    "means": [[0.1, -0.2], [0.3, 0.4], [0.5, -0.5, 0.0], [0.1, 0.4]],
    "variances": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6, 0.7], [0.01, 0.02]],
}
EMPTY = {"kinds": [], "means": [], "variances": []}
KINDS = {"shape.upload": ShapeUpload, "shape.packet": ShapePacket}


def flat(kind, *sizes, mean=0.5, variance=0.1):
    return kind(
        kinds=(CHOICE,) * len(sizes),
        means=tuple(np.full(n, mean) for n in sizes),
        variances=tuple(np.full(n, variance) for n in sizes),
    )


@given(coefficients())
def test_messages_survive_the_wire(given):
    for kind in KINDS.values():
        check_codec(kind(**given))


def test_a_packet_that_says_nothing_survives_the_wire():
    check_codec(flat(ShapePacket))


@pytest.mark.parametrize("sizes", [(1, 1), (10, 10), (2, 2, 3, 5), (4,)], ids=str)
def test_sizes(sizes):
    """E95: 2 for each number of a block either way, none where nobody has spoken."""
    for kind in KINDS.values():
        sent = flat(kind, *sizes)
        assert sent.sizes == sizes
        assert len(sent) == sum(sizes)
        assert Cost.of(encode(sent)).scalars == 2 * sum(sizes)
    assert Cost.of(encode(flat(ShapePacket))).scalars == 0


def test_bytes_are_what_they_are_said_to_be():
    """E95."""
    sent = flat(ShapeUpload, 1, 2, mean=-1.0, variance=0.25)
    body = (
        b'{"kinds":["choice","choice"],"means":[[-1.0],[-1.0,-1.0]],'
        b'"variances":[[0.25],[0.25,0.25]]}'
    )
    assert encode(sent) == framed("shape.upload", body)
    nothing = framed("shape.packet", b'{"kinds":[],"means":[],"variances":[]}')
    assert encode(flat(ShapePacket)) == nothing
    assert len(decode(nothing, ShapePacket)) == 0


def test_messages_are_frozen_copies():
    mine = np.array([0.2, 0.4])
    sent = ShapeUpload(kinds=(CHOICE,), means=(mine,), variances=(np.full(2, 0.1),))
    mine[:] = 0.9
    assert sent.means[0].tolist() == [0.2, 0.4]
    with pytest.raises(ValueError, match="read-only"):
        sent.variances[0][0] = 0.5


def changed(name, block, value):
    """Return a body with one block, or one field, replaced."""
    if block is None:
        return {**BODY, name: value}
    blocks = list(BODY[name])
    blocks[block] = value
    return {**BODY, name: blocks}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "block", "value", "words"),
    [
        ("means", 0, [0.1], "same sizes"),
        ("means", 0, [], "none of them empty"),
        ("means", 0, 0.1, "lists 1 deep"),
        ("means", 0, [[0.1, 0.2]], "lists 1 deep"),
        ("means", 0, [0.1, None], "finite numbers"),
        ("means", 0, [0.1, "0.2"], "finite numbers"),
        ("means", 0, [0.1, True], "finite numbers"),
        ("means", 0, [0.1, 10**400], "finite numbers"),
        ("means", 0, [0.1, 1.01 * LARGEST], "means must lie"),
        ("means", 0, [0.1, -1.01 * LARGEST], "means must lie"),
        ("means", None, None, "list of at most"),
        ("means", None, {"0": [0.1]}, "list of at most"),
        ("means", None, [], "same sizes"),
        ("kinds", None, ["slopes", "bends", "choice"], "for each of 4 blocks one of"),
        ("kinds", None, [], "for each of 4 blocks one of"),
        (
            "kinds",
            0,
            "slope",
            "one of slopes, bends, cubics, quartics, choice, place, got",
        ),
        ("kinds", 0, "", "for each of 4 blocks one of"),
        ("kinds", 0, 1, "kinds must be a list of at most .* texts"),
        ("kinds", 0, None, "kinds must be a list of at most .* texts"),
        ("kinds", 0, ["slopes"], "kinds must be a list of at most .* texts"),
        ("kinds", None, "slopes", "kinds must be a list of at most .* texts"),
        ("kinds", None, None, "kinds must be a list of at most .* texts"),
        ("kinds", None, ["choice"] * (MAX_BLOCKS + 1), "list of at most"),
        ("means", None, [[0.1]] * (MAX_BLOCKS + 1), "list of at most"),
        ("variances", 2, [0.1, 0.1], "same sizes"),
        ("variances", 2, [0.1, 0.1, 0.0], "variances must lie"),
        ("variances", 2, [0.1, 0.1, -0.1], "variances must lie"),
        ("variances", 2, [0.1, 0.1, 0.99 * SHARPEST], "variances must lie"),
        ("variances", 2, [0.1, 0.1, 1.01 * WIDEST], "variances must lie"),
        ("variances", None, "0.1", "list of at most"),
        ("variances", None, [0.1, 0.1], "lists 1 deep"),
    ],
)
def test_bodies_that_are_refused(kind, name, block, value, words):
    decode(message(BODY, kind), KINDS[kind])
    with pytest.raises(WireError, match=words):
        decode(message(changed(name, block, value), kind), KINDS[kind])


def test_an_upload_that_says_nothing_is_refused():
    """A packet may: nobody else has spoken."""
    assert len(decode(message(EMPTY, "shape.packet"), ShapePacket)) == 0
    with pytest.raises(WireError, match="one coefficient or more"):
        decode(message(EMPTY, "shape.upload"), ShapeUpload)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["means", "variances"])
def test_nothing_infinite_is_even_built(name, bad):
    given = {
        "kinds": (CHOICE,),
        "means": (np.zeros(2),),
        "variances": (np.full(2, 0.1),),
    }
    given[name] = (np.array([0.1, bad]),)
    with pytest.raises(WireError, match=f"{name} must lie"):
        ShapePacket(**given)


@pytest.mark.parametrize("shape", [(0,), (), (2, 2)], ids=str)
def test_wrong_axes_are_not_built(shape):
    with pytest.raises(WireError, match="blocks of one number or more"):
        ShapePacket(
            kinds=(CHOICE,),
            means=(np.zeros(shape),),
            variances=(np.full(shape, 0.1),),
        )


def test_too_many_blocks_are_not_built():
    one = (np.full(1, 0.1),) * (MAX_BLOCKS + 1)
    with pytest.raises(WireError, match=f"at most {MAX_BLOCKS} blocks"):
        ShapePacket(kinds=(CHOICE,) * len(one), means=one, variances=one)


def test_what_an_earlier_version_sent_is_refused():
    """Version 1 had no kinds: which block is which could not be told."""
    old = {name: BODY[name] for name in ("means", "variances")}
    for kind, cls in KINDS.items():
        with pytest.raises(WireError, match=r"missing.*kinds"):
            decode(message(old, kind), cls)


def test_form_is_the_kind_and_size_of_each_block():
    sent = decode(message(BODY, "shape.upload"), ShapeUpload)
    assert sent.form == (("slopes", 2), ("bends", 2), ("choice", 3), ("place", 2))


def test_rounding_at_the_limits_is_forgiven():
    """Both are sent as they are."""
    for value in (LARGEST, -LARGEST):
        flat(ShapeUpload, 1, mean=value * (1.0 + 1e-12))
    for value in (SHARPEST * (1.0 - 1e-12), WIDEST * (1.0 + 1e-12)):
        flat(ShapeUpload, 1, variance=value)


def test_receiver_names_the_type():
    with pytest.raises(WireError, match=r"'shape\.packet'.*'shape\.upload'"):
        decode(message(BODY, "shape.upload"), ShapePacket)


FORM = (("slopes", 2), ("bends", 2), ("choice", 3))


def test_messages_made_together_are_those_made_one_by_one():
    means = np.linspace(-2.0, 2.0, 28).reshape(4, 7)
    variances = np.linspace(0.1, 1.0, 28).reshape(4, 7)
    found = ShapePacket.of_rows(FORM, means, variances)
    kept = means.copy()
    means[:] = 0.0
    assert len(found) == 4
    for packet, b, v in zip(found, kept, variances, strict=True):
        alone = ShapePacket(
            kinds=tuple(kind for kind, _ in FORM),
            means=tuple(np.split(b, [2, 4])),
            variances=tuple(np.split(v, [2, 4])),
        )
        assert packet.to_body() == alone.to_body()
        assert packet.form == FORM
        assert not any(block.flags.writeable for block in packet.means)
        assert not any(block.flags.writeable for block in packet.variances)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 9.0])
def test_one_bad_row_of_many_is_refused(bad):
    means, variances = np.zeros((4, 7)), np.ones((4, 7))
    means[2, 3] = bad
    with pytest.raises(WireError, match="means must lie from -8 to 8"):
        ShapePacket.of_rows(FORM, means, variances)
    with pytest.raises(WireError, match="variances must lie"):
        ShapePacket.of_rows(FORM, np.zeros((4, 7)), np.zeros((4, 7)))


def test_rows_of_another_form_are_refused():
    with pytest.raises(WireError, match="Expected rows of 7 numbers"):
        ShapePacket.of_rows(FORM, np.zeros((4, 6)), np.ones((4, 6)))
    with pytest.raises(WireError, match="one of slopes"):
        ShapePacket.of_rows((("hills", 1),), np.zeros((2, 1)), np.ones((2, 1)))
