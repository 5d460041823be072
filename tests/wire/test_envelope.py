"""The head of a message: who sends it, for whom it is, and of what it was made."""

import json
import math
from dataclasses import fields, replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.envelopes import envelope

from guidefbo.core.component import Components
from guidefbo.core.errors import FedBOError, WireError
from guidefbo.core.names import is_name
from guidefbo.testing.codec import same_value
from guidefbo.wire.codec import read, read_strategy
from guidefbo.wire.envelope import (
    MAX_BYTES,
    MAX_SEQUENCE,
    MAX_UPLOADS,
    VERSION,
    Envelope,
    PacketHead,
    Terms,
    UploadHead,
    digest,
)
from guidefbo.wire.guide import MAX_COMPONENTS, GuidancePacket, OptimumUpload

TERMS = Terms(federation="trial", space="0a1b", strategy="guide", strategy_version=3)
UPLOAD = Envelope(
    head=UploadHead(terms=TERMS, site="north", sequence=12),
    body=OptimumUpload(
        mass=0.5, center=np.array([0.2]), variance=np.array([0.1]), value_score=1.5
    ),
)
PACKET = Envelope(
    head=PacketHead(
        terms=TERMS,
        site="north",
        round=40,
        answers=12,
        num_uploads=3,
        made_of="00ff",
    ),
    body=GuidancePacket(
        components=Components(
            weights=np.array([0.5]),
            centers=np.array([[0.2]]),
            variances=np.array([[0.1]]),
        )
    ),
)
MESSAGES = {"upload": UPLOAD, "packet": PACKET}
TYPES = {
    "upload": (OptimumUpload, UploadHead),
    "packet": (GuidancePacket, PacketHead),
}
NAMES = ("federation", "space", "strategy", "site")
NUMBERS = ("strategy_version", "sequence")
PACKET_NUMBERS = ("strategy_version", "round", "answers", "num_uploads")
FIELDS = {
    "upload": (*NAMES, *NUMBERS),
    "packet": (*NAMES, "made_of", *PACKET_NUMBERS),
}
HEADS = [(kind, name) for kind, names in FIELDS.items() for name in names]
HEAD_NAMES = [(kind, name) for kind, name in HEADS if name in (*NAMES, "made_of")]
HEAD_NUMBERS = [place for place in HEADS if place not in HEAD_NAMES]
HIGHEST = {"num_uploads": MAX_UPLOADS}
"""Largest numbers of a packet, where they are not those of an upload."""


def form_of(kind, /, **changes):
    return json.loads(MESSAGES[kind].to_bytes()) | changes


def read_as(kind, form):
    data = form if isinstance(form, bytes) else json.dumps(form).encode()
    return read(data, *TYPES[kind])


def refuse(kind, form, *words):
    with pytest.raises(WireError) as caught:
        read_as(kind, form)
    text = str(caught.value)
    for word in words:
        assert word in text, text
    assert len(text) < 500, len(text)
    # What a stranger wrote never reaches a terminal as it is.
    assert text.isprintable(), ascii(text)


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
numbers = st.integers(0, MAX_SEQUENCE)
terms = st.builds(
    Terms,
    federation=names,
    space=names,
    strategy=names,
    strategy_version=st.integers(1, MAX_SEQUENCE),
)
upload_heads = st.builds(UploadHead, terms=terms, site=names, sequence=numbers)
packet_heads = st.builds(
    PacketHead,
    terms=terms,
    site=names,
    round=numbers,
    answers=numbers,
    num_uploads=st.integers(0, MAX_UPLOADS),
    made_of=names,
)


# There and back.


@given(upload_heads)
def test_the_head_of_an_upload_survives_the_wire(head):
    sent = replace(UPLOAD, head=head)
    found = read(sent.to_bytes(), OptimumUpload, UploadHead)
    assert found.head == head
    assert same_value(found.body, sent.body)
    assert found.to_bytes() == sent.to_bytes()
    assert read_strategy(sent.to_bytes()) == head.terms.strategy


@given(packet_heads)
def test_the_head_of_a_packet_survives_the_wire(head):
    sent = replace(PACKET, head=head)
    found = read(sent.to_bytes(), GuidancePacket, PacketHead)
    assert found.head == head
    assert same_value(found.body, sent.body)
    assert found.to_bytes() == sent.to_bytes()
    assert read_strategy(sent.to_bytes()) == head.terms.strategy


def test_the_bytes_of_a_small_message():
    assert UPLOAD.to_bytes() == (
        b'{"format":"guidefbo-message","version":2,"kind":"guide.upload",'
        b'"federation":"trial","space":"0a1b","strategy":"guide",'
        b'"strategy_version":3,"site":"north","sequence":12,'
        b'"body":{"mass":0.5,"center":[0.2],"variance":[0.1],"value_score":1.5}}'
    )
    assert PACKET.to_bytes() == (
        b'{"format":"guidefbo-message","version":2,"kind":"guide.packet",'
        b'"federation":"trial","space":"0a1b","strategy":"guide",'
        b'"strategy_version":3,"site":"north","round":40,"answers":12,'
        b'"num_uploads":3,"made_of":"00ff",'
        b'"body":{"weights":[0.5],"centers":[[0.2]],"variance":[[0.1]]}}'
    )


def test_every_field_of_a_head_is_in_these_tests():
    for kind, (_, head) in TYPES.items():
        own = {f.name for f in fields(head)} - {"terms"}
        assert own | {f.name for f in fields(Terms)} == set(FIELDS[kind])


@pytest.mark.parametrize("kind", MESSAGES)
def test_the_order_of_fields_and_blanks_do_not_matter(kind):
    form = dict(reversed(form_of(kind).items()))
    found = read_as(kind, json.dumps(form, indent=3).encode())
    assert found.to_bytes() == MESSAGES[kind].to_bytes()


def test_the_largest_packet_that_is_said_to_fit_fits():
    """100 full components in 27 dimensions, every number as long as numbers get."""
    d = 27
    long = 1.2345678901234567e-05
    packed = [long if i == j else -long / 1e3 for i in range(d) for j in range(i + 1)]
    body = {
        "weights": [long] * MAX_COMPONENTS,
        "centers": [[long] * d] * MAX_COMPONENTS,
        "covariance": [packed] * MAX_COMPONENTS,
    }
    packet = replace(PACKET, body=GuidancePacket.from_body(body))
    data = packet.to_bytes()
    assert 0.9 * MAX_BYTES < len(data) <= MAX_BYTES
    assert len(read_as("packet", data).body) == MAX_COMPONENTS


# Fields.


@pytest.mark.parametrize("kind", MESSAGES)
def test_a_missing_field_is_named(kind):
    for name in form_of(kind):
        form = form_of(kind)
        del form[name]
        if name in ("format", "version", "kind"):
            refuse(kind, form, f"Expected {'a' if name == 'kind' else name}", "None")
        else:
            refuse(kind, form, f"missing ['{name}'], unknown []")


@pytest.mark.parametrize("kind", MESSAGES)
def test_an_unknown_field_is_named(kind):
    refuse(kind, form_of(kind, secret=1), "missing [], unknown ['secret']")
    refuse(kind, form_of(kind, **{"x" * 10**5: 1}))
    refuse(kind, form_of(kind, **{"\x1b[31m\u202e": 1}))


def test_one_kind_of_message_is_not_taken_for_the_other():
    refuse("upload", form_of("packet"), "'guide.upload'", "'guide.packet'")
    refuse("packet", form_of("upload"), "'guide.packet'", "'guide.upload'")
    # Not even with the other's kind, for its head has other fields.
    refuse("upload", form_of("packet", kind="guide.upload"), "unknown ['answers'")
    refuse("packet", form_of("upload", kind="guide.packet"), "missing ['answers'")


@pytest.mark.parametrize(("kind", "name"), HEADS)
def test_a_field_that_stands_twice_is_refused(kind, name):
    data = MESSAGES[kind].to_bytes()
    for value in (form_of(kind)[name], "other"):
        doubled = data[:-1] + f',"{name}":{json.dumps(value)}}}'.encode()
        refuse(kind, doubled, "each field once")


WRONG_NAMES = [
    "",
    " ",
    "a b",
    "a\n",
    "\ta",
    "a\x00",
    "a\x1b[31m",
    "a\x7f",
    "a\u2028",
    "a\u202e",
    "\ud800",
    "é",
    "-a",
    "../a",
    "a/b",
    "x" * 65,
    "x" * 10**5,
    None,
    True,
    7,
    0.5,
    ["a"],
    {"a": 1},
]


@pytest.mark.parametrize(("kind", "name"), HEAD_NAMES)
def test_a_name_must_be_a_name(kind, name):
    for value in WRONG_NAMES:
        refuse(
            kind, form_of(kind, **{name: value}), f"{name} must be a name of 1 to 64"
        )
    assert read_as(kind, form_of(kind, **{name: "x" * 64}))


WRONG_NUMBERS = [-1, -(10**30), 10**30, 10**400, 1.0, 0.5, 1e3, "1", "", None, True]
WRONG_NUMBERS += [False, [1], {"a": 1}]


@pytest.mark.parametrize(("kind", "name"), HEAD_NUMBERS)
def test_a_number_must_be_whole_and_in_range(kind, name):
    low = 1 if name == "strategy_version" else 0
    high = HIGHEST.get(name, MAX_SEQUENCE) if kind == "packet" else MAX_SEQUENCE
    for value in (*WRONG_NUMBERS, low - 1, high + 1):
        words = f"{name} must be a whole number from {low} to {high}"
        refuse(kind, form_of(kind, **{name: value}), words)
    for value in (low, high):
        assert read_as(kind, form_of(kind, **{name: value}))


@pytest.mark.parametrize(("kind", "name"), HEADS)
@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_json_does_not_know_is_refused(kind, name, text):
    data = json.dumps(form_of(kind, **{name: "HERE"})).replace('"HERE"', text)
    refuse(kind, data.encode(), "Expected finite numbers", text)


@pytest.mark.parametrize(("kind", "name"), HEADS)
@pytest.mark.parametrize("depth", [1, 50, 900, 100_000])
def test_deep_nesting_is_refused(kind, name, depth):
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        deep = opening * depth + "1" + closing * depth
        data = json.dumps(form_of(kind, **{name: "HERE"})).replace('"HERE"', deep)
        refuse(kind, data.encode())


@pytest.mark.parametrize("kind", MESSAGES)
def test_a_message_that_is_too_long_is_not_read(kind):
    data = MESSAGES[kind].to_bytes()
    longest = data + b" " * (MAX_BYTES - len(data))
    assert read_as(kind, longest).to_bytes() == data
    refuse(kind, longest + b" ", f"at most {MAX_BYTES} bytes", "Nothing of it was read")
    with pytest.raises(WireError, match="Nothing of it was read"):
        read_strategy(longest + b" ")


@given(st.sampled_from(HEADS), st.data())
def test_any_value_of_a_field_is_taken_as_it_is_or_refused(place, data):
    kind, name = place
    value = data.draw(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=70)
        | names
        | st.lists(st.integers(), max_size=3)
    )
    try:
        found = read_as(kind, form_of(kind, **{name: value}))
    except WireError:
        return
    owner = found.head if hasattr(found.head, name) else found.head.terms
    taken = getattr(owner, name)
    assert taken == value
    assert type(taken) is type(value)
    assert is_name(value) or (type(value) is int and value >= 0)
    assert read_as(kind, found.to_bytes()).head == found.head


# Versions.


@pytest.mark.parametrize("kind", MESSAGES)
def test_a_message_of_version_1_says_what_to_do(kind):
    """It had no head, so nobody can tell whose it is."""
    assert VERSION == 2
    form = form_of(kind)
    old = {name: form[name] for name in ("format", "kind", "body")} | {"version": 1}
    words = ("got version 1", "does not say whose message it is")
    words += ("Upgrade guidefbo at the sender and make the message again",)
    refuse(kind, old, *words)
    refuse(kind, form | {"version": 1}, *words)
    with pytest.raises(WireError, match="Upgrade guidefbo at the sender"):
        read_strategy(json.dumps(old).encode())


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("version", [3, 10, 10**30])
def test_a_message_of_a_newer_version_says_what_to_do(kind, version):
    """Whatever else is in it: a newer message may look otherwise."""
    words = ("Expected version 2", "from a newer guidefbo. Upgrade this side")
    refuse(kind, form_of(kind, version=version), *words)
    refuse(kind, form_of(kind, version=version, kind="new", more={}), *words)
    with pytest.raises(WireError, match="Upgrade this side"):
        read_strategy(json.dumps(form_of(kind, version=version)).encode())


@pytest.mark.parametrize("version", [0, -1, 2.0, "2", True, None, [2]])
def test_a_version_that_is_none(version):
    refuse("upload", form_of("upload", version=version), "Expected version 2, got")


def test_the_strategy_alone():
    """Read before anything else is; a message that names none is refused."""
    assert read_strategy(UPLOAD.to_bytes()) == "guide"
    form = form_of("upload", body=None, site="no name at all", more=1)
    assert read_strategy(json.dumps(form).encode()) == "guide"
    for value in WRONG_NAMES:
        with pytest.raises(WireError, match="strategy must be a name"):
            read_strategy(json.dumps(form_of("upload", strategy=value)).encode())
    for data in (b"", b"[]", b"{}", b"\xff", b"null", UPLOAD.to_bytes()[:-1]):
        with pytest.raises(WireError):
            read_strategy(data)


# Where heads are made.


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, 1.0, True, None, "1", math.nan, np.int64(3)])
def test_a_wrong_number_is_refused_where_it_is_made(name, value):
    """NumPy's integers too: JSON would not know what to do with them."""
    target = UPLOAD.head if name == "sequence" else TERMS
    with pytest.raises(WireError, match=f"{name} must be a whole number"):
        replace(target, **{name: value})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["", "a b", "x" * 65, "a\n", None, 7, b"a"])
def test_a_wrong_name_is_refused_where_it_is_made(name, value):
    target = UPLOAD.head if name == "site" else TERMS
    with pytest.raises(WireError, match=f"{name} must be a name"):
        replace(target, **{name: value})
    assert issubclass(WireError, FedBOError)


# What heads are for.


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("federation", "other", "of the federation 'other', and this is 'trial'"),
        ("strategy", "cgp", "of the strategy 'cgp', and this federation uses 'guide'"),
        ("strategy_version", 4, "version 4 of guide, and this side has version 3"),
        ("space", "0a1c", "another search space"),
    ],
)
def test_terms_say_how_others_differ(name, value, words):
    assert TERMS.difference(TERMS) is None
    assert TERMS.difference(replace(TERMS)) is None
    assert words in TERMS.difference(replace(TERMS, **{name: value}))


@given(terms, terms)
def test_terms_differ_or_are_the_same(one, other):
    assert (one.difference(other) is None) == (one == other)
    assert (other.difference(one) is None) == (one == other)


def test_of_two_packets_the_newer_has_the_larger_order():
    """First by what it answers of the receiver's, then by the coordinator's count."""
    head = PACKET.head
    later = replace(head, answers=13, round=20)
    next_one = replace(head, round=41)
    assert head.order < next_one.order < later.order
    assert replace(head, made_of="other", num_uploads=9).order == head.order


uploads = st.lists(st.binary(max_size=20), max_size=5)


@given(uploads, st.randoms(use_true_random=False))
def test_the_digest_is_of_the_uploads_not_of_their_order(sent, random):
    mixed = list(sent)
    random.shuffle(mixed)
    assert digest(mixed) == digest(sent)
    assert is_name(digest(sent))
    assert len(digest(sent)) == 32


@given(uploads, uploads)
def test_other_uploads_have_another_digest(one, other):
    assert (digest(one) == digest(other)) == (sorted(one) == sorted(other))


def test_the_digest_of_an_example():
    """Frozen: both sides compute it, and they may be of different releases."""
    each = sorted(sha256(data).digest() for data in (b"north", b"south"))
    assert digest([b"south", b"north"]) == sha256(b"".join(each)).hexdigest()[:32]


def test_the_hand_written_message_is_one():
    body = json.loads(UPLOAD.to_bytes())["body"]
    assert read_as("upload", envelope(body, "guide.upload")).head.site == "north"
