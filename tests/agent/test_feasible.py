"""Acquisitions that count as far as the limits of further outcomes are kept."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.agent.decision.feasible import Limit, Limits, within
from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.decision.ts import ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.surrogate.model import site_model
from guidefbo.core.domain import Domain

RULES = {
    "ucb": UpperConfidenceBound(),
    "ei": ExpectedImprovement(),
    "nei": NoisyExpectedImprovement(num_fantasies=4),
    "ts": ThompsonSampling(num_features=64),
}


def models(level=0.0):
    """Return a posterior, the limits, and the observed points."""
    X = np.random.default_rng(3).random((12, 2))
    model = site_model(Domain.box(2), 0.05, {})
    fitted = model.fit(Dataset(X=X, y=np.sin(5 * X[:, 0]) + X[:, 1]))
    y = 0.6 - X[:, 0] - 0.2 * X[:, 1] - level
    slack = model.fit(Dataset(X=X, y=y))
    threshold = float(slack.units.to_model(np.zeros(1))[0])
    limit = Limit(posterior=slack.posterior, threshold=threshold)
    return fitted.posterior, Limits(each=(limit,), kept=y >= 0.0), X


def build(name, level=0.0):
    posterior, limits, X = models(level)
    inner = RULES[name].acquisition(posterior, np.random.default_rng(0))
    return inner, within(inner, X, limits), limits, X


def test_probability_is_that_of_the_model():
    _, limits, _ = models()
    (limit,) = limits.each
    X = np.random.default_rng(5).random((20, 2))
    mean, std = limit.posterior.predict(X)
    expected = norm.sf(limit.threshold, loc=mean, scale=std)
    assert np.exp(limits.log_probability(X)) == pytest.approx(expected)
    both = replace(limits, each=(limit, limit))
    assert np.exp(both.log_probability(X)) == pytest.approx(expected**2)


@pytest.mark.parametrize("name", RULES)
def test_gradients_are_those_of_the_values(name):
    _, acquisition, _, _ = build(name)
    X = 0.1 + 0.8 * np.random.default_rng(7).random((6, 2))
    value, gradient = acquisition.value_and_gradient(X)
    assert value == pytest.approx(acquisition.value(X))
    for j in range(2):
        step = np.zeros(2)
        step[j] = 1e-5
        rise = acquisition.value(X + step) - acquisition.value(X - step)
        assert gradient[:, j] == pytest.approx(rise / 2e-5, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", ["ucb", "ei", "nei"])
def test_logarithms_are_added(name):
    """E104: improvement over the best that keeps the limits, times the probability."""
    inner, acquisition, limits, observed = build(name)
    kept = limits.kept
    assert 0 < kept.sum() < len(observed)
    X = np.random.default_rng(9).random((10, 2))
    value = acquisition.value(X) - limits.log_probability(X)
    if name == "nei":
        best = inner.fantasies.draws[kept].max(axis=0)
        assert acquisition.inner.incumbents == pytest.approx(best)
        assert (value >= inner.value(X) - 1e-12).all()
        return
    posterior = inner.posterior if name == "ucb" else inner.parts[0][1]
    best = posterior.predict(observed[kept])[0].max()
    mean, std = posterior.predict(X)
    u = (mean - best) / std
    expected = std * (norm.pdf(u) + u * norm.cdf(u))
    assert np.exp(value) == pytest.approx(expected, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("name", ["ei", "nei"])
def test_what_was_measured_says_what_is_kept(name):
    """A point on the wrong side is no best one, however well the mean thinks of it."""
    inner, _, limits, observed = build(name)
    posterior, *_ = models()
    kept = np.flatnonzero(limits.kept)
    best = kept[np.argmax(posterior.predict(observed[kept])[0])]
    without = replace(limits, kept=limits.kept & (np.arange(len(observed)) != best))
    X = np.random.default_rng(19).random((10, 2))
    more = within(inner, observed, without).value(X)
    assert (more > within(inner, observed, limits).value(X)).all()


def test_paths_keep_their_order_where_limits_are_certain():
    inner, acquisition, limits, _ = build("ts", level=-50.0)
    X = np.random.default_rng(11).random((30, 2))
    assert limits.log_probability(X) == pytest.approx(0.0, abs=1e-6)
    assert (np.argsort(acquisition.value(X)) == np.argsort(inner.value(X))).all()


@pytest.mark.parametrize("name", RULES)
def test_a_little_gain_is_worth_a_little_risk(name):
    """Nothing is to be gained well inside the limits, and something at them."""
    X = np.linspace(0.0, 1.0, 9)[:, None]
    model = site_model(Domain.box(1), 1e-3, {})
    posterior = model.fit(Dataset(X=X, y=X[:, 0])).posterior
    slack = model.fit(Dataset(X=X, y=0.8 - X[:, 0]))
    threshold = float(slack.units.to_model(np.zeros(1))[0])
    limit = Limit(posterior=slack.posterior, threshold=threshold)
    limits = Limits(each=(limit,), kept=X[:, 0] <= 0.8)
    inner = RULES[name].acquisition(posterior, np.random.default_rng(0))
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    values = within(inner, X, limits).value(grid)
    assert 0.75 < grid[np.argmax(values), 0] <= 0.81


def test_measured_and_expected():
    """A result that a lucky measurement puts inside a limit does not count."""
    _, limits, observed = models()
    (limit,) = limits.each
    inside = limit.expects(observed)
    assert 0 < inside.sum() < len(observed)
    everywhere, nowhere = np.ones_like(inside), np.zeros_like(inside)
    assert (Limits.of((limit,), observed, everywhere).kept == inside).all()
    assert (Limits.of((limit,), observed, nowhere).kept == nowhere).all()
    # Where all are such results, they are what there is.
    assert (Limits.of((limit,), observed, ~inside).kept == ~inside).all()
    far = Limit(posterior=limit.posterior, threshold=limit.threshold + 1e4)
    assert (Limits.of((limit, far), observed, inside).kept == inside).all()


def test_pending_points_are_imagined_behind_the_observed():
    _, limits, _ = models()
    (limit,) = limits.each
    X = np.array([[0.05, 0.05], [0.95, 0.95]])
    more = limits.with_pending(X)
    assert list(more.kept) == [*limits.kept, True, False]
    (believed,) = more.each
    mean, std = limit.posterior.predict(X)
    again, less = believed.posterior.predict(X)
    assert again == pytest.approx(mean, abs=1e-3)
    assert (less < 0.1 * std).all()
    assert limits.with_pending(np.empty((0, 2))) is limits


def test_where_to_look_closely():
    _, limits, observed = models()
    mean = observed[:, 1]
    kept = observed[limits.kept]
    expected = kept[np.argsort(-kept[:, 1])]
    assert limits.best(observed, mean, 2) == pytest.approx(expected[:2])
    assert limits.best(observed, mean, 50) == pytest.approx(expected)
    none = replace(limits, kept=np.zeros(len(observed), dtype=bool))
    likely = observed[np.argmax(limits.log_probability(observed))]
    assert none.best(observed, mean, 1)[0] == pytest.approx(likely)


@pytest.mark.parametrize("name", RULES)
def test_while_nothing_keeps_the_limits_only_they_count(name):
    _, acquisition, limits, _ = build(name, level=2.0)
    X = np.random.default_rng(13).random((10, 2))
    assert (acquisition.value(X) == limits.log_probability(X)).all()
    value, gradient = acquisition.value_and_gradient(X)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", RULES)
def test_far_outside_nothing_overflows(name):
    inner, _, limits, observed = build(name)
    (limit,) = limits.each
    far = Limit(posterior=limit.posterior, threshold=limit.threshold + 1e4)
    X = np.random.default_rng(15).random((10, 2))
    both = replace(limits, each=(far, limit))
    value, gradient = within(inner, observed, both).value_and_gradient(X)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
