"""A quadratic and a process together: against textbook formulas, and what it finds."""

from dataclasses import replace

import numpy as np
import pytest
from tests.agent.numerics import differences, make_gp
from tests.site.sites import SPACES

from guidefbo.agent.belief.peak import find_peak
from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.decision.ts import GridThompsonSampling, ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.strategies.consensus.agent import MAX_POINTS
from guidefbo.agent.surrogate.basis import PooledQuadratic
from guidefbo.agent.surrogate.curvature import gradient_covariance, mean_hessian
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52_with_slope
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.agent.surrogate.trend import (
    CURVATURE,
    CURVATURE_SD,
    DIFFERENCE_SD,
    LEVEL_SD,
    SHARES,
    SLOPE_SD,
    TrendPosterior,
    TrendPrior,
)
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Purpose, Streams
from guidefbo.testing import check_posterior
from guidefbo.testing.examples import guided_posterior

DIMS = [1, 2, 5]


def share_of(model, gp):
    """Return how much of the process's variance is left."""
    return model.rest.hyper.outputscale / gp.hyper.outputscale


def at_share(gp, share, monkeypatch):
    """Return the model with that share, likeliest or not."""
    monkeypatch.setattr("guidefbo.agent.surrogate.trend.SHARES", (share,))
    return TrendPosterior.fit(gp)


def places(gp, num_points=4, seed=1):
    """Return points of the cube, a corner and an observed input among them."""
    rng = np.random.default_rng(seed)
    return np.vstack([rng.random((num_points, gp.dim)), np.ones(gp.dim), gp.X[2]])


# The textbook, term by term.


def phi(x):
    """Return the basis at one point, written out."""
    u = [coordinate - 0.5 for coordinate in x]
    q = [coordinate**2 - 1.0 / 12.0 for coordinate in u]
    return np.array([1.0, *u, sum(q), *q])


def prior_of(gp):
    """Return the prior mean and covariance of the basis's coefficients, written out."""
    d, scale = gp.dim, np.sqrt(np.mean((gp.y - np.mean(gp.y)) ** 2))
    deviations = [LEVEL_SD] + d * [SLOPE_SD] + [CURVATURE_SD] + d * [DIFFERENCE_SD]
    mean = np.zeros(2 * d + 2)
    mean[d + 1] = CURVATURE * scale
    return mean, np.diag((scale * np.array(deviations)) ** 2)


def full_kernel(gp, share, A, B):
    """Return ρ k(A, B) + φ S φᵀ, one pair of points at a time."""
    _, S = prior_of(gp)
    K = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            r = np.sqrt(5.0 * (((a - b) / gp.hyper.lengthscales) ** 2).sum())
            matern = gp.hyper.outputscale * (1.0 + r + r**2 / 3.0) * np.exp(-r)
            K[i, j] = share * matern + phi(a) @ S @ phi(b)
    return K


def full_mean(gp, X):
    beta, _ = prior_of(gp)
    return np.array([gp.hyper.mean + phi(x) @ beta for x in X])


def textbook(gp, share, X):
    """Return mean and covariance at the rows of X, and the evidence of the data."""
    K = full_kernel(gp, share, gp.X, gp.X) + np.diag(gp.noise)
    k = full_kernel(gp, share, X, gp.X)
    residual = gp.y - full_mean(gp, gp.X)
    mean = full_mean(gp, X) + k @ np.linalg.solve(K, residual)
    cov = full_kernel(gp, share, X, X) - k @ np.linalg.solve(K, k.T)
    _, log_determinant = np.linalg.slogdet(K)
    evidence = -0.5 * (residual @ np.linalg.solve(K, residual) + log_determinant)
    return mean, cov, evidence


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("share", SHARES)
def test_mean_is_the_textbook_s(d, share, monkeypatch):
    """E83, E84: one process whose kernel is the sum of both, conditioned densely.

    A trend fitted first and a process to what is left would not pass.
    """
    gp = make_gp(12, d, noise_variance=0.02)
    X = places(gp)
    model = at_share(gp, share, monkeypatch)
    assert share_of(model, gp) == pytest.approx(share, rel=1e-12)
    expected, _, _ = textbook(gp, share, X)
    assert model.predict_mean(X) == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_observations_may_differ_in_noise(monkeypatch):
    """E83: each observation's own noise is on the diagonal, not the common one."""
    plain = make_gp(10, 2)
    noise = np.geomspace(1e-3, 1.0, 10)
    gp = GaussianProcess.condition(plain.X, plain.y, plain.hyper, noise)
    X = places(gp)
    model = at_share(gp, 0.1, monkeypatch)
    expected, _, _ = textbook(gp, 0.1, X)
    assert model.predict_mean(X) == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_share_is_the_likeliest(seed):
    """E83: of a few, by the marginal likelihood with its determinant."""
    gp = make_gp(15, 2, seed, noise_variance=0.02)
    # From all trend to all process.
    gp = replace(gp, y=gp.y * 0.3**seed)
    evidences = [textbook(gp, share, gp.X[:1])[2] for share in SHARES]
    model = TrendPosterior.fit(gp)
    assert share_of(model, gp) == pytest.approx(SHARES[int(np.argmax(evidences))])


# How it bends.


@pytest.mark.parametrize("d", DIMS)
def test_gradient_of_the_mean(d):
    """E84: against central differences, also at a corner and at an observed input."""
    gp = make_gp(12, d)
    model = TrendPosterior.fit(gp)
    X = places(gp)
    value, gradient = model.mean_and_gradient(X)
    assert value == pytest.approx(model.predict_mean(X), rel=1e-12)
    expected = differences(model.predict_mean, X)
    assert gradient == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("d", DIMS)
def test_hessian_of_the_mean(d):
    """E84: against differences of the gradient; the bends of the trend are in it."""
    gp = make_gp(12, d)
    model = TrendPosterior.fit(gp)
    for x in places(gp):
        H = model.hessian(x)
        for j in range(d):
            slope = differences(
                lambda X, j=j: model.mean_and_gradient(X)[1][:, j], x[None]
            )
            assert H[j] == pytest.approx(slope[0], rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("share", [SHARES[0], SHARES[-1]])
def test_covariance_of_the_gradient(d, share, monkeypatch):
    """Against difference quotients of the textbook's joint posterior.

    Slopes of trend and process are correlated once the data are known; adding up the
    two covariances would not pass.
    """
    gp = make_gp(9, d)
    model = at_share(gp, share, monkeypatch)
    # Quotients of a Matern-5/2 process are off by h²/ℓ² and rounded by eps / h².
    h = 1e-4
    steps = np.vstack([h * np.eye(d), -h * np.eye(d)])
    quotient = np.hstack([np.eye(d), -np.eye(d)]) / (2.0 * h)
    for x in places(gp, num_points=2):
        _, cov, _ = textbook(gp, share, x + steps)
        C = model.gradient_covariance(x)
        near = 2e-5 * C.diagonal().max()
        np.testing.assert_allclose(C, quotient @ cov @ quotient.T, atol=near)
        assert np.linalg.eigvalsh(C)[0] > 0.0


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("share", [SHARES[0], SHARES[-1]])
def test_covariance_of_the_trend_s_gradient(d, share, monkeypatch):
    """The textbook's β given the data, its gradient by differences of φ."""
    gp = make_gp(9, d)
    model = at_share(gp, share, monkeypatch)
    _, S = prior_of(gp)
    F = np.array([phi(x) for x in gp.X])
    K = full_kernel(gp, share, gp.X, gp.X) + np.diag(gp.noise)
    cov = S - S @ F.T @ np.linalg.solve(K, F @ S)
    h = 1e-3
    for x in places(gp, num_points=2):
        steps = h * np.eye(d)
        G = np.array([(phi(x + s) - phi(x - s)) / (2.0 * h) for s in steps])
        expected = G @ cov @ G.T
        C = model.trend_gradient_covariance(x)
        np.testing.assert_allclose(C, expected, atol=1e-8 * expected.max())
        H = model.trend_hessian(x)
        bend = [(phi(x + s) - 2.0 * phi(x) + phi(x - s)) / h**2 for s in steps]
        assert np.diagonal(H) == pytest.approx(np.array(bend) @ model.weights, rel=1e-5)


# What it finds.


def hyper_of(d, ell, outputscale=1.0, noise_variance=1e-6, mean=0.0):
    return Hyperparameters(
        lengthscales=np.full(d, ell),
        outputscale=outputscale,
        mean=mean,
        noise_variance=noise_variance,
    )


def exact_bowl(scale=1.0, n=40, seed=0):
    """Return the process of 40 all but exact values of a bowl in 5-D, and its top."""
    d, rng = 5, np.random.default_rng(seed)
    top = rng.uniform(0.2, 0.8, d)
    X = rng.random((n, d))
    y = -((X - top) ** 2) @ np.linspace(0.8, 1.4, d)
    hyper = hyper_of(d, 0.8, y.var() * scale**2, 1e-6 * scale**2, y.mean() * scale)
    return GaussianProcess.condition(X, scale * y, hyper), top


@pytest.mark.parametrize("seed", range(3))
def test_a_quadratic_is_seen_through(seed):
    """E83: the trend takes all it can, and its summit is the optimum to 1 %."""
    gp, top = exact_bowl(seed=seed)
    model = TrendPosterior.fit(gp)
    assert share_of(model, gp) == pytest.approx(min(SHARES))
    assert model.summit == pytest.approx(top, abs=0.01)
    assert find_peak(model, Domain.box(5)) == pytest.approx(top, abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_ripples_are_left_to_the_process(seed):
    """E83: values of a process of short lengthscale keep all of its variance."""
    d, n, rng = 2, 60, np.random.default_rng(seed)
    X = rng.random((n, d))
    hyper = hyper_of(d, 0.1, noise_variance=1e-4)
    ignorant = GaussianProcess.condition(X, np.zeros(n), hyper)
    K = np.linalg.inv(ignorant.factor.solve(np.eye(n)))
    y = np.linalg.cholesky(K) @ rng.standard_normal(n)
    gp = GaussianProcess.condition(X, y, hyper)
    assert share_of(TrendPosterior.fit(gp), gp) == 1.0


def test_a_bowl_shows_through_ripples():
    """E83: the summit is nearer to the optimum than the best observation is.

    Ripples of a third of the bowl's size, too short for their process to bridge.
    """
    d, n, rng = 6, 40, np.random.default_rng(3)
    top = np.full(d, 0.35)
    X = rng.random((n, d))
    bowl = -3.0 * ((X - top) ** 2).sum(axis=1)
    y = bowl + 0.3 * bowl.std() * rng.standard_normal(n)
    hyper = hyper_of(d, 0.1, y.var(), 1e-4, y.mean())
    gp = GaussianProcess.condition(X, y, hyper)
    error = np.linalg.norm(TrendPosterior.fit(gp).summit - top)
    assert error < 0.2 < np.linalg.norm(gp.X[y.argmax()] - top)


def test_summit_by_hand():
    """Slope s and bend b peak at 1/2 - s / 2b if b < 0; else at an end, the higher one.

    Inside at 0.5 + 0.2 / 1; beyond the side; bent upwards; flat: as good as anywhere.
    """
    slopes, shared = [0.2, 3.0, -0.1, 0.4, 0.0], -1.0
    differences = [0.5, 0.0, 2.0, 1.0, 1.0]
    model = TrendPosterior(
        rest=make_gp(3, 5),
        weights=np.array([7.0, *slopes, shared, *differences]),
        prior=TrendPrior.none(5),
    )
    assert model.summit == pytest.approx([0.7, 1.0, 0.0, 1.0, 0.5], rel=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e12])
def test_units_of_the_values_do_not_matter(scale):
    """Hyperparameters in the same units: the same share, the same summit."""
    gp, _ = exact_bowl()
    other, _ = exact_bowl(scale)
    first, second = TrendPosterior.fit(gp), TrendPosterior.fit(other)
    assert share_of(second, other) == pytest.approx(share_of(first, gp))
    assert second.summit == pytest.approx(first.summit, rel=1e-6)
    X = places(gp)
    assert second.predict_mean(X) == pytest.approx(
        scale * first.predict_mean(X), rel=1e-6
    )


# Little data, and much.


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize(
    "values",
    [[0.7], [0.3, 0.3, 0.3], [0.0, 0.0], [0.0, 1e-300, 0.0], [1e9, -1e9, 0.0, 5.0]],
    ids=str,
)
def test_little_data_give_a_finite_model(values, d):
    """One observation, equal ones, and values of absurd size."""
    y = np.array(values)
    X = np.random.default_rng(0).random((len(y), d))
    spread = max(float(y.var()), 1.0)
    hyper = hyper_of(d, 0.5, spread, 1e-6 * spread, float(y.mean()))
    model = TrendPosterior.fit(GaussianProcess.condition(X, y, hyper))
    assert ((model.summit >= 0.0) & (model.summit <= 1.0)).all()
    at = np.vstack([X, np.zeros(d), np.ones(d)])
    assert np.isfinite(model.predict_mean(at)).all()
    assert np.isfinite(model.mean_and_gradient(at)[1]).all()
    for x in at:
        assert np.isfinite(model.hessian(x)).all()
        assert np.isfinite(model.gradient_covariance(x)).all()


@pytest.mark.parametrize("level", [0.1, 0.3, 0.7, -1e6])
def test_equal_values_say_the_same_at_any_level(level):
    """Rounding of their standard deviation, 1e-17 or nought, decides nothing."""
    X = np.random.default_rng(0).random((7, 2))

    def model(level):
        hyper = hyper_of(2, 0.5, 1.0, 0.01, level)
        return TrendPosterior.fit(
            GaussianProcess.condition(X, np.full(7, level), hyper)
        )

    first, second = model(0.0), model(level)
    assert second.summit == pytest.approx(first.summit, abs=1e-6)
    x = X[0]
    np.testing.assert_allclose(
        second.gradient_covariance(x), first.gradient_covariance(x), rtol=1e-6
    )


def much(order=None, n=2 * MAX_POINTS + 37):
    """Return a process of more data than a trend is fitted to, in a given order."""
    rng = np.random.default_rng(5)
    X = rng.random((n, 2))
    y = -((X - 0.6) ** 2).sum(axis=1) + 0.1 * rng.standard_normal(n)
    assert len(np.unique(y)) == n
    order = np.arange(n) if order is None else order
    noise = rng.uniform(0.005, 0.02, n)
    hyper = hyper_of(2, 0.7, y.var(), 0.01, y.mean())
    return GaussianProcess.condition(X[order], y[order], hyper, noise[order])


def test_thinning_keeps_the_best_and_the_worst():
    gp = much()
    rest = TrendPosterior.fit(gp.thinned(MAX_POINTS)).rest
    assert len(rest.y) == len(rest.alpha) == MAX_POINTS
    assert (rest.y.max(), rest.y.min()) == (gp.y.max(), gp.y.min())
    # Evenly spread ranks: no more than three neighbours in rank from one to the next.
    ranks = np.searchsorted(np.sort(gp.y), np.sort(rest.y))
    assert np.diff(ranks).min() > 0
    assert np.diff(ranks).max() <= 3


def test_thinning_keeps_what_belongs_together():
    """Inputs, values, noise and the scaled inputs of the same rows."""
    gp = much()
    rest = TrendPosterior.fit(gp.thinned(MAX_POINTS)).rest
    rows = [int(np.flatnonzero(gp.y == value).item()) for value in rest.y]
    for name in ("X", "noise", "scaled", "norms"):
        assert np.array_equal(getattr(rest, name), getattr(gp, name)[rows])


def test_which_points_are_kept_does_not_depend_on_their_order():
    first = TrendPosterior.fit(much().thinned(MAX_POINTS))
    order = np.random.default_rng(6).permutation(2 * MAX_POINTS + 37)
    second = TrendPosterior.fit(much(order).thinned(MAX_POINTS))
    assert np.array_equal(np.sort(first.rest.y), np.sort(second.rest.y))
    assert second.summit == pytest.approx(first.summit, rel=1e-9)


def test_as_many_points_as_allowed_are_all_kept():
    gp = much()
    few = GaussianProcess.condition(gp.X[:MAX_POINTS], gp.y[:MAX_POINTS], gp.hyper)
    model = TrendPosterior.fit(few.thinned(MAX_POINTS))
    assert np.array_equal(model.rest.y, few.y)
    assert len(TrendPosterior.fit(gp).rest.y) == len(gp.y)


# Without a trend.


def test_without_a_trend_it_is_the_process():
    """Mean, gradient, Hessian and covariance, to the bit or nearly so."""
    gp = make_gp(12, 3)
    model = TrendPosterior.without_trend(gp)
    X = places(gp)
    assert np.array_equal(model.predict_mean(X), gp.predict_mean(X))
    _, gradient = model.mean_and_gradient(X)
    assert gradient == pytest.approx(gp.moments(X).mean_gradient, rel=1e-12)
    for x in X:
        assert np.array_equal(model.hessian(x), mean_hessian(gp, x))
        C = gradient_covariance(gp, x)
        np.testing.assert_allclose(model.gradient_covariance(x), C, atol=1e-12)
    assert model.summit.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("fit", [TrendPosterior.fit, TrendPosterior.without_trend])
def test_the_mean_at_the_data_needs_no_kernel(fit):
    """What is left of a value without its noise, alpha times the variance."""
    model = fit(make_gp(15, 3))
    expected = model.predict_mean(model.rest.X)
    assert model.value_at_data == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_the_mean_by_sums():
    """The quadratic is a sum over coordinates like any other."""
    model = TrendPosterior.fit(make_gp(15, 3))
    X = np.random.default_rng(7).random((6, 3))
    form = model.mean_by_sums()
    assert form is not None
    assert form.finish(form.sums.at(X)) == pytest.approx(
        model.predict_mean(X), rel=1e-9
    )


# A posterior to decide on.


def as_textbook(gp, prior, share):
    """Return a dense Gaussian process of kernel ρ k + φ S φᵀ: kernel and mean."""

    def kernel(A, B):
        K = np.empty((len(A), len(B)))
        for i, a in enumerate(A):
            for j, b in enumerate(B):
                r = np.sqrt(5.0 * (((a - b) / gp.hyper.lengthscales) ** 2).sum())
                matern = gp.hyper.outputscale * (1.0 + r + r**2 / 3.0) * np.exp(-r)
                K[i, j] = share * matern + phi(a) @ np.diag(prior.variances) @ phi(b)
        return K

    def mean(X):
        return np.array([gp.hyper.mean + phi(x) @ prior.means for x in X])

    return kernel, mean


def told_prior(d, seed=4):
    """Return a prior as somebody else would give it: any means, unequal variances."""
    rng = np.random.default_rng(seed)
    variances = rng.uniform(0.01, 2.0, 2 * d + 2)
    variances[-1] = 0.0
    return TrendPrior(
        basis=PooledQuadratic(d),
        means=rng.standard_normal(2 * d + 2),
        variances=variances,
    )


def conditioned(gp, prior, share, monkeypatch):
    monkeypatch.setattr("guidefbo.agent.surrogate.trend.SHARES", (share,))
    return TrendPosterior.fit(gp, prior)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("is_told", [False, True])
def test_moments_are_the_textbook_s(d, share, is_told, monkeypatch):
    """Mean, covariance and standard deviation, of any prior of the coefficients."""
    gp = make_gp(12, d, noise_variance=0.02)
    prior = told_prior(d) if is_told else TrendPrior.default(gp)
    model = conditioned(gp, prior, share, monkeypatch)
    X = places(gp)
    kernel, prior_mean = as_textbook(gp, prior, share)
    K, k = kernel(gp.X, gp.X) + np.diag(gp.noise), kernel(X, gp.X)
    mean = prior_mean(X) + k @ np.linalg.solve(K, gp.y - prior_mean(gp.X))
    cov = kernel(X, X) - k @ np.linalg.solve(K, k.T)
    near = 1e-9 * float(kernel(X, X).max())
    for found in (model.predict(X), (model.moments(X).mean, model.moments(X).std)):
        assert found[0] == pytest.approx(mean, rel=1e-8, abs=1e-9)
        assert found[1] ** 2 == pytest.approx(np.diagonal(cov), abs=near)
    joint_mean, joint_cov = model.joint(X)
    assert joint_mean == pytest.approx(mean, rel=1e-8, abs=1e-9)
    np.testing.assert_allclose(joint_cov, cov, atol=near)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("is_told", [False, True])
def test_one_kernel_evaluation_gives_all_moments(d, is_told, monkeypatch):
    """The same as one by one, with slopes by differences."""
    gp = make_gp(12, d, noise_variance=0.02)
    model = TrendPosterior.fit(gp, told_prior(d) if is_told else None)
    X = places(gp)[:-1]
    mean, mean_gradient = model.mean_and_gradient(X)
    std = model.predict(X)[1]
    slope = differences(lambda Y: model.predict(Y)[1], X)
    count = []

    def counted(q, s):
        count.append(q.shape)
        return matern52_with_slope(q, s)

    def refuse(*given):
        raise AssertionError("another evaluation of the kernel")

    monkeypatch.setattr("guidefbo.agent.surrogate.trend.matern52_with_slope", counted)
    for module in ("trend", "gp"):
        monkeypatch.setattr(f"guidefbo.agent.surrogate.{module}.matern52", refuse)
    monkeypatch.setattr("guidefbo.agent.surrogate.gp.matern52_with_slope", refuse)
    found = model.moments(X)
    assert count == [(len(X), 12)]
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.std == pytest.approx(std, rel=1e-12)
    assert found.mean_gradient == pytest.approx(mean_gradient, rel=1e-10, abs=1e-10)
    assert found.std_gradient == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_other_hyperparameters_may_be_given():
    """As if the process had been conditioned with them."""
    gp = make_gp(12, 2)
    other = hyper_of(2, 0.7, 0.9, 0.01, 0.2)
    X = places(gp)
    expected = TrendPosterior.fit(
        GaussianProcess.condition(gp.X, gp.y, other, gp.noise), shares=(0.3,)
    )
    found = TrendPosterior.fit(gp, hyper=other, shares=(0.3,))
    for one, two in zip(found.moments(X), expected.moments(X), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_loadings_are_those_of_prior_and_data():
    """φ(X) diag(S), and of the new prior where one is put in."""
    gp = make_gp(12, 2)
    model = TrendPosterior.fit(gp, told_prior(2))
    for prior in (told_prior(2), told_prior(2, seed=9)):
        put = replace(model, prior=prior)
        expected = np.array([phi(x) for x in gp.X]) @ np.diag(prior.variances)
        np.testing.assert_allclose(put.loadings, expected, rtol=1e-12)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("is_told", [False, True])
def test_contract_of_a_posterior(d, is_told):
    """Gradients by differences, fantasies, paths: all that a rule may ask."""
    gp = make_gp(12, d, noise_variance=0.02)
    check_posterior(TrendPosterior.fit(gp, told_prior(d) if is_told else None))
    check_posterior(TrendPosterior.without_trend(gp))


def test_without_a_trend_all_answers_are_those_of_the_process():
    gp = make_gp(12, 3)
    model = TrendPosterior.without_trend(gp)
    X = places(gp)
    for found, expected in zip(model.moments(X), gp.moments(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.joint(X)[1], gp.joint(X)[1], atol=1e-12)
    first, second = (
        each.fantasise(8, Streams(0).at(Purpose.RULE)) for each in (model, gp)
    )
    np.testing.assert_allclose(first.draws, second.draws, rtol=1e-9, atol=1e-9)


def test_a_coefficient_of_no_variance_stays_where_it_is():
    gp = make_gp(12, 2)
    fixed = TrendPrior(
        basis=PooledQuadratic(2), means=np.arange(6.0), variances=np.zeros(6)
    )
    model = TrendPosterior.fit(gp, fixed)
    assert np.array_equal(model.weights, fixed.means)


def test_fantasies_are_the_textbook_s(monkeypatch):
    """The prior conditioned on noise-free draws, written out densely.

    The nugget of the one and the solver of the other differ by about 1e-5.
    """
    gp, share = make_gp(9, 2, noise_variance=0.05), 0.1
    prior = told_prior(2)
    model = conditioned(gp, prior, share, monkeypatch)
    fantasies = model.fantasise(4, Streams(0).at(Purpose.RULE))
    assert np.array_equal(fantasies.observed, gp.X)
    X = np.random.default_rng(1).random((5, 2))
    kernel, prior_mean = as_textbook(gp, prior, share)
    K, k = kernel(gp.X, gp.X), kernel(X, gp.X)
    means = prior_mean(X)[:, None] + k @ np.linalg.solve(
        K, fantasies.draws - prior_mean(gp.X)[:, None]
    )
    cov = kernel(X, X) - k @ np.linalg.solve(K, k.T)
    found = fantasies.moments(X)
    np.testing.assert_allclose(found.means, means, atol=1e-3)
    np.testing.assert_allclose(found.std**2, np.diagonal(cov), atol=1e-4)
    # Whose draws they are: of the posterior at the observed inputs.
    many = model.fantasise(4096, Streams(0).at(Purpose.RULE)).draws
    mean, cov = model.joint(gp.X)
    near = 0.03 * np.sqrt(np.diagonal(cov)).max()
    np.testing.assert_allclose(many.mean(axis=1), mean, atol=near)
    np.testing.assert_allclose(np.cov(many), cov, atol=0.05 * cov.max())


def test_paths_are_draws_of_the_posterior(monkeypatch):
    """Mean and covariance of 600 paths: the error of either is about 1/√600."""
    gp = make_gp(8, 2, noise_variance=0.05)
    model = conditioned(gp, told_prior(2), 0.1, monkeypatch)
    X = np.array([[0.1, 0.2], [0.9, 0.9], [0.5, 0.4], [0.0, 1.0]])
    paths = np.array(
        [
            model.sample_path(200, Streams(n).at(Purpose.RULE)).value(X)
            for n in range(600)
        ]
    )
    mean, cov = model.joint(X)
    std = np.sqrt(np.diagonal(cov))
    assert np.abs((paths.mean(axis=0) - mean) / std).max() < 4.0 / np.sqrt(600)
    correlated = np.cov(paths.T) / np.outer(std, std)
    np.testing.assert_allclose(correlated, cov / np.outer(std, std), atol=0.2)


RULES = {
    "ucb": UpperConfidenceBound(beta=4.0),
    "nei": NoisyExpectedImprovement(num_fantasies=16),
    "ei": ExpectedImprovement(),
    "ts": ThompsonSampling(num_features=64),
    "grid-ts": GridThompsonSampling(num_points=64),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("space", ["box", "mixed", "cut"])
def test_every_rule_decides_on_it(name, space):
    """On a box, among steps and options, and under constraints; guided as well."""
    domain = SPACES[space].domain
    X = domain.sample(10, np.random.default_rng(0))
    hyper = hyper_of(domain.dim, 0.5, 1.0, 0.01)
    gp = GaussianProcess.condition(X, np.sin(3.0 * X.sum(axis=1)), hyper)
    model = TrendPosterior.fit(gp)
    search = SearchSettings(num_raw=16, num_starts=3, num_iterations=4)
    for posterior in (model, replace(guided_posterior(gp), local=model)):
        if domain.is_discrete:
            posterior = SnappedPosterior(inner=posterior, domain=domain)
        acquisition = RULES[name].acquisition(posterior, Streams(1).at(Purpose.RULE))
        x = maximise_acquisition(
            acquisition, domain, search, Streams(1).at(Purpose.SEARCH)
        )
        assert np.array_equal(domain.snap(x[None])[0], x)
        best = acquisition.value(domain.sample(200, np.random.default_rng(2)))
        assert acquisition.value(x[None])[0] >= np.quantile(best, 0.9)


def test_one_factor_serves_all_predictions(monkeypatch):
    """Nothing is factorised again for a prediction, a gradient or a search."""
    model = TrendPosterior.fit(make_gp(12, 3))

    def refuse(K):
        raise AssertionError("factorised again")

    monkeypatch.setattr("guidefbo.agent.surrogate.trend.factorise", refuse)
    X = places(model.rest)
    model.predict(X)
    model.moments(X)
    model.joint(X)
    model.by_sums().finish(model.by_sums().sums.at(X))
