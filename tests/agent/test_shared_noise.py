"""Noise of single observations, and lengthscales that coordinates share."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.agent.numerics import differences_at, make_data

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.fit import Bounds, LogPosterior, fit
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.agent.surrogate.model import MIN_NOISE_VARIANCE, Model
from guidefbo.agent.surrogate.priors import Priors, SitePriors
from guidefbo.agent.units import Units

NAN = np.nan
GROUPS = {
    "own": None,
    "pairs": np.array([0, 0, 1, 2, 2]),
    "one": np.zeros(5, dtype=np.intp),
    "each": np.arange(5),
}
NOISES = {
    "common": None,
    "some": np.array([0.3, NAN, NAN, 0.01, NAN, NAN, 1.0, NAN, NAN, NAN, NAN, 0.5]),
    "all": np.linspace(0.01, 1.0, 12),
}


def make_theta(groups, noise_variance, seed=0):
    d = 5 if groups is None else int(groups[-1]) + 1
    theta = np.random.default_rng(seed).uniform(-1.0, 0.6, d + 1)
    return theta if noise_variance is not None else np.append(theta, np.log(0.03))


def covariance(X, theta, noise_variance, groups, own_noise):
    """Write K down from its definition."""
    groups = np.arange(X.shape[1]) if groups is None else groups
    d = int(groups[-1]) + 1
    noise = np.exp(theta[d + 1]) if noise_variance is None else noise_variance
    each = np.full(len(X), noise)
    if own_noise is not None:
        each = np.where(np.isnan(own_noise), noise, own_noise)
    q = squared_distances(X, X, np.exp(theta[:d])[groups])
    return matern52(q, np.exp(theta[d])) + np.diag(each)


@pytest.mark.parametrize("noise_variance", [0.02, None])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("own", NOISES)
def test_likelihood_is_the_density(own, groups, noise_variance):
    X, y = make_data(12, 5)
    groups, own_noise = GROUPS[groups], NOISES[own]
    theta = make_theta(groups, noise_variance)
    objective = LogPosterior.of(
        X, y, noise_variance, None, groups=groups, own_noise=own_noise
    )
    value, _, mean = objective.evaluate(theta)
    K = covariance(X, theta, noise_variance, groups, own_noise)
    weights = np.linalg.solve(K, np.ones(12))
    assert mean == pytest.approx(weights @ y / weights.sum(), rel=1e-9)
    density = multivariate_normal.logpdf(y, np.full(12, mean), K)
    assert value == pytest.approx(density, rel=1e-10)


@pytest.mark.parametrize("priors", [None, Priors(), SitePriors()])
@pytest.mark.parametrize("noise_variance", [0.02, None])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("own", NOISES)
def test_gradient_is_central_differences(own, groups, noise_variance, priors):
    X, y = make_data(12, 5)
    groups, own_noise = GROUPS[groups], NOISES[own]
    objective = LogPosterior.of(
        X, y, noise_variance, priors, groups=groups, own_noise=own_noise
    )
    for seed in range(2):
        theta = make_theta(groups, noise_variance, seed)
        value, gradient = objective(theta)
        by_steps = differences_at(lambda t: objective(t)[0], theta)
        assert gradient == pytest.approx(by_steps, rel=1e-6, abs=1e-7 * abs(value))


def test_common_noise_is_not_learnt_from_those_with_their_own():
    X, y = make_data(12, 5)
    objective = LogPosterior.of(X, y, None, None, own_noise=NOISES["all"])
    theta = make_theta(None, None)
    value, gradient = objective(theta)
    assert gradient[-1] == 0.0
    theta[-1] += 1.0
    assert objective(theta)[0] == value


def test_own_noise_equal_to_the_common_changes_nothing():
    X, y = make_data(12, 5)
    theta = make_theta(None, 0.02)
    plain = LogPosterior.of(X, y, 0.02, None)(theta)
    own = LogPosterior.of(X, y, 0.02, None, own_noise=np.full(12, 0.02))(theta)
    assert own[0] == pytest.approx(plain[0], rel=1e-14)
    assert own[1] == pytest.approx(plain[1], rel=1e-13)


def test_groups_of_one_change_nothing():
    X, y = make_data(12, 5)
    theta = make_theta(None, 0.02)
    plain = LogPosterior.of(X, y, 0.02, None)(theta)
    each = LogPosterior.of(X, y, 0.02, None, groups=np.arange(5))(theta)
    assert each[0] == plain[0]
    assert (each[1] == plain[1]).all()


@pytest.mark.parametrize("own", NOISES)
def test_fit_gives_a_group_one_lengthscale(own):
    X, y = make_data(12, 5)
    hyper = fit(
        X,
        y,
        noise_variance=None,
        priors=Priors(),
        bounds=Bounds(),
        groups=GROUPS["pairs"],
        own_noise=NOISES[own],
    )
    ell = hyper.lengthscales
    assert ell.shape == (5,)
    assert ell[0] == ell[1]
    assert ell[3] == ell[4]
    assert len(np.unique(ell)) == 3
    # No other hyperparameters nearby are likelier.
    objective = LogPosterior.of(
        X, y, None, Priors(), groups=GROUPS["pairs"], own_noise=NOISES[own]
    )
    theta = np.log([ell[0], ell[2], ell[3], hyper.outputscale, hyper.noise_variance])
    assert np.abs(objective(theta)[1]).max() < 1e-2


def test_posterior_of_two_noises_by_hand():
    """Two values at one place, noises 1 and 3: weights 3/4 and 1/4, variance 3/4."""
    hyper = Hyperparameters(
        lengthscales=np.ones(1), outputscale=1e8, mean=0.0, noise_variance=9.0
    )
    X = np.full((2, 1), 0.5)
    gp = GaussianProcess.condition(X, np.array([4.0, 8.0]), hyper, np.array([1.0, 3.0]))
    mean, std = gp.predict(X[:1])
    assert mean[0] == pytest.approx(5.0, abs=1e-5)
    assert std[0] ** 2 == pytest.approx(0.75, rel=1e-4)


def test_model_turns_spreads_into_noise_in_its_units():
    X = np.linspace(0.0, 1.0, 5)[:, None]
    y = np.array([0.0, 10.0, 20.0, 30.0, 40.0])
    std = np.array([NAN, 2.0, 0.0, NAN, 5.0])
    model = Model(noise_std=1.0, priors=Priors(), units=Units.standard)
    fitted = model.fit(Dataset(X=X, y=y, std=std))
    scale = y.std(ddof=1)
    wanted = np.array([1.0, 2.0, 0.0, 1.0, 5.0]) ** 2 / scale**2
    wanted[2] = MIN_NOISE_VARIANCE
    assert fitted.posterior.noise == pytest.approx(wanted, rel=1e-12)


def test_tempering_shrinks_the_noise_of_bad_values_with_the_values():
    """Knee 2, reach 2: -4 lies 3 reaches below, so its noise counts a quarter."""
    X = np.linspace(0.0, 1.0, 5)[:, None]
    y = np.array([4.0, 3.0, 2.0, 0.0, -4.0])
    model = Model(noise_std=0.5, priors=Priors(), units=Units.tempered)
    fitted = model.fit(Dataset(X=X, y=y))
    shares = np.array([1.0, 1.0, 1.0, 0.5, 0.25])
    wanted = (0.5 * shares / fitted.units.scale) ** 2
    assert fitted.posterior.noise == pytest.approx(wanted, rel=1e-12)
