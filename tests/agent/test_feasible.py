"""Acquisitions that count as far as the limits of further outcomes are kept."""

import numpy as np
import pytest
from scipy.stats import norm

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.agent.decision.feasible import Limit, within
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
    """Return a posterior, a limit, and the observed points."""
    X = np.random.default_rng(3).random((12, 2))
    model = site_model(Domain.box(2), 0.05, {})
    fitted = model.fit(Dataset(X=X, y=np.sin(5 * X[:, 0]) + X[:, 1]))
    slack = model.fit(Dataset(X=X, y=0.6 - X[:, 0] - 0.2 * X[:, 1] - level))
    threshold = float(slack.units.to_model(np.zeros(1))[0])
    limit = Limit(posterior=slack.posterior, threshold=threshold)
    return fitted.posterior, limit, X


def build(name, level=0.0):
    posterior, limit, X = models(level)
    inner = RULES[name].acquisition(posterior, np.random.default_rng(0))
    return inner, within(inner, X, (limit,)), limit, X


def test_probability_is_that_of_the_model():
    _, limit, _ = models()
    X = np.random.default_rng(5).random((20, 2))
    mean, std = limit.posterior.predict(X)
    expected = norm.sf(limit.threshold, loc=mean, scale=std)
    assert np.exp(limit.log_probability(X)) == pytest.approx(expected)


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


@pytest.mark.parametrize("name", ["ei", "nei"])
def test_logarithms_are_added(name):
    """E104: improvement over the best that keeps the limits, times the probability."""
    inner, acquisition, limit, observed = build(name)
    keeps = limit.posterior.predict(observed)[0] >= limit.threshold
    assert 0 < keeps.sum() < len(observed)
    X = np.random.default_rng(9).random((10, 2))
    value = acquisition.value(X) - limit.log_probability(X)
    assert (value >= inner.value(X) - 1e-12).all()
    if name == "ei":
        (_, posterior), *_ = inner.parts
        best = posterior.predict(observed[keeps])[0].max()
        mean, std = posterior.predict(X)
        u = (mean - best) / std
        expected = std * (norm.pdf(u) + u * norm.cdf(u))
        assert np.exp(value) == pytest.approx(expected, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("name", ["ucb", "ts"])
def test_others_keep_their_order_where_limits_are_certain(name):
    inner, acquisition, limit, _ = build(name, level=-50.0)
    X = np.random.default_rng(11).random((30, 2))
    assert limit.log_probability(X) == pytest.approx(0.0, abs=1e-6)
    assert (np.argsort(acquisition.value(X)) == np.argsort(inner.value(X))).all()


@pytest.mark.parametrize("name", RULES)
def test_while_nothing_keeps_the_limits_only_they_count(name):
    _, acquisition, limit, _ = build(name, level=2.0)
    X = np.random.default_rng(13).random((10, 2))
    assert (acquisition.value(X) == limit.log_probability(X)).all()
    value, gradient = acquisition.value_and_gradient(X)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", RULES)
def test_far_outside_nothing_overflows(name):
    _, acquisition, limit, _ = build(name)
    far = Limit(posterior=limit.posterior, threshold=limit.threshold + 1e4)
    X = np.random.default_rng(15).random((10, 2))
    inner = acquisition.inner
    value, gradient = within(inner, X, (far, limit)).value_and_gradient(X)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
