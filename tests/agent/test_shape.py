"""The shape agent: its features, what it sends, and how far it believes the others."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.agent.numerics import differences, make_gp
from tests.site.sites import LIGHTER, SPACES, in_space, quietly, told
from tests.trends import CHOICES_ALONE, MODEL, NOTHING, agent, packet

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.decision.ts import GridThompsonSampling, ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.strategies.shape.agent import (
    CHOICES,
    likeliest,
    sampled,
)
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.agent.strategies.shape.models import (
    LEVEL,
    MAX_POINTS,
    SHARES,
    SIZES,
    VAGUE,
    WIDEST_PLACE,
    Insight,
    weights_of,
)
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.space.parameters import Choice, Float
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.registry import find_method
from guidefbo.testing import check_agent_side, check_codec, check_posterior
from guidefbo.testing.codec import encode
from guidefbo.wire.shape import LARGEST, PLACE, SHARPEST, WIDEST, ShapePacket

MIXED = SPACES["mixed"].domain
"""x, n, the three options of a drug, warm."""


def address(t=1, seed=0):
    return Streams(seed).of(0, t)


def coefficients(blocks, side):
    """Return the numbers of a message that belong to the trend."""
    return np.concatenate(blocks)[: side.features.size]


def upload(side, gp, held=None):
    data = Dataset(X=gp.X, y=gp.y)
    return side.upload(gp, data, side.study(gp), held, address())


def trending(n, beta, seed=0, noise_std=0.1):
    """Return a process that has seen a trend of these coefficients, and its side.

    Values have about the standard deviation |β|, which is 1 here.
    """
    side, rng = agent(Domain.box(len(beta) // 2)), np.random.default_rng(seed)
    X = rng.random((n, len(beta) // 2))
    y = side.features(X)[:, 1:] @ beta + noise_std * rng.standard_normal(n)
    fitted = MODEL.fit(Dataset(X=X, y=y))
    return fitted.posterior, side


# Features.


@pytest.mark.parametrize("d", [1, 4])
def test_features_of_numbers(d):
    """E98: the constant, slopes, bends."""
    features = ShapeFeatures.of(Domain.box(d))
    assert (features.sizes, features.size) == ((d, d), 2 * d)
    assert features.form == (("slopes", d), ("bends", d), ("place", d))
    X = np.random.default_rng(0).random((5, d))
    for x, row in zip(X, features(X), strict=True):
        slopes = [12**0.5 * (t - 0.5) for t in x]
        bends = [180**0.5 * ((t - 0.5) ** 2 - 1 / 12) for t in x]
        assert row == pytest.approx([1.0, *slopes, *bends], rel=1e-12)


def test_features_of_numbers_have_mean_nought_and_variance_one():
    """E98: over the cube, by a quadrature that is exact here; and uncorrelated."""
    nodes, w = np.polynomial.legendre.leggauss(5)
    Phi = ShapeFeatures.of(Domain.box(1))(0.5 + 0.5 * nodes[:, None])
    np.testing.assert_allclose(Phi.T @ (0.5 * w[:, None] * Phi), np.eye(3), atol=1e-14)


def test_features_of_choices():
    """E98: centred indicators; a yes or no is a number."""
    features = ShapeFeatures.of(MIXED)
    assert features.sizes == (3, 3, 3)
    assert features.form == (("slopes", 3), ("bends", 3), ("choice", 3), ("place", 3))
    X = np.array([[0.5, 0.5, 0.0, 1.0, 0.0, 0.75]])
    row = features(X)[0]
    assert row[1:4] == pytest.approx([0.0, 0.0, 12**0.5 / 4])
    assert row[7:] == pytest.approx([-1 / 3, 2 / 3, -1 / 3])


def test_features_of_choices_alone():
    choice = MIXED.blocks[0][1]
    features = ShapeFeatures.of(Domain(dim=6, blocks=((0, choice), (3, choice))))
    assert (features.sizes, features.size) == ((3, 3), 6)
    assert features.form == (("choice", 3), ("choice", 3))
    row = features(np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]]))[0]
    assert row == pytest.approx(np.array([3, 2, -1, -1, -1, -1, 2]) / 3)
    weights = np.array([0.0, -1.0, 0.7, 0.3, 0.1, 0.2, -0.3])
    best = features.settled(np.full(6, 0.5), weights)
    assert best.tolist() == [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("degree", [2, 3, 4])
@pytest.mark.parametrize("domain", [Domain.box(3), MIXED], ids=["box", "mixed"])
def test_features_as_terms_and_their_gradients(domain, degree):
    """Against the features themselves and their differences."""
    features, rng = ShapeFeatures.of(domain, degree), np.random.default_rng(1)
    X = rng.random((4, domain.dim))
    weights = rng.standard_normal(1 + features.size)
    level, slopes, curvatures, higher = features.terms(weights)
    U = X - 0.5
    as_terms = level + U @ slopes + (U**2 - 1 / 12) @ curvatures
    assert (higher is None) == (degree == 2)
    if higher is not None:
        as_terms += U**3 @ higher.cubics + (U**4 - 1 / 80) @ higher.quartics
    assert as_terms == pytest.approx(features(X) @ weights, rel=1e-12)
    C = rng.standard_normal((4, 1 + features.size))
    for c, x, pulled in zip(C, X, features.pull_back(C, X), strict=True):
        slope = differences(lambda Y, c=c: features(Y) @ c, x[None])[0]
        assert pulled == pytest.approx(slope, rel=1e-7, abs=1e-7)
        assert features.gradient(x) @ c == pytest.approx(pulled, rel=1e-12, abs=1e-12)


def test_numbers_are_left_where_they_are_when_choices_settle():
    features = ShapeFeatures.of(MIXED)
    weights = np.zeros(10)
    weights[-3:] = [0.2, 0.5, 0.4]
    x = np.array([0.1, 0.9, 1.0, 1.0, 1.0, 0.75])
    assert features.settled(x, weights).tolist() == [0.1, 0.9, 0.0, 1.0, 0.0, 0.75]


# The models.


def dense(gp, model):
    """Return mean and covariance of the observed values, written out."""
    F, prior = model.prior.basis(gp.X), model.prior
    q = squared_distances(gp.X, gp.X, gp.hyper.lengthscales)
    K = matern52(q, model.rest.hyper.outputscale) + np.diag(gp.noise)
    return gp.hyper.mean + F @ prior.means, K + F @ np.diag(prior.variances) @ F.T


def test_evidence_is_the_density_of_the_values():
    """E96: of all three models, against a multivariate normal's."""
    gp, side = make_gp(14, 3), agent()
    insight = side.study(gp)
    others = insight.told(side.features, packet(3))
    candidates = (others, *insight.candidates)
    logs = []
    for candidate in candidates:
        mean, cov = dense(gp, candidate.model)
        logs.append(multivariate_normal(mean, cov).logpdf(gp.y))
        assert candidate.model.evidence - 7 * np.log(2 * np.pi) == pytest.approx(
            logs[-1], rel=1e-9
        )
    expected = np.exp(logs) / np.exp(logs).sum()
    assert weights_of(candidates) == pytest.approx(expected, rel=1e-6)


def test_models_have_the_priors_they_should():
    """In standard deviations of the values; the constant is never told."""
    gp, side = make_gp(14, 3), agent()
    insight, s2 = side.study(gp), gp.y.var()
    own, none = insight.candidates
    assert insight.known.scale == pytest.approx(gp.y.std())
    vague = insight.vague.prior
    assert vague.variances == pytest.approx(s2 * np.array([LEVEL] + [VAGUE] * 6))
    assert min(abs(own.model.prior.variances[1] / s2 - size) for size in SIZES) < 1e-9
    assert none.model.prior.variances == pytest.approx([s2 * LEVEL] + [0.0] * 6)
    assert none.model.rest.hyper.outputscale == gp.hyper.outputscale
    for candidate in (own, insight.told(side.features, packet(3))):
        share = candidate.model.rest.hyper.outputscale / gp.hyper.outputscale
        assert min(abs(share - each) for each in SHARES) < 1e-12
    told_ = insight.told(side.features, packet(3)).model.prior
    assert told_.means == pytest.approx(gp.y.std() * np.array([0.0] + [0.3] * 6))
    assert told_.variances == pytest.approx(s2 * np.array([LEVEL] + [0.1] * 6))


def test_the_own_trend_is_the_likeliest_of_its_sizes():
    gp, side = trending(30, np.full(6, 1 / 6**0.5))
    insight = side.study(gp)
    own = insight.candidates[0].model
    assert own.evidence >= insight.vague.evidence
    assert own.evidence >= insight.candidates[1].model.evidence


@pytest.mark.parametrize("domain", [Domain.box(2), MIXED], ids=["box", "mixed"])
def test_contract_of_the_posteriors(domain):
    """Gradients by differences, fantasies, paths: all that a rule may ask."""
    gp, side = make_gp(12, domain.dim, noise_variance=0.02), agent(domain)
    insight = side.study(gp)
    others = insight.told(side.features, packet(domain))
    for candidate in (others, *insight.candidates):
        check_posterior(candidate.on(gp))
        check_posterior(candidate.refitted(MODEL).on(gp))


RULES = {
    "ucb": UpperConfidenceBound(beta=4.0),
    "nei": NoisyExpectedImprovement(num_fantasies=16),
    "ei": ExpectedImprovement(),
    "ts": ThompsonSampling(num_features=64),
    "ts-grid": GridThompsonSampling(num_points=64),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("space", ["box", "mixed", "cut", "tiny"])
def test_every_rule_decides_on_it(name, space):
    """On a box, among steps and options, under constraints, among options alone."""
    domain = SPACES[space].domain
    side = agent(domain)
    X = domain.sample(10, np.random.default_rng(0))
    gp = MODEL.fit(Dataset(X=X, y=np.sin(3.0 * X.sum(axis=1)))).posterior
    received = side.aimed(side.study(gp), packet(domain))
    posterior = side.decision_posterior(gp, received, 1, address())
    if domain.is_discrete:
        posterior = SnappedPosterior(inner=posterior, domain=domain)
    acquisition = RULES[name].acquisition(posterior, Streams(1).at(Purpose.RULE))
    search = SearchSettings(num_raw=16, num_starts=3, num_iterations=4)
    near = domain.admit(side.landmarks(received))
    x = maximise_acquisition(
        acquisition, domain, search, Streams(1).at(Purpose.SEARCH), near=near
    )
    assert np.array_equal(domain.snap(x[None])[0], x)
    best = acquisition.value(domain.sample(200, np.random.default_rng(2)))
    assert acquisition.value(x[None])[0] >= np.quantile(best, 0.9) - 1e-9


def test_few_points_compare_the_models_and_all_decide():
    n = MAX_POINTS + 40
    gp, side = make_gp(n, 2), agent(Domain.box(2))
    insight = side.study(gp)
    assert len(insight.vague.y) == MAX_POINTS
    decided = side.decision_posterior(gp, side.aimed(insight, NOTHING), 1, address())
    assert len(decided.local.y) == n


# What is sent.


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("domain", [Domain.box(3), MIXED], ids=["box", "mixed"])
def test_upload_is_what_the_data_add_to_the_prior(domain, n):
    """E97: Bayesian linear regression, posterior precision less the prior's.

    Fewer observations than coefficients, and more. Of a choice the coefficients are
    counted from their mean, which no data can tell.
    """
    side, gp = agent(domain), make_gp(n, domain.dim)
    gp = GaussianProcess.condition(domain.snap(gp.X), gp.y, gp.hyper)
    message = upload(side, gp)
    assert message.form == side.features.form
    scale = gp.y.std()
    F = side.features(gp.X)
    q = squared_distances(gp.X, gp.X, gp.hyper.lengthscales)
    rest = side.study(gp).vague.rest.hyper.outputscale
    K = (matern52(q, rest) + np.diag(gp.noise)) / scale**2
    y = (gp.y - gp.hyper.mean) / scale
    S = np.array([LEVEL] + [VAGUE] * side.features.size)
    cov = np.linalg.inv(np.diag(1.0 / S) + F.T @ np.linalg.solve(K, F))
    counted = np.eye(len(S))
    first = len(S) - sum(side.features.counts)
    for k in side.features.counts:
        counted[first : first + k, first : first + k] -= 1.0 / k
        first += k
    b = (counted @ cov @ F.T @ np.linalg.solve(K, y))[1:]
    V = np.diagonal(counted @ cov @ counted.T)[1:]
    precision = 1.0 / V - 1.0 / np.diagonal(counted @ np.diag(S) @ counted.T)[1:]
    variances = np.clip(1.0 / precision, SHARPEST, WIDEST)
    known = precision > 2.0 / WIDEST
    assert known.sum() > 2
    assert coefficients(message.variances, side)[known] == pytest.approx(
        variances[known], rel=1e-6
    )
    means = np.clip(b / (V * precision), -LARGEST, LARGEST)
    assert coefficients(message.means, side)[known] == pytest.approx(
        means[known], rel=1e-5, abs=1e-6
    )


@pytest.mark.parametrize("options", [2, 3, 5])
def test_many_data_tell_how_good_options_are(options):
    """E97: in their true size, and not more surely than the results allow."""
    domain = Space(x=Float(0, 1), c=Choice(*range(options))).domain
    side, rng = agent(domain), Streams(0).at(Purpose.NOISE, t=options)
    misses = []
    for _ in range(20):
        chosen = rng.permutation(np.arange(20 * options) % options)
        X = np.column_stack([rng.random(len(chosen)), np.eye(options)[chosen]])
        worth = rng.standard_normal(options)
        y = worth[chosen] + 0.3 * rng.standard_normal(len(chosen))
        hyper = Hyperparameters(
            mean=float(y.mean()),
            lengthscales=np.ones(domain.dim),
            outputscale=0.01,
            noise_variance=0.09,
        )
        gp = GaussianProcess.condition(X, y, hyper)
        message = upload(side, gp)
        true = (worth - worth.mean()) / y.std()
        error = np.sqrt(message.variances[2])
        assert (error < 0.4).all()
        misses.append((message.means[2] - true) / error)
    # Twice the effect, as it was told once, would be off by many times the error.
    assert 0.5 < np.sqrt(np.mean(np.square(misses))) < 1.6


def test_what_is_told_of_options_is_believed_in_its_size():
    """A variance told is that of a coefficient counted from the mean of its choice."""
    domain = Space(x=Float(0, 1), c=Choice("a", "b")).domain
    side = agent(domain)
    gp = make_gp(5, domain.dim)
    insight = side.study(gp)
    packet = ShapePacket(
        kinds=("slopes", "bends", "choice", "place"),
        means=(np.zeros(1), np.zeros(1), np.array([1.5, -1.5]), np.zeros(1)),
        variances=(np.ones(1), np.ones(1), np.full(2, 0.04), np.full(1, 0.08)),
    )
    prior = insight.told(side.features, packet).model.prior
    counted = np.array([[0.5, -0.5], [-0.5, 0.5]])
    cov = counted @ np.diag(prior.variances[-2:]) @ counted.T
    scale = gp.y.std()
    assert np.diagonal(cov) == pytest.approx(np.full(2, 0.04 * scale**2))
    assert prior.means[-2:] == pytest.approx(scale * np.array([1.5, -1.5]))


def test_upload_finds_the_coefficients():
    """E97: within the errors that it claims."""
    beta = np.array([0.6, -0.4, 0.2, -0.5, -0.3, 0.3])
    gp, side = trending(60, beta / np.linalg.norm(beta))
    message = upload(side, gp)
    # In standard deviations of the values, of which 60 are at hand.
    scale = gp.y.std() * np.linalg.norm(beta)
    found = coefficients(message.means, side) * scale
    error = np.sqrt(coefficients(message.variances, side))
    assert (np.abs(found - beta) < 4.0 * error + 0.05).all()
    assert (error < 0.3).all()


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize(
    "values",
    [
        [0.7],
        [0.3, 0.3, 0.3],
        [0.0, 0.0],
        [0.0, 1e-300, 0.0],
        [1e9, -1e9, 0.0, 5.0],
        [1e8, 1e8 + 1e-7, 1e8],
    ],
    ids=str,
)
def test_little_data_give_a_message_and_a_decision(values, d):
    """One value, equal values, values of absurd size, one input twice."""
    y = np.array(values)
    X = np.random.default_rng(0).random((len(y), d))
    X[1:2] = X[:1]
    gp, side = MODEL.fit(Dataset(X=X, y=y)).posterior, agent(Domain.box(d))
    check_codec(upload(side, gp))
    lie = packet(d, LARGEST, SHARPEST, (LARGEST, SHARPEST))
    for received in (NOTHING, packet(d), lie):
        aimed = side.aimed(side.study(gp), received)
        assert aimed.weights.sum() == pytest.approx(1.0)
        assert np.isfinite(side.landmarks(aimed)).all()
        decided = side.decision_posterior(gp, aimed, 1, address())
        mean, std = decided.predict(X)
        assert np.isfinite(mean).all()
        assert (std > 0.0).all()


@pytest.mark.parametrize("values", [[0.1] * 3, [0.0, 1e-155, 0.0]], ids=str)
def test_values_without_a_spread_have_the_unit_one(values):
    """As a process has them whose values nobody standardised."""
    gp, side = make_gp(3, 2), agent(Domain.box(2))
    gp = GaussianProcess.condition(gp.X, np.array(values), gp.hyper)
    assert side.study(gp).known.scale == 1.0
    check_codec(upload(side, gp))


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_of_the_values_do_not_matter(factor):
    """The same message and the same weights, hyperparameters in the same units.

    But for the place: the search for it ends at a slope of 1e-5, in any unit.
    """
    gp, side = make_gp(20, 3), agent()
    hyper = replace(
        gp.hyper,
        outputscale=factor**2 * gp.hyper.outputscale,
        mean=factor * gp.hyper.mean,
        noise_variance=factor**2 * gp.hyper.noise_variance,
    )
    other = GaussianProcess.condition(gp.X, factor * gp.y, hyper)
    first, second = upload(side, gp), upload(side, other)
    for name in ("means", "variances"):
        found, expected = (getattr(each, name) for each in (second, first))
        np.testing.assert_allclose(
            coefficients(found, side), coefficients(expected, side), rtol=1e-6
        )
        if factor > 1.0:
            np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-2)
    weights = [side.aimed(side.study(each), packet(3)).weights for each in (gp, other)]
    np.testing.assert_allclose(*weights, rtol=1e-6)


@pytest.mark.parametrize("n", [8, 200])
def test_exact_data_claim_no_more_than_the_sharpest(n):
    """Posterior variances below rounding, some of them negative by it."""
    beta = np.array([0.8, -0.6])
    side = agent(Domain.box(1))
    X = np.linspace(0.0, 1.0, n)[:, None]
    y = side.features(X)[:, 1:] @ beta
    hyper = replace(
        make_gp(3, 1).hyper, mean=0.0, outputscale=1e-13, noise_variance=1e-15
    )
    gp = GaussianProcess.condition(X, y, hyper)
    assert np.abs(side.study(gp).vague.weight_variances[1:]).max() < 1e-11
    message = upload(side, gp)
    assert coefficients(message.variances, side).tolist() == [SHARPEST] * 2
    assert coefficients(message.means, side) * y.std() == pytest.approx(beta, rel=1e-3)


def test_upload_ignores_what_was_received():
    gp, side = make_gp(20, 3), agent()
    lie = packet(3, LARGEST, SHARPEST, (-LARGEST, SHARPEST))
    messages = [upload(side, gp, held) for held in (None, packet(3), lie)]
    assert len({encode(message) for message in messages}) == 1


def test_upload_has_the_own_place():
    """Of the numbers, counted from the middle, with the variance of each."""
    gp, side = make_gp(20, MIXED.dim), agent(MIXED)
    message, place = upload(side, gp), side.study(gp).place
    numbers = [0, 1, 5]
    assert message.kinds[-1] == PLACE
    assert message.means[-1] + 0.5 == pytest.approx(place.center[numbers], rel=1e-12)
    assert message.variances[-1] == pytest.approx(place.variance[numbers], rel=1e-12)
    assert ((place.variance >= SHARPEST) & (place.variance <= WIDEST_PLACE)).all()


def test_upload_of_choices_alone_has_no_place():
    side = agent(CHOICES_ALONE)
    X = CHOICES_ALONE.sample(6, np.random.default_rng(0))
    gp = MODEL.fit(Dataset(X=X, y=X[:, 0] - X[:, 4])).posterior
    message = upload(side, gp)
    assert message.form == (("choice", 3), ("choice", 3))
    check_codec(message)


@pytest.mark.parametrize("seed", range(3))
def test_place_of_a_bowl(seed):
    """Where it is highest, with a small variance."""
    top, rng = np.array([0.3, 0.6, 0.45]), np.random.default_rng(seed)
    X = rng.random((40, 3))
    gp = MODEL.fit(Dataset(X=X, y=-8.0 * ((X - top) ** 2).sum(axis=1))).posterior
    center, variance = agent().study(gp).place
    assert center == pytest.approx(top, abs=0.03)
    assert (variance < 0.05**2).all()


# What is made of the answer.


BETA = np.array([0.5, -0.3, 0.4, -0.3, 0.2, -0.4, -0.2, 0.3, 0.2, -0.2])


@pytest.mark.parametrize("seed", range(3))
def test_the_others_are_believed_where_they_are_right(seed):
    """E96: the true coefficients, the same with reversed signs, and nonsense.

    Twelve observations cannot tell ten coefficients by themselves.
    """
    gp, side = trending(12, BETA / np.linalg.norm(BETA), seed)
    insight = side.study(gp)
    right = BETA / np.linalg.norm(BETA) / gp.y.std()
    rng = np.random.default_rng(seed)
    nonsense = rng.choice([-1.0, 1.0], 10) * 3.0
    weights = {
        name: side.aimed(insight, packet(5, told_, 0.01)).weights[0]
        for name, told_ in (
            ("right", right),
            ("reversed", -right),
            ("nonsense", nonsense),
        )
    }
    assert weights["right"] > 0.9
    assert weights["reversed"] < 0.01
    assert weights["nonsense"] < 1e-6


@pytest.mark.parametrize("focus", ["place", "none"])
def test_a_trend_that_is_not_believed_changes_nothing(focus):
    """E96, E105: mean and std are those of the own model in its own focus."""
    gp, _ = trending(12, BETA / np.linalg.norm(BETA))
    side = agent(Domain.box(5), focus=focus)
    insight = side.study(gp)
    hostile = packet(5, -np.sign(BETA) * LARGEST, SHARPEST, (LARGEST, SHARPEST))
    alone, lied_to = (
        side.decision_posterior(gp, side.aimed(insight, sent), 1, address())
        for sent in (NOTHING, hostile)
    )
    X = np.vstack([np.random.default_rng(0).random((5, 5)), np.ones(5)])
    assert np.array_equal(alone.predict(X), lied_to.predict(X))


def test_trust_says_which_models_there_are():
    gp = make_gp(14, 3)
    names = {
        trust: [
            [c.name for c in side.aimed(side.study(gp), sent).candidates]
            for sent in (packet(3), NOTHING)
        ]
        for trust in ("evidence", "others", "own")
        for side in (agent(trust=trust),)
    }
    alone = ["own", "none"]
    assert names == {
        "evidence": [["others", *alone], alone],
        "others": [["others"], alone],
        "own": [alone, alone],
    }


def test_a_lone_site_decides_by_the_evidence_of_its_own():
    """Without a packet, and with one that says nothing."""
    gp, side = trending(25, BETA[:6] / np.linalg.norm(BETA[:6]))
    X = np.random.default_rng(0).random((5, 3))
    first, second = (
        side.decision_posterior(gp, sent, 1, address())
        for sent in (None, side.aimed(side.study(gp), NOTHING))
    )
    assert np.array_equal(first.predict(X), second.predict(X))
    insight = side.study(gp)
    best = max(insight.candidates, key=lambda c: c.model.evidence)
    model = best.refitted(MODEL).on(gp)
    assert np.array_equal(first.local.predict(X), model.predict(X))


def test_imagined_values_are_decided_on_too():
    """The model is that of the observed ones, conditioned on what is imagined."""
    gp, side = make_gp(14, 2), agent(Domain.box(2))
    aimed = side.aimed(side.study(gp), packet(2))
    more = GaussianProcess.condition(
        np.vstack([gp.X, [[0.5, 0.5]]]),
        np.append(gp.y, 0.2),
        gp.hyper,
        np.append(gp.noise, 1e-6),
    )
    decided = side.decision_posterior(more, aimed, 1, address())
    best = aimed.candidates[int(np.argmax(aimed.weights))]
    assert decided.predict(more.X[-1:])[0] == pytest.approx(0.2, abs=1e-3)
    assert decided.local.prior is best.model.prior
    again = best.refitted(MODEL).model.rest.hyper
    assert np.array_equal(decided.local.rest.hyper.lengthscales, again.lengthscales)
    assert decided.local.rest.hyper.outputscale == again.outputscale
    assert len(decided.local.y) == 15


def test_choosing():
    weights = np.array([0.2, 0.5, 0.3])
    assert likeliest(weights, address().at("model")) == 1
    drawn = [sampled(weights, address(t).at("model")) for t in range(1, 1001)]
    shares = np.bincount(drawn, minlength=3) / 1000
    # Four standard errors of a share of a half.
    assert shares == pytest.approx(weights, abs=4 * 0.5 / 1000**0.5)
    assert agent(choice="sampled").choose is CHOICES["sampled"]
    assert agent().choose is likeliest


def test_landmarks_are_summits_of_the_trends_and_the_places():
    """Every choice at the option of highest coefficient."""
    side = agent(MIXED, trust="others")
    X = MIXED.sample(9, np.random.default_rng(0))
    gp = MODEL.fit(Dataset(X=X, y=X[:, 0])).posterior
    means = np.zeros(9)
    means[:3], means[6:] = [0.5, -0.5, 0.1], [0.4, 0.5, -0.9]
    sent = packet(MIXED, means, SHARPEST)
    aimed = side.aimed(side.study(gp), sent)
    summit, *at_places = side.landmarks(aimed)
    assert summit[1] == 0.0
    for x, place in zip(at_places, (aimed.own, aimed.told), strict=True):
        assert summit[2:5].tolist() == x[2:5].tolist() == [0.0, 1.0, 0.0]
        assert x[[0, 1, 5]].tolist() == place.center[[0, 1, 5]].tolist()


def test_options_of_the_place_are_those_of_the_likeliest_model():
    side = agent(MIXED)
    X = MIXED.sample(9, np.random.default_rng(0))
    gp = MODEL.fit(Dataset(X=X, y=X[:, 3] - X[:, 2])).posterior
    aimed = side.aimed(side.study(gp), packet(MIXED))
    for best in range(3):
        weights = np.roll([0.8, 0.1, 0.1], best)
        landmarks = side.landmarks(replace(aimed, weights=weights))
        for at_place in landmarks[3:]:
            assert at_place[2:5].tolist() == landmarks[best][2:5].tolist()


@pytest.mark.parametrize("trust", ["evidence", "others", "own"])
def test_contract(trust):
    packets = [packet(3), NOTHING]
    misfits = [packet(2), packet(4), packet(MIXED), packet(CHOICES_ALONE)]
    check_agent_side(agent(trust=trust), packets=packets, misfits=misfits)


def test_packets_of_another_space_are_refused():
    words = r"the blocks .*'place', 3.*, got .*'place', 2.* same search space"
    with pytest.raises(WireError, match=words):
        agent().check(packet(2), 3)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("num_results", [1, 5])
def test_every_space(name, num_results):
    """Choices, steps, constraints; one result and several; nobody else there."""
    site = told(name, num_results, method="shape-ucb", settings=LIGHTER)
    message = site.upload().body
    check_codec(message)
    assert message.form == ShapeFeatures.of(site.space.domain).form
    with quietly():
        # The first is still running when the second is asked for.
        trials = site.ask(2)
    assert all(in_space(site.space, trial.values) for trial in trials)


def test_settings_that_are_refused():
    with pytest.raises(SettingsError, match="trust must be one of evidence, others"):
        find_method("shape-ucb").check({"trust": "me"})
    with pytest.raises(SettingsError, match="choice must be one of likeliest, sampled"):
        agent(choice="best")
    with pytest.raises(SettingsError, match="degree must"):
        agent(degree=5)
    with pytest.raises(SettingsError, match="focus must be one of place, none"):
        agent(focus="there")


def test_insight_is_a_function_of_the_posterior():
    gp = make_gp(9, 2)
    features, domain = ShapeFeatures.of(Domain.box(2)), Domain.box(2)
    first, second = (Insight.of(each, features, domain) for each in (gp, replace(gp)))
    assert np.array_equal(first.vague.weights, second.vague.weights)
    assert np.array_equal(first.place, second.place)
