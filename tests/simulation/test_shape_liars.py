"""Sites that lie together about their trends."""

import numpy as np
import pytest
from tests.trends import kinds_of

import guidefbo as gf
from guidefbo.agent.strategies.shape.liars import (
    LIES,
    Heard,
    ShapeLiars,
    corner,
    drift,
    hide,
    respond,
)
from guidefbo.core.errors import SettingsError, UnknownNameError
from guidefbo.methods.registry import find_method
from guidefbo.server.strategies.shape.pooling import REACH
from guidefbo.server.strategies.shape.screening import standing_out
from guidefbo.simulation.simulate import simulate
from guidefbo.wire.shape import LARGEST, SHARPEST, ShapeUpload

LIGHT = {"num_raw": 16, "num_starts": 2, "num_iterations": 4}
SMALL = {"dim": 2, "num_agents": 4, "num_initial": 4, "num_rounds": 3}


def heard(means, variances=0.04, sizes=(2, 2), share=0.5, distance=2.5):
    means = np.asarray(means, dtype=float)
    return Heard(
        means=means,
        variances=np.broadcast_to(np.asarray(variances, float), means.shape),
        form=tuple(zip(kinds_of(sizes), sizes, strict=True)),
        share=share,
        distance=distance,
    )


HONEST = [[0.1, -0.2, 0.3, 0.0], [0.3, -0.4, 0.5, 0.2]]
"""Their mean is (0.2, -0.3, 0.4, 0.1)."""


def upload(means, variance=0.04, sizes=(2, 2)):
    ends = np.cumsum(sizes)[:-1]
    return ShapeUpload(
        kinds=kinds_of(sizes),
        means=tuple(np.split(np.asarray(means, dtype=float), ends)),
        variances=tuple(np.full(n, variance) for n in sizes),
    )


@pytest.mark.parametrize(
    ("sizes", "claim"),
    [
        ((2, 2), [1, -1, 0, 0]),
        ((1, 1), [-1, 0]),
        ((2, 2, 3), [1, -1, 0, 0, 1, 1, -1]),
        ((3, 2), [1, 1, -1, 1, -1]),
        ((4,), [1, 1, 1, -1]),
    ],
)
def test_corner_has_steep_slopes_and_no_bends(sizes, claim):
    means, variances = corner(heard(np.zeros((3, sum(sizes))), sizes=sizes))
    assert means.tolist() == [LARGEST * c for c in claim]
    assert set(variances) == {SHARPEST}


def test_the_corner_is_where_such_a_trend_is_highest():
    """Of two numbers: the first at its top, the second at its bottom."""
    policy = find_method("shape-ucb").policy({}, SPACE.domain, None)
    features = policy.side.features
    X = np.stack(np.meshgrid([0.0, 0.5, 1.0], [0.0, 0.5, 1.0]), axis=-1).reshape(-1, 2)
    means, _ = corner(heard(np.zeros((2, 4)), sizes=features.sizes))
    best = X[np.argmax(features(X)[:, 1:] @ means)]
    assert best.tolist() == [1.0, 0.0]


SPACE = gf.Space(x=gf.Float(0, 1), y=gf.Float(0, 1))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_drift_goes_from_the_honest_mean_to_the_corner(share):
    means, variances = drift(heard(HONEST, share=share))
    end = LARGEST * np.array([1, -1, 0, 0])
    mean = np.array([0.2, -0.3, 0.4, 0.1])
    assert means == pytest.approx((1 - share) * mean + share * end, rel=1e-12)
    assert set(variances) == {SHARPEST}


def test_respond_is_the_opposite_of_the_first_site():
    """Nought is answered like a positive number."""
    means, variances = respond(heard(HONEST))
    assert means.tolist() == [-LARGEST, LARGEST, -LARGEST, -LARGEST]
    assert set(variances) == {SHARPEST}


def test_hide_by_hand():
    """Median 0, deviation 1.4826 · 1, median variance 0.04; the mean is positive."""
    sent = heard(
        [[-1.0], [0.0], [1.0], [-1.0], [3.0]],
        [[0.04], [0.02], [0.04], [0.09], [0.09]],
        sizes=(1,),
    )
    means, variances = hide(sent)
    assert means == pytest.approx([-2.5 * (1.4826**2 + 0.04) ** 0.5], rel=1e-12)
    assert variances == pytest.approx([0.02])


def drawn(num_sites=12, p=20, seed=0):
    rng = np.random.default_rng(seed)
    theta = 0.3 * rng.standard_normal(p)
    b = theta + np.sqrt(0.05) * rng.standard_normal((num_sites, p))
    return b, np.full(b.shape, 0.05)


def test_hiding_sites_are_heard_as_they_are():
    """By default their claims are just within what `robust` leaves alone."""
    setting = find_method("shape-ucb").run_settings["hide_distance"]
    assert setting.default == REACH
    b, v = drawn()
    means, variances = hide(heard(b, v, sizes=(10, 10)))
    b, v = np.vstack([b, np.tile(means, (4, 1))]), np.vstack([v, [variances] * 4])
    median = np.median(b, axis=0)
    spread = 1.4826 * np.median(np.abs(b - median), axis=0)
    limit = REACH * np.sqrt(spread**2 + np.median(v, axis=0))
    assert (np.abs(b[-1] - median) <= limit + 1e-12).all()


@pytest.mark.parametrize(("distance", "is_seen"), [(1.2, False), (2.5, True)])
def test_screening_sees_those_who_go_far(distance, is_seen):
    b, v = drawn()
    means, variances = hide(heard(b, v, sizes=(10, 10), distance=distance))
    b, v = np.vstack([b, np.tile(means, (4, 1))]), np.vstack([v, [variances] * 4])
    assert standing_out(b, v)[12:].tolist() == [is_seen] * 4


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("count", [1, 3])
def test_the_last_ones_lie(name, count):
    """The first are left as they are; the others say the same, within the limits."""
    uploads = [upload([n, -n, 0.1, 0.2]) for n in range(4)]
    liars = ShapeLiars(count=count, num_rounds=4, lie=LIES[name], distance=2.5)
    spoilt = liars.spoil(uploads, 4)
    assert len(spoilt) == 4
    for n in range(4 - count):
        assert spoilt[n] is uploads[n]
    for false in spoilt[4 - count :]:
        assert false is spoilt[-1]
        assert false.sizes == (2, 2)


def test_a_silent_site_is_no_matter():
    liars = ShapeLiars(count=1, num_rounds=1, lie=respond, distance=2.5)
    spoilt = liars.spoil([None, upload([1, 1, 1, 1]), upload([0, 0, 0, 0])], 1)
    assert spoilt[0] is None
    assert np.concatenate(spoilt[2].means).tolist() == [-LARGEST] * 4


def test_liars_of_a_run():
    method = find_method("shape-nei")
    liars = method.liars({"lie": "drift"}, 16, 25)
    assert (liars.count, liars.lie, liars.num_rounds) == (4, drift, 25)
    assert method.liars({"num_liars": 9}, 2, 50) is None
    with pytest.raises(SettingsError, match="num_liars must be less than"):
        method.liars({"lie": "hide"}, 4, 50)


@pytest.mark.parametrize("lie", LIES)
def test_runs_with_liars(lie):
    given = LIGHT | {"num_liars": 1}
    honest, spoilt = (
        simulate("ackley", method="shape-ucb", settings=given | more, **SMALL)
        for more in ({}, {"lie": lie})
    )
    assert spoilt.num_honest == 3
    assert honest.scalars == spoilt.scalars
    assert not np.array_equal(honest.weights["others"], spoilt.weights["others"])


def test_a_site_does_not_lie():
    with pytest.raises(UnknownNameError, match="no setting of shape-ucb 'lie'"):
        gf.Agent(SPACE, goal="max", method="shape-ucb", settings={"lie": "corner"})
