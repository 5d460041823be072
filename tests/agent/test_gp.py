import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from guidefbo.agent.surrogate.gp import STD_FLOOR, GaussianProcess, Hyperparameters
from tests.agent.numerics import differences, make_gp, smooth_values


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
