"""The consensus agent: where the mean peaks, how sure that is, and what it does."""

from dataclasses import replace

import numpy as np
import pytest
from tests.agent.numerics import differences, make_gp
from tests.site.sites import SPACES, told

from guidefbo.agent.belief.peak import (
    PosteriorMean,
    find_peak,
    movable,
    peak_variance,
)
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.curvature import gradient_covariance, mean_hessian
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.parameters import Int
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.build_consensus import consensus_agent, consensus_server
from guidefbo.methods.settings import Settings
from guidefbo.testing import check_agent_side, check_codec
from guidefbo.testing.expect import expect_gradient
from guidefbo.wire.codec import encode
from guidefbo.wire.consensus import SHARPEST, WIDEST, ConsensusPacket

MODEL = Model(noise_std=0.1, priors=Priors())


def agent(dim=3, domain=None, **settings):
    domain = Domain.box(dim) if domain is None else domain
    return consensus_agent(Settings.of(settings), domain, MODEL)


def stream(seed=0):
    return Streams(seed).at(Purpose.BEST, agent=0, t=1)


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
    mean = PosteriorMean(gp=gp, domain=Domain.box(3))
    X = np.random.default_rng(2).random((6, 3))
    value, gradient = mean.value_and_gradient(X)
    assert value == pytest.approx(gp.predict(X)[0], rel=1e-12)
    assert mean.value(X) == pytest.approx(value, rel=1e-12)
    expect_gradient(mean.value, X, gradient, "the mean")


def test_peak_is_the_highest_point_of_the_mean():
    """Against a dense grid, in one dimension."""
    grid = np.linspace(0.0, 1.0, 20_001)[:, None]
    for seed in range(8):
        gp = make_gp(6, 1, seed)
        x = find_peak(gp, Domain.box(1), stream())
        assert gp.predict_mean(x[None])[0] >= gp.predict_mean(grid).max() - 1e-8


def test_peak_is_no_lower_than_at_any_observed_input():
    for seed in range(5):
        gp = make_gp(40, 6, seed)
        x = find_peak(gp, Domain.box(6), stream())
        # One row or forty at a time: the sums round differently.
        assert gp.predict_mean(x[None])[0] >= gp.predict_mean(gp.X).max() - 1e-12


def test_peak_is_found_in_ten_dimensions():
    """No other start finds one that is higher by more than 2 % of the prior's std."""
    for seed in range(4):
        gp = bowl(60, 10, seed=seed)
        x = find_peak(gp, Domain.box(10), stream())
        others = [find_peak(gp, Domain.box(10), stream(s)) for s in range(1, 9)]
        highest = gp.predict_mean(np.array(others)).max()
        assert gp.predict_mean(x[None])[0] >= highest - 0.02


def test_peak_sits_on_steps():
    domain = Domain(dim=2, stepped=((0, Int(1, 4)),))
    gp = make_gp(15, 2)
    gp = GaussianProcess.condition(domain.snap(gp.X), gp.y, gp.hyper)
    x = find_peak(gp, domain, stream())
    assert np.array_equal(x, domain.snap(x[None])[0])
    grid = np.stack(
        np.meshgrid([1 / 8, 3 / 8, 5 / 8, 7 / 8], np.linspace(0, 1, 2001)), axis=-1
    ).reshape(-1, 2)
    assert gp.predict_mean(x[None])[0] >= gp.predict_mean(grid).max() - 1e-6


# How well the data place it.


def test_variance_in_one_dimension():
    """E72: C / H²."""
    gp = bowl(20, 1)
    x = find_peak(gp, Domain.box(1), stream())
    H, C = mean_hessian(gp, x).item(), gradient_covariance(gp, x).item()
    (variance,) = peak_variance(gp, x, Domain.box(1), 1e-12, 1e2)
    assert variance == pytest.approx(C / H**2, rel=1e-9)


def test_variance_is_the_diagonal_of_the_precision():
    """E72: 1 / (H C⁻¹ H)_jj."""
    gp = bowl(60, 4)
    x = find_peak(gp, Domain.box(4), stream())
    H, C = mean_hessian(gp, x), gradient_covariance(gp, x)
    precision = H @ np.linalg.inv(C) @ H
    variance = peak_variance(gp, x, Domain.box(4), 1e-12, 1e2)
    assert variance == pytest.approx(1.0 / np.diagonal(precision), rel=1e-9)
    # What is left when the other coordinates are known is less than what there is.
    assert (variance <= np.diagonal(np.linalg.inv(precision)) * (1 + 1e-9)).all()


def test_variance_is_that_of_the_peaks_of_draws():
    """E72: to first order, in one dimension, with data enough for a single peak."""
    gp = bowl(60, 1, noise_std=0.002)
    x = find_peak(gp, Domain.box(1), stream())
    (variance,) = peak_variance(gp, x, Domain.box(1), 1e-12, 1e2)
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
        x = find_peak(gp, domain, stream())
        spreads.append(peak_variance(gp, x, domain, 1e-12, 1e2).mean())
    assert spreads[0] > spreads[1] > spreads[2]


def test_bounds_hold():
    gp = bowl(30, 3)
    for low, high in ((1e-4, 2e-4), (0.05, 0.06)):
        variance = peak_variance(gp, np.full(3, 0.5), Domain.box(3), low, high)
        assert ((low <= variance) & (variance <= high)).all()


def test_coordinates_that_cannot_move_have_their_lengthscale():
    """On a side of the cube, on steps, under constraints; the others are held there."""
    gp = make_gp(12, 3, lengthscales=np.array([0.3, 0.2, 0.25]))
    x = np.array([0.0, 0.4, 0.6])
    variance = peak_variance(gp, x, Domain.box(3), 1e-12, 1e2)
    assert variance[0] == pytest.approx(0.3**2)
    H = mean_hessian(gp, x)[1:, 1:]
    C = gradient_covariance(gp, x)[1:, 1:]
    expected = 1.0 / np.diagonal(H @ np.linalg.inv(C) @ H)
    assert variance[1:] == pytest.approx(expected, rel=1e-9)
    stepped = Domain(dim=3, stepped=((1, Int(1, 4)),))
    inside = np.array([0.5, 0.4, 0.6])
    assert movable(inside, stepped).tolist() == [True, False, True]
    assert movable(x, stepped).tolist() == [False, False, True]
    shares = SPACES["shares"].domain
    assert not movable(np.full(4, 0.3), shares).any()
    lengthscales = peak_variance(
        make_gp(5, 4), np.full(4, 0.3), shares, SHARPEST, WIDEST
    )
    assert lengthscales == pytest.approx(
        np.minimum(np.linspace(0.3, 0.9, 4) ** 2, WIDEST)
    )


# The upload.


@pytest.mark.parametrize("dim", [1, 3])
def test_contract(dim):
    packets, misfits = [packet(dim), nothing()], [packet(2), packet(4)]
    check_agent_side(agent(dim), packets=packets, misfits=misfits, dim=dim)


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
    message = agent(d).upload(fitted.posterior, fitted.data, None, address())
    check_codec(message)
    assert message.mass == 1.0
    if np.ptp(y) == 0.0:
        # Nothing bends: nothing is known of where the peak is.
        assert message.variance == pytest.approx(np.full(d, WIDEST))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("num_results", [1, 7])
def test_every_space(name, num_results):
    site = told(name, num_results, method="consensus-ucb")
    message, domain = site.upload(), site.space.domain
    check_codec(message)
    assert np.array_equal(message.center, domain.snap(message.center[None])[0])
    if domain.polytope is not None:
        assert domain.polytope.contains(message.center[None, domain.columns]).all()
    fixed = ~movable(message.center, domain)
    ell = site.fitted.posterior.hyper.lengthscales
    assert message.variance[fixed] == pytest.approx(
        np.clip(ell[fixed] ** 2, SHARPEST, WIDEST)
    )


def test_exact_data_claim_no_more_than_the_sharpest():
    gp = bowl(200, 1, noise_std=1e-3)
    data = Dataset(X=gp.X, y=gp.y)
    message = agent(1).upload(gp, data, None, address())
    assert message.variance.tolist() == [SHARPEST]
    assert message.center == pytest.approx([0.6], abs=0.02)


def test_upload_ignores_what_was_received():
    gp = bowl(20, 3)
    data = Dataset(X=gp.X, y=gp.y)
    first, second = (
        agent().upload(gp, data, held, address()) for held in (None, packet())
    )
    assert encode(first) == encode(second)


# What is made of the answer.


def test_uncertainty_grows_where_the_others_are():
    """S = 1 + λ exp(-½ Σ (x - θ)² / v), the FI-GP of one component of weight 1."""
    gp = bowl(10, 3)
    X = np.array([[0.3, 0.3, 0.3], [0.5, 0.3, 0.3], [0.9, 0.9, 0.9]])
    field = np.exp([0.0, -0.5, -0.5 * 3 * 9])
    for t in (1, 4):
        posterior = agent().decision_posterior(gp, packet(), t, address(t))
        mean, std = posterior.predict(X)
        assert mean == pytest.approx(gp.predict(X)[0], rel=1e-12)
        scaling = 1.0 + field / np.sqrt(t)
        assert std == pytest.approx(gp.predict(X)[1] * scaling, rel=1e-12)
        assert (std <= 2.0 * gp.predict(X)[1]).all()


@pytest.mark.parametrize("received", [None, nothing()], ids=["none", "empty"])
def test_alone_the_posterior_is_the_own(received):
    gp = bowl(10, 3)
    assert agent().decision_posterior(gp, received, 1, address()) is gp


def test_no_packet_makes_the_field_larger_than_one():
    """What Theorem 1 needs holds for whatever passes the wire."""
    gp = bowl(10, 3)
    many = packet(3)
    many = replace(many, components=many.components.take(np.zeros(5, dtype=np.intp)))
    X = np.random.default_rng(0).random((50, 3))
    for sent in (packet(), packet(weight=0.0), many):
        posterior = agent(max_strength=0.7).decision_posterior(gp, sent, 1, address())
        ratio = posterior.predict(X)[1] / gp.predict(X)[1]
        assert ratio.min() >= 1.0
        assert ratio.max() <= 1.7 * (1.0 + 1e-12)


def test_packet_of_another_dimension_is_refused():
    with pytest.raises(WireError, match="dimension 3, got 2"):
        agent().decision_posterior(bowl(10, 3), packet(2), 1, address())


def test_spread_of_a_packet_is_at_most_the_box():
    with pytest.raises(SettingsError, match="min_spread must be a finite number"):
        consensus_server(Settings.of({"min_spread": 1.5}))
    with pytest.raises(SettingsError, match="fusion must be one of dersimonian-laird"):
        Settings.of({"fusion": "median"})
