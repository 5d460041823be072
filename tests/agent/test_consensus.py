"""The consensus agent: where the mean peaks, how sure that is, and what it does."""

from dataclasses import replace

import numpy as np
import pytest
from tests.agent.numerics import differences, make_gp
from tests.site.sites import SPACES, told

from guidefbo.agent.belief.peak import TrendMean, find_peak, peak_variance
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.search import SearchSettings, ascend
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.guidance.schedule import SCHEDULES
from guidefbo.agent.guidance.settings import INTERVENTIONS
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.policy import Policy
from guidefbo.agent.strategies.consensus.agent import PLACES, ConsensusAgent
from guidefbo.agent.strategies.consensus.aim import AIMS
from guidefbo.agent.strategies.consensus.settings import ConsensusSettings
from guidefbo.agent.surrogate.basis import PooledQuadratic
from guidefbo.agent.surrogate.curvature import gradient_covariance, mean_hessian
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.agent.surrogate.trend import TrendPosterior, TrendPrior
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.settings import make
from guidefbo.core.space.parameters import Int
from guidefbo.core.streams import Streams
from guidefbo.methods.registry import find_method
from guidefbo.server.exchange import build_server
from guidefbo.testing import check_agent_side, check_codec
from guidefbo.testing.codec import encode
from guidefbo.testing.expect import expect_gradient
from guidefbo.wire.consensus import SHARPEST, WIDEST, ConsensusPacket

MODEL = Model(noise_std=0.1, priors=Priors())


def agent(dim=3, domain=None, **settings):
    domain = Domain.box(dim) if domain is None else domain
    return make(ConsensusSettings, settings).build(domain, MODEL, SearchSettings())


def plain(gp):
    """Return the model that is the process alone."""
    return TrendPosterior.without_trend(gp)


def address(t=1, seed=0):
    return Streams(seed).of(0, t)


def packet(dim=3, weight=1.0, center=0.3, variance=0.04):
    return ConsensusPacket(
        components=Components(
            weights=np.array([weight]),
            centers=np.full((1, dim), center),
            variances=np.full((1, dim), variance),
        )
    )


def nothing():
    return ConsensusPacket(
        components=Components(
            weights=np.empty(0), centers=np.empty((0, 3)), variances=np.empty((0, 3))
        )
    )


def bowl(n, d, noise_std=0.05, center=0.6, seed=0):
    """Return a GP that knows a smooth peak inside the cube."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = -((X - center) ** 2).sum(axis=1) + noise_std * rng.standard_normal(n)
    hyper = Hyperparameters(
        lengthscales=np.linspace(0.7, 1.1, d),
        outputscale=1.0,
        mean=-0.5,
        noise_variance=noise_std**2,
    )
    return GaussianProcess.condition(X, y, hyper)


# How the posterior bends.


@pytest.mark.parametrize("d", [1, 2, 5])
def test_hessian_of_the_mean(d):
    """E70: against differences of the analytic gradient, also at an observed input."""
    gp = make_gp(9, d)
    rng = np.random.default_rng(1)
    for x in (*rng.random((4, d)), gp.X[2]):
        H = mean_hessian(gp, x)
        for j in range(d):
            slope = differences(
                lambda X, j=j: gp.moments(X).mean_gradient[:, j], x[None]
            )
            # Third derivatives are of order 1/ℓ³ times weights of order 10.
            assert H[j] == pytest.approx(slope[0], rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_covariance_of_the_gradient(d):
    """E71: against the covariance of difference quotients of the joint posterior."""
    gp = make_gp(9, d)
    rng = np.random.default_rng(1)
    # Quotients of a Matern-5/2 process are off by h²/ℓ² and rounded by eps / h².
    h = 1e-4
    steps = np.vstack([h * np.eye(d), -h * np.eye(d)])
    quotient = np.hstack([np.eye(d), -np.eye(d)]) / (2.0 * h)
    for x in (*rng.random((4, d)), gp.X[2]):
        _, cov = gp.joint(x + steps)
        C = gradient_covariance(gp, x)
        near = 1e-5 * C.diagonal().max()
        np.testing.assert_allclose(C, quotient @ cov @ quotient.T, atol=near)
        assert np.linalg.eigvalsh(C)[0] > 0.0


def test_covariance_of_the_gradient_far_from_data():
    """E71: a priori (5/3) s / ℓ² for each coordinate, and nothing between them."""
    ell = np.array([0.01, 0.02])
    gp = make_gp(1, 2, lengthscales=ell, outputscale=2.0)
    C = gradient_covariance(gp, 1.0 - gp.X[0].round())
    expected = np.diag(5.0 / 3.0 * 2.0 / ell**2)
    np.testing.assert_allclose(C, expected, rtol=1e-6, atol=1e-9)


# Where the mean peaks.


def test_the_mean_and_its_gradient():
    gp = make_gp(12, 3)
    X = np.random.default_rng(2).random((6, 3))
    for model in (plain(gp), TrendPosterior.fit(gp)):
        mean = TrendMean(model=model, domain=Domain.box(3))
        value, gradient = mean.value_and_gradient(X)
        assert mean.value(X) == pytest.approx(value, rel=1e-12)
        expect_gradient(mean.value, X, gradient, "the mean")
    alone = TrendMean(model=plain(gp), domain=Domain.box(3))
    assert alone.value(X) == pytest.approx(gp.predict(X)[0], rel=1e-12)


def test_the_mean_has_no_slope_along_steps():
    """Between two steps it is the mean of the nearer one."""
    domain = Domain(dim=2, stepped=((0, Int(1, 4)),))
    mean = TrendMean(model=TrendPosterior.fit(make_gp(12, 2)), domain=domain)
    X = np.array([[0.3, 0.4], [0.45, 0.4]])
    value, gradient = mean.value_and_gradient(X)
    assert value[0] == value[1]
    assert gradient[:, 0].tolist() == [0.0, 0.0]
    assert (gradient[:, 1] != 0.0).all()


def test_peak_is_the_highest_point_of_the_mean():
    """Against a dense grid, in one dimension."""
    grid = np.linspace(0.0, 1.0, 20_001)[:, None]
    for seed in range(8):
        gp = make_gp(6, 1, seed)
        for model in (plain(gp), TrendPosterior.fit(gp)):
            x = find_peak(model, Domain.box(1))
            assert (
                model.predict_mean(x[None])[0] >= model.predict_mean(grid).max() - 1e-8
            )


def test_peak_is_no_lower_than_at_any_observed_input():
    for seed in range(5):
        gp = make_gp(40, 6, seed)
        for model in (plain(gp), TrendPosterior.fit(gp)):
            x = find_peak(model, Domain.box(6))
            # One row or forty at a time: the sums round differently.
            assert (
                model.predict_mean(x[None])[0] >= model.predict_mean(gp.X).max() - 1e-12
            )
            assert (
                model.predict_mean(x[None])[0]
                >= model.predict_mean(model.summit[None])[0] - 1e-12
            )


def test_peak_is_found_in_ten_dimensions():
    """No other start finds one that is higher by more than 2 % of the prior's std."""
    domain = Domain.box(10)
    for seed in range(4):
        gp = bowl(60, 10, seed=seed)
        starts = np.random.default_rng(seed).random((16, 10))
        for model in (plain(gp), TrendPosterior.fit(gp)):
            x = find_peak(model, domain)
            mean = TrendMean(model=model, domain=domain)
            others = ascend(mean, starts, domain, 100)
            assert (
                model.predict_mean(x[None])[0]
                >= model.predict_mean(others).max() - 0.02
            )


def test_peak_far_from_all_data_is_found():
    """Ten dimensions, all data in one corner: only the trend knows of the summit."""
    rng = np.random.default_rng(0)
    X = 0.4 * rng.random((60, 10))
    y = -((X - 0.6) ** 2).sum(axis=1)
    hyper = Hyperparameters(
        lengthscales=np.full(10, 0.2),
        outputscale=float(y.var()),
        mean=float(y.mean()),
        noise_variance=1e-6,
    )
    gp = GaussianProcess.condition(X, y, hyper)
    x = find_peak(TrendPosterior.fit(gp), Domain.box(10))
    assert np.abs(x - 0.6).max() < 0.15
    assert np.abs(find_peak(plain(gp), Domain.box(10)) - 0.6).max() > 0.2


def test_peak_sits_on_steps():
    domain = Domain(dim=2, stepped=((0, Int(1, 4)),))
    gp = make_gp(15, 2)
    gp = GaussianProcess.condition(domain.snap(gp.X), gp.y, gp.hyper)
    grid = np.stack(
        np.meshgrid([1 / 8, 3 / 8, 5 / 8, 7 / 8], np.linspace(0, 1, 2001)), axis=-1
    ).reshape(-1, 2)
    for model in (plain(gp), TrendPosterior.fit(gp)):
        x = find_peak(model, domain)
        assert np.array_equal(x, domain.snap(x[None])[0])
        assert model.predict_mean(x[None])[0] >= model.predict_mean(grid).max() - 1e-6


def test_peak_keeps_the_constraints_that_results_missed():
    """A told mixture may miss its sum by a percent; what is sent may not.

    Here the best result is such a one, and the mean is highest just there.
    """
    domain = SPACES["shares"].domain
    X = domain.sample(12, np.random.default_rng(0))
    X[0, domain.columns] = 1.005 * domain.polytope.centre
    y = -4.0 * ((X - X[0]) ** 2).sum(axis=1)
    hyper = Hyperparameters(
        lengthscales=np.full(domain.dim, 0.5),
        outputscale=0.5,
        mean=-0.5,
        noise_variance=1e-6,
    )
    gp = GaussianProcess.condition(X, y, hyper)
    assert not domain.polytope.contains(X[:1, domain.columns]).any()
    for model in (plain(gp), TrendPosterior.fit(gp)):
        x = find_peak(model, domain)
        assert domain.polytope.contains(x[None, domain.columns]).all()


# How well the data place it.


def test_variance_in_one_dimension():
    """E72: C / H²."""
    gp = bowl(20, 1)
    x = find_peak(plain(gp), Domain.box(1))
    H, C = mean_hessian(gp, x).item(), gradient_covariance(gp, x).item()
    (variance,) = peak_variance(plain(gp), x, Domain.box(1), 1e-12, 1e2)
    assert variance == pytest.approx(C / H**2, rel=1e-9)


def test_variance_is_the_diagonal_of_the_precision():
    """E72: 1 / (H C⁻¹ H)_jj."""
    gp = bowl(60, 4)
    x = find_peak(plain(gp), Domain.box(4))
    H, C = mean_hessian(gp, x), gradient_covariance(gp, x)
    precision = H @ np.linalg.inv(C) @ H
    variance = peak_variance(plain(gp), x, Domain.box(4), 1e-12, 1e2)
    assert variance == pytest.approx(1.0 / np.diagonal(precision), rel=1e-9)
    # What is left when the other coordinates are known is less than what there is.
    assert (variance <= np.diagonal(np.linalg.inv(precision)) * (1 + 1e-9)).all()


def test_variance_with_a_trend():
    """E72, E89: of the sum or of the trend, whichever knows better.

    A process of long lengthscales sees a bowl by itself, one of short ones does not.
    """
    better = []
    smooth = bowl(40, 3)
    hyper = replace(smooth.hyper, lengthscales=np.full(3, 0.2))
    rough = GaussianProcess.condition(smooth.X, smooth.y, hyper)
    for gp in (smooth, rough):
        model = TrendPosterior.fit(gp)
        x = find_peak(model, Domain.box(3))
        of_sum = model.hessian(x), model.gradient_covariance(x)
        of_trend = model.trend_hessian(x), model.trend_gradient_covariance(x)
        both = [
            1.0 / np.diagonal(H @ np.linalg.inv(C) @ H) for H, C in (of_sum, of_trend)
        ]
        both[1] += (x - model.summit) ** 2
        variance = peak_variance(model, x, Domain.box(3), 1e-12, 1e2)
        assert variance == pytest.approx(np.minimum(*both), rel=1e-6)
        better.append(bool(both[0].mean() < both[1].mean()))
    assert better == [True, False]


def test_a_trend_that_bends_upwards_places_nothing():
    """E89: there the sum alone has a say, and its bend is C / H² here."""
    model = sloping([0.0], [2.0], variance_of_slope=0.01)
    (variance,) = peak_variance(model, np.array([0.4]), Domain.box(1), 1e-12, 1.0)
    assert variance == pytest.approx(0.01 / 16.0, rel=1e-9)


def test_noisy_bowls_are_placed_as_well_as_claimed():
    """E89: errors and claims agree to half; by the sum alone nobody would know.

    The process has lengthscales too short for the bowl.
    """
    d, errors, claims, rough = 10, [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        top, X = rng.uniform(0.3, 0.7, d), rng.random((40, d))
        f = -((X - top) ** 2).sum(axis=1)
        y = (f - f.mean()) / f.std() + 0.5 * rng.standard_normal(40)
        hyper = Hyperparameters(
            lengthscales=np.full(d, 0.3),
            outputscale=1.0,
            mean=0.0,
            noise_variance=0.25,
        )
        model = TrendPosterior.fit(GaussianProcess.condition(X, y, hyper))
        x = find_peak(model, Domain.box(d))
        errors.append(np.mean((x - top) ** 2))
        claims.append(peak_variance(model, x, Domain.box(d), SHARPEST, WIDEST).mean())
        H, C = model.hessian(x), model.gradient_covariance(x)
        of_sum = 1.0 / np.diagonal(H @ np.linalg.inv(C) @ H)
        rough.append(np.minimum(of_sum, WIDEST).mean())
    assert np.sqrt(np.mean(claims) / np.mean(errors)) == pytest.approx(1.0, abs=0.5)
    assert np.mean(rough) > 2.0 * np.mean(claims)


def test_variance_is_that_of_the_peaks_of_draws():
    """E72: to first order, in one dimension, with data enough for a single peak."""
    gp = bowl(60, 1, noise_std=0.002)
    x = find_peak(plain(gp), Domain.box(1))
    (variance,) = peak_variance(plain(gp), x, Domain.box(1), 1e-12, 1e2)
    sigma = np.sqrt(variance)
    grid = x + sigma * np.linspace(-6.0, 6.0, 241)[:, None]
    mean, cov = gp.joint(grid)
    w, V = np.linalg.eigh(cov)
    z = np.random.default_rng(0).standard_normal((len(grid), 1000))
    draws = mean[:, None] + (V * np.sqrt(np.maximum(w, 0.0))) @ z
    # A draw of a Matern-5/2 process bends as it likes, the mean's bend is only its
    # average: the sandwich is right to a third, not to the 2 % of 1000 draws.
    assert grid[draws.argmax(axis=0), 0].std() == pytest.approx(sigma, rel=0.33)


def test_more_data_place_the_peak_better():
    """E72."""
    domain, spreads = Domain.box(3), []
    for n in (10, 40, 160):
        gp = bowl(n, 3)
        models = (plain(gp), TrendPosterior.fit(gp))
        peaks = [find_peak(model, domain) for model in models]
        spreads.append(
            [
                peak_variance(model, x, domain, 1e-12, 1e2).mean()
                for model, x in zip(models, peaks, strict=True)
            ]
        )
    assert (np.diff(spreads, axis=0) < 0.0).all()


def test_bounds_hold():
    gp = bowl(30, 3)
    for low, high in ((1e-4, 2e-4), (0.05, 0.06)):
        # Inside, and held by a side.
        for x in (np.full(3, 0.5), np.array([0.0, 0.5, 1.0])):
            variance = peak_variance(plain(gp), x, Domain.box(3), low, high)
            assert ((low <= variance) & (variance <= high)).all()


def test_coordinates_that_cannot_move_have_their_lengthscale():
    """On steps and under constraints, also at a side; the others as if held there."""
    gp = make_gp(12, 3, lengthscales=np.array([0.3, 0.2, 0.25]))
    stepped = Domain(dim=3, stepped=((0, Int(1, 4)),))
    for first in (0.125, 1.0):
        x = np.array([first, 0.4, 0.6])
        variance = peak_variance(plain(gp), x, stepped, 1e-12, 1e2)
        assert variance[0] == pytest.approx(0.3**2)
        H = mean_hessian(gp, x)[1:, 1:]
        C = gradient_covariance(gp, x)[1:, 1:]
        expected = 1.0 / np.diagonal(H @ np.linalg.inv(C) @ H)
        assert variance[1:] == pytest.approx(expected, rel=1e-9)
    shares = SPACES["shares"].domain
    squares = np.minimum(np.linspace(0.3, 0.9, 4) ** 2, WIDEST)
    for x in (np.full(4, 0.3), np.array([0.0, 1.0, 0.0, 0.5])):
        variance = peak_variance(plain(make_gp(5, 4)), x, shares, SHARPEST, WIDEST)
        assert variance == pytest.approx(squares)


def sloping(slopes, bends, variance_of_slope=1.0):
    """Return a model of known slopes whose error has a known variance.

    A quarter of it is the process's, three are the trend's. The process has seen its
    own mean at one point far away, in the middle, where the trend has no slope to show:
    neither has learnt a thing.
    """
    d, ell = len(slopes), 0.01
    hyper = Hyperparameters(
        lengthscales=np.full(d, ell),
        outputscale=0.25 * variance_of_slope * 0.6 * ell**2,
        mean=0.0,
        noise_variance=1e-6,
    )
    gp = GaussianProcess.condition(np.full((1, d), 0.5), np.zeros(1), hyper)
    weights = np.array([0.0, *slopes, 0.0, *bends])
    variances = np.repeat([0.0, 0.75 * variance_of_slope, 0.0], [1, d, d + 1])
    prior = TrendPrior(
        basis=PooledQuadratic(d), means=np.zeros(2 * d + 2), variances=variances
    )
    return TrendPosterior(rest=gp, weights=weights, prior=prior)


def test_a_side_holds_as_surely_as_the_slope_s_sign():
    """E85: at the side high / (1 + slope² / C), here with C = 3/4 + (5/3) 0.6 / 4 = 1.

    Slopes of 3, 0 and -2 standard deviations: a tenth, all and a fifth of the most.
    """
    model = sloping([3.0, 0.0, -2.0], [0.0, 0.0, 0.0])
    for x in ([1.0, 1.0, 0.0], [1.0, 0.0, 0.0]):
        variance = peak_variance(model, np.array(x), Domain.box(3), 1e-12, 0.08)
        assert variance == pytest.approx([0.008, 0.08, 0.016], rel=1e-9)


def test_the_slope_at_a_side_is_the_slope_there():
    """E85: 1 in the middle and a bend of 2 make 1 + 2 · 2 · ½ = 3 at the side.

    E89: the other coordinate moves, and bends by 2 · -2: C / H² = 4 / 16, and by the
    trend alone three quarters of that, and 0.1 off its summit 0.1² more.
    """
    model = sloping([1.0, 0.0], [2.0, -2.0], variance_of_slope=4.0)
    x = np.array([1.0, 0.5 + 0.1])
    variance = peak_variance(model, x, Domain.box(2), 1e-12, 1.3)
    assert variance == pytest.approx([1.3 / (1.0 + 9.0 / 4.0), 0.1975], rel=1e-9)


def test_nearly_at_a_side_is_not_at_it():
    """E85 needs a coordinate that is held; one a hair inside has E72 and E89."""
    model = sloping([3.0], [-2.0])
    held, near = (
        peak_variance(model, np.array([x]), Domain.box(1), 1e-12, 0.08).item()
        for x in (1.0 - 1e-10, 1.0 - 1e-6)
    )
    assert held == pytest.approx(0.08 / (1.0 + (3.0 - 2.0) ** 2), rel=1e-6)
    assert near == pytest.approx(0.75 / 16.0, rel=1e-6)


def test_a_side_is_surer_with_more_data():
    """E85: values that rise to the corner."""
    domain, spreads = Domain.box(2), []
    for n in (8, 30, 120):
        gp = bowl(n, 2, noise_std=0.02, center=1.5)
        x = find_peak(plain(gp), domain)
        assert x.tolist() == [1.0, 1.0]
        spreads.append(peak_variance(plain(gp), x, domain, 1e-12, 1e2).mean())
    assert spreads[0] > spreads[1] > spreads[2]


# The upload.


def upload(side, gp, data, held=None):
    return side.upload(gp, data, side.study(gp), held, address())


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("place", ["trend", "process"])
def test_contract(dim, place):
    packets, misfits = [packet(dim), nothing()], [packet(2), packet(4)]
    side = agent(dim, place=place)
    check_agent_side(side, packets=packets, misfits=misfits, dim=dim)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize(
    "values",
    [[0.7], [0.3, 0.3, 0.3], [0.0, 1e-300, 0.0], [1e9, -1e9, 0.0, 5.0], [1.0, 1.0]],
    ids=str,
)
def test_little_data_give_a_message_all_the_same(values, d):
    y = np.array(values)
    X = np.random.default_rng(0).random((len(y), d))
    X[1:2] = X[:1]
    fitted = MODEL.fit(Dataset(X=X, y=y))
    message = upload(agent(d), fitted.posterior, fitted.data)
    check_codec(message)
    assert message.mass == 1.0
    if np.ptp(y) == 0.0:
        # Nothing bends: nothing is known of where the peak is.
        assert message.variance == pytest.approx(np.full(d, WIDEST))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("num_results", [1, 7])
def test_every_space(name, num_results):
    light = {"num_raw": 16, "num_starts": 2, "num_iterations": 2}
    site = told(name, num_results, method="consensus-ucb", settings=light)
    message, domain = site.upload().body, site.space.domain
    check_codec(message)
    assert np.array_equal(message.center, domain.snap(message.center[None])[0])
    if domain.polytope is not None:
        assert domain.polytope.contains(message.center[None, domain.columns]).all()
    fixed = ~domain.free
    fixed[domain.columns] = True
    ell = site.fitted.posterior.hyper.lengthscales
    assert message.variance[fixed] == pytest.approx(
        np.clip(ell[fixed] ** 2, SHARPEST, WIDEST)
    )


def test_exact_data_claim_no_more_than_the_sharpest():
    gp = bowl(200, 1, noise_std=1e-3)
    data = Dataset(X=gp.X, y=gp.y)
    message = upload(agent(1), gp, data)
    assert message.variance.tolist() == [SHARPEST]
    assert message.center == pytest.approx([0.6], abs=0.02)


@pytest.mark.parametrize("place", ["trend", "process"])
def test_place_says_which_model_it_is(place):
    """The upload is the peak of that model and its variance there."""
    gp = bowl(15, 3, noise_std=0.2)
    data = Dataset(X=gp.X, y=gp.y)
    message = upload(agent(place=place), gp, data)
    model = TrendPosterior.fit(gp) if place == "trend" else plain(gp)
    x = find_peak(model, Domain.box(3))
    assert np.array_equal(message.center, x)
    variance = peak_variance(model, x, Domain.box(3), SHARPEST, WIDEST)
    assert np.array_equal(message.variance, variance)
    other = plain(gp) if place == "trend" else TrendPosterior.fit(gp)
    assert np.abs(find_peak(other, Domain.box(3)) - x).max() > 1e-3


def test_upload_ignores_what_was_received():
    gp = bowl(20, 3)
    data = Dataset(X=gp.X, y=gp.y)
    first, second = (upload(agent(), gp, data, held) for held in (None, packet()))
    assert encode(first) == encode(second)


# What is made of the answer.


@pytest.mark.parametrize("schedule", ["constant", "decaying"])
def test_uncertainty_grows_where_the_others_are(schedule):
    """S = 1 + λ exp(-½ Σ (x - θ)² / v), the FI-GP of one component of weight 1."""
    gp = bowl(10, 3)
    X = np.array([[0.3, 0.3, 0.3], [0.5, 0.3, 0.3], [0.9, 0.9, 0.9]])
    field = np.exp([0.0, -0.5, -0.5 * 3 * 9])
    side = agent(consensus_schedule=schedule, aim="others")
    for t in (1, 4):
        posterior = side.decision_posterior(gp, packet(), t, address(t))
        mean, std = posterior.predict(X)
        assert mean == pytest.approx(gp.predict(X)[0], rel=1e-12)
        strength = 1.0 if schedule == "constant" else 1.0 / np.sqrt(t)
        scaling = 1.0 + strength * field
        assert std == pytest.approx(gp.predict(X)[1] * scaling, rel=1e-12)
        assert (std <= 2.0 * gp.predict(X)[1]).all()


def test_strength_is_constant_unless_told_otherwise():
    """And the schedule of the other methods has no say."""
    gp, X = bowl(10, 3), np.full((1, 3), 0.3)
    for given in ({}, {"schedule": "decaying"}):
        side = agent(aim="others", **given)
        _, std = side.decision_posterior(gp, packet(), 9, address(9)).predict(X)
        assert std == pytest.approx(2.0 * gp.predict(X)[1], rel=1e-12)


def test_a_packet_of_less_weight_widens_less():
    """S = 1 + λ w where the field peaks."""
    gp, X = bowl(10, 3), np.full((1, 3), 0.3)
    side = agent(aim="others")
    decided = side.decision_posterior(gp, packet(weight=0.25), 1, address())
    assert decided.predict(X)[1] == pytest.approx(1.25 * gp.predict(X)[1], rel=1e-12)


@pytest.mark.parametrize("received", [None, nothing()], ids=["none", "empty"])
def test_alone_the_posterior_is_the_own(received):
    gp = bowl(10, 3)
    assert agent().decision_posterior(gp, received, 1, address()) is gp


def test_no_packet_makes_the_field_larger_than_one():
    """What Theorem 1 needs holds for whatever passes the wire."""
    gp = bowl(10, 3)
    one = packet(3)
    with pytest.raises(WireError, match="one component at most, got 5"):
        replace(one, components=one.components.take(np.zeros(5, dtype=np.intp)))
    X = np.random.default_rng(0).random((50, 3))
    for sent in (one, packet(weight=0.0)):
        posterior = agent(max_strength=0.7).decision_posterior(gp, sent, 1, address())
        ratio = posterior.predict(X)[1] / gp.predict(X)[1]
        assert ratio.min() >= 1.0
        assert ratio.max() <= 1.7 * (1.0 + 1e-12)


def test_packet_of_another_dimension_is_refused():
    with pytest.raises(WireError, match="dimension 3, got 2"):
        agent().check(packet(2), 3)


def widening(side, gp, received, X):
    """Return the factor on the standard deviation, less one."""
    guided = side.decision_posterior(
        gp, side.aimed(side.study(gp), received), 1, address()
    )
    return guided.predict(X)[1] / gp.predict(X)[1] - 1.0


def looks(side, gp, received):
    """Return where the agent looks."""
    return side.aimed(side.study(gp), received).components.centers


def test_alone_there_is_nothing_to_look_at():
    side, received = agent(), nothing()
    assert side.aimed(side.study(bowl(10, 3)), received) is received


def test_own_and_others_are_looked_at_as_they_are():
    gp, received = bowl(20, 3), packet(variance=0.03)
    assert np.array_equal(looks(agent(aim="others"), gp, received)[0], np.full(3, 0.3))
    side = agent(aim="own")
    assert np.array_equal(looks(side, gp, received)[0], side.study(gp).center)


@pytest.mark.parametrize("aim", AIMS)
def test_the_field_is_where_the_agent_looks(aim):
    """E77, E88: peak 1 at the place, e^-½ one standard deviation from it."""
    gp, received = bowl(20, 3, noise_std=0.3), packet(variance=0.03)
    side = agent(aim=aim, min_spread=0.01)
    (x,) = looks(side, gp, received)
    _, v = side.study(gp)
    s = np.full(3, 0.03)
    spread = {"blend": v * s / (v + s), "others": s, "own": v}[aim]
    X = x + np.vstack([np.zeros(3), np.diag(np.sqrt(spread))])
    expected = np.exp([0.0, -0.5, -0.5, -0.5])
    assert widening(side, gp, received, X) == pytest.approx(expected, rel=1e-9)


def test_spread_is_a_choice():
    """E77: the floor, where both words are sharper."""
    gp, received = bowl(40, 3), packet(center=0.6, variance=1e-3)
    side = agent(min_spread=0.4)
    X = looks(side, gp, received) + np.array([[0.4, 0.0, 0.0]])
    assert widening(side, gp, received, X) == pytest.approx(np.exp(-0.5), rel=1e-9)


def test_who_knows_little_listens_more():
    """E86: more data move the place from the others' towards the own."""
    received, shares = packet(center=0.3, variance=0.01), []
    for n in (5, 20, 80):
        gp = bowl(n, 3, noise_std=0.3)
        side = agent()
        (x,) = looks(side, gp, received)
        y, v = side.study(gp)
        share = (x - y) / (0.3 - y)
        assert share == pytest.approx(v / (v + 0.01), rel=1e-9)
        shares.append(share.mean())
    assert shares[0] > shares[1] > shares[2]


def test_a_place_is_worked_out_once_a_fit(monkeypatch):
    """By the agent that holds the fit, and only where something needs it."""
    calls = []

    def counted(model, domain):
        calls.append(1)
        return find_peak(model, domain)

    monkeypatch.setattr("guidefbo.agent.strategies.consensus.agent.find_peak", counted)
    gp = bowl(20, 3)
    policy = Policy(
        domain=Domain.box(3),
        model=MODEL,
        side=agent(),
        rule=UpperConfidenceBound(beta=4.0),
        search=SearchSettings(num_raw=16, num_starts=2, num_iterations=3),
    )
    data = Dataset(X=gp.X, y=gp.y)
    site = RoundAgent(agent_id=0, data=data, policy=policy, streams=Streams(0))
    site.ask()
    site.receive(None)
    site.ask()
    assert not calls
    site.upload()
    site.receive(packet())
    site.upload()
    x = site.ask()
    assert len(calls) == 1
    site.tell(x, 0.0)
    site.ask()
    assert len(calls) == 1
    site.upload()
    assert len(calls) == 2


def test_spread_of_a_place_is_at_most_the_box():
    with pytest.raises(SettingsError, match="min_spread must be a finite number"):
        agent(min_spread=1.5)
    with pytest.raises(SettingsError, match="min_spread must be a finite number"):
        find_method("consensus-ucb").check({"min_spread": 1.5})
    # The server knows nothing of what is aimed at, and says so.
    with pytest.raises(SettingsError, match="consensus's server 'min_spread'"):
        build_server("consensus", {"min_spread": 0.5})
    with pytest.raises(SettingsError, match="fusion must be one of dersimonian-laird"):
        find_method("consensus-ucb").check({"fusion": "median"})
    with pytest.raises(SettingsError, match="fusion must be one of dersimonian-laird"):
        build_server("consensus", {"fusion": "median"})


def test_settings_reach_the_parts():
    box = Domain.box(3)
    assert agent(domain=box) == ConsensusAgent(
        intervention=INTERVENTIONS["local"],
        schedule=SCHEDULES["constant"],
        domain=box,
        model=PLACES["trend"],
        aim=AIMS["blend"],
        min_spread=0.15,
        max_strength=1.0,
        lcb_coefficient=1.0,
    )
    chosen = agent(
        domain=box,
        place="process",
        aim="others",
        min_spread=0.3,
        intervention="uniform",
        consensus_schedule="decaying",
        max_strength=2.0,
        lcb_coefficient=0.5,
    )
    assert chosen == ConsensusAgent(
        intervention=INTERVENTIONS["uniform"],
        schedule=SCHEDULES["decaying"],
        domain=box,
        model=PLACES["process"],
        aim=AIMS["others"],
        min_spread=0.3,
        max_strength=2.0,
        lcb_coefficient=0.5,
    )
