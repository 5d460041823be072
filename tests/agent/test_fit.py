import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from tests.agent.numerics import covariance, differences_at, make_data

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.fit import START, START_NOISE, Bounds, LogPosterior, fit
from guidefbo.agent.surrogate.model import MIN_NOISE_VARIANCE, Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.agent.units import Units
from guidefbo.core.errors import DataError

NOISES = [0.01, None]
PRIORS = [None, Priors()]


@pytest.mark.parametrize("noise_variance", NOISES)
@pytest.mark.parametrize(("n", "d", "seed"), [(10, 1, 0), (30, 3, 1), (40, 10, 2)])
def test_fit_finds_the_posterior_mode(n, d, seed, noise_variance):
    """E04, E05: stationary, above the start, and no other start does better."""
    X, y = make_data(n, d, seed)
    bounds = Bounds()
    found = fit(X, y, noise_variance=noise_variance, priors=Priors(), bounds=bounds)
    objective = LogPosterior.of(X, y, noise_variance, Priors())
    theta = np.log([*found.lengthscales, found.outputscale])
    start = np.full(d + 1, np.log(START))
    if noise_variance is None:
        theta = np.append(theta, np.log(found.noise_variance))
        start = np.append(start, np.log(START_NOISE))
    else:
        assert found.noise_variance == noise_variance
    value, gradient, mean = objective.evaluate(theta)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert value > objective(start)[0]
    # L-BFGS-B stops at a relative decrease of 2e-9, so about 1e-7 from the top;
    # with curvatures of order 10 that is a gradient of order 1e-3.
    assert np.abs(gradient).max() < 1e-2

    rng = np.random.default_rng(seed)
    box = [(np.log(0.02), np.log(5.0))] * d + [(np.log(0.05), np.log(20.0))]
    if noise_variance is None:
        box.append((np.log(1e-5), np.log(0.9)))
    low, high = np.array(box).T
    for _ in range(6):
        other = minimize(
            lambda t: tuple(-part for part in objective(t)),
            rng.uniform(low, high),
            jac=True,
            bounds=box,
            method="L-BFGS-B",
            options={"ftol": 1e-13, "gtol": 1e-8},
        )
        assert value > -other.fun - 1e-5


def beside(X):
    """Return the covariance of a quadratic of uncertain coefficients."""
    F = np.hstack([np.ones((len(X), 1)), X - 0.5, (X - 0.5) ** 2])
    return (F * np.linspace(0.1, 2.0, F.shape[1])) @ F.T


@pytest.mark.parametrize("noise_variance", NOISES)
@pytest.mark.parametrize("priors", PRIORS, ids=["likelihood", "map"])
def test_log_posterior_with_something_beside_the_process(priors, noise_variance):
    """E04: the density of one process whose covariance is the sum, and its slopes."""
    X, y = make_data(12, 3)
    S = beside(X)
    objective = LogPosterior.of(X, y, noise_variance, priors, beside=S)
    theta = np.log([0.4, 0.7, 1.2, 0.8])
    if noise_variance is None:
        theta = np.append(theta, np.log(0.03))

    def density(theta):
        K = covariance(X, theta[:4], noise_variance or np.exp(theta[-1])) + S
        one = np.ones(len(y))
        mean = one @ np.linalg.solve(K, y) / (one @ np.linalg.solve(K, one))
        logs = multivariate_normal(np.full(len(y), mean), K).logpdf(y)
        if priors is None:
            return logs
        return logs + priors.log_density(theta, np.exp(theta), 3)[0]

    value, gradient = objective(theta)
    assert value == pytest.approx(density(theta), rel=1e-9)
    expected = differences_at(density, theta)
    assert gradient == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_fit_starts_where_it_is_told_and_ends_in_time():
    X, y = make_data(25, 3)
    given = {"noise_variance": 0.01, "priors": Priors(), "bounds": Bounds()}
    found = fit(X, y, **given, beside=beside(X))
    objective = LogPosterior.of(X, y, 0.01, Priors(), beside=beside(X))

    def height(hyper):
        return objective(np.log([*hyper.lengthscales, hyper.outputscale]))[0]

    again = fit(X, y, **given, beside=beside(X), start=found, max_iterations=3)
    assert height(again) >= height(found) - 1e-9
    assert again.lengthscales == pytest.approx(found.lengthscales, rel=1e-3)
    first, second = (
        fit(X, y, **given, beside=beside(X), max_iterations=n) for n in (1, 4)
    )
    assert height(first) < height(second) < height(found)


def test_what_is_beside_is_jittered_too():
    """Of absurd size and singular: the sum has no factor without."""
    X, y = make_data(6, 2)
    huge = 1e18 * np.ones((6, 6))
    objective = LogPosterior.of(X, 1e9 * y, 0.01, Priors(), beside=huge)
    assert np.isfinite(objective(np.log([0.4, 0.7, 1.2]))[0])


def test_fit_without_priors_is_no_worse_than_the_truth():
    """E04: maximum likelihood beats the hyperparameters the data came from."""
    rng = np.random.default_rng(3)
    X = rng.random((40, 2))
    truth = np.log([0.4, 0.8, 1.5])
    y = np.linalg.cholesky(covariance(X, truth, 0.01)) @ rng.standard_normal(40)
    found = fit(X, y, noise_variance=0.01, priors=None, bounds=Bounds())
    objective = LogPosterior.of(X, y, 0.01, None)
    theta = np.log([*found.lengthscales, found.outputscale])
    assert objective(theta)[0] >= objective(truth)[0]
    # Forty points fix lengthscales to a factor of two or so.
    assert np.abs(theta[:2] - truth[:2]).max() < np.log(2.5)


def test_fit_stays_inside_its_bounds():
    X, y = make_data(10, 2)
    bounds = Bounds(lengthscale=(0.6, 0.8), outputscale=(0.5, 0.7))
    found = fit(X, 10.0 * y, noise_variance=0.01, priors=None, bounds=bounds)
    assert ((found.lengthscales >= 0.6) & (found.lengthscales <= 0.8)).all()
    assert found.outputscale == pytest.approx(0.7, rel=1e-12)


HARD = {
    "one observation": (np.array([[0.3, 0.6]]), np.array([2.0])),
    "constant values": (make_data(9, 2)[0], np.full(9, 0.1)),
    "one input": (np.full((6, 2), 0.5), np.arange(6.0)),
    "repeated inputs": (np.repeat(make_data(4, 2)[0], 5, axis=0), make_data(20, 2)[1]),
    "huge values": (make_data(20, 2)[0], 1e12 * make_data(20, 2)[1]),
    "tiny values": (make_data(20, 2)[0], 1e-12 * make_data(20, 2)[1]),
    "far from zero": (make_data(20, 2)[0], 1e9 + make_data(20, 2)[1]),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("noise_std", [None, 0.1, 0.0])
@pytest.mark.parametrize("units", [Units.plain, Units.standard, Units.tempered])
@pytest.mark.parametrize("priors", PRIORS)
def test_hard_data_give_a_finite_posterior(name, noise_std, units, priors):
    data = Dataset(X=HARD[name][0], y=HARD[name][1])
    gp, prepared, _ = Model(noise_std=noise_std, units=units, priors=priors).fit(data)
    X = np.random.default_rng(9).random((5, 2))
    moments = gp.moments(np.vstack([X, data.X]))
    assert all(np.isfinite(part).all() for part in moments)
    assert (moments.std > 0.0).all()
    # A prediction stays within reach of the values it was made from.
    reach = 3.0 * np.ptp(prepared.y) + 1e-6 * np.abs(prepared.y).max() + 1e-9
    middle = 0.5 * (prepared.y.max() + prepared.y.min())
    assert np.abs(moments.mean - middle).max() <= reach


def test_absurd_values_are_refused():
    # Their squares overflow, so no likelihood exists.
    X, y = make_data(8, 2)
    with pytest.raises(DataError, match="finite number"):
        Dataset(X=X, y=1e200 * y)


def test_standardised_data_have_unit_scale_and_noise_follows():
    X, y = make_data(15, 2)
    model = Model(noise_std=0.5, units=Units.standard, priors=Priors())
    gp, data, units = model.fit(Dataset(X=X, y=7.0 + 10.0 * y))
    scale = units.scale
    assert scale == pytest.approx(10.0 * np.std(y, ddof=1), rel=1e-12)
    assert np.mean(data.y) == pytest.approx(0.0, abs=1e-12)
    assert np.std(data.y, ddof=1) == pytest.approx(1.0, rel=1e-12)
    noise = gp.hyper.noise_variance
    assert noise == pytest.approx((0.5 / scale) ** 2, rel=1e-12)


def test_known_noise_has_a_floor():
    X, y = make_data(6, 1)
    model = Model(noise_std=0.0, priors=Priors())
    gp = model.fit(Dataset(X=X, y=y)).posterior
    assert gp.hyper.noise_variance == MIN_NOISE_VARIANCE


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, -0.3, 1e9 / 3.0])
def test_equal_values_are_not_blown_up(value):
    # Means of equal numbers round: the spread of 0.1, 0.1, 0.1 comes out as 2e-17.
    data = Dataset(X=make_data(3, 1)[0], y=np.full(3, value))
    for units in (Units.standard, Units.tempered):
        assert units(data.y).scale == 1.0
