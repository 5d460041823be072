import numpy as np
import pytest
from scipy.stats import gamma, lognorm
from tests.agent.numerics import differences_at, make_data

import guidefbo as gf
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.model import site_model
from guidefbo.agent.surrogate.priors import Priors, SitePriors
from guidefbo.core.domain import Domain

THETA = [np.array([0.1, -0.7, 0.4, 0.2]), np.array([0.1, -0.7, 0.4, 0.2, -6.0])]


@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (1.0, 3.0, 0.5)])
@pytest.mark.parametrize("theta", THETA, ids=["known noise", "fitted noise"])
def test_site_priors_are_the_densities_they_are_named_after(theta, units):
    """E43: against SciPy's densities, which differ by a constant."""
    d, priors = 3, SitePriors(log_units=tuple(np.log(units)))

    def expected(theta):
        x = np.exp(theta)
        value = lognorm.logpdf(
            x[:d],
            np.sqrt(3.0),
            scale=np.exp(np.sqrt(2.0)) * np.sqrt(d) * np.array(units),
        ).sum()
        value += gamma.logpdf(x[d], 2.0, scale=1.0)
        return value + lognorm.logpdf(x[d + 1 :], 1.0, scale=np.exp(-4.0)).sum()

    other = theta + np.linspace(-0.3, 0.5, len(theta))
    ours = [priors.log_density(t, np.exp(t), d)[0] for t in (theta, other)]
    # Rounding of numbers of order 10.
    assert ours[1] - ours[0] == pytest.approx(expected(other) - expected(theta), 1e-10)


@pytest.mark.parametrize("theta", THETA, ids=["known noise", "fitted noise"])
def test_gradient_is_central_differences(theta):
    priors = SitePriors(log_units=(0.0, 1.2, -0.3))
    _, gradient = priors.log_density(theta, np.exp(theta), 3)
    numeric = differences_at(lambda t: priors.log_density(t, np.exp(t), 3)[0], theta)
    assert gradient == pytest.approx(numeric, abs=1e-8)


def test_lengthscales_grow_with_the_dimension():
    """The mode of a lengthscale is √d times a constant."""

    def slope_at(log_lengthscale, d):
        theta = np.append(np.full(d, log_lengthscale), 0.0)
        return SitePriors().log_density(theta, np.exp(theta), d)[1][0]

    # The mode of a log-normal number is at log mean - log variance of its logarithm.
    for d in (1, 4, 16):
        mode = np.sqrt(2.0) + 0.5 * np.log(d) - 3.0
        assert slope_at(mode, d) == pytest.approx(0.0, abs=1e-12)
        assert slope_at(mode - 0.1, d) > 0.0 > slope_at(mode + 0.1, d)


def test_options_are_as_alike_as_values_of_a_float():
    """A24: at the mode of the prior, two options correlate as random values do."""
    space = gf.Space(x=gf.Float(0, 1), kind=gf.Choice("a", "b", "c"))
    priors = site_model(space.domain, 0.1, {}).priors
    assert isinstance(priors, SitePriors)
    mode = np.exp(np.sqrt(2.0) + 0.5 * np.log(2) - 3.0 + np.array(priors.log_units))
    theta = np.log([*mode, 1.0])
    _, slopes = priors.log_density(theta, np.exp(theta), 2)
    assert slopes[:2] == pytest.approx(0.0, abs=1e-12)
    a, b = (space.to_unit({"x": 0.5, "kind": kind}) for kind in "ab")
    at_options = ((a - b) ** 2).sum() / mode[1] ** 2
    # Two independent uniform numbers differ by 1/6 in the mean square.
    assert at_options == pytest.approx(1 / 6 / mode[0] ** 2)


def test_what_one_option_taught_holds_for_another():
    """A24: an option with one poor result is hoped for where another one is good.

    With options as far apart as the ends of a range, nothing was learnt from one for
    another, and an agent kept to the first one that did well.
    """
    space = gf.Space(x=gf.Float(0, 1), kind=gf.Choice("a", "b", "c", "d"))
    tried = {"a": (0.1, 0.5, 0.7, 0.9), "b": (0.2,), "c": (0.3,)}
    told = [(x, kind) for kind, xs in tried.items() for x in xs]
    X = np.array([space.to_unit({"x": x, "kind": kind}) for x, kind in told])
    fitted = site_model(space.domain, None, {}).fit(
        Dataset(X=X, y=np.array([10.0 * x for x, _ in told]))
    )
    ends = [space.to_unit({"x": x, "kind": "b"}) for x in (0.2, 0.9)]
    mean, _ = fitted.posterior.predict(np.array(ends))
    assert mean[1] - mean[0] > 0.5 * np.ptp(fitted.data.y)


def test_the_noise_prior_is_the_paper_s():
    """E43: the other priors of a site are its own."""
    site, paper = SitePriors(), Priors()
    assert site.noise_log_mean == paper.noise_log_mean == -4.0
    assert site.noise_log_std == paper.noise_log_std == 1.0


def test_noise_is_not_taken_for_signal():
    """E43: of a noise of 0.3 standard deviations, thirty values in three dimensions.

    Few values cannot tell noise from ripples, and the prior decides: 0.3 of the true
    variance is found in the geometric mean of 12 draws. With a log mean of -5 and a
    log standard deviation of √2, as it was once, it was 0.09.
    """
    model, shares = site_model(Domain.box(3), None, {}), []
    for seed in range(12):
        X, f = make_data(30, 3, seed, noise_std=0.0)
        rng = np.random.default_rng(100 + seed)
        y = f / f.std() + 0.3 * rng.standard_normal(30)
        fitted = model.fit(Dataset(X=X, y=y))
        true = (0.3 * np.median(fitted.units.slope(y))) ** 2
        shares.append(fitted.posterior.hyper.noise_variance / true)
    assert 0.18 < np.exp(np.mean(np.log(shares))) < 1.0
