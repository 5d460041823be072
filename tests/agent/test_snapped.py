import numpy as np
import pytest
from hypothesis import given, settings
from tests.agent.numerics import differences, smooth_values
from tests.moves import changed_points
from tests.strategies import seeds

from guidefbo.agent.decision import search
from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.decision.search import (
    MAX_SWEEPS,
    SearchSettings,
    maximise_acquisition,
    move,
)
from guidefbo.agent.decision.ts import ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.core.component import Components
from guidefbo.core.space.parameters import Bool, Choice, Float, Int
from guidefbo.core.space.space import Space

MIXED = Space(
    x=Float(0, 1), n=Int(1, 5), c=Choice("a", "b", "c"), w=Bool(), y=Float(0, 1)
)
"""Coordinates: x 0, n 1, c 2-4, w 5, y 6."""

RULES = {
    "ucb": UpperConfidenceBound(beta=4.0),
    "nei": NoisyExpectedImprovement(num_fantasies=8),
    "ts": ThompsonSampling(num_features=64),
}


def stream(seed=0):
    return np.random.default_rng(seed)


def make_local(space, n=12, seed=0):
    X = space.domain.sample(n, stream(seed))
    d = space.dim
    hyper = Hyperparameters(
        lengthscales=np.linspace(0.4, 0.9, d),
        outputscale=1.7,
        mean=0.4,
        noise_variance=0.01,
    )
    return GaussianProcess.condition(X, smooth_values(X), hyper)


def make(space=MIXED, is_guided=False):
    local = make_local(space)
    if is_guided:
        components = Components(
            weights=np.array([0.7]),
            centers=np.full((1, space.dim), 0.4),
            variances=np.full((1, space.dim), 0.3),
        )
        scaling = LocalScaling.widening(GuidanceField.of(components), 0.8, local.X)
        local = InterventionalPosterior(local=local, scaling=scaling)
    return SnappedPosterior(inner=local, domain=space.domain)


def within_cells(X, seed):
    """Return other points with the same values of the discrete parameters."""
    rng = stream(seed)
    moved = X.copy()
    for i, levels in ((1, 5),):
        cell = np.floor(np.minimum(X[:, i], 1.0 - 1e-12) * levels)
        moved[:, i] = (cell + rng.uniform(0.01, 0.99, len(X))) / levels
    chosen = X[:, 2:5].argmax(axis=1)
    moved[:, 2:5] = rng.uniform(0.0, 0.5, (len(X), 3))
    moved[np.arange(len(X)), 2 + chosen] = rng.uniform(0.51, 1.0, len(X))
    is_warm = X[:, 5] >= 0.5
    moved[:, 5] = np.where(is_warm, 0.5, 0.0) + rng.uniform(0.0, 0.49, len(X))
    return moved


def test_posterior_of_one_step_by_hand():
    """E39: every position of a cell is asked at its middle."""
    space = Space(n=Int(1, 2))
    hyper = Hyperparameters(
        lengthscales=np.array([0.5]), outputscale=2.0, mean=0.5, noise_variance=0.5
    )
    gp = GaussianProcess.condition(np.array([[0.25]]), np.array([2.0]), hyper)
    snapped = SnappedPosterior(inner=gp, domain=space.domain)
    mean, std = snapped.predict(np.array([[0.0], [0.25], [0.49], [0.5], [1.0]]))
    # The middles are 0.25 and 0.75, one lengthscale apart: k = 2 (8/3 + √5) exp(-√5).
    k = 2.0 * 0.5239941088318203
    near, far = 0.5 + 2.0 * 1.5 / 2.5, 0.5 + k * 1.5 / 2.5
    assert mean == pytest.approx([near, near, near, far, far], rel=1e-14)
    variances = [0.4, 0.4, 0.4, 2.0 - k**2 / 2.5, 2.0 - k**2 / 2.5]
    assert std**2 == pytest.approx(variances, rel=1e-14)


def test_options_are_equally_far_from_each_other():
    """E39: no order among options, whatever position stands for them."""
    space = Space(c=Choice("a", "b", "c", "d"))
    hyper = Hyperparameters(
        lengthscales=np.full(4, 0.8), outputscale=1.0, mean=0.0, noise_variance=1e-4
    )
    at = space.to_unit({"c": "b"})[None]
    gp = GaussianProcess.condition(at, np.array([1.0]), hyper)
    snapped = SnappedPosterior(inner=gp, domain=space.domain)
    mean, _ = snapped.predict(np.eye(4) * 0.3)
    assert mean[1] == pytest.approx(1.0, abs=1e-3)
    assert mean[[2, 3]] == pytest.approx(mean[[0, 0]], rel=1e-12)


@pytest.mark.parametrize("is_guided", [False, True])
@given(seed=seeds)
@settings(max_examples=15)
def test_posterior_is_constant_within_cells(is_guided, seed):
    posterior = make(is_guided=is_guided)
    X = MIXED.domain.sample(6, stream(seed))
    Z = within_cells(X, seed)
    assert (MIXED.domain.snap(Z) == X).all()
    for a, b in zip(posterior.predict(X), posterior.predict(Z), strict=True):
        assert (a == b).all()
    for a, b in zip(posterior.joint(X), posterior.joint(Z), strict=True):
        assert (a == b).all()
    for a, b in zip(posterior.moments(X), posterior.moments(Z), strict=True):
        assert (a == b).all()


def test_all_questions_get_one_answer():
    posterior = make()
    X = stream(1).random((7, MIXED.dim))
    mean, std = posterior.predict(X)
    moments = posterior.moments(X)
    joint_mean, covariance = posterior.joint(X)
    assert posterior.dim == MIXED.dim
    assert moments.mean == pytest.approx(mean, rel=1e-12)
    assert moments.std == pytest.approx(std, rel=1e-10)
    assert joint_mean == pytest.approx(mean, rel=1e-12)
    assert np.sqrt(np.diag(covariance)) == pytest.approx(std, rel=1e-10)


@pytest.mark.parametrize("is_guided", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_acquisition_is_constant_within_cells(name, is_guided):
    acquisition = RULES[name].acquisition(make(is_guided=is_guided), stream(2))
    X = MIXED.domain.sample(20, stream(3))
    Z = within_cells(X, 4)
    assert (acquisition.value(X) == acquisition.value(Z)).all()


@pytest.mark.parametrize("is_guided", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_gradients_are_central_differences(name, is_guided):
    """E39: zero along steps and options, the inner slope along the floats."""
    acquisition = RULES[name].acquisition(make(is_guided=is_guided), stream(2))
    X = within_cells(MIXED.domain.sample(8, stream(5)), 6)
    # Away from the ends of the cells a difference of 1e-5 stays inside.
    value, gradient = acquisition.value_and_gradient(X)
    assert value == pytest.approx(acquisition.value(X), rel=1e-12)
    by_steps = differences(acquisition.value, X)
    free = MIXED.domain.free
    assert (gradient[:, ~free] == 0.0).all()
    assert (by_steps[:, ~free] == 0.0).all()
    assert np.abs(gradient[:, free]).max() > 1e-3
    # NEI's third derivatives are some thousands: 1e-10 of them and rounding.
    assert gradient == pytest.approx(by_steps, rel=1e-5, abs=1e-6)


def test_fantasies_belong_to_the_observed_points():
    posterior = make()
    fantasies = posterior.fantasise(5, stream(7))
    assert (fantasies.observed == posterior.inner.X).all()
    moments = fantasies.moments(fantasies.observed)
    assert moments.means == pytest.approx(fantasies.draws, abs=1e-4)
    assert moments.std.max() < 1e-2


@pytest.mark.parametrize("name", RULES)
def test_search_does_not_stall_between_steps(name):
    """From any start the best of all 5 * 3 * 2 combinations is found."""
    space = Space(n=Int(1, 5), c=Choice("a", "b", "c"), w=Bool())
    rows = np.array(
        [
            space.to_unit({"n": n, "c": c, "w": w})
            for n in range(1, 6)
            for c in "abc"
            for w in (False, True)
        ]
    )
    posterior = SnappedPosterior(inner=make_local(space), domain=space.domain)
    found = []
    for seed in range(10):
        acquisition = RULES[name].acquisition(posterior, stream(seed))
        x = maximise_acquisition(
            acquisition,
            space.domain,
            SearchSettings(num_raw=8, num_starts=4, num_iterations=5),
            stream(100 + seed),
        )
        assert (space.domain.snap(x[None])[0] == x).all()
        best = acquisition.value(rows).max()
        found.append(acquisition.value(x[None])[0] >= best - 1e-12 * abs(best))
    # One move at a time may end on a ridge between two; hardly ever from 4 starts.
    assert sum(found) >= 9


def test_search_crosses_a_long_range_of_steps():
    """A peak of a few levels among 100000, found along a slope of steps."""

    class Slope:
        def value(self, X):
            return -np.abs(domain.snap(X)[:, 0] - 0.7312345)

        def value_and_gradient(self, X):
            return self.value(X), np.zeros_like(X)

    domain = Space(n=Int(1, 100_000)).domain
    x = maximise_acquisition(
        Slope(),
        domain,
        SearchSettings(num_raw=4, num_starts=2, num_iterations=5),
        stream(0),
    )
    assert abs(x[0] - 0.7312345) <= 0.5e-5 + 1e-12


WIDE = Space(
    n=Int(1, 5),
    c=Choice(*range(7)),
    far=Int(1, 300),
    x=Float(0, 1),
    k=Choice("a", "b"),
    w=Bool(),
    v=Bool(),
)


class Ridges:
    """A function with many local optima, and a count of the points it was asked."""

    def __init__(self, dim, seed, coupling):
        rng = stream(seed)
        self.slope = rng.standard_normal(dim)
        self.pairs = coupling * rng.standard_normal((dim, dim))
        self.num_points = 0

    def value(self, X):
        self.num_points += len(X)
        return X @ self.slope + np.einsum("bi,ij,bj->b", X, self.pairs, X)

    def value_and_gradient(self, X):
        return self.value(X), np.zeros_like(X)


def moved_by_whole_sweeps(acquisition, starts, domain):
    """Every start tries every parameter in every sweep, needed or not."""
    ends = starts.copy()
    for _ in range(MAX_SWEEPS):
        for change in domain.changes:
            for i, moves in enumerate(changed_points(change, ends)):
                values = acquisition.value(moves)
                if values.max() > acquisition.value(ends[[i]])[0] + 1e-9:
                    ends[i] = moves[values.argmax()]
    return ends


@pytest.mark.parametrize("portion", [1, 2**17])
@given(seed=seeds)
@settings(max_examples=20)
def test_moves_that_are_left_out_would_change_nothing(portion, seed):
    domain = WIDE.domain
    acquisition = Ridges(domain.dim, seed, coupling=0.5)
    starts = domain.sample(6, stream(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "PORTION", portion)
        ends, reached = move(acquisition, starts, domain)
    assert (ends == moved_by_whole_sweeps(acquisition, starts, domain)).all()
    assert reached == pytest.approx(acquisition.value(ends), rel=1e-12, abs=1e-12)


def test_one_choice_is_tried_once():
    domain = Space(c=Choice(*range(9)), x=Float(0, 1)).domain
    acquisition = Ridges(domain.dim, 0, coupling=0.5)
    move(acquisition, domain.sample(4, stream(1)), domain)
    assert acquisition.num_points == 4 + 4 * 9


@pytest.mark.parametrize("count", [1, 10, 40])
def test_points_moved_to_grow_with_the_sum_of_the_options(count):
    """Without coupling one sweep finds the best and at most one more confirms it."""
    domain = Space(**{f"c{i}": Choice(*range(4)) for i in range(count)}).domain
    acquisition = Ridges(domain.dim, 0, coupling=0.0)
    ends, _ = move(acquisition, domain.sample(3, stream(1)), domain)
    best = acquisition.slope.reshape(count, 4).argmax(axis=1)
    assert (ends.reshape(3, count, 4).argmax(axis=2) == best).all()
    assert acquisition.num_points <= 3 + 2 * 3 * 4 * count


def test_forbidden_points_are_never_returned():
    space = Space(n=Int(1, 3))
    posterior = SnappedPosterior(inner=make_local(space, 3), domain=space.domain)
    acquisition = RULES["ucb"].acquisition(posterior, stream())
    effort = SearchSettings(num_raw=16, num_starts=2, num_iterations=2)
    left = 0.5
    x = maximise_acquisition(
        acquisition,
        space.domain,
        effort,
        stream(1),
        forbids=lambda X: np.abs(X[:, 0] - left) > 0.1,
    )
    assert x.tolist() == [left]
    x = maximise_acquisition(
        acquisition,
        space.domain,
        effort,
        stream(1),
        forbids=lambda X: np.ones(len(X), dtype=bool),
    )
    assert x is None
