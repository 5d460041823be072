import numpy as np
import pytest
from scipy.stats import gamma, lognorm
from tests.agent.numerics import differences_at, make_data

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.model import site_model
from guidefbo.agent.surrogate.priors import Priors, SitePriors
from guidefbo.core.domain import Domain

THETA = [np.array([0.1, -0.7, 0.4, 0.2]), np.array([0.1, -0.7, 0.4, 0.2, -6.0])]


@pytest.mark.parametrize("theta", THETA, ids=["known noise", "fitted noise"])
def test_site_priors_are_the_densities_they_are_named_after(theta):
    """E43: against SciPy's densities, which differ by a constant."""
    d, priors = 3, SitePriors()

    def expected(theta):
        x = np.exp(theta)
        value = lognorm.logpdf(
            x[:d], np.sqrt(3.0), scale=np.exp(np.sqrt(2.0)) * np.sqrt(d)
        ).sum()
        value += gamma.logpdf(x[d], 2.0, scale=1.0)
        return value + lognorm.logpdf(x[d + 1 :], 1.0, scale=np.exp(-4.0)).sum()

    other = theta + np.linspace(-0.3, 0.5, len(theta))
    ours = [priors.log_density(t, np.exp(t), d)[0] for t in (theta, other)]
    # Rounding of numbers of order 10.
    assert ours[1] - ours[0] == pytest.approx(expected(other) - expected(theta), 1e-10)


@pytest.mark.parametrize("theta", THETA, ids=["known noise", "fitted noise"])
def test_gradient_is_central_differences(theta):
    priors = SitePriors()
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
