"""Letters: what is signed comes back as it was, and nothing else is opened."""

import base64
import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from guidefbo.core.errors import WireError
from guidefbo.core.files import OutputError
from guidefbo.wire.envelope import MAX_BYTES, MAX_SEQUENCE
from guidefbo.wire.keys import KeyFileError, SigningKey, require_public, verify
from guidefbo.wire.letter import (
    MAX_DEPTH,
    MAX_LETTER,
    MAX_PAYLOAD,
    SIGNED_PREFIX,
    open_letter,
    peek,
    read_letter,
    seal,
)

KEY, OTHER = SigningKey.make(), SigningKey.make()
COMMON = {"purpose": "exchange", "federation": "trial", "site": "north", "number": 3}
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=8,
)
payloads = st.builds(
    lambda further, purpose, federation, site, number: {
        **further,
        "purpose": purpose[:32],
        "federation": federation,
        "site": site,
        "number": number,
    },
    st.dictionaries(texts, values, max_size=4),
    names,
    names,
    names,
    st.integers(1, MAX_SEQUENCE),
)


def framed(payload, signature=None, /, **changes):
    """Return a letter around any bytes, signed well unless it is said otherwise."""
    signature = KEY.sign(SIGNED_PREFIX + payload) if signature is None else signature
    frame = {
        "format": "guidefbo-letter",
        "version": 1,
        "payload": base64.b64encode(payload).decode(),
        "signature": base64.b64encode(signature).decode(),
        **changes,
    }
    return json.dumps(frame).encode()


def written(**changes):
    return json.dumps(COMMON | changes).encode()


@given(payload=payloads)
def test_what_is_sealed_is_opened_as_it_was(payload):
    data = seal(payload, KEY)
    letter = open_letter(data, KEY.public)
    assert dict(letter.payload) == payload == dict(peek(data))
    assert letter.digest == sha256(letter.data).hexdigest()
    assert (letter.purpose, letter.number) == (payload["purpose"], payload["number"])
    with pytest.raises(WireError, match="not made with the key"):
        open_letter(data, OTHER.public)


@given(payload=payloads, where=st.integers(min_value=0), flip=st.integers(1, 255))
def test_any_flipped_byte_is_refused(payload, where, flip):
    data = bytearray(seal(payload, KEY))
    data[where % len(data)] ^= flip
    with pytest.raises(WireError):
        open_letter(bytes(data), KEY.public)


def test_every_single_byte_of_a_letter_counts():
    data = seal(COMMON, KEY)
    for k in range(len(data)):
        for flip in (1, 2, 32, 128):
            changed = data[:k] + bytes([data[k] ^ flip]) + data[k + 1 :]
            with pytest.raises(WireError):
                open_letter(changed, KEY.public)


@given(payload=payloads, length=st.integers(min_value=0))
def test_a_truncated_letter_is_refused(payload, length):
    data = seal(payload, KEY)
    with pytest.raises(WireError):
        open_letter(data[: length % len(data)], KEY.public)


@given(first=payloads, second=payloads)
def test_a_signature_is_of_one_payload(first, second):
    assume(first != second)
    letter, other = (read_letter(seal(payload, KEY)) for payload in (first, second))
    assert not replace(letter, signature=other.signature).is_signed_by(KEY.public)


@given(data=st.binary(max_size=300))
def test_noise_is_refused_with_a_sentence(data):
    with pytest.raises(WireError):
        read_letter(data)
    with pytest.raises(WireError):
        read_letter(framed(data))


def test_the_signature_is_of_this_format_alone():
    """A signature of the bare payload, as another program might make, is none."""
    payload = written()
    read_letter(framed(payload))
    assert open_letter(framed(payload), KEY.public).number == 3
    with pytest.raises(WireError, match="not made with"):
        open_letter(framed(payload, KEY.sign(payload)), KEY.public)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (framed(b'{"purpose":"a","purpose":"b"}'), "each field once"),
        (framed(written()).replace(b'"version"', b'"payload"'), "each field once"),
        (framed(written(), version=2), "version 1, got 2"),
        (framed(written(), version=True), "version 1, got True"),
        (framed(written(), format="guidefbo-message"), "Expected format"),
        (framed(written(), more=1), "unknown"),
        (framed(written(), payload="a b="), "must be base64"),
        (framed(written(), payload="QR=="), "must be base64"),
        (framed(written(), payload=None), "must be base64"),
        (framed(written(), signature="AAAA"), "must have 64 bytes"),
        (framed(b"[1]"), "JSON object, got list"),
        (framed(b'{"a": NaN}'), "finite numbers, got NaN"),
        (framed(b'{"a": 1e999}'), "finite numbers, got '1e999'"),
        (framed(b'{"a": ' + b"1" * 5000 + b"}"), "something else"),
        (framed(b'{"a": "\xff"}'), "something else"),
        (framed(written(text="a\0b")), "null characters"),
        (framed(written(text=["\ud800"])), "surrogate"),
        (framed(json.dumps({"purpose": "a"}).encode()), "missing"),
        (framed(written(purpose="a b")), "purpose must be a name"),
        (framed(written(purpose="a" * 33)), "purpose must be"),
        (framed(written(federation=None)), "federation must be"),
        (framed(written(site="../up")), "site must be"),
        (framed(written(number=0)), "number must be"),
        (framed(written(number=True)), "number must be"),
        (framed(written(number=1.0)), "number must be"),
        (framed(written(number=MAX_SEQUENCE + 1)), "number must be"),
        (b"[" * 1000, "a letter at most 1 deep"),
    ],
)
def test_what_is_no_letter_is_refused(data, sentence):
    with pytest.raises(WireError, match=sentence):
        read_letter(data)


def test_a_letter_that_joins_need_not_know_its_name():
    payload = COMMON | {"purpose": "join", "federation": None, "site": None}
    assert open_letter(seal(payload, KEY), KEY.public).payload["site"] is None


def nested(depth):
    return b"[" * depth + b"]" * depth


def test_depth_is_limited_before_anything_is_built():
    head = written()[:-1] + b', "deep": '
    read_letter(framed(head + nested(MAX_DEPTH - 1) + b"}"))
    with pytest.raises(WireError, match="at most 16 deep"):
        read_letter(framed(head + nested(MAX_DEPTH) + b"}"))
    # Brackets in a text are no nesting.
    read_letter(framed(head + b'"' + b"[" * 99 + b'\\"["}'))


@pytest.mark.parametrize("piece", [b'"\\', b'"\\"', b"[]", b'""', b"\\", b"{}["])
def test_reading_takes_time_in_proportion(piece):
    """A payload made to be slow to look through is refused within a second."""
    data = framed(piece * (MAX_PAYLOAD // len(piece)))
    began = time.process_time()
    with pytest.raises(WireError):
        read_letter(data)
    assert time.process_time() - began < 2.0


def test_size_is_limited_first():
    longest = seal(COMMON | {"upload": '"' * MAX_BYTES}, KEY)
    assert len(longest) <= MAX_LETTER
    assert len(open_letter(longest, KEY.public).payload["upload"]) == MAX_BYTES
    with pytest.raises(WireError, match="at most 100 bytes, got 101"):
        read_letter(b"x" * 101, limit=100)
    with pytest.raises(WireError, match="at most"):
        seal(COMMON | {"upload": "x" * MAX_PAYLOAD}, KEY)


@pytest.mark.parametrize(
    "payload", [{}, COMMON | {"a": float("nan")}, COMMON | {"a": {1, 2}}]
)
def test_what_is_no_payload_is_not_sealed(payload):
    with pytest.raises(WireError):
        seal(payload, KEY)


def test_a_key_comes_back_from_its_file(tmp_path):
    path = tmp_path / "site.key"
    KEY.save(path)
    again = SigningKey.load(path)
    assert again == KEY
    assert verify(KEY.public, b"text", again.sign(b"text"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    with pytest.raises(OutputError, match="is lost"):
        OTHER.save(path)
    assert SigningKey.load(path) == KEY


def test_a_key_never_shows_its_private_half():
    secret = KEY._private.private_bytes_raw()
    shown = f"{KEY} {KEY!r}"
    assert KEY.public in shown
    assert "rivate" not in shown
    assert base64.b64encode(secret).decode() not in shown


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's")
def test_a_key_the_world_can_read_is_refused(tmp_path):
    path = tmp_path / "site.key"
    KEY.save(path)
    path.chmod(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        SigningKey.load(path)
    path.chmod(0o640)
    assert SigningKey.load(path) == KEY


def test_a_file_without_a_key_is_refused(tmp_path):
    path = tmp_path / "site.key"
    with pytest.raises(KeyFileError, match="Cannot read the key"):
        SigningKey.load(path)
    for text in (b"", b"nonsense", KEY.to_pem()[:60]):
        path.write_bytes(text)
        path.chmod(0o600)
        with pytest.raises(KeyFileError, match="Ed25519"):
            SigningKey.load(path)
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import x25519

    other_kind = x25519.X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with pytest.raises(KeyFileError, match="another kind"):
        SigningKey.from_pem(other_kind)


@pytest.mark.parametrize(
    "public",
    ["", "AAAA", "x" * 44, KEY.public[:-2] + "~=", None],
    ids=["empty", "short", "no-base64", "odd-letter", "none"],
)
def test_what_is_no_public_key_is_refused(public):
    with pytest.raises(WireError, match="base64 of 32 bytes"):
        require_public(public)


@given(raw=st.binary(min_size=32, max_size=32))
def test_any_32_bytes_verify_nothing_of_ours(raw):
    public = base64.b64encode(raw).decode()
    assert verify(public, b"text", KEY.sign(b"text")) is False


def test_a_signature_of_another_length_is_none():
    assert not verify(KEY.public, b"text", b"")
    assert not verify(KEY.public, b"text", KEY.sign(b"text") + b"\0")


def test_openssl_signs_and_checks_the_same(tmp_path):
    """The same bytes by the command `openssl`, as the protocol's page tells."""
    key, payload, signature = (tmp_path / name for name in ("k", "p", "s"))
    KEY.save(key)
    payload.write_bytes(SIGNED_PREFIX + written())
    command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", str(key)]
    try:
        subprocess.run(
            [*command, "-in", str(payload), "-out", str(signature)],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no command openssl here")
    open_letter(framed(written(), signature.read_bytes()), KEY.public)


def test_letters_are_imported_without_cryptography():
    code = (
        "import sys, guidefbo.wire.letter, guidefbo.wire.keys; "
        "print('cryptography' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
