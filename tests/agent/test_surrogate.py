import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma, lognorm, multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from tests.agent.numerics import (
    covariance,
    differences,
    differences_at,
    make_data,
    make_gp,
    smooth_values,
)
from tests.strategies import dims, seeds

from guidefbo.agent.surrogate.fit import LogPosterior
from guidefbo.agent.surrogate.gp import STD_FLOOR, GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import (
    matern52,
    matern52_with_slope,
    squared_distances,
)
from guidefbo.agent.surrogate.linalg import JITTERS, factorise, invert_factor
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.errors import NumericalError

NOISES = [0.01, None]
PRIORS = [None, Priors()]


def make_theta(d, noise_variance, seed=0):
    """Return log lengthscales, log output scale, and log noise if it is fitted."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1.2, 0.6, d + 1)
    return theta if noise_variance is not None else np.append(theta, np.log(0.03))


def test_kernel_by_hand():
    """E01: s (1 + a + a²/3) exp(-a) with a = √5, so s (8/3 + √5) exp(-√5)."""
    q = np.array([[0.0, 1.0, 1.0 / 5.0]])
    expected = [2.0, 2.0 * 0.5239941088318203, 2.0 * (7.0 / 3.0) * np.exp(-1.0)]
    assert matern52(q, 2.0)[0] == pytest.approx(expected, rel=1e-14)


@given(dim=dims, seed=seeds)
@settings(deadline=None, max_examples=30)
def test_kernel_agrees_with_scikit_learn(dim, seed):
    # E01, with unequal lengthscales. Rounding in q is about 1e-15 (|x| / ell)².
    rng = np.random.default_rng(seed)
    A, B = rng.random((5, dim)), rng.random((4, dim))
    lengthscales = rng.uniform(0.05, 3.0, dim)
    ours = matern52(squared_distances(A, B, lengthscales), 1.3)
    theirs = 1.3 * Matern(length_scale=lengthscales, nu=2.5)(A, B)
    assert ours == pytest.approx(theirs, abs=1e-11)


@given(st.floats(0.0, 1e4))
def test_slope_is_the_derivative_in_the_squared_distance(q):
    """E01: dk/dq = -5/6 s (1 + a) exp(-a), finite at q = 0 too."""
    point = np.array([[q]])
    k, slope = matern52_with_slope(point, 1.5)
    assert k == pytest.approx(matern52(point, 1.5), rel=1e-13)
    a = np.sqrt(5.0 * q)
    assert slope[0, 0] == pytest.approx(-1.25 * (1.0 + a) * np.exp(-a), rel=1e-12)
    h = 1e-6 * max(q, 1.0)
    if q > 10.0 * h:
        rise = matern52(point + h, 1.5) - matern52(point - h, 1.5)
        # Rounding eps / h of the difference quotient dominates.
        assert slope[0, 0] == pytest.approx(rise[0, 0] / (2.0 * h), abs=1e-8)


@given(dim=dims, seed=seeds)
@settings(max_examples=30)
def test_squared_distances_are_those_of_the_definition(dim, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.random((3, dim)), rng.random((6, dim))
    lengthscales = rng.uniform(0.1, 2.0, dim)
    q = squared_distances(A, B, lengthscales)
    expected = (((A[:, None] - B) / lengthscales) ** 2).sum(axis=2)
    # The product form cancels: its error is a few eps times (|x| / ell)² <= 400.
    assert q == pytest.approx(expected, abs=1e-12)
    assert (squared_distances(A, A, lengthscales) >= 0.0).all()


def test_factor_needs_no_jitter_when_the_matrix_is_definite():
    A = np.random.default_rng(0).standard_normal((6, 6))
    K = A @ A.T + np.eye(6)
    before = K.copy()
    L = factorise(K)
    assert (before == K).all()
    assert (np.triu(L, 1) == 0.0).all()
    product = L @ L.T
    assert product == pytest.approx(before, rel=1e-13)
    assert invert_factor(L) @ L == pytest.approx(np.eye(6), abs=1e-13)


def test_factor_of_a_singular_matrix_is_jittered_as_little_as_works():
    # Rank one, diagonal 3: the first step that lifts it above rounding is 3e-10.
    K = np.full((4, 4), 3.0)
    L = factorise(K)
    lifted = L @ L.T - K
    assert lifted == pytest.approx(3.0 * JITTERS[1] * np.eye(4), abs=1e-14)


def test_factor_refuses_an_indefinite_matrix():
    with pytest.raises(NumericalError, match="2 x 2 covariance matrix is not"):
        factorise(np.array([[1.0, 2.0], [2.0, 1.0]]))


def scikit_learn_twin(gp):
    hyper = gp.hyper
    kernel = ConstantKernel(hyper.outputscale) * Matern(hyper.lengthscales, nu=2.5)
    twin = GaussianProcessRegressor(kernel, alpha=hyper.noise_variance, optimizer=None)
    return twin.fit(gp.X, smooth_values(gp.X) - hyper.mean)


@pytest.fixture(params=[(1, 1), (5, 1), (12, 3), (40, 10)], ids=str)
def gp(request):
    n, d = request.param
    return make_gp(n, d)


@pytest.fixture
def X(gp):
    return np.random.default_rng(1).random((9, gp.dim))


def test_posterior_of_one_observation_by_hand():
    """E02, E03: mean m + k (y - m) / (s + noise), variance s - k² / (s + noise)."""
    hyper = Hyperparameters(
        lengthscales=np.array([0.25]), outputscale=2.0, mean=0.5, noise_variance=0.5
    )
    gp = GaussianProcess.condition(np.array([[0.5]]), np.array([2.0]), hyper)
    # At the observation k = 2; one lengthscale away k = 2 (8/3 + √5) exp(-√5).
    k = 2.0 * 0.5239941088318203
    mean, std = gp.predict(np.array([[0.5], [0.75]]))
    assert mean == pytest.approx([1.7, 0.5 + k * 1.5 / 2.5], rel=1e-14)
    assert std**2 == pytest.approx([0.4, 2.0 - k**2 / 2.5], rel=1e-14)
    _, cov = gp.joint(np.array([[0.5], [0.75]]))
    assert cov[0, 1] == pytest.approx(k - 2.0 * k / 2.5, rel=1e-14)


def test_posterior_agrees_with_scikit_learn(gp, X):
    # E02, E03. Rounding: eps times the condition of K, at most 40 * 1.7 / 0.01.
    twin = scikit_learn_twin(gp)
    m = gp.hyper.mean
    mean, std = gp.predict(X)
    their_mean, their_std = twin.predict(X, return_std=True)
    assert mean == pytest.approx(m + their_mean, rel=1e-9, abs=1e-10)
    assert std == pytest.approx(their_std, rel=1e-9)
    joint_mean, cov = gp.joint(X)
    their_mean, their_cov = twin.predict(X, return_cov=True)
    assert joint_mean == pytest.approx(m + their_mean, rel=1e-9, abs=1e-10)
    assert cov == pytest.approx(their_cov, abs=1e-9)


def test_every_question_gets_the_same_mean_and_std(gp, X):
    """E02, E03: predict, predict_mean, moments and joint are one posterior."""
    mean, std = gp.predict(X)
    moments = gp.moments(X)
    joint_mean, cov = gp.joint(X)
    assert gp.predict_mean(X) == pytest.approx(mean, rel=1e-12)
    assert moments.mean == pytest.approx(mean, rel=1e-12)
    assert joint_mean == pytest.approx(mean, rel=1e-12)
    assert moments.std == pytest.approx(std, rel=1e-10)
    assert np.sqrt(np.diag(cov)) == pytest.approx(std, rel=1e-10)


def test_gradients_of_mean_and_std_are_central_differences(gp, X):
    """E02, E03 in the input."""
    moments = gp.moments(X)
    by_mean = differences(lambda x: gp.predict(x)[0], X)
    by_std = differences(lambda x: gp.predict(x)[1], X)
    # Third derivatives reach (√5 / 0.3)³ = 400: an error of 400 STEP² / 6 = 7e-9.
    assert moments.mean_gradient == pytest.approx(by_mean, abs=1e-7)
    assert moments.std_gradient == pytest.approx(by_std, abs=1e-7)


def test_gradients_are_finite_at_an_observed_input():
    gp = make_gp(6, 2)
    moments = gp.moments(gp.X)
    # The kernel is once differentiable in |x - x'|: its gradient there is continuous.
    by_mean = differences(lambda x: gp.predict(x)[0], gp.X)
    assert moments.mean_gradient == pytest.approx(by_mean, abs=1e-5)
    assert np.isfinite(moments.std_gradient).all()


def test_covariance_is_symmetric_and_positive_semidefinite(gp, X):
    _, cov = gp.joint(X)
    assert cov == pytest.approx(cov.T, abs=1e-12)
    assert np.linalg.eigvalsh(cov).min() > -1e-9


def test_far_from_the_data_the_prior_is_left():
    gp = make_gp(4, 1, lengthscales=np.array([0.01]))
    mean, std = gp.predict(np.array([[50.0]]))
    assert mean[0] == pytest.approx(0.4, rel=1e-12)
    assert std[0] ** 2 == pytest.approx(1.7, rel=1e-12)


def test_std_never_falls_to_zero():
    # With noise 1e-14 of the prior the variance at the data is all rounding.
    gp = make_gp(30, 1, noise_variance=1.7e-14)
    _, std = gp.predict(gp.X)
    assert (std >= STD_FLOOR * np.sqrt(1.7)).all()
    assert np.isfinite(gp.moments(gp.X).std_gradient).all()


def test_repeated_inputs_with_tiny_noise_average_their_values():
    """The jitter ladder: n equal inputs are one input with noise / n."""
    X = np.full((8, 2), 0.3)
    y = np.array([1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0])
    hyper = Hyperparameters(
        lengthscales=np.ones(2), outputscale=1.0, mean=0.0, noise_variance=1e-17
    )
    gp = GaussianProcess.condition(X, y, hyper)
    mean, std = gp.predict(X)
    # The first jitter that makes the matrix regular, 1e-10, acts as the noise; the
    # cancellation in alpha of size y / jitter leaves 1e-16 / 1e-10.
    assert mean == pytest.approx(np.full(8, 2.5), abs=1e-4)
    assert (std < 1e-4).all()


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
    theirs, slope = twin.log_marginal_likelihood(twin.kernel_.theta, eval_gradient=True)
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


def test_a_large_factor_made_in_place_is_the_factor():
    X = np.random.default_rng(0).random((300, 3))
    K = matern52(squared_distances(X, X, np.full(3, 0.5)), 1.0) + 1e-3 * np.eye(300)
    L = factorise(K.copy(), overwrite=True)
    assert np.array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, K, rtol=0, atol=1e-12)
