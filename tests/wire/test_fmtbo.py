"""Messages of the fmtbo strategy through the codec and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.envelopes import framed, message

from guidefbo.core.errors import WireError
from guidefbo.testing import check_codec
from guidefbo.testing.codec import decode, encode
from guidefbo.testing.generators import real_arrays, reals
from guidefbo.wire.cost import Cost
from guidefbo.wire.fmtbo import (
    MAX_MEAN,
    MAX_PROBES,
    MAX_SCALE,
    MIN_SCALE,
    ModelPacket,
    ModelUpload,
    SharedHyperparameters,
)

BODY = {
    "lengthscales": [0.5, 2.0],
    "outputscale": 1.5,
    "mean": None,
    "ranks": [2, 0, 1],
}
PACKET = {name: BODY[name] for name in ("lengthscales", "outputscale", "mean")}


@st.composite
def shared(draw):
    d = draw(st.integers(1, 5))
    return SharedHyperparameters(
        lengthscales=draw(real_arrays((d,), MIN_SCALE, MAX_SCALE)),
        outputscale=draw(reals(MIN_SCALE, MAX_SCALE)),
        mean=draw(st.none() | reals(-MAX_MEAN, MAX_MEAN)),
    )


@st.composite
def uploads(draw):
    ranks = draw(st.permutations(range(draw(st.integers(1, 20)))))
    return ModelUpload(hyper=draw(shared()), ranks=np.array(ranks))


@given(uploads())
def test_upload_survives_the_wire(upload):
    check_codec(upload)


@given(shared())
def test_packet_survives_the_wire(hyper):
    check_codec(ModelPacket(hyper=hyper))


def hyper_of(num_lengthscales, mean=None):
    ell = np.full(num_lengthscales, 0.3)
    return SharedHyperparameters(lengthscales=ell, outputscale=1.0, mean=mean)


@pytest.mark.parametrize(
    ("hyper", "num_probes", "up", "down"),
    [
        (hyper_of(10), 50, 61, 11),
        (hyper_of(1), 10, 12, 2),
        (hyper_of(10, mean=0.0), 300, 312, 12),
    ],
    ids=["ard", "iso2 as in the paper's table", "as-run"],
)
def test_scalars_counted_in_ten_dimensions(hyper, num_probes, up, down):
    """E69: hyperparameters and ranks up, hyperparameters down."""
    upload = ModelUpload(hyper=hyper, ranks=np.arange(num_probes))
    assert Cost.of(encode(upload)).scalars == up
    assert Cost.of(encode(ModelPacket(hyper=hyper))).scalars == down


def test_the_bytes_of_a_small_message():
    """E69: a mean that stays private is sent as null, which is no scalar."""
    upload = ModelUpload(hyper=hyper_of(1), ranks=np.array([1, 0]))
    assert encode(upload) == (
        framed(
            "fmtbo.upload",
            b'{"lengthscales":[0.3],"outputscale":1.0,"mean":null,"ranks":[1,0]}',
        )
    )


@pytest.mark.parametrize(
    "ranks",
    [
        [0, 1, 1],
        [1, 2, 3],
        [0, 2],
        [-1, 0, 1],
        [0.0, 1.0],
        [0, 1.5],
        [0, True],
        [0, "1"],
        [0, None],
        [[0, 1]],
        [10**400, 0],
        [],
        None,
        3,
        "01",
        {"0": 1},
        list(range(MAX_PROBES + 1)),
    ],
    ids=lambda value: str(value)[:20],
)
def test_ranks_that_are_no_permutation_are_refused(ranks):
    data = message({**BODY, "ranks": ranks}, "fmtbo.upload")
    with pytest.raises(WireError, match="ranks must") as refusal:
        decode(data, ModelUpload)
    assert len(str(refusal.value)) < 300


def unchecked(kind, **fields):
    """A value as a careless caller makes it, without the suite's own type checks."""
    value = object.__new__(kind)
    for name, field in fields.items():
        object.__setattr__(value, name, field)
    return value


@pytest.mark.parametrize("ranks", [np.array([0.0, 1.0]), np.array([[0, 1]])])
def test_ranks_are_whole_numbers_where_they_are_made_too(ranks):
    with pytest.raises(WireError, match="vector of whole numbers"):
        unchecked(ModelUpload, hyper=hyper_of(2), ranks=ranks).__post_init__()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lengthscales", [0.5, 0.0]),
        ("lengthscales", [0.5, -1.0]),
        ("lengthscales", [0.5, 2e9]),
        ("lengthscales", [[0.5, 1.0]]),
        ("lengthscales", []),
        ("lengthscales", 0.5),
        ("lengthscales", [0.5, None]),
        ("lengthscales", [0.5, True]),
        ("outputscale", 0.0),
        ("outputscale", -1.0),
        ("outputscale", 1e10),
        ("outputscale", "1"),
        ("outputscale", [1.0]),
        ("outputscale", None),
        ("mean", 1e101),
        ("mean", -(10**400)),
        ("mean", False),
        ("mean", []),
        ("mean", "0"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(field, value):
    for kind, body in ((ModelUpload, BODY), (ModelPacket, PACKET)):
        data = message({**body, field: value}, kind.KIND)
        with pytest.raises(WireError, match=field):
            decode(data, kind)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("place", ["2.0", "1.5", "null"])
def test_what_is_not_finite_is_refused(place, text):
    data = message(PACKET, ModelPacket.KIND).replace(place.encode(), text.encode())
    with pytest.raises(WireError, match="finite"):
        decode(data, ModelPacket)


@pytest.mark.parametrize("shape", [(), (0,), (1, 2)])
def test_lengthscales_are_a_vector(shape):
    with pytest.raises(WireError, match="lengthscales must be a vector"):
        unchecked(
            SharedHyperparameters, lengthscales=np.ones(shape), outputscale=1.0
        ).__post_init__()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_lengthscales_are_checked_where_they_are_made_too(bad):
    with pytest.raises(WireError, match="lengthscales must be finite"):
        SharedHyperparameters(lengthscales=np.array([1.0, bad]), outputscale=1.0)


def test_arrays_are_copies_and_read_only():
    ranks, ell = np.array([1, 0]), np.ones(2)
    upload = ModelUpload(
        hyper=SharedHyperparameters(lengthscales=ell, outputscale=1.0), ranks=ranks
    )
    ranks[:], ell[:] = 0, 7.0
    assert upload.ranks.tolist() == [1, 0]
    assert upload.hyper.lengthscales.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        upload.ranks[0] = 1


@given(
    st.sampled_from(sorted(BODY)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner, max_size=4),
        max_leaves=6,
    ),
)
def test_any_value_is_accepted_or_refused(field, value):
    try:
        data = message({**BODY, field: value}, "fmtbo.upload")
        upload = decode(data, ModelUpload)
    except WireError:
        return
    check_codec(upload)
