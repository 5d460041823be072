"""Messages of the cgp strategy: one design up, a few designs down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.wire.envelopes import framed, message

from guidefbo.core.errors import WireError
from guidefbo.testing import check_codec
from guidefbo.testing.codec import decode, encode, same_value
from guidefbo.wire.cgp import MAX_DESIGNS, MAX_LEVEL, DesignPacket, DesignUpload
from guidefbo.wire.cost import Cost

UPLOAD = {"design": [0.2, 0.4], "lower_bound": -1.5, "best_mean": 0.25}
unit = st.floats(0.0, 1.0, allow_subnormal=False)
levels = st.floats(-MAX_LEVEL, MAX_LEVEL, allow_subnormal=False)


@given(arrays(float, st.integers(1, 5), elements=unit), levels, levels)
def test_upload_survives_the_wire(design, lower_bound, best_mean):
    check_codec(
        DesignUpload(design=design, lower_bound=lower_bound, best_mean=best_mean)
    )


@given(
    arrays(float, st.tuples(st.integers(0, 4), st.integers(1, 5)), elements=unit),
)
def test_packet_survives_the_wire(designs):
    check_codec(DesignPacket(designs=designs))


@pytest.mark.parametrize("dim", [1, 2, 10, 30])
def test_sizes(dim):
    """E62: d+2 scalars up, so 12 for d = 10; m d down, none without a design."""
    upload = DesignUpload(design=np.full(dim, 0.5), lower_bound=0.5, best_mean=1.0)
    assert Cost.of(encode(upload)).scalars == dim + 2
    for m in (0, 1, 3):
        packet = DesignPacket(designs=np.full((m, dim), 0.5))
        assert Cost.of(encode(packet)).scalars == m * dim


def test_bytes_are_what_they_are_said_to_be():
    """E62."""
    assert encode(DesignUpload(design=np.zeros(1), lower_bound=-1.0, best_mean=2)) == (
        framed("cgp.upload", b'{"design":[0.0],"lower_bound":-1.0,"best_mean":2.0}')
    )
    assert encode(DesignPacket(designs=np.empty((0, 7)))) == (
        framed("cgp.packet", b'{"designs":[]}')
    )


def test_an_empty_packet_is_the_same_whatever_its_width():
    here = DesignPacket(designs=np.empty((0, 7)))
    assert (len(here), here.dim) == (0, 0)
    assert same_value(decode(encode(here), DesignPacket), here)


def test_messages_are_frozen_copies():
    design = np.array([0.2, 0.4])
    upload = DesignUpload(design=design, lower_bound=0.0, best_mean=0.0)
    packet = DesignPacket(designs=design[None])
    design[:] = 0.9
    assert upload.design.tolist() == packet.designs[0].tolist() == [0.2, 0.4]
    with pytest.raises(ValueError, match="read-only"):
        upload.design[0] = 0.5
    with pytest.raises(ValueError, match="read-only"):
        packet.designs[0, 0] = 0.5


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("design", [], "none of them empty"),
        ("design", 0.5, "lists 1 deep"),
        ("design", [[0.5]], "lists 1 deep"),
        ("design", [0.5, None], "finite numbers"),
        ("design", [0.5, "0.5"], "finite numbers"),
        ("design", [0.5, True], "finite numbers"),
        ("design", [0.5, 1.1], "unit cube"),
        ("design", [-0.1, 0.5], "unit cube"),
        ("lower_bound", None, "lower_bound must be a finite number"),
        ("lower_bound", 1e101, "lower_bound must be a finite number"),
        ("lower_bound", [0.0], "lower_bound must be a finite number"),
        ("best_mean", "high", "best_mean must be a finite number"),
        ("best_mean", False, "best_mean must be a finite number"),
        ("best_mean", 10**400, "best_mean must be a finite number"),
    ],
)
def test_uploads_that_are_refused(field, value, words):
    decode(message(UPLOAD, "cgp.upload"), DesignUpload)
    with pytest.raises(WireError, match=words):
        decode(message({**UPLOAD, field: value}, "cgp.upload"), DesignUpload)


@pytest.mark.parametrize(
    ("designs", "words"),
    [
        (None, "lists 2 deep"),
        ([[]], "none of them empty"),
        ([0.5, 0.5], "lists 2 deep"),
        ([[0.5], [0.5, 0.5]], "rows of one length"),
        ([[0.5, 2.0]], "unit cube"),
        ([[0.5, None]], "finite numbers"),
        ([[0.5]] * (MAX_DESIGNS + 1), f"at most {MAX_DESIGNS} designs"),
        (False, "lists 2 deep"),
        ({}, "lists 2 deep"),
    ],
)
def test_packets_that_are_refused(designs, words):
    with pytest.raises(WireError, match=words):
        decode(message({"designs": designs}, "cgp.packet"), DesignPacket)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nothing_infinite_is_even_built(bad):
    with pytest.raises(WireError, match="finite"):
        DesignUpload(design=np.array([bad]), lower_bound=0.0, best_mean=0.0)
    with pytest.raises(WireError, match="finite"):
        DesignUpload(design=np.zeros(1), lower_bound=bad, best_mean=0.0)
    with pytest.raises(WireError, match="finite"):
        DesignPacket(designs=np.array([[bad]]))


def test_empty_designs_and_wrong_axes_are_not_built():
    with pytest.raises(WireError, match="one coordinate or more"):
        DesignUpload(design=np.empty(0), lower_bound=0.0, best_mean=0.0)


def test_receiver_names_the_type():
    with pytest.raises(WireError, match=r"'cgp\.packet'.*'cgp\.upload'"):
        decode(message(UPLOAD, "cgp.upload"), DesignPacket)
