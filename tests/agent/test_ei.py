"""Expected improvement over the best observation, alone and in a mixture."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tests.agent.numerics import differences, make_gp

from guidefbo.agent.decision.ei import ExpectedImprovement, best_observation
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.strategies.fmtbo.mixed import MixedPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.core.space.parameters import Bool, Choice, Float, Int
from guidefbo.core.space.space import Space
from guidefbo.testing import check_posterior, check_rule
from guidefbo.testing.examples import example_posterior, guided_posterior

RULE = ExpectedImprovement()


def stream(seed=0):
    return np.random.default_rng(seed)


def pair(weight=0.3, n=6, d=2, noise_variance=0.1, **other):
    """Two processes on the same data, the first with other hyperparameters."""
    local = make_gp(n, d, noise_variance=noise_variance)
    other = {"lengthscales": np.full(d, 0.2), "outputscale": 0.6, "mean": -0.5} | other
    glob = make_gp(n, d, noise_variance=noise_variance, **other)
    return MixedPosterior(models=(glob, local), weights=(weight, 1.0 - weight))


def improvement_by_integral(mean, std, best):
    """E max(f - best, 0) for f ~ N(mean, std²), by adaptive quadrature."""
    low = max(best, mean - 12.0 * std)
    value, _ = quad(
        lambda f: (f - best) * norm.pdf(f, mean, std),
        low,
        max(low, mean) + 12.0 * std,
        points=[mean] if mean > low else None,
        epsabs=0.0,
        epsrel=1e-11,
        limit=200,
    )
    return value


def test_by_hand():
    """E63: mean 1.7 and variance 0.4 at the only observation, which was 2."""
    hyper = Hyperparameters(
        lengthscales=np.array([0.25]), outputscale=2.0, mean=0.5, noise_variance=0.5
    )
    gp = GaussianProcess.condition(np.array([[0.5]]), np.array([2.0]), hyper)
    acquisition = RULE.acquisition(gp, stream())
    assert acquisition.best == 2.0
    std = np.sqrt(0.4)
    u = -0.3 / std
    expected = np.log(std * norm.pdf(u) - 0.3 * norm.cdf(u))
    assert acquisition.value(np.array([[0.5]])) == pytest.approx([expected], rel=1e-13)


def test_against_quadrature():
    """E63: where there is something to gain and where there is little."""
    gp = make_gp(6, 2, noise_variance=0.1)
    X = np.random.default_rng(1).random((20, 2))
    mean, std = gp.predict(X)
    best = gp.y.max()
    expected = [
        np.log(improvement_by_integral(m, s, best))
        for m, s in zip(mean, std, strict=True)
    ]
    found = RULE.acquisition(gp, stream()).value(X)
    assert found == pytest.approx(expected, abs=1e-9)


def test_weighted_sum_against_quadrature():
    """E63: EI_w = γ EI(global) + (1 - γ) EI(local), the EI of the mixture itself."""
    posterior = pair(weight=0.3)
    X = np.random.default_rng(2).random((20, 2))
    best = posterior.y.max()
    (mu, su), (mv, sv) = (model.predict(X) for model in posterior.models)
    expected = [
        np.log(
            0.3 * improvement_by_integral(mu[i], su[i], best)
            + 0.7 * improvement_by_integral(mv[i], sv[i], best)
        )
        for i in range(20)
    ]
    found = RULE.acquisition(posterior, stream()).value(X)
    assert found == pytest.approx(expected, abs=1e-9)


MIXED = Space(x=Float(0, 1), n=Int(1, 5), c=Choice("a", "b", "c"), w=Bool())
"""Six coordinates of the cube."""


def site_pair(weight):
    """Two processes on the same observations of a mixed space."""
    X = MIXED.domain.sample(9, stream(4))
    hypers = [
        Hyperparameters(
            lengthscales=np.full(MIXED.dim, ell),
            outputscale=scale,
            mean=mean,
            noise_variance=0.1,
        )
        for ell, scale, mean in ((0.3, 0.6, -0.5), (0.9, 1.7, 0.4))
    ]
    y = np.sin(3.0 * X.sum(axis=1))
    models = tuple(GaussianProcess.condition(X, y, hyper) for hyper in hypers)
    return MixedPosterior(models=models, weights=(weight, 1.0 - weight))


def test_weighted_sum_over_steps_and_options():
    """E63 on a mixed space: each part's own improvement, at the middle of the cell."""
    mixture = site_pair(weight=0.3)
    posterior = SnappedPosterior(inner=mixture, domain=MIXED.domain)
    acquisition = RULE.acquisition(posterior, stream())
    assert acquisition.best == mixture.y.max()
    X = stream(5).random((20, MIXED.dim))
    moments = [model.predict(MIXED.domain.snap(X)) for model in mixture.models]
    expected = np.log(
        [
            sum(
                w * improvement_by_integral(mean[i], std[i], mixture.y.max())
                for w, (mean, std) in zip(mixture.weights, moments, strict=True)
            )
            for i in range(20)
        ]
    )
    value, gradient = acquisition.value_and_gradient(X)
    assert acquisition.value(X) == pytest.approx(expected, abs=1e-9)
    assert value == pytest.approx(expected, abs=1e-9)
    # The moments of the mixture alone would give something else.
    mean, std = mixture.predict(MIXED.domain.snap(X))
    blurred = [
        improvement_by_integral(m, s, mixture.y.max())
        for m, s in zip(mean, std, strict=True)
    ]
    assert np.abs(np.log(blurred) - expected).max() > 0.01
    free = MIXED.domain.free
    assert (gradient[:, ~free] == 0.0).all()
    assert gradient == pytest.approx(differences(acquisition.value, X), abs=1e-6)


def test_one_process_over_steps_and_options():
    """E63: improvement on the best observation, not on the best mean."""
    gp = site_pair(0.5).models[1]
    posterior = SnappedPosterior(inner=gp, domain=MIXED.domain)
    acquisition = RULE.acquisition(posterior, stream())
    assert acquisition.best == gp.y.max() != gp.predict_mean(gp.X).max()
    assert (acquisition.value(gp.X) == RULE.acquisition(gp, stream()).value(gp.X)).all()


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_all_weight_on_one_part_is_that_part(weight):
    """E63: and the part without weight is not even asked."""
    posterior = pair(weight=weight)
    alone = posterior.models[0 if weight else 1]
    X = np.random.default_rng(3).random((8, 2))
    found = RULE.acquisition(posterior, stream()).value_and_gradient(X)
    expected = RULE.acquisition(alone, stream()).value_and_gradient(X)
    assert found[0] == pytest.approx(expected[0], rel=1e-14)
    assert found[1] == pytest.approx(expected[1], rel=1e-14)


class Line:
    """A posterior with mean slope * x and std s + x, observed at 0 only."""

    dim = 1

    def __init__(self, slope, std, best):
        self.slope, self.std, self.y = slope, std, np.array([best])

    def predict(self, X):
        return self.slope * X[:, 0], self.std + X[:, 0]

    def moments(self, X):
        return *self.predict(X), np.full_like(X, self.slope), np.ones_like(X)


@pytest.mark.parametrize("best", [0.0, 3.0, 40.0, 998.0, 1e3, 1e4, 1e6])
def test_values_and_gradients_far_into_the_tail(best):
    """E63: u from 0 to -1e6, where plain expected improvement is long zero.

    In the tail log EI = -u²/2 - log √2π + log(std / u²) + log(1 - 3/u² + ...).
    """
    posterior = Line(2.0, 1.0, best)
    acquisition = RULE.acquisition(posterior, stream())
    X = np.array([[0.0], [0.01], [0.3]])
    value, gradient = acquisition.value_and_gradient(X)
    assert value == pytest.approx(acquisition.value(X), rel=1e-15)
    assert np.isfinite(value).all()
    assert (gradient > 0.0).all()
    if best >= 40.0:
        mean, std = posterior.predict(X)
        u = (mean - best) / std
        series = np.log(std / u**2) + np.log1p(-3.0 / u**2 + 15.0 / u**4)
        expected = -0.5 * u**2 - 0.5 * np.log(2.0 * np.pi) + series
        # What is left out is 105 / u⁶.
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-6)
    # Rounding of u²/2 over the step is what limits the differences.
    step = 1e-4 if best > 10.0 else 1e-5
    by_steps = differences(acquisition.value, X, step=step)
    assert gradient == pytest.approx(by_steps, rel=3e-6)


def test_tails_of_a_mixture_follow_the_part_with_hope():
    """E63: summed in log space, so that the better part counts alone."""
    hopeless, hopeful = Line(2.0, 0.01, 50.0), Line(2.0, 1.0, 50.0)

    class Two(Line):
        parts = ((0.9, hopeless), (0.1, hopeful))

    X = np.array([[0.0], [0.02]])
    value, gradient = RULE.acquisition(
        Two(0.0, 1.0, 50.0), stream()
    ).value_and_gradient(X)
    alone = RULE.acquisition(hopeful, stream()).value_and_gradient(X)
    assert value == pytest.approx(alone[0] + np.log(0.1), rel=1e-14)
    assert gradient == pytest.approx(alone[1], rel=1e-14)


@pytest.mark.parametrize(
    "make",
    [lambda: make_gp(6, 2, noise_variance=0.1), pair],
    ids=["one process", "mixture"],
)
def test_gradients_are_central_differences(make):
    """E63."""
    acquisition = RULE.acquisition(make(), stream())
    X = np.random.default_rng(5).random((8, 2))
    value, gradient = acquisition.value_and_gradient(X)
    assert value == pytest.approx(acquisition.value(X), rel=1e-10)
    by_steps = differences(acquisition.value, X, step=3e-6)
    scale = np.abs(by_steps).max()
    assert gradient == pytest.approx(by_steps, abs=1e-6 * max(scale, 1.0))


@pytest.mark.parametrize("dim", [1, 3])
def test_contract(dim):
    check_rule(RULE, dim=dim)


def test_posteriors_that_hide_their_observations_are_asked_for_their_mean():
    local = example_posterior()
    mean = local.predict_mean(local.X)
    assert best_observation(local, stream()) == local.y.max()
    guided = guided_posterior(local)
    assert isinstance(guided, InterventionalPosterior)
    assert isinstance(guided.scaling, LocalScaling)
    assert best_observation(guided, stream()) == pytest.approx(mean.max(), rel=1e-12)


# The mixture


def test_moments_of_a_mixture_by_hand():
    """E65: N(1, 4) and N(-2, 1) with weights 0.25 and 0.75.

    Mean -1.25; variance 0.25 (4 + 2.25²) + 0.75 (1 + 0.75²) = 3.4375.
    """

    class Fixed(Line):
        def __init__(self, mean, std):
            self.mean, self.std = mean, std

        def predict(self, X):
            return np.full(len(X), self.mean), np.full(len(X), self.std)

    mixture = MixedPosterior(
        models=(Fixed(1.0, 2.0), Fixed(-2.0, 1.0)), weights=(0.25, 0.75)
    )
    mean, std = mixture.predict(np.zeros((1, 1)))
    assert mean.tolist() == [-1.25]
    assert std == pytest.approx([np.sqrt(3.4375)], rel=1e-15)


def test_joint_moments_of_a_mixture_by_simulation():
    """E65: draws of one part or the other, chosen with its weight."""
    mixture = pair(weight=0.3)
    X = np.array([[0.1, 0.9], [0.5, 0.5], [0.9, 0.2]])
    M = 400_000
    rng = stream(7)
    is_first = rng.random(M) < 0.3
    draws = np.empty((M, 3))
    for model, chosen in zip(mixture.models, (is_first, ~is_first), strict=True):
        mean, cov = model.joint(X)
        draws[chosen] = rng.multivariate_normal(mean, cov, chosen.sum())
    mean, cov = mixture.joint(X)
    std = np.sqrt(np.diagonal(cov))
    # Five standard errors; that of a covariance is about its scale times √(2/M).
    assert draws.mean(axis=0) == pytest.approx(mean, abs=5.0 * std.max() / np.sqrt(M))
    tolerance = 5.0 * np.sqrt(2.0 / M) * std.max() ** 2
    assert np.cov(draws.T) == pytest.approx(cov, abs=tolerance)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("dim", [1, 3])
def test_mixture_keeps_the_contract_of_a_posterior(dim, weight):
    """E65, with its gradients."""
    mixture = pair(weight=weight, d=dim, n=8)
    assert mixture.dim == dim
    check_posterior(mixture)


def test_draws_come_from_both_parts_with_their_weights():
    mixture = pair(weight=0.3)
    X = mixture.models[0].X
    means = [model.hyper.mean for model in mixture.models]
    source, first = stream(), 0
    for _ in range(300):
        gp = mixture.sample_path(16, source).mean
        first += gp.hyper.mean == means[0]
    # Four standard deviations of a binomial count.
    assert abs(first - 90) < 4.0 * np.sqrt(300 * 0.3 * 0.7)
    assert (mixture.fantasise(4, source).observed == X).all()
