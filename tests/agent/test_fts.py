"""The agents of FTS and FTS-DE: shared features, drawn weights, regions."""

import numpy as np
import pytest
from tests.agent.numerics import differences, make_gp

from guidefbo import simulate
from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.decision.ts import GridThompsonSampling, Peak, ThompsonSampling
from guidefbo.agent.paths.shared import (
    LENGTHSCALE,
    SharedMap,
    SharedPath,
    draw_weights,
    follows_itself,
    own_probability,
    shared_map,
    weight_mean,
)
from guidefbo.agent.strategies.fts.agent import FtsAgent
from guidefbo.agent.strategies.fts.as_run import FtsPointAgent
from guidefbo.agent.strategies.fts.settings import FtsAsRunSettings, FtsSettings
from guidefbo.agent.strategies.fts_de.agent import FtsDeAgent, RegionalPath
from guidefbo.agent.strategies.fts_de.settings import FtsDeSettings
from guidefbo.agent.surrogate.certain import CertainPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.designs import sobol
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.testing import check_agent_side, check_posterior, example_posterior
from guidefbo.testing.codec import encode
from guidefbo.testing.examples import example_data
from guidefbo.wire.cost import Cost
from guidefbo.wire.fts import FeatureWeights, PeerPoint, RegionWeights
from guidefbo.wire.regions import region_boxes, region_of

MODEL = Model(noise_std=0.1, priors=Priors())
PATH = ThompsonSampling(num_features=8)
M = 40


def stream(t=1):
    return Streams(0).at(Purpose.WEIGHTS, t=t)


def fts_de(num_regions=4, dim=3, num_shared=M):
    return FtsDeAgent(
        num_shared=num_shared,
        num_regions=num_regions,
        domain=Domain.box(dim),
        num_candidates=1000,
    )


def address_that(follows, t=1, seed=0):
    """Return the first agent whose coin falls that way in round t."""
    addresses = (Streams(seed).of(n, t) for n in range(100))
    return next(a for a in addresses if follows_itself(t, a) is follows)


# The shared map.


@pytest.mark.parametrize("dim", [1, 3])
def test_frequencies_are_those_of_the_matern_kernel(dim):
    """E45: mean cos(w'Δ) at |Δ| = 0.2, 0.5, 1 is 0.936, 0.694, 0.306."""
    features = SharedMap.draw(200_000, dim, stream())
    direction = np.full(dim, 1.0 / np.sqrt(dim))
    for length, kernel in ((0.2, 0.936), (0.5, 0.694), (1.0, 0.306)):
        mean = np.cos(features.frequencies @ (length * direction)).mean()
        # A cosine's std is below 0.75; and half a printed digit.
        assert mean == pytest.approx(kernel, abs=4 * 0.75 / np.sqrt(200_000) + 5e-4)


def test_features_have_unit_norm_times_the_variance():
    """E45: φ'φ = v at every point, not on average."""
    X = np.random.default_rng(0).random((50, 3))
    for v in (1.0, 2.5):
        Phi = SharedMap.draw(M, 3, stream())(X, v)
        assert (Phi**2).sum(axis=1) == pytest.approx(np.full(50, v), rel=1e-13)


def test_products_of_features_are_the_kernel():
    """E45: to 1/√M for points in three dimensions."""
    X = np.random.default_rng(0).random((20, 3))
    Phi = SharedMap.draw(20_000, 3, stream())(X, 1.7)
    K = matern52(squared_distances(X, X, np.full(3, np.log(2.0))), 1.7)
    assert np.abs(Phi @ Phi.T - K).max() < 4 * 1.7 / np.sqrt(20_000)


def test_path_by_hand():
    """E45: g = (1, cos πx) at x = 1/3 is (1, 1/2), ω = (1, 2): f = 2/√1.25.

    f' = (2 - 0.8)/√1.25 * (-π sin(π/3)) = -2.9202.
    """
    features = SharedMap(frequencies=np.array([[0.0], [np.pi]]), phases=np.zeros(2))
    X = np.array([[1.0 / 3.0]])
    assert features(X, 4.0)[0] == pytest.approx(np.array([2.0, 1.0]) / np.sqrt(1.25))
    path = SharedPath(features=features, weights=np.array([1.0, 2.0]))
    value, gradient = path.value_and_gradient(X)
    assert value[0] == pytest.approx(1.7888543820, rel=1e-10)
    slope = -1.2 / np.sqrt(1.25) * np.pi * np.sqrt(0.75)
    assert gradient[0, 0] == pytest.approx(slope, rel=1e-12)
    assert slope == pytest.approx(-2.9202, abs=5e-5)


@pytest.mark.parametrize("dim", [1, 2, 10])
def test_gradient_of_a_path(dim):
    """E45: against central differences; see `numerics` for their error."""
    path = SharedPath(
        features=SharedMap.draw(M, dim, stream()),
        weights=np.random.default_rng(1).standard_normal(M),
    )
    X = np.random.default_rng(2).random((10, dim))
    value, gradient = path.value_and_gradient(X)
    assert value == pytest.approx(path.value(X), rel=1e-12)
    assert gradient == pytest.approx(differences(path.value, X), abs=2e-7)


def test_all_agents_hold_the_same_map():
    first = shared_map(Streams(3), M, 2)
    again = shared_map(Streams(3).of(5, 7).streams, M, 2)
    assert np.array_equal(again.phases, first.phases)
    assert np.array_equal(again.frequencies, first.frequencies)
    other = shared_map(Streams(4), M, 2)
    assert not np.array_equal(other.phases, first.phases)
    assert shared_map(Streams(3), M, 3).frequencies.shape == (M, 3)
    assert round(LENGTHSCALE, 4) == 0.6931


# The weights.


def test_mean_weights_are_those_of_the_precision_form():
    """E46: ν = (Φ'Φ + σ²I)^-1 Φ'y."""
    rng = np.random.default_rng(0)
    Phi, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
    A = Phi.T @ Phi + 0.01 * np.eye(4)
    nu = weight_mean(Phi, y, np.full(6, 0.01))
    assert nu == pytest.approx(np.linalg.solve(A, Phi.T @ y), rel=1e-9)


def test_mean_weights_by_hand():
    """E46: one observation y = 3, φ = (1, 2), σ² = 1: ν = φ y / (|φ|² + 1)."""
    nu = weight_mean(np.array([[1.0, 2.0]]), np.array([3.0]), np.ones(1))
    assert nu == pytest.approx([0.5, 1.0], rel=1e-14)


def test_with_many_features_the_mean_is_the_gaussian_process_one():
    """E46: φ(x)'ν against the exact posterior mean, errors falling as 1/√M."""
    gp = make_gp(
        15, 2, lengthscales=np.full(2, LENGTHSCALE), mean=0.0, noise_variance=0.01
    )
    X = np.random.default_rng(1).random((30, 2))
    errors = []
    for count in (2_000, 128_000):
        features = SharedMap.draw(count, 2, stream())
        nu = weight_mean(features(gp.X, gp.hyper.outputscale), gp.y, gp.noise)
        mean = features(X, gp.hyper.outputscale) @ nu
        errors.append(np.abs(mean - gp.predict_mean(X)).max())
    # Values are of order one; the inverse of the noisy gram lifts 1/√M by some.
    assert errors[1] < 10.0 / np.sqrt(128_000)
    assert errors[1] < errors[0]


def test_weights_are_drawn_with_their_mean_and_covariance():
    """E46: N(ν, σ²A^-1), two observations of three features."""
    Phi = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 2.0]])
    y, noise = np.array([1.0, -1.0]), np.full(2, 0.25)
    generator = stream()
    draws = np.array([draw_weights(Phi, y, noise, generator) for _ in range(6000)])
    A = Phi.T @ Phi + 0.25 * np.eye(3)
    cov = 0.25 * np.linalg.inv(A)
    standard_error = np.sqrt(np.diag(cov) / 6000)
    nu = np.linalg.solve(A, Phi.T @ y)
    assert (np.abs(draws.mean(axis=0) - nu) < 4 * standard_error).all()
    # Entries of a sample covariance of n draws have std below √(2/n) here.
    assert np.cov(draws.T) == pytest.approx(cov, abs=4 * np.sqrt(2 / 6000))


# The coin.


def test_probability_of_the_own_draw():
    """E47: 1/2 at first, then 1 - 1/√t."""
    probabilities = [own_probability(t) for t in (1, 2, 4, 25, 100)]
    assert probabilities == pytest.approx([0.5, 1 - 0.5**0.5, 0.5, 0.8, 0.9])


@pytest.mark.parametrize("t", [1, 2, 25])
def test_coin_falls_as_often(t):
    """E47: 2000 agents; the standard error is at most 0.5/√2000 = 0.011."""
    share = np.mean([follows_itself(t, Streams(0).of(n, t)) for n in range(2000)])
    assert share == pytest.approx(own_probability(t), abs=4 * 0.0112)


# FTS.


def test_fts_contract():
    weights = np.random.default_rng(0).standard_normal(M)
    check_agent_side(
        FtsAgent(num_shared=M),
        packets=[FeatureWeights(weights=weights)],
        misfits=[FeatureWeights(weights=weights[1:])],
        dim=3,
    )


def test_fts_follows_the_peer_or_itself():
    """E45, E47: the decision is φ(x)'ω with v = 1, or the local posterior itself."""
    side, local = FtsAgent(num_shared=M), example_posterior()
    packet = FeatureWeights(weights=np.random.default_rng(0).standard_normal(M))
    own, peer = address_that(True), address_that(False)
    assert side.decision_posterior(local, packet, 1, own) is local
    assert side.decision_posterior(local, None, 1, peer) is local
    decided = side.decision_posterior(local, packet, 1, peer)
    assert isinstance(decided, CertainPosterior)
    check_posterior(decided)
    X = np.random.default_rng(1).random((7, 3))
    expected = shared_map(peer.streams, M, 3)(X) @ packet.weights
    assert decided.predict(X)[0] == pytest.approx(expected, rel=1e-13)


def shifted(gp, offset=0.0, factor=1.0):
    """Return the posterior of the values in other units."""
    hyper = Hyperparameters(
        lengthscales=gp.hyper.lengthscales,
        outputscale=gp.hyper.outputscale * factor**2,
        mean=offset + factor * gp.hyper.mean,
        noise_variance=gp.hyper.noise_variance * factor**2,
    )
    return GaussianProcess.condition(gp.X, offset + factor * gp.y, hyper)


def test_fts_upload_is_centred_and_drawn_at_the_senders_variance():
    """E46: the level of the values leaves no trace; the draw is the documented one."""
    side, gp = FtsAgent(num_shared=M), example_posterior()
    data, address = example_data(3, 0), Streams(0).of(2, 3)
    sent = side.upload(gp, data, None, None, address)
    high = side.upload(shifted(gp, 100.0), data, None, None, address)
    assert high.weights == pytest.approx(sent.weights, abs=1e-9)
    Phi = shared_map(address.streams, M, 3)(gp.X, 0.7)
    expected = draw_weights(Phi, gp.y - 1.1, gp.noise, address.at(Purpose.WEIGHTS))
    assert np.array_equal(sent.weights, expected)
    assert Cost.of(encode(sent)).scalars == M
    assert not np.array_equal(
        side.upload(gp, data, None, None, Streams(0).of(3, 3)).weights, sent.weights
    )


def test_peers_function_peaks_where_the_peers_values_do():
    """E46: what arrives carries where the optimum is."""
    X = sobol(60, 2, Streams(0).at(Purpose.CANDIDATES))
    y = -4.0 * ((X - [0.8, 0.3]) ** 2).sum(axis=1)
    hyper = Hyperparameters(
        lengthscales=np.full(2, 0.6), outputscale=1.0, mean=-1.0, noise_variance=1e-4
    )
    gp = GaussianProcess.condition(X, y, hyper)
    side, data, peer = FtsAgent(num_shared=500), None, address_that(False)
    sent = side.upload(gp, data, None, None, Streams(0).of(50, 1))
    x = query(side.decision_posterior(gp, sent, 1, peer), peer, 2)
    assert x == pytest.approx([0.8, 0.3], abs=0.1)


def query(posterior, address, dim, rule=PATH):
    acquisition = rule.acquisition(posterior, stream())
    search = SearchSettings()
    generator = address.at(Purpose.SEARCH)
    return maximise_acquisition(acquisition, Domain.box(dim), search, generator)


def test_fts_refuses_weights_of_another_length():
    side, packet = FtsAgent(num_shared=M), FeatureWeights(weights=np.ones(M + 1))
    with pytest.raises(WireError, match=f"{M} feature weights, got {M + 1}"):
        side.check(packet, 3)


# FTS as run.


def test_fts_as_run_contract():
    side = FtsPointAgent(domain=Domain.box(3), num_candidates=64)
    check_agent_side(
        side,
        packets=[PeerPoint(point=np.array([0.2, 0.9, 0.5]))],
        misfits=[PeerPoint(point=np.full(2, 0.5)), PeerPoint(point=np.full(4, 0.5))],
    )


def test_fts_as_run_sends_a_candidate_and_queries_the_peers():
    side = FtsPointAgent(domain=Domain.box(3), num_candidates=64)
    local, peer = example_posterior(), address_that(False)
    sent = side.upload(local, example_data(3, 0), None, None, peer)
    candidates = sobol(64, 3, peer.at(Purpose.CANDIDATES))
    assert (candidates == sent.point).all(axis=1).sum() == 1
    packet = PeerPoint(point=np.array([0.2, 0.9, 0.0]))
    decided = side.decision_posterior(local, packet, 1, peer)
    assert decided.path == Peak(at=packet.point)
    assert query(decided, peer, 3) == pytest.approx(packet.point, abs=1e-4)
    assert side.decision_posterior(local, packet, 1, address_that(True)) is local
    # The rule of that mode looks on a grid, but not for what it was told.
    grid = GridThompsonSampling(num_points=8)
    assert query(decided, peer, 3, grid) == pytest.approx(packet.point, abs=1e-4)
    with pytest.raises(WireError, match="dimension 3, got 2"):
        side.check(PeerPoint(point=np.ones(2)), 3)


# FTS-DE.


@pytest.mark.parametrize(("num_regions", "dim"), [(1, 1), (2, 1), (2, 3), (4, 3)])
def test_fts_de_contract(num_regions, dim):
    weights = np.random.default_rng(0).standard_normal((num_regions, M))
    packet = RegionWeights(weights=weights)
    misfits = [(num_regions, M - 1), (4 if num_regions == 2 else 2, M)]
    check_agent_side(
        fts_de(num_regions, dim),
        packets=[packet],
        misfits=[RegionWeights(weights=np.ones(shape)) for shape in misfits],
        dim=dim,
    )


def test_fts_de_upload_knows_no_units():
    """E46: standardised values; the draw is the documented one."""
    side, gp = fts_de(), example_posterior()
    data, address = example_data(3, 0), Streams(0).of(2, 3)
    sent = side.upload(gp, data, None, None, address)
    other = side.upload(shifted(gp, -30.0, 5.0), data, None, None, address)
    assert other.weights == pytest.approx(sent.weights, abs=1e-6)
    std = gp.y.std(ddof=1)
    Phi = shared_map(address.streams, M, 3)(gp.X)
    expected = draw_weights(
        Phi, (gp.y - gp.y.mean()) / std, gp.noise / std**2, address.at(Purpose.WEIGHTS)
    )
    assert sent.weights == pytest.approx(expected, abs=1e-9)
    assert Cost.of(encode(sent)).scalars == M


@pytest.mark.parametrize("best", range(4))
def test_fts_de_queries_the_region_whose_function_is_best(best):
    """E51: three regions are told -2 φ'w, one is told 5 φ'w."""
    side, peer = fts_de(), address_that(False)
    features = shared_map(peer.streams, M, 3)
    w = features(np.full((1, 3), 0.5))[0]  # positive all around the middle
    weights = np.tile(-2.0 * w, (4, 1))
    weights[best] = 5.0 * w
    packet = RegionWeights(weights=weights)
    decided = side.decision_posterior(example_posterior(), packet, 1, peer)
    assert np.array_equal(decided.path.inside.weights, weights[best])
    x = query(decided, peer, 3)[None]
    # To the tolerance of the search: beyond the border the fall begins gently.
    low, high = (corner[best] for corner in region_boxes(4, 3))
    assert np.abs(x - np.clip(x, low, high)).max() < 1e-3
    # As good as the best of a thousand points of the region.
    X = sobol(1000, 3, peer.at(Purpose.CANDIDATES))
    home = X[region_of(X, 4) == best]
    assert decided.path.value(x)[0] >= 5.0 * (features(home) @ w).max()


def test_fts_de_choice_of_a_region_by_brute_force():
    """E51: the argmax over all candidates of φ(x)'ω of the region x lies in."""
    local, side = example_posterior(), fts_de(num_regions=4)
    for seed in range(5):
        peer = address_that(False, seed=seed)
        weights = np.random.default_rng(seed).standard_normal((4, M))
        X = sobol(1000, 3, peer.at(Purpose.CANDIDATES))
        Phi = shared_map(peer.streams, M, 3)(X)
        values = [phi @ weights[i] for phi, i in zip(Phi, region_of(X, 4), strict=True)]
        winner = region_of(X, 4)[int(np.argmax(values))]
        packet = RegionWeights(weights=weights)
        path = side.decision_posterior(local, packet, 1, peer).path
        assert np.array_equal(path.inside.weights, weights[winner])


def test_fts_de_follows_itself():
    """E47."""
    side, local = fts_de(), example_posterior()
    packet = RegionWeights(weights=np.ones((4, M)))
    assert side.decision_posterior(local, packet, 1, address_that(True)) is local
    assert side.decision_posterior(local, None, 1, address_that(False)) is local


def test_regional_path_is_the_function_inside_and_falls_outside():
    """E51: beyond the border, the value at the border less |ω| times distance²."""
    features = SharedMap(frequencies=np.array([[0.0], [np.pi]]), phases=np.zeros(2))
    inside = SharedPath(features=features, weights=np.array([3.0, -4.0]))
    path = RegionalPath(inside=inside, low=np.zeros(1), high=np.full(1, 0.5))
    X = np.array([[0.2], [0.5], [0.7]])
    border = inside.value(X[1:2])[0]
    expected = [inside.value(X[:1])[0], border, border - 5.0 * 0.2**2]
    assert path.value(X) == pytest.approx(expected, rel=1e-13)
    value, gradient = path.value_and_gradient(X)
    assert value == pytest.approx(expected, rel=1e-13)
    assert gradient[0] == pytest.approx(inside.value_and_gradient(X[:1])[1][0])
    assert gradient[2] == pytest.approx([-2.0 * 5.0 * 0.2], rel=1e-12)
    # It rises towards the border: without the fall, all beyond would tie with it.
    assert gradient[1, 0] > 0.0
    decided = CertainPosterior(path=path, dim=1)
    assert query(decided, address_that(False), 1) == pytest.approx([0.5], abs=1e-4)


def test_regional_path_has_the_gradient_of_its_values():
    path = RegionalPath(
        inside=SharedPath(
            features=SharedMap.draw(M, 3, stream()),
            weights=np.random.default_rng(1).standard_normal(M),
        ),
        low=np.array([0.5, 0.0, 0.0]),
        high=np.array([1.0, 0.5, 1.0]),
    )
    X = np.random.default_rng(2).random((20, 3))
    assert path.value_and_gradient(X)[1] == pytest.approx(
        differences(path.value, X), abs=2e-7
    )


def test_fts_de_refuses_packets_of_another_size():
    with pytest.raises(WireError, match="4 regions, got 2"):
        fts_de().check(RegionWeights(weights=np.ones((2, M))), 3)
    with pytest.raises(WireError, match=f"{M} feature weights, got 3"):
        fts_de().check(RegionWeights(weights=np.ones((4, 3))), 3)


# The settings.


def test_settings_choose_the_parts():
    box, search = Domain.box(3), SearchSettings()
    assert FtsSettings().build(box, MODEL, search) == FtsAgent(num_shared=500)
    few = FtsSettings(num_shared=7).build(box, MODEL, search)
    assert few == FtsAgent(num_shared=7)
    assert FtsAsRunSettings().build(box, MODEL, search) == FtsPointAgent(
        domain=box, num_candidates=1000
    )
    side = FtsDeSettings().build(box, MODEL, search)
    assert (side.num_shared, side.num_regions, side.num_candidates) == (500, 4, 1000)
    side = FtsDeSettings(num_shared=7, num_regions=2).build(box, MODEL, search)
    assert (side.num_shared, side.num_regions, side.domain) == (7, 2, box)


def test_four_regions_of_one_coordinate_are_refused():
    with pytest.raises(SettingsError, match="Set num_regions=2"):
        FtsDeSettings().build(Domain.box(1), MODEL, SearchSettings())
    assert FtsDeSettings(num_regions=2).build(Domain.box(1), MODEL, SearchSettings())


class Recorded:
    """How long the vectors were that were made, in units of √M."""

    def __init__(self, monkeypatch):
        self.lengths = []
        for kind in (FeatureWeights, RegionWeights):
            monkeypatch.setattr(kind, "__post_init__", self._wrap(kind.__post_init__))

    def _wrap(self, check):
        def post_init(message):
            check(message)
            lengths = np.linalg.norm(np.atleast_2d(message.weights), axis=1)
            self.lengths.extend(lengths / np.sqrt(message.num_features))

        return post_init


@pytest.mark.parametrize("noise", [0.1, 0.0])
@pytest.mark.parametrize("method", ["fts", "fts-de", "fts-de-as-run"])
def test_honest_vectors_stay_far_below_the_limit(method, noise, monkeypatch):
    """Four functions, smooth and rugged, in the dimension where they are longest."""
    recorded = Recorded(monkeypatch)
    for problem in ("ackley", "levy", "rosenbrock", "rastrigin"):
        simulate(
            problem, dim=2, level=3, method=method, noise=noise, num_agents=3,
            num_initial=12, num_rounds=1,
        )  # fmt: skip
    assert len(recorded.lengths) >= 12
    # √M is what a draw of the prior has; the limit is 45 000 √M at M = 500.
    assert max(recorded.lengths) < (2.0 if noise else 50.0)


def test_mean_weights_are_never_longer_than_the_bound():
    """|ν| <= |y| / (2σ), and close to it where the data contradict themselves."""
    features = SharedMap.draw(40, 2, np.random.default_rng(0))
    X = np.repeat(
        np.random.default_rng(1).random((5, 2)), 2, axis=0
    ) + 1e-3 * np.resize([0.0, 1.0], (10, 1))
    y = np.resize([1.0, -1.0], 10)
    for sigma in (1e-3, 1e-2, 0.1):
        mean = weight_mean(features(X), y, np.full(10, sigma**2))
        assert np.linalg.norm(mean) <= np.linalg.norm(y) / (2.0 * sigma)
