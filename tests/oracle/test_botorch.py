"""Our numbers against BoTorch's and GPyTorch's, on the same inputs.

Run with `pytest -m oracle`; needs `pip install torch==2.13.0` and the `oracle` extra.
Both sides work in double precision, so closed forms agree to rounding; what an
optimiser found agrees to its stopping tolerance.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.surrogate.fit import Bounds, LogPosterior, fit
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.priors import Priors

pytestmark = pytest.mark.oracle
NOISE = 0.01
REFERENCE = Path(__file__).parents[2] / "benchmarks" / "reference_botorch.py"


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference_botorch", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_data(n, d, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    X = rng.random((n, d))
    y = -((X - 0.4) ** 2).sum(axis=1) + 0.1 * rng.normal(size=n)
    return X, y


def make_hyper(d):
    return Hyperparameters(
        lengthscales=np.linspace(0.3, 1.1, d),
        outputscale=0.7,
        mean=-0.2,
        noise_variance=NOISE,
    )


@pytest.mark.parametrize(("n", "d"), [(5, 1), (30, 3), (80, 10)])
def test_likelihood_and_gradient(reference, n, d):
    X, y = make_data(n, d)
    hyper = make_hyper(d)
    objective = LogPosterior.of(X, y, NOISE, Priors())
    theta = np.log([*hyper.lengthscales, hyper.outputscale])
    value, gradient, mean = objective.evaluate(theta)
    expected, slopes = reference.log_marginal_likelihood(
        X, y, NOISE, hyper.lengthscales, hyper.outputscale, mean, include_priors=True
    )
    # The profiled mean is stationary, and our priors drop their constants.
    assert abs(slopes["mean"]) < 1e-8 * n
    from scipy.special import gammaln

    constants = d * (3 * np.log(6.0) - gammaln(3.0)) + 2 * np.log(0.15) - gammaln(2.0)
    assert value + constants == pytest.approx(expected, rel=1e-10, abs=1e-8)
    assert gradient[:d] == pytest.approx(slopes["lengthscales"], rel=1e-7, abs=1e-8)
    assert gradient[d] == pytest.approx(slopes["outputscale"], rel=1e-7, abs=1e-8)


@pytest.mark.parametrize(("n", "d"), [(30, 3), (60, 10)])
def test_fit_and_posterior(reference, n, d):
    X, y = make_data(n, d, seed=1)
    model = reference.fit(X, y, NOISE)
    theirs = reference.hyperparameters(model)
    ours = fit(X, y, noise_variance=NOISE, priors=Priors(), bounds=Bounds())
    objective = LogPosterior.of(X, y, NOISE, Priors())

    def log_posterior(lengthscales, outputscale):
        return objective(np.log([*lengthscales, outputscale]))[0]

    # Two optimisers of one function: ours may not be worse by more than their stop.
    found = log_posterior(ours.lengthscales, ours.outputscale)
    other = log_posterior(theirs["lengthscales"], theirs["outputscale"])
    assert found > other - 1e-3

    same = Hyperparameters(
        lengthscales=np.asarray(theirs["lengthscales"], dtype=float),
        outputscale=float(theirs["outputscale"]),
        mean=float(theirs["mean"]),
        noise_variance=NOISE,
    )
    gp = GaussianProcess.condition(X, y, same)
    probes = np.random.Generator(np.random.PCG64(2)).random((50, d))
    mean, std = reference.posterior(model, probes)
    assert gp.predict(probes)[0] == pytest.approx(mean, abs=1e-9)
    assert gp.predict(probes)[1] == pytest.approx(std, abs=1e-8)
    _, cov = reference.joint(model, probes)
    assert np.abs(gp.joint(probes)[1] - cov).max() < 1e-9


def test_noisy_improvement_has_the_same_maximum_value(reference):
    """Different quasi-random fantasies: equal up to the Monte Carlo error of 512."""
    X, y = make_data(25, 2, seed=3)
    model = reference.fit(X, y, NOISE)
    h = reference.hyperparameters(model)
    gp = GaussianProcess.condition(
        X,
        y,
        Hyperparameters(
            lengthscales=np.asarray(h["lengthscales"], dtype=float),
            outputscale=float(h["outputscale"]),
            mean=float(h["mean"]),
            noise_variance=NOISE,
        ),
    )
    rule = NoisyExpectedImprovement(num_fantasies=512)
    ours = rule.acquisition(gp, np.random.Generator(np.random.PCG64(4)))
    x = reference.optimise_log_nei(model, X, num_fantasies=128, seed=0)
    grid = np.random.Generator(np.random.PCG64(5)).random((4000, 2))
    best = ours.value(grid).max()
    assert ours.value(np.atleast_2d(x))[0] > best - 0.3
