"""Messages of the consensus strategy: one place up, the others' place down."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.envelopes import framed, message

from guidefbo.core.component import Components
from guidefbo.core.errors import WireError
from guidefbo.testing import check_codec
from guidefbo.testing.codec import decode, encode, same_value
from guidefbo.testing.generators import peak_uploads, real_arrays
from guidefbo.wire.consensus import (
    MAX_SCORE,
    SHARPEST,
    WIDEST,
    ConsensusPacket,
    PeakUpload,
)
from guidefbo.wire.cost import Cost
from guidefbo.wire.guide import OptimumUpload

UPLOAD = {
    "mass": 1.0,
    "center": [0.2, 0.4],
    "variance": [0.01, 0.02],
    "value_score": 1.5,
}
PACKET = {"weights": [1.0], "centers": [[0.2, 0.4]], "variance": [[0.1, 0.2]]}
EMPTY = {"weights": [], "centers": [], "variance": []}


def place(dim, count=1):
    return ConsensusPacket(
        components=Components(
            weights=np.ones(count),
            centers=np.full((count, dim), 0.5),
            variances=np.full((count, dim), 0.04),
        )
    )


@given(peak_uploads())
def test_upload_survives_the_wire(upload):
    check_codec(upload)


@given(st.integers(0, 1), st.integers(1, 5), st.data())
def test_packet_survives_the_wire(count, dim, data):
    check_codec(
        ConsensusPacket(
            components=Components(
                weights=data.draw(real_arrays((count,), 0.0, 1.0)),
                centers=data.draw(real_arrays((count, dim), 0.0, 1.0)),
                variances=data.draw(real_arrays((count, dim), 1e-6, 1.0)),
            )
        )
    )


@pytest.mark.parametrize("dim", [1, 2, 10, 30])
def test_sizes(dim):
    """E78: 2d+2 scalars up, 2d+1 down, none where nobody else has spoken."""
    upload = PeakUpload(
        mass=1.0,
        center=np.full(dim, 0.5),
        variance=np.full(dim, 0.01),
        value_score=0.5,
    )
    assert Cost.of(encode(upload)).scalars == 2 * dim + 2
    assert Cost.of(encode(place(dim))).scalars == 2 * dim + 1
    assert Cost.of(encode(place(dim, 0))).scalars == 0


def test_upload_has_the_fields_and_the_size_of_a_component():
    """E78: what a site reveals here it would reveal to GUIDE as well."""
    given = {"mass": 1.0, "value_score": 0.25}
    arrays = {"center": np.full(4, 0.5), "variance": np.full(4, 0.01)}
    here = json.loads(encode(PeakUpload(**given, **arrays)))["body"]
    there = json.loads(encode(OptimumUpload(**given, **arrays)))["body"]
    assert here == there


def test_bytes_are_what_they_are_said_to_be():
    """E78."""
    upload = PeakUpload(
        mass=1, center=np.zeros(1), variance=np.full(1, 0.01), value_score=-1
    )
    assert encode(upload) == (
        framed(
            "consensus.upload",
            b'{"mass":1.0,"center":[0.0],"variance":[0.01],"value_score":-1.0}',
        )
    )
    assert encode(place(7, 0)) == (
        framed("consensus.packet", b'{"weights":[],"centers":[],"variance":[]}')
    )


def test_an_empty_packet_is_the_same_whatever_its_width():
    here = place(7, 0)
    assert (len(here), here.dim) == (0, 0)
    assert same_value(decode(encode(here), ConsensusPacket), here)
    assert same_value(decode(message(EMPTY, "consensus.packet"), ConsensusPacket), here)


def test_messages_are_frozen_copies():
    center = np.array([0.2, 0.4])
    upload = PeakUpload(
        mass=1.0, center=center, variance=np.full(2, 0.01), value_score=0.0
    )
    center[:] = 0.9
    assert upload.center.tolist() == [0.2, 0.4]
    with pytest.raises(ValueError, match="read-only"):
        upload.variance[0] = 0.5


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("mass", 0.5, "mass must be"),
        ("mass", True, "mass must be"),
        ("mass", None, "mass must be"),
        ("center", [], "none of them empty"),
        ("center", 0.5, "lists 1 deep"),
        ("center", [[0.5]], "lists 1 deep"),
        ("center", [0.5, None], "finite numbers"),
        ("center", [0.5, 1.1], "unit cube"),
        ("center", [0.5], "like the centre"),
        ("variance", [0.01], "like the centre"),
        ("variance", [0.01, 0.0], "variance must lie"),
        ("variance", [0.01, -0.01], "variance must lie"),
        ("variance", [0.01, 0.9 * SHARPEST], "variance must lie"),
        ("variance", [0.01, 1.1 * WIDEST], "variance must lie"),
        ("variance", [0.01, "0.01"], "finite numbers"),
        ("value_score", 2 * MAX_SCORE, "value_score must be"),
        ("value_score", "high", "value_score must be"),
        ("value_score", 10**400, "value_score must be"),
    ],
)
def test_uploads_that_are_refused(field, value, words):
    decode(message(UPLOAD, "consensus.upload"), PeakUpload)
    with pytest.raises(WireError, match=words):
        decode(message({**UPLOAD, field: value}, "consensus.upload"), PeakUpload)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": [1.1]}, "weight must be"),
        ({"weights": [-0.1]}, "weight must be"),
        ({"weights": [0.5, 0.5]}, "one weight per centre"),
        ({"weights": []}, "none of them empty"),
        ({"centers": [[0.2, 1.4]]}, "unit cube"),
        ({"centers": [[0.2]]}, "a variance for each"),
        ({"centers": [[]]}, "none of them empty"),
        ({"centers": [0.2, 0.4]}, "lists 2 deep"),
        ({"centers": [[0.2, None]]}, "finite numbers"),
        ({"variance": [[0.1, 0.0]]}, "positive"),
        ({"variance": [[0.1, 1e3]]}, "positive"),
        ({"variance": [[0.1]]}, "a variance for each"),
        ({"variance": []}, "none of them empty"),
        ({"variance": None}, "lists 2 deep"),
    ],
)
def test_packets_that_are_refused(changes, words):
    decode(message(PACKET, "consensus.packet"), ConsensusPacket)
    with pytest.raises(WireError, match=words):
        decode(message({**PACKET, **changes}, "consensus.packet"), ConsensusPacket)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["mass", "center", "variance", "value_score"])
def test_nothing_infinite_is_even_built(field, bad):
    good = {
        "mass": 1.0,
        "center": np.full(1, 0.5),
        "variance": np.full(1, 0.01),
        "value_score": 0.0,
    }
    wrong = np.array([bad]) if field in ("center", "variance") else bad
    with pytest.raises(WireError, match="finite"):
        PeakUpload(**{**good, field: wrong})


def test_wrong_axes_are_not_built():
    with pytest.raises(WireError, match="one coordinate or more"):
        PeakUpload(mass=1.0, center=np.empty(0), variance=np.empty(0), value_score=0.0)
    with pytest.raises(WireError, match="one coordinate or more"):
        place(0)


@pytest.mark.parametrize("count", [2, 3, 100])
def test_a_packet_holds_one_component_at_most(count):
    """What one place costs to decide on is all that a server may ask for."""
    with pytest.raises(WireError, match=f"one component at most, got {count}"):
        place(2, count)
    body = {name: value * count for name, value in PACKET.items()}
    with pytest.raises(WireError, match=f"one component at most, got {count}"):
        decode(message(body, "consensus.packet"), ConsensusPacket)


def test_receiver_names_the_type():
    with pytest.raises(WireError, match=r"'consensus\.packet'.*'consensus\.upload'"):
        decode(message(UPLOAD, "consensus.upload"), ConsensusPacket)


@given(st.integers(1, 6), st.integers(1, 4), st.data())
def test_packets_made_at_once_are_those_made_one_by_one(count, dim, data):
    centers = data.draw(real_arrays((count, dim), 0.0, 1.0))
    variances = data.draw(real_arrays((count, dim), 1e-6, 1.0))
    found = ConsensusPacket.of_rows(centers, variances)
    for n, packet in enumerate(found):
        alone = Components(
            weights=np.ones(1), centers=centers[[n]], variances=variances[[n]]
        )
        assert same_value(packet, ConsensusPacket(components=alone))
        assert not packet.components.centers.flags.writeable
        check_codec(packet)
    assert len(found) == count


@pytest.mark.parametrize(
    ("centers", "variances", "words"),
    [
        ([[0.5], [1.5]], [[0.1], [0.1]], "center"),
        ([[0.5], [np.nan]], [[0.1], [0.1]], "center must be finite"),
        ([[0.5], [0.5]], [[0.1], [0.0]], "variance"),
        ([[], []], [[], []], "one coordinate or more"),
    ],
)
def test_a_bad_row_among_many_is_refused(centers, variances, words):
    with pytest.raises(WireError, match=words):
        ConsensusPacket.of_rows(np.array(centers), np.array(variances))
