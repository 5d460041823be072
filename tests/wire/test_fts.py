"""Messages of FTS and FTS-DE through the codec and back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.envelopes import envelope, message

from guidefbo.core.errors import WireError
from guidefbo.testing import check_codec
from guidefbo.testing.codec import decode, encode
from guidefbo.testing.generators import real_arrays
from guidefbo.wire.cost import Cost
from guidefbo.wire.fts import MAX_NORM, FeatureWeights, PeerPoint, RegionWeights

sizes = st.integers(1, 6)
LARGE = MAX_NORM / 6**0.5
"""In every entry of a vector of that size."""


@given(sizes.flatmap(lambda m: real_arrays((m,), -LARGE, LARGE)))
def test_weights_survive_the_wire(weights):
    check_codec(FeatureWeights(weights=weights))


@given(
    st.tuples(st.sampled_from([1, 2, 4]), sizes).flatmap(
        lambda shape: real_arrays(shape, -LARGE, LARGE)
    )
)
def test_region_weights_survive_the_wire(weights):
    check_codec(RegionWeights(weights=weights))


@given(sizes.flatmap(lambda d: real_arrays((d,), 0.0, 1.0)))
def test_points_survive_the_wire(point):
    check_codec(PeerPoint(point=point))


def test_costs_are_counted_from_the_bytes():
    """500 up and down for FTS, 500 and 2000 for FTS-DE, d each way as run."""
    weights = np.random.default_rng(0).standard_normal((4, 500))
    one = encode(FeatureWeights(weights=weights[0]))
    four = encode(RegionWeights(weights=weights))
    point = encode(PeerPoint(point=np.full(10, 0.25)))
    assert [Cost.of(data).scalars for data in (one, four, point)] == [500, 2000, 10]
    assert Cost.of(four).num_bytes < 50_000


def test_kinds_and_bodies():
    sent = json.loads(encode(FeatureWeights(weights=np.array([1.5, -2.0]))))
    assert sent == envelope({"weights": [1.5, -2.0]}, "fts.weights")
    assert RegionWeights.KIND == "fts.regions"
    assert PeerPoint.KIND == "fts.point"


def test_messages_are_frozen_copies():
    weights = np.ones(3)
    message = FeatureWeights(weights=weights)
    weights[:] = 9.0
    assert message.weights.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        message.weights[0] = 2.0


@pytest.mark.parametrize(
    ("expected", "body", "words"),
    [
        (FeatureWeights, {"weights": []}, "none of them empty"),
        (FeatureWeights, {"weights": [[1.0]]}, "lists 1 deep"),
        (FeatureWeights, {"weights": [1.0, None]}, "finite numbers"),
        (FeatureWeights, {"weights": [1.0, "2"]}, "finite numbers"),
        (FeatureWeights, {"weights": [True]}, "finite numbers"),
        (FeatureWeights, {"weights": [1e120]}, "norm of at most 1e\\+06.*1e\\+120"),
        (FeatureWeights, {"weights": [1e200, 1e200]}, "at most 1e\\+06"),
        (FeatureWeights, {"weights": [8e5, -8e5]}, "at most 1e\\+06"),
        (FeatureWeights, {"weight": [1.0]}, "missing \\['weights'\\]"),
        (RegionWeights, {"weights": [1.0]}, "lists 2 deep"),
        (RegionWeights, {"weights": [[1.0], [1.0, 2.0]]}, "rows of one length"),
        (RegionWeights, {"weights": [[1.0]] * 3}, "1, 2 or 4 regions, got 3"),
        (RegionWeights, {"weights": [[0.0], [-1e120]]}, "at most 1e\\+06"),
        (RegionWeights, {"weights": [[0, 0], [8e5, 8e5]]}, "at most 1e\\+06"),
        (PeerPoint, {"point": [0.5, 1.5]}, "unit cube"),
        (PeerPoint, {"point": []}, "none of them empty"),
        (PeerPoint, {"point": 0.5}, "lists 1 deep"),
    ],
)
def test_refusals(expected, body, words):
    with pytest.raises(WireError, match=words):
        decode(message(body, expected.KIND), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_where_it_is_made(bad):
    with pytest.raises(WireError, match="finite"):
        FeatureWeights(weights=np.array([1.0, bad]))
    with pytest.raises(WireError, match="finite"):
        RegionWeights(weights=np.array([[1.0, bad]]))
    with pytest.raises(WireError, match="finite"):
        PeerPoint(point=np.array([bad]))


def test_shapes_are_refused_where_they_are_made():
    with pytest.raises(WireError, match="2 axes"):
        RegionWeights(weights=np.ones((1, 0)))
    with pytest.raises(WireError, match="one row"):
        PeerPoint(point=np.ones(0))
