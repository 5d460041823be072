"""CGP's agent: what it shows, what it believes, and the posterior of the consensus."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from tests.agent.numerics import differences, make_gp
from tests.numbered import aggregate

from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.decision.ts import ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidence, UpperConfidenceBound
from guidefbo.agent.strategies.cgp.agent import LCB_COEFFICIENT, CgpAgent, believe
from guidefbo.agent.strategies.cgp.constrained import NUGGET, ConstrainedPosterior
from guidefbo.agent.strategies.cgp.mean import PosteriorMean
from guidefbo.agent.strategies.cgp.settings import CgpSettings
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.linalg import factorise
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.posterior import Fantasies
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.core.designs import sobol
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.core.space.parameters import Int
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.registry import find_method
from guidefbo.server.strategies.cgp.settings import CgpServerSettings
from guidefbo.testing import check_agent_side, check_posterior, example_posterior
from guidefbo.testing.codec import encode
from guidefbo.wire.cgp import MAX_DESIGNS, DesignPacket, DesignUpload
from guidefbo.wire.cost import Cost

DRAWS = 100_000
RULES = {
    "ucb": UpperConfidenceBound(beta=4.0),
    "nei": NoisyExpectedImprovement(num_fantasies=20),
    "ts": ThompsonSampling(num_features=64),
}


def agent(dim=3, **changes):
    side = CgpAgent(
        domain=Domain.box(dim),
        search=SearchSettings(),
        num_draws=DRAWS,
        max_models=20,
    )
    return replace(side, **changes)


def stream(purpose=Purpose.CONSTRAINT, seed=0):
    return Streams(seed).at(purpose, agent=0, t=1)


def address(t=1):
    return Streams(0).of(0, t)


def independent(means, std, level=0.0, max_models=20, num_draws=DRAWS, seed=0):
    """Believe values that are independent a posteriori."""
    means = np.array(means)
    return believe(
        means,
        std**2 * np.eye(len(means)),
        level,
        num_draws=num_draws,
        max_models=max_models,
        stream=stream(seed=seed),
    )


def make_constrained(p=2, S=5, d=3, seed=0):
    """Return a local GP, p designs, pseudo-values and the constrained posterior."""
    local, rng = make_gp(9, d, seed), np.random.default_rng(seed + 100)
    designs = rng.random((p, d))
    F = local.predict_mean(designs)[:, None] + 0.3 + rng.random((p, S))
    return local, designs, F, ConstrainedPosterior.condition(local, designs, F)


def separate_models(local, designs, F):
    """Return S Gaussian processes, each conditioned on its own pseudo-data."""
    X = np.vstack([local.X, designs])
    noise = np.concatenate([local.noise, np.full(len(designs), 1e-4)])
    return [
        GaussianProcess.condition(X, np.concatenate([local.y, f]), local.hyper, noise)
        for f in F.T
    ]


def surprising_packet(posterior, side, t=1):
    """Return designs that may well beat the best mean, far from the data."""
    best = side.best_mean(posterior, address(t))
    X = sobol(200, posterior.dim, stream(Purpose.CANDIDATES))
    mean, std = posterior.predict(X)
    chance = (mean - best) / std
    return DesignPacket(designs=X[np.argsort(-chance)[:2]])


# The upload


def test_best_mean_is_the_highest_posterior_mean():
    """E55: against a dense grid, in one dimension."""
    for seed in range(5):
        gp = make_gp(6, 1, seed)
        grid = np.linspace(0.0, 1.0, 20_001)[:, None]
        highest = gp.predict_mean(grid).max()
        best = agent(1).best_mean(gp, address())
        assert best >= highest - 1e-9
        assert best == pytest.approx(highest, abs=1e-6)


@pytest.mark.parametrize("stepped", [(), ((0, Int(low=0, high=3)),)])
def test_the_mean_is_a_confidence_bound_of_no_width(stepped):
    gp, domain = make_gp(8, 2), Domain(dim=2, stepped=stepped)
    posterior = SnappedPosterior(inner=gp, domain=domain) if stepped else gp
    mean = PosteriorMean(posterior=gp, domain=domain)
    bound = UpperConfidence(posterior=posterior, multiplier=0.0)
    X = sobol(30, 2, stream())
    np.testing.assert_array_equal(mean.value(X), bound.value(X))
    found, expected = mean.value_and_gradient(X), bound.value_and_gradient(X)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13, atol=1e-15)
    S, X = mean.by_sums(), domain.snap(X)
    np.testing.assert_allclose(S.finish(S.sums.at(X)), mean.value(X), rtol=1e-10)


def test_best_mean_is_no_less_than_at_any_observed_input():
    """E55: even where the search looks at next to nothing."""
    lazy = agent(5, search=SearchSettings(num_raw=1, num_starts=1, num_iterations=1))
    for seed in range(5):
        gp = make_gp(30, 5, seed)
        # One row or thirty at a time: the sums round differently.
        highest = gp.predict_mean(gp.X).max() - 1e-12
        assert lazy.best_mean(gp, address()) >= highest


def test_uploaded_design_has_the_highest_lower_bound():
    """E56: mean - 2 std, against a dense grid."""
    assert LCB_COEFFICIENT == 2.0
    for seed in range(5):
        gp = make_gp(6, 1, seed)
        grid = np.linspace(0.0, 1.0, 20_001)[:, None]
        mean, std = gp.predict(grid)
        message = agent(1).upload(gp, None, None, None, address())
        mean_there, std_there = gp.predict(message.design[None])
        assert message.lower_bound == pytest.approx((mean_there - 2 * std_there)[0])
        # All starts climb as one function, so none is polished to the last digit.
        assert message.lower_bound >= (mean - 2.0 * std).max() - 1e-5
        assert message.lower_bound < message.best_mean


def test_upload_by_hand():
    """E55, E56: one observation of 3 above a mean of 1; both are best at its input.

    With s = 1 and noise 0.25: mean 1 + 2 / 1.25 = 2.6 and variance 1 - 1 / 1.25 = 0.2.
    """
    hyper = Hyperparameters(
        lengthscales=np.ones(2), outputscale=1.0, mean=1.0, noise_variance=0.25
    )
    x = np.array([0.3, 0.8])
    gp = GaussianProcess.condition(x[None], np.array([3.0]), hyper)
    message = agent(2).upload(gp, None, None, None, address())
    assert message.design == pytest.approx(x, abs=1e-4)
    assert message.best_mean == pytest.approx(2.6)
    assert message.lower_bound == pytest.approx(2.6 - 2.0 * np.sqrt(0.2))


def test_upload_has_12_scalars_in_ten_dimensions():
    """E62."""
    message = agent(10).upload(make_gp(12, 10), None, None, None, address())
    assert Cost.of(encode(message)).scalars == 12


def test_decision_recovers_the_level_that_was_uploaded():
    """E55: the same posterior and address give the same number."""
    gp, side = make_gp(12, 3), agent()
    assert side.upload(gp, None, None, None, address()).best_mean == side.best_mean(
        gp, address()
    )


def test_steps_are_kept_by_the_search():
    """E55, E56: of a stepped coordinate only the middles of its cells are asked."""
    domain = Domain(dim=2, stepped=((0, Int(low=0, high=3)),))
    X = domain.sample(8, stream(Purpose.CANDIDATES))
    local = make_gp(8, 2)
    gp = GaussianProcess.condition(X, local.y, local.hyper)
    side = agent(2, domain=domain, search=SearchSettings(num_starts=4))
    message = side.upload(gp, None, None, None, address())
    assert np.array_equal(domain.snap(message.design[None])[0], message.design)
    cells = domain.snap(np.linspace(0.01, 0.99, 50)[:, None].repeat(2, axis=1))[:, 0]
    fine = np.linspace(0.0, 1.0, 2001)
    grid = np.array([[a, b] for a in np.unique(cells) for b in fine])
    assert message.best_mean == pytest.approx(gp.predict_mean(grid).max(), abs=1e-5)


# What is believed


def test_filter_toy():
    """E58: of means -0.2, -1.5, -6 and std 0.5 the first two can exceed 0 together.

    P = P(z > 0.4) P(z > 3) = 0.3446 * 0.00135 = 4.65e-4, 46.5 of 100000 draws.
    """
    consensus = independent([-0.2, -1.5, -6.0], 0.5)
    assert consensus.is_accepted.tolist() == [True, True, False]
    assert consensus.values.shape == (2, 20)
    assert (consensus.values > 0.0).all()


def test_only_impossible_beliefs_leave_no_constraint():
    """E58: six standard deviations away, all draws show one pattern."""
    assert independent([-6.0, -7.0], 1.0) is None
    assert independent([-6.0], 1.0) is None


def test_patterns_drawn_five_times_or_less_do_not_count():
    """E58: exactly as often as they are drawn."""
    z = stream().standard_normal((1, 1000))[0]
    highest = np.sort(z)[::-1]
    for count, is_believed in ((5, False), (6, True)):
        level = (highest[count - 1] + highest[count]) / 2.0
        consensus = independent([0.0], 1.0, level=level, num_draws=1000)
        assert (consensus is not None) == is_believed
    assert consensus.values.shape == (1, 6)


def test_of_two_beliefs_alike_the_commoner_is_kept():
    """E58: either value may exceed 0, never both; P = 0.42 against 0.21."""
    for means, accepted in (([-0.2, -0.8], 0), ([-0.8, -0.2], 1)):
        cov = np.array([[1.0, -0.9999], [-0.9999, 1.0]])
        consensus = believe(
            np.array(means), cov, 0.0, num_draws=DRAWS, max_models=20, stream=stream()
        )
        assert np.flatnonzero(consensus.is_accepted).tolist() == [accepted]


def test_more_designs_above_the_level_beat_a_commoner_pattern():
    """E58: both above in 2 %, one of them in 25 %."""
    consensus = independent([-1.1, -1.1], 1.0)
    assert consensus.is_accepted.all()


def test_pseudo_values_are_the_first_draws_that_show_the_pattern():
    """E58: and their number is at most what is asked for."""
    means = np.array([-0.2, -1.5, -6.0])
    F = 0.5 * stream().standard_normal((3, DRAWS)) + means[:, None]
    matching = F[:2, (F[0] > 0) & (F[1] > 0) & (F[2] <= 0)]
    for max_models in (1, 7, 20):
        consensus = independent(means, 0.5, max_models=max_models)
        assert consensus.values == pytest.approx(matching[:, :max_models], rel=1e-12)
    every = independent(means, 0.5, max_models=1000)
    assert every.values.shape == matching.shape


@settings(max_examples=40)
@given(
    st.integers(1, 3),
    st.floats(-3.0, 3.0),
    st.integers(0, 2**32 - 1),
)
def test_accepted_values_all_exceed_the_level(m, level, seed):
    """E58: for any joint law."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, m))
    consensus = believe(
        rng.standard_normal(m),
        A @ A.T + 1e-6 * np.eye(m),
        level,
        num_draws=2000,
        max_models=20,
        stream=stream(),
    )
    if consensus is not None:
        assert (consensus.values > level).all()
        assert 6 <= consensus.values.shape[1] <= 20
        assert len(consensus.values) == consensus.is_accepted.sum() > 0


# The posterior of the belief


@pytest.mark.parametrize(("p", "S"), [(1, 1), (1, 6), (2, 5), (3, 20), (3, 2)])
def test_moments_agree_with_separate_models(p, S):
    """E59: against S Gaussian processes, each solved on its own."""
    local, designs, F, posterior = make_constrained(p, S)
    X = np.random.default_rng(1).random((11, 3))
    models = separate_models(local, designs, F)
    means = np.array([model.predict_mean(X) for model in models])
    within = models[0].joint(X)[1]
    between = np.cov(means.T) if S > 1 else np.zeros_like(within)
    mean, cov = posterior.joint(X)
    assert mean == pytest.approx(means.mean(axis=0), rel=1e-9)
    assert cov == pytest.approx(within + between, rel=1e-8, abs=1e-10)
    mean, std = posterior.predict(X)
    assert mean == pytest.approx(means.mean(axis=0), rel=1e-9)
    spread = means.var(axis=0, ddof=1) if S > 1 else 0.0
    assert std**2 == pytest.approx(models[0].predict(X)[1] ** 2 + spread, rel=1e-8)


def test_uncertainty_is_no_less_than_that_of_one_model():
    """E59: V >= σ+², and more where the models disagree."""
    local, designs, F, posterior = make_constrained(2, 8)
    X = np.vstack([designs, np.random.default_rng(1).random((50, 3))])
    one = separate_models(local, designs, F)[0].predict(X)[1]
    several = posterior.predict(X)[1]
    assert (several >= one).all()
    # At a design the models disagree by what the nugget leaves of its pseudo-values.
    expected = np.sqrt(one[:2] ** 2 + F.var(axis=1, ddof=1))
    assert several[:2] == pytest.approx(expected, rel=1e-3)


def test_mean_at_an_accepted_design_is_its_pseudo_value():
    """E59, E60: short of it by the nugget times K^-1 (y - m), and by nothing else."""
    _, designs, F, posterior = make_constrained(3, 6)
    first = posterior.first()
    short = F[:, 0] - first.predict_mean(designs)
    assert short == pytest.approx(NUGGET * first.alpha[-3:], rel=1e-6)
    assert np.abs(short).max() < 0.02
    mean, _ = posterior.predict(designs)
    assert mean == pytest.approx(F.mean(axis=1), abs=0.02)


def test_moments_by_hand():
    """E59: one observation far away, one design with pseudo-values 1 and 3.

    With s = 1 at the design: K = 1.0001, the means are 1 / 1.0001 and 3 / 1.0001, and
    σ+² = 1 - 1 / 1.0001.
    """
    hyper = Hyperparameters(
        lengthscales=np.full(1, 0.01), outputscale=1.0, mean=0.0, noise_variance=0.01
    )
    local = GaussianProcess.condition(np.zeros((1, 1)), np.zeros(1), hyper)
    design = np.ones((1, 1))
    posterior = ConstrainedPosterior.condition(local, design, np.array([[1.0, 3.0]]))
    mean, std = posterior.predict(design)
    assert mean == pytest.approx([2.0 / 1.0001])
    variance = 1.0 - 1.0 / 1.0001 + 2.0 / 1.0001**2
    assert std == pytest.approx([np.sqrt(variance)])


def test_gradients():
    """E59."""
    posterior = make_constrained(2, 7)[-1]
    X = np.random.default_rng(2).random((6, 3))
    moments = posterior.moments(X)
    for i, gradient in ((0, moments.mean_gradient), (1, moments.std_gradient)):
        numeric = differences(lambda X, i=i: posterior.predict(X)[i], X)
        assert gradient == pytest.approx(numeric, abs=1e-7)


def test_path_is_one_of_the_first_model():
    """E60: it keeps that model's pseudo-values, within its own uncertainty there."""
    local, designs, F, posterior = make_constrained(2, 6)
    first = separate_models(local, designs, F)[0]
    rng = np.random.default_rng
    ours = posterior.sample_path(256, rng(3))
    theirs = first.sample_path(256, rng(3))
    X = rng(4).random((20, 3))
    assert ours.value(X) == pytest.approx(theirs.value(X), rel=1e-9)
    # Feature paths keep values to the noise, 0.01, and a feature error beside it.
    assert ours.value(designs) == pytest.approx(F[:, 0], abs=0.1)


def test_fantasies_are_draws_of_every_model():
    """E61: 4 draws of each of 3 models, against the models one by one."""
    local, designs, F, posterior = make_constrained(2, 3)
    n, m = len(local.X), 4
    fantasies = posterior.fantasise(m, stream(Purpose.RULE))
    models = separate_models(local, designs, F)
    z = ndtri(sobol(3 * m, n + 2, stream(Purpose.RULE)))
    X = np.random.default_rng(5).random((7, 3))
    moments = fantasies.moments(X)
    assert moments.means.shape == (7, 3 * m)
    noise = np.full(n + 2, 1e-4)
    for s, model in enumerate(models):
        mean, cov = model.joint(model.X)
        L = factorise(cov)
        for i in range(m):
            column = s * m + i
            values = mean + L @ z[column]
            assert fantasies.draws[:, column] == pytest.approx(values[:n], abs=1e-7)
            given = GaussianProcess.condition(model.X, values, local.hyper, noise)
            expected, std = given.predict(X)
            assert moments.means[:, column] == pytest.approx(expected, abs=1e-6)
            assert moments.std == pytest.approx(std, rel=1e-6)


def test_incumbents_are_the_best_of_the_observed_inputs_only():
    """E61: pseudo-values far above all else do not become incumbents."""
    local, designs, F, _ = make_constrained(2, 6)
    posterior = ConstrainedPosterior.condition(local, designs, F + 3.0)
    fantasies: Fantasies = posterior.fantasise(20, stream(Purpose.RULE))
    assert np.array_equal(fantasies.observed, local.X)
    assert fantasies.draws.shape == (len(local.X), 6 * 20)
    acquisition = RULES["nei"].acquisition(posterior, stream(Purpose.RULE))
    assert np.array_equal(acquisition.incumbents, fantasies.draws.max(axis=0))
    at_designs = acquisition.fantasies.moments(designs).means
    assert (at_designs.max(axis=0) > acquisition.incumbents + 0.5).all()


class Shared:
    """A constrained posterior whose models share the fantasies asked for."""

    def __init__(self, inner):
        self.inner, self.dim = inner, inner.dim
        self.predict, self.moments, self.joint = (
            inner.predict,
            inner.moments,
            inner.joint,
        )
        self.sample_path = inner.sample_path

    def fantasise(self, num_fantasies, stream):
        S = self.inner.pseudo_values.shape[1]
        return self.inner.fantasise(num_fantasies // S, stream)


@pytest.mark.parametrize(("p", "S"), [(1, 1), (2, 4), (3, 8)])
def test_contract_of_the_posterior(p, S):
    """E59, E60, E61: with their gradients."""
    check_posterior(Shared(make_constrained(p, S)[-1]))


# The strategy


def test_contract_of_the_agent():
    """With one model a fantasy is a fantasy; the next test looks at several."""
    side = agent(max_models=1)
    posterior = example_posterior(3, 0)
    packet = surprising_packet(posterior, side)
    constrained = side.decision_posterior(posterior, packet, 1, address())
    assert isinstance(constrained, ConstrainedPosterior)
    packets = [packet, DesignPacket(designs=np.empty((0, 3)))]
    misfits = [DesignPacket(designs=np.full((2, d), 0.5)) for d in (2, 4)]
    check_agent_side(side, packets=packets, misfits=misfits)


def test_accepted_pseudo_values_exceed_the_best_mean():
    """E58: and the constrained mean at the designs does, too."""
    side, posterior = agent(), example_posterior(3, 0)
    packet = surprising_packet(posterior, side)
    constrained = side.decision_posterior(posterior, packet, 1, address())
    assert isinstance(constrained, ConstrainedPosterior)
    best = side.best_mean(posterior, address())
    assert (constrained.pseudo_values > best).all()
    assert 6 <= constrained.pseudo_values.shape[1] <= 20
    accepted = constrained.average.X[len(posterior.X) :]
    assert (constrained.predict(accepted)[0] > best - 0.01).all()
    assert (posterior.predict(accepted)[0] < best).all()


def test_designs_the_data_speak_against_are_not_believed():
    """E58: an observed input far below the best cannot beat it."""
    gp = make_gp(15, 2, noise_variance=1e-4)
    worst = gp.X[np.argsort(gp.y)[:2]]
    packet = DesignPacket(designs=worst)
    assert agent(2).decision_posterior(gp, packet, 1, address()) is gp


def test_equal_designs_are_believed_as_one():
    """Two neighbours may show the same point; nothing becomes singular."""
    side, posterior = agent(), example_posterior(3, 0)
    x = surprising_packet(posterior, side).designs[0]
    packet = DesignPacket(designs=np.tile(x, (3, 1)))
    constrained = side.decision_posterior(posterior, packet, 1, address())
    assert len(constrained.pseudo_values) == 3
    mean, std = constrained.predict(x[None])
    assert mean == pytest.approx(constrained.pseudo_values.mean(), abs=0.01)
    assert np.isfinite(std).all()


def test_a_full_packet_is_served():
    side, posterior = agent(num_draws=2000), example_posterior(3, 0)
    X = sobol(MAX_DESIGNS, 3, stream(Purpose.CANDIDATES))
    side.decision_posterior(posterior, DesignPacket(designs=X), 1, address())


def test_wrong_dimension_is_refused():
    packet = DesignPacket(designs=np.full((1, 4), 0.5))
    with pytest.raises(WireError, match="dimension 3, got 4"):
        agent().check(packet, 3)


@pytest.mark.parametrize("name", RULES)
def test_groups_of_one_reproduce_the_plain_rule(name):
    """E57: without neighbours there is no design, and the query is the same bit."""
    side = CgpSettings().build(Domain.box(3), None, SearchSettings())
    server = CgpServerSettings(group_size=1).build()
    posteriors = {n: make_gp(10, 3, seed=n) for n in range(4)}
    uploads = {
        n: side.upload(gp, None, None, None, Streams(0).of(n, 1))
        for n, gp in posteriors.items()
    }
    packets = aggregate(server, uploads)
    for n, gp in posteriors.items():
        decided = side.decision_posterior(gp, packets[n], 1, Streams(0).of(n, 1))
        ours, plain = (
            maximise_acquisition(
                RULES[name].acquisition(posterior, stream(Purpose.RULE)),
                Domain.box(3),
                SearchSettings(),
                stream(Purpose.SEARCH),
            )
            for posterior in (decided, gp)
        )
        assert np.array_equal(ours, plain)


def test_no_design_passes_when_no_bound_exceeds_the_own_best():
    """E57: equal posteriors have equal levels, and a bound lies below the mean."""
    gp, side = make_gp(10, 3), agent()
    uploads = {
        n: side.upload(gp, None, None, None, Streams(0).of(n, 1)) for n in range(4)
    }
    packets = aggregate(CgpServerSettings().build(), uploads)
    assert all(not len(packet) for packet in packets.values())


def test_a_neighbour_who_knows_better_is_believed():
    """E57, E58, E59: from two posteriors to one that is best at the shown design."""
    side = agent(2)
    hyper = Hyperparameters(
        lengthscales=np.full(2, 0.3), outputscale=1.0, mean=0.0, noise_variance=0.01
    )
    peak = np.array([[0.8, 0.2]])
    poor = GaussianProcess.condition(np.array([[0.1, 0.9]]), np.zeros(1), hyper)
    rich = GaussianProcess.condition(peak, np.array([1.5]), hyper)
    uploads: dict[int, DesignUpload] = {
        n: side.upload(gp, None, None, None, Streams(0).of(n, 1))
        for n, gp in enumerate((poor, rich))
    }
    packets = aggregate(CgpServerSettings().build(), uploads)
    assert not len(packets[1])
    assert packets[0].designs == pytest.approx(peak, abs=1e-3)
    decided = side.decision_posterior(poor, packets[0], 1, Streams(0).of(0, 1))
    X = sobol(500, 2, stream(Purpose.CANDIDATES))
    mean, _ = decided.predict(X)
    nearest = np.argsort(np.linalg.norm(X - peak, axis=1))[:10]
    assert int(np.argmax(mean)) in nearest
    assert mean.max() > uploads[0].best_mean
    assert poor.predict(peak)[0][0] <= uploads[0].best_mean


def test_settings_reach_the_parts():
    given = {"num_raw": 7, "num_starts": 3, "num_iterations": 2, "num_draws": 50}
    given |= {"max_models": 9, "group_size": 5}
    method, model = find_method("cgp-ucb"), Model(noise_std=0.1, priors=Priors())
    side = method.policy(given, Domain.box(2), model).side
    assert side.search == SearchSettings(num_raw=7, num_starts=3, num_iterations=2)
    assert (side.num_draws, side.max_models) == (50, 9)
    assert method.server(given).group_size == 5
    search = SearchSettings(num_raw=2)
    usual = CgpSettings().build(Domain.box(2), None, search)
    assert (usual.num_draws, usual.max_models) == (100_000, 20)
    assert usual.search is search
    assert CgpServerSettings().build().group_size == 4
