import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chisquare, norm
from tests.agent.numerics import differences, make_gp

from guidefbo.agent.decision.nei import (
    FAR_TAIL,
    NoisyExpectedImprovement,
    log_improvement,
    log_improvement_with_slope,
)
from guidefbo.agent.decision.search import (
    SearchSettings,
    choose_starts,
    climb,
    maximise_acquisition,
)
from guidefbo.agent.decision.ts import ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain

RULES = {
    "ucb": UpperConfidenceBound(beta=4.0),
    "nei": NoisyExpectedImprovement(num_fantasies=8),
    "ts": ThompsonSampling(num_features=60),
}


def stream(seed=0):
    return np.random.default_rng(seed)


def widen(gp, strength=1.5):
    received = Components(
        weights=np.array([0.6, 0.3]),
        centers=np.array([[0.2, 0.7], [0.8, 0.4]]),
        variances=np.array([[0.05, 0.02], [0.1, 0.1]]),
    )
    scaling = LocalScaling.widening(GuidanceField.of(received), strength, gp.X)
    return InterventionalPosterior(local=gp, scaling=scaling)


POSTERIORS = {"local": lambda gp: gp, "interventional": widen}


def test_ucb_by_hand():
    """E20: mean 1.7 and variance 0.4 at the only observation, β = 9."""
    hyper = Hyperparameters(
        lengthscales=np.array([0.25]), outputscale=2.0, mean=0.5, noise_variance=0.5
    )
    gp = GaussianProcess.condition(np.array([[0.5]]), np.array([2.0]), hyper)
    acquisition = UpperConfidenceBound(beta=9.0).acquisition(gp, stream())
    x = np.array([[0.5]])
    expected = 1.7 + 3.0 * np.sqrt(0.4)
    assert acquisition.value(x) == pytest.approx([expected], rel=1e-13)
    assert acquisition.value_and_gradient(x)[0] == pytest.approx([expected], rel=1e-13)


@given(st.floats(0.0, 100.0))
@settings(deadline=None, max_examples=30)
def test_guided_ucb_adds_the_widened_std(beta):
    """E20: mean + √β (1 + λ G) std, the paper's Eq. 1."""
    gp = make_gp(6, 2)
    figp = widen(gp)
    X = np.random.default_rng(11).random((5, 2))
    mean, std = gp.predict(X)
    S = 1.0 + 1.5 * figp.scaling.field(X)
    value = UpperConfidenceBound(beta=beta).acquisition(figp, stream()).value(X)
    assert value == pytest.approx(mean + np.sqrt(beta) * S * std, rel=1e-12)


def log_improvement_by_integral(u):
    """Return log h(u) = log pdf(u) + log ∫ t exp(u t - t²/2) dt, without cancellation.

    For u < 0 the variable v = -u t makes the integrand v exp(-v - v²/(2 u²)) / u².
    """
    log_pdf = -0.5 * u * u - 0.5 * np.log(2.0 * np.pi)
    if u >= 0.0:
        return float(np.log(norm.pdf(u) + u * norm.cdf(u)))
    c = 1.0 / max(-u, 1.0)
    value, _ = quad(
        lambda v: v * np.exp(u * c * v - 0.5 * (c * v) ** 2),
        0.0,
        60.0,
        epsabs=0.0,
        epsrel=1e-12,
        limit=200,
    )
    return float(log_pdf + 2.0 * np.log(c) + np.log(value))


@pytest.mark.parametrize(
    "u", [*np.linspace(-40.0, 10.0, 101), -1.0001, -0.9999, -999.0, -1001.0, -1e5]
)
def test_log_improvement_against_quadrature(u):
    """E22: from deep in the tail to certain improvement."""
    expected = log_improvement_by_integral(u)
    # The middle branch loses 1/u² of its digits to 1 - (1 - 1/u²): eps u² = 2e-10.
    found = log_improvement(np.array([u]))[0]
    assert found == pytest.approx(expected, rel=1e-12, abs=5e-10)


def test_slope_of_log_improvement_against_logarithms_and_alone():
    """E22: cdf / h on all three branches, and in a batch as alone."""
    u = np.array([*np.linspace(-40.0, 10.0, 101), -1.0001, -0.9999, -300.0, -1e3, -1e5])
    log_h, slope = log_improvement_with_slope(u)
    near = u > -900.0
    expected = np.exp(norm.logcdf(u[near]) - log_h[near])
    np.testing.assert_allclose(slope[near], expected, rtol=1e-10)
    # Neither side of the ratio is a number any more, its limit -u - 2/u is.
    np.testing.assert_allclose(slope[~near], -u[~near] - 2.0 / u[~near], rtol=1e-9)
    alone = [log_improvement_with_slope(np.array([v])) for v in u]
    np.testing.assert_array_equal(np.hstack(alone), [log_h, slope])


@pytest.mark.parametrize("branch", [-1.0, FAR_TAIL])
def test_log_improvement_is_continuous_where_formulas_meet(branch):
    """E22: neighbours on both sides of a branch point, with the slope taken out."""
    h = 1e-9 * abs(branch)
    left, right = log_improvement(np.array([branch - h, branch + h]))
    # d log h / du is cdf / h, and -u - 2/u in the tail.
    slope = -branch - 2.0 / branch
    if branch == -1.0:
        slope = norm.cdf(-1.0) / (norm.pdf(1.0) - norm.cdf(-1.0))
    # The middle branch loses 1/u² of its digits: eps u² = 2e-10 at -1000.
    tolerance = 2e-15 + 5e-16 * branch**2
    assert right - left == pytest.approx(2.0 * h * slope, abs=tolerance)


def test_log_improvement_in_mixed_batches_and_the_extreme_tail():
    # E22: each element is computed as if alone; asymptotically -u²/2 - log(√2π u²).
    u = np.array([[-1e8, -5e3], [-3.0, 0.5], [-1.0, 1e4]])
    batch = log_improvement(u)
    single = [[log_improvement(np.array([v]))[0] for v in row] for row in u]
    assert batch.tolist() == single
    assert np.isfinite(batch).all()
    expected = -0.5e16 - np.log(np.sqrt(2.0 * np.pi) * 1e16)
    assert batch[0, 0] == pytest.approx(expected, rel=1e-15)
    assert batch[2, 1] == pytest.approx(np.log(1e4), rel=1e-14)


@given(st.lists(st.floats(-1e8, 1e6), min_size=2, max_size=8))
def test_log_improvement_never_falls(u):
    # E22: h is increasing; equal up to rounding of u²/2.
    log_h = log_improvement(np.sort(u))
    assert (np.diff(log_h) >= -4e-16 * np.abs(log_h[1:]) - 1e-9).all()


@pytest.mark.parametrize("make", POSTERIORS.values(), ids=POSTERIORS)
def test_nei_is_the_expected_improvement_over_the_unknown_best(make):
    """E22: against plain Monte Carlo of max(f(x) - max f(X), 0) under the posterior."""
    posterior = make(make_gp(4, 2, noise_variance=0.3))
    observed = make_gp(4, 2).X
    X = np.array([[0.1, 0.9], [0.5, 0.5], [0.9, 0.2]])
    rule = NoisyExpectedImprovement(num_fantasies=4096)
    closed = np.exp(rule.acquisition(posterior, stream()).value(X))
    M = 300_000
    mean, cov = posterior.joint(np.vstack([observed, X]))
    f = stream(1).multivariate_normal(mean, cov, M, method="eigh")
    gain = np.maximum(f[:, 4:] - f[:, :4].max(axis=1)[:, None], 0.0)
    # Four standard errors of the plain simulation; the quasi-random one has less.
    tolerance = 4.0 * gain.std(axis=0) / np.sqrt(M) + 2e-3 * closed
    assert (np.abs(gain.mean(axis=0) - closed) < tolerance).all()


def test_nei_averages_the_fantasies_not_their_logarithms():
    """E22: log of the mean over fantasies of σ h(u)."""
    gp = make_gp(5, 2, noise_variance=0.2)
    acquisition = NoisyExpectedImprovement(num_fantasies=6).acquisition(gp, stream())
    fantasies = gp.fantasise(6, stream())
    X = np.random.default_rng(3).random((7, 2))
    means, std, _, _ = fantasies.moments(X)
    u = (means - fantasies.draws.max(axis=0)) / std[:, None]
    improvement = std[:, None] * (norm.pdf(u) + u * norm.cdf(u))
    expected = np.log(improvement.mean(axis=1))
    # The plain h loses digits where it is small; 1e-6 leaves room for u = -5.
    assert acquisition.value(X) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("make", POSTERIORS.values(), ids=POSTERIORS)
def test_acquisition_gradients_are_central_differences(name, make):
    """E20, E22, E09, E19: every rule on both posteriors."""
    posterior = make(make_gp(6, 2, noise_variance=0.1))
    acquisition = RULES[name].acquisition(posterior, stream())
    X = np.random.default_rng(5).random((8, 2))
    value, gradient = acquisition.value_and_gradient(X)
    assert value == pytest.approx(acquisition.value(X), rel=1e-10)
    # Logarithms of small improvements are steep: scale the tolerance by the slope.
    by_steps = differences(acquisition.value, X, step=3e-6)
    scale = np.abs(by_steps).max()
    assert gradient == pytest.approx(by_steps, abs=1e-6 * max(scale, 1.0))


def test_nei_gradient_survives_where_improvement_is_hopeless():
    # E22: far below the incumbent, where plain expected improvement is zero.
    X = np.array([[0.1], [0.5], [0.9]])
    hyper = Hyperparameters(
        lengthscales=np.array([0.2]), outputscale=1.0, mean=0.0, noise_variance=1e-6
    )
    gp = GaussianProcess.condition(X, np.array([-50.0, 50.0, -50.0]), hyper)
    acquisition = NoisyExpectedImprovement(num_fantasies=4).acquisition(gp, stream())
    value, gradient = acquisition.value_and_gradient(np.array([[0.12]]))
    assert -1e9 < value[0] < -1e3
    assert np.isfinite(gradient).all()
    assert gradient[0, 0] != 0.0


@pytest.mark.parametrize("name", RULES)
def test_acquisitions_repeat_with_their_stream(name):
    gp, X = make_gp(5, 2), np.random.default_rng(0).random((4, 2))
    one, two = (RULES[name].acquisition(gp, stream(3)).value(X) for _ in range(2))
    assert (one == two).all()


class Quadratic:
    """The concave acquisition -(x - peak)' diag(curvature) (x - peak)."""

    def __init__(self, peak, curvature=None):
        self.peak = np.array(peak)
        self.curvature = np.ones(len(peak)) if curvature is None else curvature
        self.evaluated = []

    def value(self, X):
        self.evaluated.append(X.copy())
        return -((X - self.peak) ** 2 @ self.curvature)

    def value_and_gradient(self, X):
        return self.value(X), -2.0 * (X - self.peak) * self.curvature


class Flat(Quadratic):
    """An acquisition that says the same everywhere."""

    def value(self, X):
        return np.zeros(len(X))

    def value_and_gradient(self, X):
        return self.value(X), np.zeros_like(X)


class Liar(Quadratic):
    """An acquisition that a climb mistakes for its opposite."""

    def value_and_gradient(self, X):
        value, gradient = super().value_and_gradient(X)
        return -value, -gradient


@given(
    peak=st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=5),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=40)
def test_search_finds_the_peak_of_a_concave_acquisition(peak, seed):
    # Outside the cube the nearest point of the cube is the best.
    acquisition = Quadratic(peak, np.linspace(0.5, 2.0, len(peak)))
    x = maximise_acquisition(
        acquisition, Domain.box(len(peak)), SearchSettings(), stream(seed)
    )
    # L-BFGS-B stops at a relative decrease of 2e-9 of the sum over 20 starts.
    assert x == pytest.approx(np.clip(peak, 0.0, 1.0), abs=1e-3)
    assert ((x >= 0.0) & (x <= 1.0)).all()
    everywhere = np.vstack(acquisition.evaluated)
    assert ((everywhere >= 0.0) & (everywhere <= 1.0)).all()


def test_search_repeats_with_its_stream_and_only_then():
    gp = make_gp(8, 3)
    acquisition = RULES["ucb"].acquisition(gp, stream())
    one, two, other = (
        maximise_acquisition(
            acquisition, Domain.box(3), SearchSettings(num_raw=20), stream(seed)
        )
        for seed in (1, 1, 2)
    )
    assert (one == two).all()
    assert (one != other).any()


def test_search_is_never_worse_than_its_best_raw_point():
    # Every climb leads away from the peak; the best raw point is what remains.
    acquisition = Liar([0.3, 0.6])
    x = maximise_acquisition(
        acquisition, Domain.box(2), SearchSettings(num_raw=64), stream()
    )
    raw = acquisition.evaluated[0]
    assert len(raw) == 64
    best = np.argmin(((raw - acquisition.peak) ** 2).sum(axis=1))
    assert (x == raw[best]).all()


def test_search_of_a_flat_acquisition_stays_in_the_cube():
    x = maximise_acquisition(
        Flat([0.0, 0.0]), Domain.box(2), SearchSettings(), stream()
    )
    assert ((x >= 0.0) & (x <= 1.0)).all()


def test_search_beats_a_fine_grid_on_a_multimodal_acquisition():
    gp = make_gp(10, 2, lengthscales=np.array([0.15, 0.2]))
    acquisition = RULES["ucb"].acquisition(gp, stream())
    x = maximise_acquisition(acquisition, Domain.box(2), SearchSettings(), stream())
    axis = np.linspace(0.0, 1.0, 61)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert acquisition.value(x[None])[0] >= acquisition.value(grid).max() - 1e-6


def test_climb_moves_every_start_to_its_own_peak():
    starts = np.array([[0.1, 0.1], [0.9, 0.8], [0.0, 1.0]])
    ends = climb(Quadratic([0.4, 0.7]), starts, 50)
    assert ends == pytest.approx(np.tile([0.4, 0.7], (3, 1)), abs=1e-4)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    st.integers(1, 40),
    st.integers(0, 1000),
)
def test_starts_are_distinct_and_hold_the_best(scores, num_starts, seed):
    chosen = choose_starts(np.array(scores), num_starts, stream(seed))
    assert len(chosen) == min(num_starts, len(scores))
    assert len(set(chosen.tolist())) == len(chosen)
    assert int(np.argmax(scores)) in chosen


def test_starts_favour_high_scores():
    # With two starts, the second is drawn ∝ exp(z) among the other three.
    scores = np.array([1.0, 0.0, 3.0, 2.0])
    z = (scores - scores.mean()) / scores.std()
    expected = np.exp(z[[0, 1, 3]])
    source = stream()
    second = [choose_starts(scores, 2, source)[1] for _ in range(4000)]
    counts = np.bincount(second, minlength=4)[[0, 1, 3]]
    # A chi-squared test at a fixed seed.
    assert chisquare(counts, 4000 * expected / expected.sum()).pvalue > 0.01
