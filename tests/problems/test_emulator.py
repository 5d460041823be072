"""The emulator against scikit-learn, finite differences and known functions."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from guidefbo import Choice, Float, Space
from guidefbo.core.errors import DataError
from guidefbo.problems.emulator import (
    BOUNDS,
    MAX_ROWS,
    Hyper,
    condition,
    fit_emulator,
    groups_of,
    negative_log_likelihood,
)

SPACE = Space(x=Float(0, 1), drug=Choice("a", "b", "c"), z=Float(0, 1))
GROUPS = groups_of(SPACE)
HYPER = Hyper(lengthscales=(0.4, 1.1, 0.7), outputscale=1.7, noise=0.03)


def table(num_rows=24, seed=3):
    rng = np.random.default_rng(seed)
    rows = [
        {"x": rng.random(), "drug": "abc"[rng.integers(3)], "z": rng.random()}
        for _ in range(num_rows)
    ]
    X = np.array([SPACE.to_unit(row) for row in rows])
    y = np.array([{"a": 5.0, "b": 9.0, "c": 4.0}[row["drug"]] for row in rows])
    y += 3.0 * np.sin(4.0 * X[:, 0]) + 2.0 * X[:, -1]
    return X, y


def rival(hyper):
    """Return scikit-learn's process with the same, fixed settings."""
    lengths = [
        length
        for length, group in zip(hyper.lengthscales, GROUPS, strict=True)
        for _ in range(group.stop - group.start)
    ]
    kernel = ConstantKernel(hyper.outputscale) * Matern(lengths, nu=2.5)
    kernel += WhiteKernel(hyper.noise)
    return GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0)


def test_predictions_are_those_of_scikit_learn():
    X, y = table()
    z = (y - y.mean()) / y.std()
    others, _ = table(10, seed=5)
    expected = y.mean() + y.std() * rival(HYPER).fit(X, z).predict(others)
    ours = condition(X, y, GROUPS, HYPER).predict(others)
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_likelihood_is_that_of_scikit_learn():
    X, y = table()
    log = np.log([*HYPER.lengthscales, HYPER.outputscale, HYPER.noise])
    value, _ = negative_log_likelihood(log, X, y, GROUPS)
    constant = 0.5 * len(y) * np.log(2.0 * np.pi)
    expected = -rival(HYPER).fit(X, y).log_marginal_likelihood_value_
    assert value + constant == pytest.approx(expected, rel=1e-10)


def test_gradient_is_that_of_finite_differences():
    X, y = table()
    log = np.log([*HYPER.lengthscales, HYPER.outputscale, HYPER.noise])

    def value(at):
        return negative_log_likelihood(at, X, y, GROUPS)[0]

    _, gradient = negative_log_likelihood(log, X, y, GROUPS)
    # Forward differences: the error is of the order of the step, 1e-7.
    np.testing.assert_allclose(
        gradient, approx_fprime(log, value, 1e-7), rtol=2e-5, atol=2e-4
    )


def test_fit_is_no_worse_than_settings_made_up():
    X, y = table()
    z = (y - y.mean()) / y.std()
    hyper = fit_emulator(X, y, GROUPS).hyper
    found = np.log([*hyper.lengthscales, hyper.outputscale, hyper.noise])
    made_up = np.log([*HYPER.lengthscales, HYPER.outputscale, HYPER.noise])
    best, gradient = negative_log_likelihood(found, X, z, GROUPS)
    assert best <= negative_log_likelihood(made_up, X, z, GROUPS)[0]
    # Where the likelihood still rises, a bound is in the way: of a lengthscale, the
    # function being a straight line in z, and of the noise, the values being exact.
    kinds = ["lengthscale"] * len(GROUPS) + ["outputscale", "noise"]
    low, high = np.log([BOUNDS[kind] for kind in kinds]).T
    step = np.clip(found - gradient, low, high) - found
    assert np.abs(step).max() < 0.01
    assert hyper.noise == pytest.approx(1e-6, rel=0.1)


def test_a_smooth_function_is_found():
    X, y = table(60)
    emulator = fit_emulator(X, y, GROUPS)
    others, truth = table(40, seed=11)
    error = np.sqrt(np.mean((emulator.predict(others) - truth) ** 2))
    told = emulator.cross_validated_error()
    assert error < 0.2 * truth.std()
    assert told.r2 > 0.95
    assert 0.3 * told.rmse < error < 3.0 * told.rmse


def test_values_without_a_pattern_are_not_explained():
    X, y = table(40)
    shuffled = np.random.default_rng(0).permutation(y)
    told = fit_emulator(X, shuffled, GROUPS).cross_validated_error()
    assert told.r2 < 0.3
    assert told.rmse > 0.8 * y.std()


def test_repetitions_do_not_flatter_the_error():
    """Every row twice: a fold with only one of a pair would predict the other."""
    X, y = table(30)
    noise = np.random.default_rng(1).normal(size=30) * 3.0
    y = y * 0.0 + noise
    doubled = fit_emulator(np.tile(X, (2, 1)), np.tile(y, 2), GROUPS)
    assert doubled.cross_validated_error().r2 < 0.2


def test_same_numbers_whenever_it_is_fitted():
    X, y = table()
    first, second = (fit_emulator(X, y, GROUPS) for _ in range(2))
    assert first.hyper == second.hyper
    assert first.cross_validated_error() == second.cross_validated_error()
    np.testing.assert_array_equal(
        condition(X, y, GROUPS, first.hyper).predict(X), first.predict(X)
    )


def test_a_constant_is_a_constant():
    X, y = table()
    emulator = fit_emulator(X, np.full_like(y, 2.5), GROUPS)
    np.testing.assert_allclose(emulator.predict(X), 2.5)
    assert emulator.cross_validated_error().rmse == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("num_rows", [4, MAX_ROWS + 1])
def test_too_few_and_too_many_rows(num_rows):
    X = np.zeros((num_rows, 5))
    with pytest.raises(DataError, match=f"5 to 1000 rows a site, got {num_rows}"):
        fit_emulator(X, np.arange(float(num_rows)), GROUPS)


def test_missing_values_are_refused():
    X, y = table()
    y[3] = np.nan
    with pytest.raises(DataError, match="finite numbers"):
        fit_emulator(X, y, GROUPS)


def test_one_setting_is_no_table():
    with pytest.raises(DataError, match="different settings"):
        fit_emulator(np.full((6, 5), 0.5), np.arange(6.0), GROUPS)


def test_two_settings_are_two_folds():
    """Each setting is predicted by the mean of the other."""
    X = np.repeat([[0.1] * 5, [0.9] * 5], 3, axis=0)
    y = np.repeat([1.0, 3.0], 3)
    told = fit_emulator(X, y, GROUPS).cross_validated_error()
    assert told.rmse == pytest.approx(2.0)
    assert told.r2 == pytest.approx(1.0 - 4.0 / 1.0)
