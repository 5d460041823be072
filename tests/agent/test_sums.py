"""Acquisitions by sums over coordinates agree with those of whole points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.test_snapped import MIXED, RULES, WIDE, make, make_local, stream
from tests.moves import changed_points
from tests.strategies import seeds

from guidefbo.agent.belief.peak import TrendMean
from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.agent.decision.search import move
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.paths.shared import SharedMap, SharedPath
from guidefbo.agent.strategies.cgp.constrained import ConstrainedPosterior
from guidefbo.agent.strategies.fmtbo.mixed import MixedPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.kernel import distances_by_sums
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.agent.surrogate.sums import by_sums
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.component import Components
from guidefbo.core.space.parameters import Choice
from guidefbo.core.space.space import Space

EPS = float(np.finfo(float).eps)


def make_constrained(space=MIXED):
    local = make_local(space)
    designs = space.domain.sample(2, stream(1))
    pseudo_values = 1.0 + 0.1 * stream(2).standard_normal((2, 5))
    inner = ConstrainedPosterior.condition(local, designs, pseudo_values)
    return SnappedPosterior(inner=inner, domain=space.domain)


def make_mixed(space=MIXED):
    models = (make_local(space), make_local(space, seed=1))
    inner = MixedPosterior(models=models, weights=(0.3, 0.7))
    return SnappedPosterior(inner=inner, domain=space.domain)


POSTERIORS = {
    "local": make,
    "guided": lambda: make(is_guided=True),
    "constrained": make_constrained,
    "mixed": make_mixed,
}
ALL_RULES = {**RULES, "ei": ExpectedImprovement()}


class WholePoints:
    """An acquisition that knows nothing of sums, and counts what it is asked."""

    def __init__(self, inner):
        self.inner = inner
        self.num_points = 0

    def value(self, X):
        self.num_points += len(X)
        return self.inner.value(X)

    def value_and_gradient(self, X):
        return self.inner.value_and_gradient(X)


class Counted(WholePoints):
    """The same, with its sums."""

    def by_sums(self):
        return by_sums(self.inner)


@given(
    st.lists(st.floats(5e-3, 1e2), min_size=MIXED.dim, max_size=MIXED.dim),
    seeds,
    st.integers(0, 40),
)
def test_distances_are_kept_through_any_number_of_changes(
    lengthscales, seed, num_changes
):
    """Against the sum of squared differences, which cannot cancel."""
    domain, rng = MIXED.domain, stream(seed)
    ell = np.array(lengthscales)
    Z = domain.sample(5, rng)
    # One point is an observed one, so that some distances are zero.
    X = np.vstack([domain.sample(2, rng), Z[:1]])
    scaled = Z / ell
    form = distances_by_sums(ell, scaled, np.einsum("ij,ij->i", scaled, scaled))
    S = form.sums.at(X)
    for k in rng.integers(len(domain.changes), size=num_changes):
        change = domain.changes[k]
        way = rng.integers(len(change.columns), size=len(X))
        block = X[:, change.where]
        value = change.values(block)[np.arange(len(X)), way]
        S = S - form.sums.of_block(change.where, block)
        S += form.sums.of_each(change.columns[way], value)
        X = changed_points(change, X)[np.arange(len(X)), way]
    q = form.finish(S)
    exact = (((X[:, None] - Z) / ell) ** 2).sum(axis=2)
    assert (q >= 0.0).all()
    # Each of the terms, and each change, may round by an ulp of the longest distance
    # of two corners from the origin.
    largest = 4.0 * (ell**-2.0).sum()
    assert np.abs(q - exact).max() <= (MIXED.dim + 4 * num_changes) * EPS * largest


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("rule", ALL_RULES)
def test_acquisitions_by_sums_are_those_of_the_points(rule, posterior):
    acquisition = ALL_RULES[rule].acquisition(POSTERIORS[posterior](), stream(2))
    X = MIXED.domain.sample(20, stream(3))
    form = by_sums(acquisition)
    values = form.finish(form.sums.at(X))
    # Distances differ in their last digits; NEI's noise-free factor is steep in them.
    assert values == pytest.approx(acquisition.value(X), rel=1e-7, abs=1e-7)


def test_other_functions_by_sums_are_those_of_the_points():
    domain = MIXED.domain
    features = SharedMap.draw(32, domain.dim, stream(1))
    functions = (
        TrendMean(model=TrendPosterior.fit(make_local(MIXED)), domain=domain),
        SharedPath(features=features, weights=stream(2).standard_normal(32)),
    )
    X = domain.sample(20, stream(3))
    for function in functions:
        form = by_sums(function)
        values = form.finish(form.sums.at(X))
        assert values == pytest.approx(function.value(X), rel=1e-12, abs=1e-12)


def test_correlated_guidance_has_no_sums():
    """Its bumps need all products of two coordinates; whole points are tried."""
    local = make_local(MIXED)
    components = Components(
        weights=np.array([0.7]),
        centers=np.full((1, MIXED.dim), 0.4),
        variances=0.3 * np.eye(MIXED.dim)[None],
    )
    scaling = LocalScaling.widening(GuidanceField.of(components), 0.8, local.X)
    inner = InterventionalPosterior(local=local, scaling=scaling)
    posterior = SnappedPosterior(inner=inner, domain=MIXED.domain)
    for rule in RULES.values():
        assert by_sums(rule.acquisition(posterior, stream())) is None


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
@settings(max_examples=10)
def test_moves_by_sums_are_those_of_whole_points(rule, seed):
    domain = WIDE.domain
    posterior = SnappedPosterior(inner=make_local(WIDE, seed=seed), domain=domain)
    acquisition = RULES[rule].acquisition(posterior, stream(seed))
    starts = domain.sample(6, stream(seed))
    ends, reached = move(acquisition, starts, domain)
    whole = WholePoints(acquisition)
    ends_of_whole, reached_of_whole = move(whole, starts, domain)
    # Two options that no datum tells apart are as good as each other, to rounding.
    assert reached == pytest.approx(reached_of_whole, rel=1e-7, abs=1e-7)
    assert reached == pytest.approx(acquisition.value(ends), rel=1e-7, abs=1e-7)
    assert (domain.snap(ends) == ends).all()
    assert ends[:, domain.free].tolist() == starts[:, domain.free].tolist()
    assert ends_of_whole[:, domain.free].tolist() == starts[:, domain.free].tolist()


@pytest.mark.parametrize("rule", RULES)
def test_moves_by_sums_ask_for_no_changed_point(rule):
    space = Space(**{f"c{i}": Choice(*range(4)) for i in range(10)})
    posterior = SnappedPosterior(inner=make_local(space), domain=space.domain)
    acquisition = Counted(RULES[rule].acquisition(posterior, stream()))
    move(acquisition, space.domain.sample(3, stream(1)), space.domain)
    assert acquisition.num_points == 3


def test_values_of_noisy_improvement_need_no_gradient(monkeypatch):
    acquisition = RULES["nei"].acquisition(make(), stream(2))
    X = MIXED.domain.sample(20, stream(3))
    value, _ = acquisition.value_and_gradient(X)

    def refuse(*_):
        raise AssertionError("a gradient nobody asked for")

    monkeypatch.setattr(GaussianProcess, "contract", refuse)
    assert (acquisition.value(X) == value).all()
