"""Everything that is not a valid message is refused before any arithmetic.

Each case gives the message and the words of the sentence that names what was expected
and what arrived.
"""

import copy
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire import envelopes

from guidefbo.core.component import Components
from guidefbo.core.errors import FedBOError, WireError
from guidefbo.testing.codec import decode, encode
from guidefbo.testing.generators import guidance_packets, optimum_uploads
from guidefbo.wire import entries
from guidefbo.wire.envelope import MAX_BYTES
from guidefbo.wire.guide import MAX_SCORE, GuidancePacket, OptimumUpload

UPLOAD = {"mass": 0.5, "center": [0.2, 0.4], "variance": [0.1, 0.2], "value_score": 1.5}
FULL_UPLOAD = {
    "mass": 0.5,
    "center": [0.2, 0.4],
    "covariance": [1.0, 0.0, 1.0],
    "value_score": 1.5,
}
PACKET = {
    "weights": [0.25, 0.5],
    "centers": [[0.2, 0.4], [0.6, 0.8]],
    "variance": [[0.1, 0.2], [0.3, 0.4]],
}
HUGE_INTEGER = "1" + "0" * 400
LONG_INTEGER = "1" * 5000


def envelope(body, kind="guide.upload", **changes):
    return envelopes.envelope(body, kind, **changes)


def refuse(data, expected, *words):
    with pytest.raises(WireError) as caught:
        decode(data, expected)
    text = str(caught.value)
    for word in words:
        assert word in text, text
    # One sentence or two for a reader, not the message itself.
    assert len(text) < 500, len(text)


def refuse_upload(*words, base=UPLOAD, **changes):
    data = json.dumps(envelope({**base, **changes})).encode()
    refuse(data, OptimumUpload, *words)


def refuse_packet(*words, **changes):
    data = json.dumps(envelope({**PACKET, **changes}, "guide.packet")).encode()
    refuse(data, GuidancePacket, *words)


def refuse_text(field, text, *words):
    """Put a raw JSON text in the place of an upload's field."""
    data = json.dumps(envelope({**UPLOAD, field: "HERE"})).replace('"HERE"', text)
    refuse(data.encode(), OptimumUpload, *words)


def test_the_messages_these_tests_start_from_are_valid():
    for body in (UPLOAD, FULL_UPLOAD):
        assert decode(json.dumps(envelope(body)).encode(), OptimumUpload).dim == 2
    data = json.dumps(envelope(PACKET, "guide.packet")).encode()
    assert decode(data, GuidancePacket).dim == 2


def test_wire_errors_belong_to_the_family():
    assert issubclass(WireError, FedBOError)


# Sizes and shapes


@pytest.mark.parametrize("variance", [[0.1], [0.1, 0.2, 0.3]])
def test_upload_with_variances_of_another_dimension(variance):
    refuse_upload("variance", "(2,)", f"({len(variance)},)", variance=variance)


def test_upload_with_a_covariance_of_another_dimension():
    refuse_upload("covariance", "(3,)", "(4,)", base=FULL_UPLOAD, covariance=[1.0] * 4)


def test_packet_whose_arrays_disagree():
    refuse_packet("one weight per centre", "3", "2", weights=[0.1, 0.1, 0.1])
    refuse_packet("variance", "(2, 2)", "(2, 3)", variance=[[0.1] * 3] * 2)
    refuse_packet("variance", "(2, 2)", "(1, 2)", variance=[[0.1, 0.1]])


@pytest.mark.parametrize("field", ["center", "variance"])
@pytest.mark.parametrize(
    "value", [[], [[]], [[0.1, 0.2]], [[0.1], [0.2, 0.3]], [0.1, [0.2]], 0.1, {}, "ab"]
)
def test_upload_with_an_irregular_list(field, value):
    refuse_upload(field, **{field: value})


@pytest.mark.parametrize("field", ["weights", "centers", "variance"])
@pytest.mark.parametrize("value", [[], [[]], [[], []], [[[0.1]]], [[0.1], [0.1, 0.2]]])
def test_packet_with_an_irregular_list(field, value):
    refuse_packet(field, **{field: value})


# Values


@pytest.mark.parametrize("variance", [0.0, -0.0, -0.1])
def test_variance_must_be_positive(variance):
    refuse_upload("variance", "positive", variance=[0.1, variance])
    refuse_packet("variance", "positive", variance=[[0.1, 0.1], [variance, 0.1]])


def test_refusal_of_a_variance_gives_its_value():
    refuse_upload("-0.25", variance=[0.1, -0.25])


@pytest.mark.parametrize("packed", [[1.0, 2.0, 1.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
def test_covariance_must_be_positive_definite(packed):
    refuse_upload("positive definite", base=FULL_UPLOAD, covariance=packed)


def test_covariance_of_absurd_size_is_refused_or_accepted_but_never_a_crash():
    body = {**FULL_UPLOAD, "covariance": [1.7e308, 1.7e308, 1.7e308]}
    refuse(json.dumps(envelope(body)).encode(), OptimumUpload)


@pytest.mark.parametrize("mass", [0.0, -0.1, 1.0000001, 2, 1e300])
def test_mass_must_be_in_0_1(mass):
    refuse_upload("mass", "1", repr(mass), mass=mass)


@pytest.mark.parametrize("weight", [-0.1, 1.0000001, 3])
def test_weight_must_be_in_0_1(weight):
    refuse_packet("weight", "[0, 1]", f"{float(weight)!r}", weights=[0.1, weight])


@pytest.mark.parametrize("coordinate", [-0.001, 1.001, 1e6])
def test_centre_must_be_in_the_cube(coordinate):
    refuse_upload("unit cube", f"{coordinate:g}", center=[0.2, coordinate])
    refuse_packet("unit cube", centers=[[0.2, coordinate], [0.1, 0.1]])


def test_centre_may_leave_the_cube_by_rounding():
    body = {**UPLOAD, "center": [-1e-12, 1.0 + 1e-12]}
    decode(json.dumps(envelope(body)).encode(), OptimumUpload)


@pytest.mark.parametrize("score", [2 * MAX_SCORE, -2 * MAX_SCORE, 1e300])
def test_score_must_be_of_sane_size(score):
    refuse_upload("value_score", repr(score), value_score=score)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("field", ["mass", "value_score", "center", "variance"])
def test_constants_outside_json(field, constant):
    text = f"[0.1, {constant}]" if field in ("center", "variance") else constant
    refuse_text(field, text, "finite", constant)


@pytest.mark.parametrize("text", ["1e999", "-1e999"])
@pytest.mark.parametrize("field", ["mass", "value_score", "center", "variance"])
def test_numbers_beyond_float(field, text):
    text = f"[0.1, {text}]" if field in ("center", "variance") else text
    refuse_text(field, text, field, "finite")


@pytest.mark.parametrize("text", [HUGE_INTEGER, LONG_INTEGER], ids=["400", "5000"])
@pytest.mark.parametrize("field", ["mass", "value_score", "center", "variance"])
def test_integers_beyond_float(field, text):
    text = f"[0.1, {text}]" if field in ("center", "variance") else text
    refuse_text(field, text)


@pytest.mark.parametrize("text", [HUGE_INTEGER, LONG_INTEGER], ids=["400", "5000"])
def test_version_beyond_float(text):
    data = json.dumps(envelope(UPLOAD, version="HERE")).replace('"HERE"', text)
    refuse(data.encode(), OptimumUpload)


@pytest.mark.parametrize("value", [True, False, "0.5", None, [0.5], {"a": 0.5}])
@pytest.mark.parametrize("field", ["mass", "value_score"])
def test_scalar_of_another_type(field, value):
    refuse_upload(field, "number", repr(value), **{field: value})


@pytest.mark.parametrize("value", [True, False, "0.5", None, {"a": 0.5}])
@pytest.mark.parametrize("field", ["center", "variance"])
def test_list_with_an_entry_of_another_type(field, value):
    refuse_upload(field, "numbers", repr(value), **{field: [0.5, value]})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_python_floats_that_are_not_finite(bad):
    good = {
        "mass": 0.5,
        "center": np.array([0.5, 0.5]),
        "variance": np.ones(2),
        "value_score": 0.0,
    }
    OptimumUpload(**good)
    for name in good:
        value = np.array([0.5, bad]) if name in ("center", "variance") else bad
        with pytest.raises(WireError, match=f"{name}.*finite"):
            OptimumUpload(**{**good, name: value})
    parts = {
        "weights": np.full(2, 0.5),
        "centers": np.full((2, 2), 0.5),
        "variances": np.ones((2, 2)),
    }
    for name in parts:
        changed = copy.deepcopy(parts)
        changed[name].flat[0] = bad
        with pytest.raises(WireError, match="finite"):
            GuidancePacket(components=Components(**changed))


def test_what_is_no_number_is_in_no_box_and_no_spread():
    """Messages of one's own are checked by these, whoever makes them."""
    with pytest.raises(WireError, match="place must lie in the unit cube"):
        entries.in_box(np.array([0.5, np.nan]), "place")
    with pytest.raises(WireError, match="spread must be positive"):
        entries.positive_spread(np.array([np.nan, 1.0]), False, "spread")


def test_python_booleans_and_shapes():
    with pytest.raises(WireError, match=r"mass must be a finite number.*True"):
        OptimumUpload(
            mass=True, center=np.zeros(2), variance=np.ones(2), value_score=0.0
        )
    for shape in ((3,), (2, 3), (2, 2, 2), ()):
        with pytest.raises(WireError, match=re.escape(str(shape))):
            OptimumUpload(
                mass=0.5, center=np.zeros(2), variance=np.ones(shape), value_score=0.0
            )


# Fields


@pytest.mark.parametrize("field", UPLOAD)
def test_missing_field(field):
    body = {key: value for key, value in UPLOAD.items() if key != field}
    refuse(json.dumps(envelope(body)).encode(), OptimumUpload, "missing", repr(field))


@pytest.mark.parametrize("field", envelope(UPLOAD))
def test_missing_envelope_field(field):
    whole = envelope(UPLOAD)
    del whole[field]
    # These three are looked at first, and named in a sentence of their own.
    is_frame = field in ("format", "version", "kind")
    words = ("got None",) if is_frame else ("missing", repr(field))
    refuse(json.dumps(whole).encode(), OptimumUpload, *words)


def test_unknown_field():
    refuse_upload("unknown ['observations']", observations=[1.0])
    data = json.dumps(envelope(UPLOAD, secret=1)).encode()
    refuse(data, OptimumUpload, "unknown ['secret']")


def test_variance_beside_covariance():
    refuse_upload("unknown ['variance']", covariance=[1.0, 0.0, 1.0])


def test_duplicate_field():
    text = json.dumps(envelope(UPLOAD))
    doubled = text.replace('"mass": 0.5', '"mass": 0.5, "mass": 0.6')
    refuse(doubled.encode(), OptimumUpload, "each field once", "mass")
    doubled = text.replace('"version": 2', '"version": 2, "version": 2')
    refuse(doubled.encode(), OptimumUpload, "each field once", "version")


# Envelope


def test_version_from_the_future():
    data = json.dumps(envelope(UPLOAD, version=3)).encode()
    refuse(data, OptimumUpload, "version 2", "got 3", "Upgrade this side")


def test_version_from_the_past():
    """It has no sender, no space and no strategy: nobody can say what it answers."""
    words = ("version 2", "got version 1", "whose message", "Upgrade guidefbo")
    refuse(json.dumps(envelope(UPLOAD, version=1)).encode(), OptimumUpload, *words)
    old = {"format": "guidefbo-message", "version": 1, "kind": "guide.upload"}
    refuse(json.dumps({**old, "body": UPLOAD}).encode(), OptimumUpload, *words)


@pytest.mark.parametrize("version", [0, -1, True, "2", 2.0, None, [2]])
def test_version_that_is_none(version):
    data = json.dumps(envelope(UPLOAD, version=version)).encode()
    refuse(data, OptimumUpload, "version 2", f"got {version!r}")


@pytest.mark.parametrize("kind", ["guide.packet", "", None, 3, ["guide.upload"]])
def test_other_kind(kind):
    data = json.dumps(envelope(UPLOAD, kind=kind)).encode()
    refuse(data, OptimumUpload, "'guide.upload'", f"got {kind!r}")


@pytest.mark.parametrize("name", ["guidefbo-run", "", None, {}])
def test_other_format(name):
    data = json.dumps(envelope(UPLOAD, format=name)).encode()
    refuse(data, OptimumUpload, "'guidefbo-message'", f"got {name!r}")


@pytest.mark.parametrize("body", [[], None, 3, "mass"])
def test_body_that_is_no_object(body):
    data = json.dumps(envelope(body)).encode()
    refuse(data, OptimumUpload, "object", type(body).__name__)


@pytest.mark.parametrize("data", [b"[]", b"3", b"null", b'"text"', b"true"])
def test_json_that_is_no_object(data):
    refuse(data, OptimumUpload, "JSON object")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"mass=0.5", b"{'a': 1}", b"{}{}", b"\x80\x04K\x01."]
)
def test_not_json(data):
    refuse(data, OptimumUpload, "JSON message")


@pytest.mark.parametrize("data", [b"\xff\xfe{}", b'{"a": "\xe9"}', b"\xef\xbb\xbf{}"])
def test_not_utf8(data):
    refuse(data, OptimumUpload, "JSON message")


def test_utf16_is_not_accepted():
    refuse(json.dumps(envelope(UPLOAD)).encode("utf-16"), OptimumUpload)


@pytest.mark.parametrize("depth", [100, 400, 900, 5_000, 200_000])
@pytest.mark.parametrize("field", ["center", "mass"])
def test_deep_nesting(field, depth):
    refuse_text(field, "[" * depth + "1" + "]" * depth)


@pytest.mark.parametrize("depth", [100, 400, 900, 100_000])
def test_deep_nesting_of_the_whole_message(depth):
    refuse(b"[" * depth + b"]" * depth, OptimumUpload)
    refuse(b'{"body":' * depth + b"1" + b"}" * depth, OptimumUpload)


def test_oversized_message_is_refused_unread():
    data = json.dumps(envelope(UPLOAD)).encode()
    padded = data + b" " * (MAX_BYTES - len(data))
    decode(padded, OptimumUpload)
    refuse(padded + b" ", OptimumUpload, str(MAX_BYTES), str(MAX_BYTES + 1))


@pytest.mark.parametrize("field", ["mass", *envelope(UPLOAD)])
def test_refusal_does_not_repeat_a_long_message(field):
    long = "x" * 100_000
    whole = envelope({**UPLOAD, "mass": long} if field == "mass" else UPLOAD)
    if field != "mass":
        whole[field] = long
    refuse(json.dumps(whole).encode(), OptimumUpload)


def test_refusal_does_not_repeat_long_field_names():
    refuse(json.dumps(envelope({**UPLOAD, "x" * 100_000: 1})).encode(), OptimumUpload)


# Fuzz

MESSAGES = st.one_of(
    optimum_uploads(),
    optimum_uploads(is_full=True),
    guidance_packets(),
    guidance_packets(is_full=True),
)
SCRAPS = [b"1e999", b"NaN", b"null", b"true", b"-", b"0", b"9", b"[", b"]", b"{}"]
SCRAPS += [b'"', b",", b":", b"\xff", b"\x00", b"1" + b"0" * 400, b"\\ud800", b"e308"]
EXTREMES = st.sampled_from([10**400, -(10**400), 5e-324, 1.7e308, 1.0 + 2**-52, -0.0])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def decode_or_refuse(data, expected):
    """Return whether the message was valid; any error but WireError passes through."""
    try:
        message = decode(data, expected)
    except WireError:
        return False
    assert isinstance(message, expected)
    # What was accepted can be sent on and is accepted again.
    assert encode(decode(encode(message), expected)) == encode(message)
    return True


@given(st.binary(max_size=200))
def test_random_bytes(data):
    assert not decode_or_refuse(data, OptimumUpload)
    assert not decode_or_refuse(data, GuidancePacket)


@given(MESSAGES, st.data())
def test_mutated_bytes(message, data):
    text = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        scrap = data.draw(st.sampled_from(SCRAPS) | st.binary(max_size=3))
        text[place : place + data.draw(st.integers(0, 4))] = scrap
    decode_or_refuse(bytes(text), type(message))


@given(MESSAGES, st.data())
def test_mutated_values(message, data):
    whole = json.loads(encode(message))
    body = whole["body"]
    field = data.draw(st.sampled_from(sorted(body)))
    value = data.draw(EXTREMES | JSON_VALUES)
    target = body[field]
    if isinstance(target, list) and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(target) - 1))
        inner = target[place]
        if isinstance(inner, list):
            inner[data.draw(st.integers(0, len(inner) - 1))] = value
        else:
            target[place] = value
    else:
        body[field] = value
    decode_or_refuse(json.dumps(whole).encode(), type(message))


@given(JSON_VALUES)
def test_any_body(body):
    for kind in (OptimumUpload, GuidancePacket):
        assert not decode_or_refuse(
            json.dumps(envelope(body, kind.KIND)).encode(), kind
        )
