import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import gamma, lognorm, multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.fit import (
    START,
    START_NOISE,
    Bounds,
    LogPosterior,
    Priors,
    fit,
)
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.agent.surrogate.model import MIN_NOISE_VARIANCE, Model
from guidefbo.core.errors import NumericalError
from tests.agent.numerics import differences_at, smooth_values

NOISES = [0.01, None]
PRIORS = [None, Priors()]


def make_data(n, d, seed=0, noise_std=0.1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, smooth_values(X) + noise_std * rng.standard_normal(n)


def make_theta(d, noise_variance, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1.2, 0.6, d + 1)
    return theta if noise_variance is not None else np.append(theta, np.log(0.03))


def covariance(X, theta, noise_variance):
    d = X.shape[1]
    noise = np.exp(theta[d + 1]) if noise_variance is None else noise_variance
    q = squared_distances(X, X, np.exp(theta[:d]))
    return matern52(q, np.exp(theta[d])) + noise * np.eye(len(X))


@pytest.mark.parametrize(("n", "d"), [(1, 2), (7, 1), (30, 3)])
@pytest.mark.parametrize("noise_variance", NOISES)
def test_likelihood_agrees_with_scikit_learn(n, d, noise_variance):
    """E04: log N(y; m 1, K) at the profiled mean m."""
    X, y = make_data(n, d)
    theta = make_theta(d, noise_variance)
    value, gradient, mean = LogPosterior.of(X, y, noise_variance, None).evaluate(theta)
    ell, s = np.exp(theta[:d]), np.exp(theta[d])
    kernel = ConstantKernel(s) * Matern(ell, nu=2.5)
    alpha = noise_variance
    if noise_variance is None:
        kernel, alpha = kernel + WhiteKernel(np.exp(theta[d + 1])), 0.0
    twin = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None)
    twin.fit(X, y - mean)
    # Their parameters: output scale, lengthscales, noise. At the best mean the total
    # derivative is the partial one, which is what they return.
    theirs, slope = twin.log_marginal_likelihood(
        twin.kernel_.theta, eval_gradient=True
    )
    assert value == pytest.approx(theirs, rel=1e-9)
    order = np.concatenate([np.arange(1, d + 1), [0], np.arange(d + 1, len(theta))])
    assert gradient == pytest.approx(slope[order], rel=1e-7, abs=1e-8)


def test_likelihood_of_two_observations_by_hand():
    """E04: y = m ± r with correlation c has log p = -r²/(s - k) - ½ log|K| - log 2π."""
    X, y = np.array([[0.2], [0.7]]), np.array([1.0, 3.0])
    theta = np.log([0.5, 2.0])
    value, _, mean = LogPosterior.of(X, y, 0.5, None).evaluate(theta)
    k = 2.0 * 0.5239941088318203
    expected = -1.0 / (2.5 - k) - 0.5 * np.log(2.5**2 - k**2) - np.log(2.0 * np.pi)
    assert mean == pytest.approx(2.0, rel=1e-13)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("noise_variance", NOISES)
@pytest.mark.parametrize("priors", PRIORS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (8, 1), (25, 4)])
def test_gradient_is_central_differences(n, d, noise_variance, priors):
    """E04, E05: gradients with fixed and fitted noise, with and without priors."""
    X, y = make_data(n, d)
    objective = LogPosterior.of(X, y, noise_variance, priors)
    for seed in range(3):
        theta = make_theta(d, noise_variance, seed)
        value, gradient = objective(theta)
        by_steps = differences_at(lambda t: objective(t)[0], theta)
        # Rounding eps |value| / STEP, with the condition of K some hundreds.
        assert gradient == pytest.approx(by_steps, rel=1e-6, abs=1e-7 * abs(value))


@pytest.mark.parametrize("noise_variance", NOISES)
def test_profiled_mean_maximises_the_likelihood(noise_variance):
    """E04: no other constant mean is likelier, and the value is the density there."""
    X, y = make_data(12, 2)
    theta = make_theta(2, noise_variance)
    value, _, mean = LogPosterior.of(X, y, noise_variance, None).evaluate(theta)
    K = covariance(X, theta, noise_variance)

    def density(m):
        return multivariate_normal.logpdf(y, np.full(12, m), K)

    assert value == pytest.approx(density(mean), rel=1e-10)
    curvature = np.linalg.inv(K).sum()
    for step in (-1.0, -1e-3, 1e-3, 1.0):
        # The density is an exact parabola in the mean.
        drop = value - density(mean + step)
        assert drop == pytest.approx(0.5 * curvature * step**2, rel=1e-4)


@pytest.mark.parametrize("noise_variance", NOISES)
def test_priors_are_the_gamma_and_lognormal_densities(noise_variance):
    """E05: log posterior less log likelihood is the log prior up to a constant."""
    X, y = make_data(6, 2)
    plain = LogPosterior.of(X, y, noise_variance, None)
    with_priors = LogPosterior.of(X, y, noise_variance, Priors())
    excess = []
    for seed in range(4):
        theta = make_theta(2, noise_variance, seed) + 0.1 * seed
        natural = np.exp(theta)
        log_prior = gamma.logpdf(natural[:2], 3.0, scale=1.0 / 6.0).sum()
        log_prior += gamma.logpdf(natural[2], 2.0, scale=1.0 / 0.15)
        if noise_variance is None:
            log_prior += lognorm.logpdf(natural[3], s=1.0, scale=np.exp(-4.0))
        excess.append(with_priors(theta)[0] - plain(theta)[0] - log_prior)
    assert np.ptp(excess) < 1e-10


def test_prior_by_hand():
    """E05: with one observation of the mean only the scale and priors are left."""
    X, y = np.array([[0.5]]), np.array([4.0])
    value, _ = LogPosterior.of(X, y, 1.0, Priors())(np.log([0.5, 3.0]))
    likelihood = -0.5 * np.log(2.0 * np.pi) - 0.5 * np.log(4.0)
    prior = 2.0 * np.log(0.5) - 3.0 + np.log(3.0) - 0.45
    assert value == pytest.approx(likelihood + prior, rel=1e-13)


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
@pytest.mark.parametrize("is_standardised", [True, False])
@pytest.mark.parametrize("priors", PRIORS)
def test_hard_data_give_a_finite_posterior(name, noise_std, is_standardised, priors):
    data = Dataset(X=HARD[name][0], y=HARD[name][1])
    model = Model(noise_std=noise_std, is_standardised=is_standardised, priors=priors)
    prepared, scale = model.prepare(data)
    gp = model.fit(prepared, scale)
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
    for is_standardised in (False, True):
        model = Model(noise_std=0.1, is_standardised=is_standardised, priors=None)
        with pytest.raises(NumericalError):
            model.fit(*model.prepare(Dataset(X=X, y=1e200 * y)))


def test_standardised_data_have_unit_scale_and_noise_follows():
    X, y = make_data(15, 2)
    model = Model(noise_std=0.5, is_standardised=True, priors=Priors())
    data, scale = model.prepare(Dataset(X=X, y=7.0 + 10.0 * y))
    assert scale == pytest.approx(10.0 * np.std(y, ddof=1), rel=1e-12)
    assert np.mean(data.y) == pytest.approx(0.0, abs=1e-12)
    assert np.std(data.y, ddof=1) == pytest.approx(1.0, rel=1e-12)
    noise = model.fit(data, scale).hyper.noise_variance
    assert noise == pytest.approx((0.5 / scale) ** 2, rel=1e-12)


def test_known_noise_has_a_floor():
    X, y = make_data(6, 1)
    model = Model(noise_std=0.0, is_standardised=False, priors=Priors())
    gp = model.fit(*model.prepare(Dataset(X=X, y=y)))
    assert gp.hyper.noise_variance == MIN_NOISE_VARIANCE


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, 1e9 / 3.0])
def test_equal_values_are_not_blown_up(value):
    # Means of equal numbers round: the spread of 0.1, 0.1, 0.1 comes out as 2e-17.
    data = Dataset(X=make_data(3, 1)[0], y=np.full(3, value))
    _, scale = Model(noise_std=0.1, is_standardised=True, priors=None).prepare(data)
    assert scale == 1.0
