"""FTS-DE as the paper's tables were run: its features, its search, its defects."""

import numpy as np
import pytest
from tests.agent.numerics import differences

from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.decision.ts import GridThompsonSampling, Peak
from guidefbo.agent.paths.shared import draw_weights, follows_itself
from guidefbo.agent.strategies.fts_de.adam import RATE, adam_ascent, positive_starts
from guidefbo.agent.strategies.fts_de.as_run import FtsDeAsRunAgent
from guidefbo.agent.strategies.fts_de.design import regional_design
from guidefbo.agent.strategies.fts_de.paired import PairedMap, paired_map
from guidefbo.agent.strategies.fts_de.settings import FtsDeAsRunSettings
from guidefbo.agent.surrogate.certain import CertainPosterior, is_certain
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.space.parameters import Choice, Int
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.registry import find_method
from guidefbo.testing import check_agent_side, example_posterior
from guidefbo.testing.codec import encode
from guidefbo.testing.examples import example_data
from guidefbo.wire.cost import Cost
from guidefbo.wire.fts import RegionWeights
from guidefbo.wire.regions import as_run, assign_regions, lexicographic, region_of

M = 40
MODEL = Model(noise_std=0.1, priors=Priors())


def stream(t=1):
    return Streams(0).at(Purpose.CANDIDATES, t=t)


def side(num_regions=4, dim=3, **search):
    return FtsDeAsRunAgent(
        num_shared=M,
        num_regions=num_regions,
        domain=Domain.box(dim),
        search=SearchSettings(**search),
    )


def peer(t=1):
    """Return the first agent that does not follow itself in round t."""
    addresses = (Streams(0).of(n, t) for n in range(100))
    return next(a for a in addresses if not follows_itself(t, a))


# The shared map.


def test_paired_features_by_hand():
    """E80: w = π at x = 1/3 gives (1/2, √3/2); ω = (1, 2) gives 1/2 + √3.

    The slope is π (2 * 1/2 - 1 * √3/2) = 0.42089.
    """
    features = PairedMap(frequencies=np.array([[np.pi]]))
    X, weights = np.array([[1.0 / 3.0]]), np.array([[1.0, 2.0]])
    assert features(X, 4.0)[0] == pytest.approx([1.0, np.sqrt(3.0)], rel=1e-14)
    value, gradient = features.value_and_gradient(X, weights)
    assert value == pytest.approx([0.5 + np.sqrt(3.0)], rel=1e-14)
    assert features.value(X, weights) == pytest.approx(value, rel=1e-14)
    assert gradient[0, 0] == pytest.approx(0.42089, abs=5e-6)


def test_two_frequencies_share_the_variance():
    """E80: (cos, cos, sin, sin) / √2, and 2 M features in all."""
    features = PairedMap(frequencies=np.array([[0.0], [np.pi / 2.0]]))
    expected = np.array([[1.0, 0.0, 0.0, 1.0]]) / np.sqrt(2.0)
    assert features(np.ones((1, 1))) == pytest.approx(expected, abs=1e-15)
    assert features.num_features == 4


def test_paired_features_have_the_variance_everywhere():
    """E80: cos² + sin² = 1 for every frequency."""
    X = np.random.default_rng(0).random((50, 3))
    Phi = PairedMap.draw(M, 3, stream())(X, 2.5)
    assert (Phi**2).sum(axis=1) == pytest.approx(np.full(50, 2.5), rel=1e-13)


def test_independent_frequencies_are_those_of_the_matern_kernel():
    """E80: mean cos(w'Δ) at |Δ| = 0.2, 0.5, 1 is 0.936, 0.694, 0.306."""
    features = PairedMap.draw(200_000, 3, stream())
    for length, kernel in ((0.2, 0.936), (0.5, 0.694), (1.0, 0.306)):
        step = np.full(3, length / np.sqrt(3.0))
        mean = np.cos(features.frequencies @ step).mean()
        # A cosine's std is below 0.75; and half a printed digit.
        assert mean == pytest.approx(kernel, abs=4 * 0.75 / np.sqrt(200_000) + 5e-4)


def test_every_row_has_weights_of_its_own():
    """E80: gradients against central differences; see `numerics` for their error."""
    features = PairedMap.draw(M, 3, stream())
    rng = np.random.default_rng(1)
    X, weights = rng.random((6, 3)), rng.standard_normal((6, 2 * M))
    value, gradient = features.value_and_gradient(X, weights)
    for n in range(6):
        row, own = X[n : n + 1], weights[n : n + 1]
        assert value[n] == pytest.approx(features(row)[0] @ own[0])
        slope = differences(lambda Z, own=own: features.value(Z, own), row)
        assert gradient[n] == pytest.approx(slope[0], abs=2e-7)


def test_all_agents_hold_the_same_map():
    first = paired_map(Streams(3), M, 2)
    again = paired_map(Streams(3).of(5, 7).streams, M, 2)
    assert np.array_equal(again.frequencies, first.frequencies)
    assert (paired_map(Streams(4), M, 2).frequencies != first.frequencies).all()


# The search.


def linear(slopes):
    """Return a function of constant slopes, for Adam to climb."""
    return lambda X: (X @ slopes, np.tile(slopes, (len(X), 1)))


def test_a_constant_slope_is_climbed_by_the_rate_whatever_its_size():
    """E81: m / (1 - β₁^k) = g and √(v / (1 - β₂^k)) = |g| in every step."""
    assert RATE == 0.01
    starts = np.array([[0.5, 0.5, 0.5], [0.9, 0.1, 0.2]])
    ends = adam_ascent(linear(np.array([300.0, -0.2, 0.0])), starts, 25)
    # Up by 25 * 0.01, cut at the sides of the cube; no slope, no move.
    expected = [[0.75, 0.25, 0.5], [1.0, 0.0, 0.2]]
    assert ends == pytest.approx(np.array(expected), abs=1e-7)
    assert (adam_ascent(linear(np.ones(3)), starts, 0) == starts).all()


def test_a_slope_that_turns_by_hand():
    """E81: gradients 1, then -1.

    m = 0.1 then -0.01, over 0.19: -0.0526; v = 0.001 then 0.001999, over 0.001999: 1.
    """
    gradients = iter([1.0, -1.0])
    ends = adam_ascent(
        lambda X: (X[:, 0], np.full_like(X, next(gradients))), np.full((1, 1), 0.5), 2
    )
    assert ends[0, 0] == pytest.approx(0.5 + 0.01 - 0.01 * 0.01 / 0.19, abs=1e-9)


def test_starts_do_not_hinder_each_other():
    """E81: a start ends where it would alone."""
    target = np.array([0.3, 0.8])

    def climbed(X):
        return -((X - target) ** 2).sum(axis=1), 2.0 * (target - X)

    starts = np.random.default_rng(0).random((7, 2))
    alone = [adam_ascent(climbed, start[None], 25)[0] for start in starts]
    assert (adam_ascent(climbed, starts, 25) == alone).all()


def test_without_a_positive_score_starts_are_random():
    """E82: the best of ten is among four starts in four of ten cases, like any."""
    scores = -np.arange(10.0)
    chosen = [positive_starts(scores, 4, stream(t)) for t in range(3000)]
    assert all(len(set(starts.tolist())) == 4 for starts in chosen)
    shares = np.bincount(np.concatenate(chosen), minlength=10) / 3000
    # Standard error √(0.4 * 0.6 / 3000) = 0.0089.
    assert shares == pytest.approx(np.full(10, 0.4), abs=4 * 0.0089)


def test_positive_scores_come_first_and_the_best_first_of_all():
    """E82: two positive scores of five, then any of the others."""
    scores = np.array([-1.0, 0.5, 0.0, 2.0, -3.0])
    chosen = np.array([positive_starts(scores, 3, stream(t)) for t in range(3000)])
    assert (chosen[:, :2] == [3, 1]).all()
    shares = np.bincount(chosen[:, 2], minlength=5) / 3000
    assert shares[[0, 2, 4]] == pytest.approx(np.full(3, 1 / 3), abs=4 * 0.0086)


def test_positive_scores_are_drawn_by_their_share_of_the_best():
    """E82: beside the best of 2, 1 is drawn before nearly 0 by √e : 1, or 0.6225."""
    scores = np.array([1.0, 2.0, 1e-12])
    chosen = np.array([positive_starts(scores, 2, stream(t)) for t in range(3000)])
    assert (chosen[:, 0] == 1).all()
    # Standard error 0.0089.
    assert (chosen[:, 1] == 0).mean() == pytest.approx(0.6225, abs=4 * 0.0089)


# The agent.


@pytest.mark.parametrize(("num_regions", "dim"), [(1, 1), (2, 1), (2, 3), (4, 3)])
def test_contract(num_regions, dim):
    weights = np.random.default_rng(0).standard_normal((num_regions, 2 * M))
    packet = RegionWeights(weights=weights)
    misfits = [(num_regions, M), (4 if num_regions == 2 else 2, 2 * M)]
    check_agent_side(
        side(num_regions, dim),
        packets=[packet],
        misfits=[RegionWeights(weights=np.ones(shape)) for shape in misfits],
        dim=dim,
    )


def test_values_are_sent_as_they_are():
    """E80: neither centred nor standardised, at the sender's own variance."""
    gp, address = example_posterior(), Streams(0).of(2, 3)
    sent = side().upload(gp, example_data(3, 0), None, None, address)
    Phi = paired_map(address.streams, M, 3)(gp.X, 0.7)
    assert gp.hyper.outputscale == 0.7
    expected = draw_weights(Phi, gp.y, gp.noise, address.at(Purpose.WEIGHTS))
    assert np.array_equal(sent.weights, expected)
    assert Cost.of(encode(sent)).scalars == 2 * M


def told_of(best, x):
    """Return a packet in which one region hopes for x and the others for nothing."""
    phi = paired_map(Streams(0), M, 3)(np.array([x]))[0]
    weights = np.tile(-phi, (4, 1))
    weights[best] = phi
    return RegionWeights(weights=weights)


def test_a_regions_candidate_may_lie_in_another_region():
    """E51: the upper quarter's function peaks 0.1 below the middle of the first axis.

    φ(x)'φ(a) is at most 1, and is 1 at x = a alone.
    """
    a = [0.4, 0.9, 0.6]
    x = side().best_candidate(told_of(0, a), 3, peer())
    assert x == pytest.approx(a, abs=0.03)
    assert region_of(x[None], 4, as_run)[0] == 2


@pytest.mark.parametrize("best", range(4))
def test_the_candidate_starts_in_its_own_region(best):
    """E51: within reach of 25 steps of 0.01 from the quarter of that number."""
    low = [[0.5, 0.5], [0.0, 0.0], [0.0, 0.5], [0.5, 0.0]][best]
    x = side().best_candidate(told_of(best, [0.5, 0.5, 0.5]), 3, peer())
    assert (x[:2] >= np.array(low) - 0.25 - 1e-9).all()
    assert (x[:2] <= np.array(low) + 0.75 + 1e-9).all()
    still = side(num_iterations=1).best_candidate(told_of(best, [0.5] * 3), 3, peer())
    inside = np.clip(still[:2], np.array(low) - 0.01, np.array(low) + 0.51)
    assert (still[:2] == inside).all()


def test_the_candidate_is_the_query():
    """The rule of that mode looks on a grid, but not for what it was told."""
    packet, address = told_of(0, [0.4, 0.9, 0.6]), peer()
    decided = side().decision_posterior(example_posterior(), packet, 1, address)
    expected = side().best_candidate(packet, 3, address)
    assert isinstance(decided, CertainPosterior)
    assert (decided.path.at == expected).all()
    rule = find_method("fts-de-as-run").policy({}, Domain.box(3), MODEL).rule
    assert rule == GridThompsonSampling(num_points=1000)
    acquisition = rule.acquisition(decided, address.at(Purpose.RULE))
    search, generator = SearchSettings(), address.at(Purpose.SEARCH)
    x = maximise_acquisition(acquisition, Domain.box(3), search, generator)
    assert x == pytest.approx(expected, abs=1e-4)


def test_a_certain_function_is_recognised_behind_rounding():
    certain = CertainPosterior(path=Peak(at=np.ones(2)), dim=2)
    domain = Domain(dim=2, stepped=((0, Int(1, 3)),))
    assert is_certain(certain)
    assert is_certain(SnappedPosterior(inner=certain, domain=domain))
    assert not is_certain(example_posterior())
    assert not is_certain(SnappedPosterior(inner=example_posterior(), domain=domain))


def test_steps_and_options_are_not_climbed():
    """A choice in front: no point has both of its first halves upper."""
    domain = Domain(dim=4, blocks=((0, Choice("a", "b")),), stepped=((2, Int(1, 4)),))
    agent = FtsDeAsRunAgent(
        num_shared=M, num_regions=4, domain=domain, search=SearchSettings()
    )
    weights = np.random.default_rng(0).standard_normal((4, 2 * M))
    x = agent.best_candidate(RegionWeights(weights=weights), 4, peer())
    assert (domain.snap(x[None])[0] == x).all()


def test_the_agent_follows_itself_as_often_as_the_method():
    """E47."""
    own = next(
        a for a in (Streams(0).of(n, 1) for n in range(9)) if follows_itself(1, a)
    )
    local, packet = example_posterior(), RegionWeights(weights=np.ones((4, 2 * M)))
    assert side().decision_posterior(local, packet, 1, own) is local
    assert side().decision_posterior(local, None, 1, peer()) is local


def test_packets_of_another_size_are_refused():
    few = RegionWeights(weights=np.ones((2, 2 * M)))
    short = RegionWeights(weights=np.ones((4, M)))
    with pytest.raises(WireError, match="4 regions, got 2"):
        side().check(few, 3)
    with pytest.raises(WireError, match=f"{2 * M} feature weights, got {M}"):
        side().check(short, 3)


def test_the_settings_are_those_of_the_tables():
    search = SearchSettings(num_raw=100, num_starts=20, num_iterations=25)
    assert SearchSettings() == search
    box = Domain.box(3)
    assert FtsDeAsRunSettings().build(box, MODEL, search) == FtsDeAsRunAgent(
        num_shared=500, num_regions=4, domain=box, search=search
    )
    other = SearchSettings(num_raw=3, num_starts=2, num_iterations=1)
    chosen = FtsDeAsRunSettings(num_shared=7, num_regions=2)
    assert chosen.build(box, MODEL, other) == FtsDeAsRunAgent(
        num_shared=7, num_regions=2, domain=box, search=other
    )
    with pytest.raises(SettingsError, match="Set num_regions=2"):
        FtsDeAsRunSettings().build(Domain.box(1), MODEL, search)


@pytest.mark.parametrize(
    ("name", "order"), [("fts-de-as-run", as_run), ("fts-de", lexicographic)]
)
def test_which_region_is_which_in_the_initial_design(name, order):
    """Eight agents, two to a region."""
    design = find_method(name).design({}, (8, 5, 3), Streams(0))
    expected = regional_design(8, 5, 3, 4, Streams(0), order)
    assert np.array_equal(design, expected)
    for n, own in enumerate(assign_regions(8, 4)):
        assert (region_of(design[n], 4, order) == own).all()
