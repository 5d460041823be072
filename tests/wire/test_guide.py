"""Messages of the guide strategy through the codec and back."""

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
from guidefbo.testing.generators import guidance_packets, optimum_uploads
from guidefbo.wire.cost import Cost
from guidefbo.wire.guide import MAX_COMPONENTS, MIN_MASS, GuidancePacket, OptimumUpload


@given(st.booleans().flatmap(lambda is_full: optimum_uploads(is_full=is_full)))
def test_upload_survives_the_wire(upload):
    check_codec(upload)


@given(st.booleans().flatmap(lambda is_full: guidance_packets(is_full=is_full)))
def test_packet_survives_the_wire(packet):
    check_codec(packet)


@pytest.mark.parametrize(
    "number",
    [0.1 + 0.2, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.0 - 2**-53, 2**-1, 1e-300],
)
def test_floats_keep_every_bit(number):
    upload = OptimumUpload(
        mass=max(number, MIN_MASS),
        center=np.array([number, 0.5]),
        variance=np.array([0.04, 0.1]),
        value_score=-number,
    )
    again = decode(encode(upload), OptimumUpload)
    assert same_value(again, upload)
    assert float.hex(again.value_score) == float.hex(-number)


def test_negative_zero_keeps_its_sign():
    upload = OptimumUpload(
        mass=0.5, center=np.array([-0.0]), variance=np.ones(1), value_score=-0.0
    )
    again = decode(encode(upload), OptimumUpload)
    assert np.signbit(again.center[0])
    assert np.signbit(again.value_score)


@pytest.mark.parametrize("dim", [1, 2, 10, 30])
def test_upload_has_2d_plus_2_scalars(dim):
    """E38: mass, centre, variances, score; the covariance has d(d+1)/2 entries."""
    diagonal = OptimumUpload(
        mass=0.5, center=np.full(dim, 0.3), variance=np.full(dim, 0.1), value_score=1.0
    )
    full = OptimumUpload(
        mass=0.5, center=np.full(dim, 0.3), variance=np.eye(dim), value_score=1.0
    )
    assert Cost.of(encode(diagonal)).scalars == 2 * dim + 2
    assert Cost.of(encode(full)).scalars == dim + 2 + dim * (dim + 1) // 2


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("dim", [1, 2, 10])
def test_packet_has_p_times_2d_plus_1_scalars(dim, count):
    """E38: weight, centre and variances of each component."""
    diagonal = Components(
        weights=np.full(count, 0.1),
        centers=np.full((count, dim), 0.5),
        variances=np.full((count, dim), 0.1),
    )
    full = Components(
        weights=diagonal.weights,
        centers=diagonal.centers,
        variances=np.tile(np.eye(dim), (count, 1, 1)),
    )
    cost = Cost.of(encode(GuidancePacket(components=diagonal)))
    assert cost.scalars == count * (2 * dim + 1)
    cost = Cost.of(encode(GuidancePacket(components=full)))
    assert cost.scalars == count * (1 + dim + dim * (dim + 1) // 2)


def test_cost_counts_bytes_of_the_whole_message_and_adds_up():
    """E38."""
    small = encode(
        OptimumUpload(
            mass=0.5, center=np.zeros(1), variance=np.ones(1), value_score=0.0
        )
    )
    assert small == (
        framed(
            "guide.upload",
            b'{"mass":0.5,"center":[0.0],"variance":[1.0],"value_score":0.0}',
        )
    )
    cost = Cost.of(small)
    assert (cost.scalars, cost.num_bytes) == (4, len(small))
    assert cost + cost + Cost() == Cost(scalars=8, num_bytes=2 * len(small))


@pytest.mark.parametrize("is_full", [False, True])
def test_a_packet_holds_a_hundred_components_at_most(is_full):
    """Each of them costs at every point that a decision looks at."""

    def body(count):
        return {
            "weights": [0.001] * count,
            "centers": [[0.5, 0.5]] * count,
            **(
                {"covariance": [[1.0, 0.0, 1.0]] * count}
                if is_full
                else {"variance": [[0.1, 0.1]] * count}
            ),
        }

    assert MAX_COMPONENTS == 100
    largest = decode(message(body(100), "guide.packet"), GuidancePacket)
    assert len(largest) == 100
    for count in (101, 1000):
        with pytest.raises(WireError, match=f"at most 100 components, got {count}"):
            decode(message(body(count), "guide.packet"), GuidancePacket)
    c = largest.components
    with pytest.raises(WireError, match="at most 100 components, got 101"):
        GuidancePacket(components=c.take(np.zeros(101, dtype=np.intp)))


def test_covariance_travels_as_its_lower_triangle_by_rows():
    matrix = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    upload = OptimumUpload(
        mass=1.0, center=np.full(3, 0.5), variance=matrix, value_score=0.0
    )
    data = encode(upload)
    body = json.loads(data)["body"]
    assert body["covariance"] == [4.0, 1.0, 3.0, 0.5, 0.25, 2.0]
    assert "variance" not in body
    assert decode(data, OptimumUpload).variance.tolist() == matrix.tolist()


def test_messages_are_frozen_copies():
    center = np.array([0.2, 0.4])
    upload = OptimumUpload(
        mass=0.5, center=center, variance=np.ones(2), value_score=0.0
    )
    center[:] = 0.9
    assert upload.center.tolist() == [0.2, 0.4]
    with pytest.raises(ValueError, match="read-only"):
        upload.variance[0] = 2.0
    with pytest.raises(AttributeError):
        upload.mass = 0.1


def test_receiver_names_the_type():
    upload = OptimumUpload(
        mass=0.5, center=np.zeros(1), variance=np.ones(1), value_score=0.0
    )
    with pytest.raises(WireError, match=r"'guide\.packet'.*'guide\.upload'"):
        decode(encode(upload), GuidancePacket)


def test_contract_notices_a_codec_that_rounds():
    class Rounding(OptimumUpload):
        __slots__ = ()

        def to_body(self):
            body = OptimumUpload.to_body(self)
            return {**body, "mass": round(body["mass"], 6)}

    message = Rounding(
        mass=1 / 3, center=np.zeros(1), variance=np.ones(1), value_score=0.0
    )
    with pytest.raises(AssertionError, match="bit for bit"):
        check_codec(message)


def test_contract_notices_a_codec_that_accepts_anything():
    class Careless(OptimumUpload):
        __slots__ = ()

        @classmethod
        def from_body(cls, body):
            known = {k: body[k] for k in body if k != "more"}
            return super().from_body(known)

    message = Careless(
        mass=0.5, center=np.zeros(1), variance=np.ones(1), value_score=0.0
    )
    with pytest.raises(AssertionError, match="unknown field must be refused"):
        check_codec(message)
