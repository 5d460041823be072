"""What a shape agent decides on: its model fitted again, with its place in focus."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.agent.numerics import differences, make_gp
from tests.site.sites import SPACES
from tests.trends import CHOICES_ALONE, MODEL, NOTHING, agent, packet

from guidefbo import Bool, Float, Int, Space
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.place import Place
from guidefbo.agent.strategies.shape.agent import NARROWEST, STRENGTH, at_the_place
from guidefbo.agent.strategies.shape.models import MAX_POINTS, NONE
from guidefbo.agent.strategies.shape.settings import TrendSettings
from guidefbo.agent.surrogate.fit import Bounds
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Streams
from guidefbo.testing import check_agent_side, check_posterior
from guidefbo.wire.shape import LARGEST, SHARPEST, WIDEST

MIXED = SPACES["mixed"].domain
"""x, n, the three options of a drug, warm."""
NUMBERS, OPTIONS = [0, 1, 5], [2, 3, 4]
PLAIN = Space(x=Float(0, 1), n=Int(0, 20), warm=Bool()).domain
"""The same without the drug: there is a place to look at."""


def address(t=1):
    return Streams(0).of(0, t)


def on_mixed(n=12, **given):
    """Return a fitted process of a mixed space, and a side."""
    X = MIXED.sample(n, np.random.default_rng(0))
    y = np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 3] - (X[:, 1] - 0.4) ** 2
    return MODEL.fit(Dataset(X=X, y=y)).posterior, agent(MIXED, **given)


def on_numbers(n=12, **given):
    """Return a fitted process of a space without choices, and a side."""
    X = PLAIN.sample(n, np.random.default_rng(0))
    y = np.sin(3.0 * X[:, 0]) - (X[:, 1] - 0.4) ** 2 + 0.3 * X[:, 2]
    return MODEL.fit(Dataset(X=X, y=y)).posterior, agent(PLAIN, **given)


# The place that is looked at.


def test_places_are_blended_by_their_precisions():
    """E86, E88: number by number; the packet counts from the middle."""
    gp, side = on_mixed()
    insight = side.study(gp)
    place = side.aimed(insight, packet(MIXED, place=(0.2, 0.03))).told
    y, v = (part[NUMBERS] for part in insight.place)
    precision = 1.0 / v + 1.0 / 0.03
    assert place.center[NUMBERS] == pytest.approx((y / v + 0.7 / 0.03) / precision)
    assert place.variance[NUMBERS] == pytest.approx(1.0 / precision)


def test_options_have_no_place():
    """Whatever was received: they are as the own data have them, and vague."""
    gp, side = on_mixed()
    insight = side.study(gp)
    for sent in (NOTHING, packet(MIXED), packet(MIXED, place=(LARGEST, SHARPEST))):
        aimed = side.aimed(insight, sent)
        for place in (aimed.own, aimed.told):
            assert np.array_equal(place.center[OPTIONS], insight.place.center[OPTIONS])
            assert place.variance[OPTIONS].tolist() == [WIDEST] * 3


def test_a_place_stays_in_the_cube():
    gp, side = on_mixed()
    for end, told in ((1.0, LARGEST), (0.0, -LARGEST)):
        sent = packet(MIXED, place=(told, SHARPEST))
        place = side.aimed(side.study(gp), sent).told
        assert place.center[NUMBERS].tolist() == [end] * 3
        assert (place.variance[NUMBERS] <= SHARPEST).all()


@pytest.mark.parametrize("trust", ["evidence", "others", "own"])
def test_trust_says_whose_place_is_used(trust):
    """E88: the others' is averaged in but where nothing of theirs is used."""
    gp, side = on_mixed(trust=trust)
    insight = side.study(gp)
    alone = side.aimed(insight, NOTHING).told
    told = side.aimed(insight, packet(MIXED, place=(0.3, 1e-3))).told
    is_moved = not np.array_equal(told.center, alone.center)
    assert is_moved == (trust != "own")
    assert np.array_equal(told.variance, alone.variance) == (trust == "own")


def looked_at(decided):
    """Return the place where the uncertainty is widened."""
    return decided.scaling.field.centers[0]


@pytest.mark.parametrize("told", np.linspace(-0.45, 0.45, 7).round(3))
@pytest.mark.parametrize("variance", [1e-3, 0.03])
def test_the_told_place_is_looked_at_unless_the_own_one_is_better(told, variance):
    """E105: while the probability that the own one is better, here from draws of the
    posterior before it is widened, is at most the others' share, v / (v + s)."""
    gp, side = on_numbers(40, trust="others")
    insight = side.study(gp)
    aimed = side.aimed(insight, packet(PLAIN, place=(told, variance)))
    decided = side.decision_posterior(gp, aimed, 1, address())
    mean, cov = decided.local.joint(side.landmarks(aimed)[-2:])
    stream = np.random.default_rng(0)
    draws = stream.multivariate_normal(mean, cov, 200_000, method="eigh")
    own_is_better = (draws[:, 0] > draws[:, 1]).mean()
    v = insight.place.variance
    share = (v / (v + variance)).mean()
    # Else the draws could not tell.
    assert abs(own_is_better - share) > 0.005
    place = aimed.own if own_is_better > share else aimed.told
    assert looked_at(decided) == pytest.approx(place.center)


@pytest.mark.parametrize(
    ("num_results", "variance", "is_told"),
    [(4, 0.01, True), (40, 0.01, False), (6, 1e-4, True), (4, WIDEST, False)],
)
def test_how_sure_all_are_decides(num_results, variance, is_told):
    """E105: few own data leave it to others who are sure, many do not."""
    gp, side = on_numbers(num_results, trust="others")
    insight = side.study(gp)
    for told in (-0.45, -0.15, 0.3):
        aimed = side.aimed(insight, packet(PLAIN, place=(told, variance)))
        decided = side.decision_posterior(gp, aimed, 1, address())
        place = aimed.told if is_told else aimed.own
        assert np.array_equal(looked_at(decided), place.center)


def test_a_packet_whose_trend_is_not_believed_moves_no_place():
    """E105: whatever place it claims, and however surely; bit for bit."""
    gp, side = on_numbers()
    insight = side.study(gp)
    wrong = packet(PLAIN, LARGEST, SHARPEST, (0.3, SHARPEST))
    aimed, alone = side.aimed(insight, wrong), side.aimed(insight, NOTHING)
    assert aimed.weights[0] < 1e-6
    X = np.random.default_rng(1).random((5, 3))
    lied_to, lone = (
        side.decision_posterior(gp, each, 1, address()).predict(X)
        for each in (aimed, alone)
    )
    assert np.array_equal(lied_to, lone)


# The focus.


def test_focus_by_hand():
    """E102: the standard deviation times 1 + exp(-½ Σ (x - c)² / v), v at least 0.15².

    At the place itself it is doubled, and nowhere more.
    """
    local = make_gp(9, 2)
    place = Place(np.array([0.3, 0.8]), np.array([0.001, 0.09]))
    decided = at_the_place(local, place, local.X)
    X = np.array([[0.3, 0.8], [0.45, 0.8], [0.3, 0.5], [0.45, 0.5]])
    G = np.exp([0.0, -0.5, -0.5, -1.0])
    mean, std = local.predict(X)
    found_mean, found = decided.predict(X)
    assert np.array_equal(found_mean, mean)
    assert found == pytest.approx((1.0 + STRENGTH * G) * std, rel=1e-12)
    # 0.15 is the least standard deviation.
    assert pytest.approx(0.15) == NARROWEST
    check_posterior(decided)


def test_nothing_is_widened_where_it_is_known():
    """E102: at an observed input the uncertainty is what the data leave."""
    local = make_gp(9, 2)
    decided = at_the_place(local, Place(local.X[3], np.full(2, 0.02)), local.X)
    assert np.array_equal(decided.predict(local.X)[1], local.predict(local.X)[1])


@pytest.mark.parametrize("domain", [MIXED, CHOICES_ALONE], ids=["mixed", "choices"])
def test_there_is_no_focus_where_there_are_choices(domain):
    """E102: what is good of the numbers with one option need not be with another."""
    side, rng = agent(domain), np.random.default_rng(0)
    X = domain.sample(8, rng)
    gp = MODEL.fit(Dataset(X=X, y=X[:, 0] - X[:, 3])).posterior
    for sent in (NOTHING, packet(domain)):
        aimed = side.aimed(side.study(gp), sent)
        decided = side.decision_posterior(gp, aimed, 1, address())
        assert isinstance(decided, TrendPosterior)
    # The search starts at the place all the same.
    assert len(side.landmarks(aimed)) > len(aimed.candidates)


def test_without_a_focus_the_model_is_decided_on_as_it_is():
    gp, _ = on_numbers()
    focused, plain = (agent(PLAIN, focus=focus) for focus in ("place", "none"))
    aimed = plain.aimed(plain.study(gp), packet(PLAIN))
    X = np.random.default_rng(1).random((5, 3))
    decided = plain.decision_posterior(gp, aimed, 1, address())
    wide = focused.decision_posterior(gp, aimed, 1, address())
    assert isinstance(wide, InterventionalPosterior)
    assert np.array_equal(decided.predict(X), wide.local.predict(X))


# The second fit.


def log_posterior(candidate, theta, model=MODEL):
    """Return the log density of the values and of the hyperparameters, written out.

    Args:
        candidate: Whose trend and data.
        theta: Logarithms of the lengthscales and of the output scale.
        model: Priors and groups.
    """
    gp, prior = candidate.model.rest, candidate.model.prior
    natural, d = np.exp(theta), len(theta) - 1
    ell = natural[:d] if model.groups is None else natural[:d][model.groups]
    F = prior.basis(gp.X)
    K = matern52(squared_distances(gp.X, gp.X, ell), natural[d])
    K = K + np.diag(gp.noise) + F @ np.diag(prior.variances) @ F.T
    residual, one = gp.y - F @ prior.means, np.ones(len(gp.y))
    # The mean of the process has a flat prior: its likeliest value.
    mean = one @ np.linalg.solve(K, residual) / (one @ np.linalg.solve(K, one))
    residual = residual - mean
    height = -0.5 * (residual @ np.linalg.solve(K, residual))
    height -= 0.5 * (np.linalg.slogdet(K)[1] + len(K) * np.log(2.0 * np.pi))
    return float(height + model.priors.log_density(theta, natural, d)[0]), mean


def theta_of(hyper, model=MODEL):
    leads = slice(None) if model.groups is None else np.unique(model.groups, True)[1]
    return np.log([*hyper.lengthscales[leads], hyper.outputscale])


def candidates_of(gp, side, sent):
    return [c for c in side.aimed(side.study(gp), sent).candidates if c.name != NONE]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 3])
def test_second_fit_is_a_maximum(d, seed):
    """Against a search with differences of the density, written out, to convergence.

    Twelve iterations come within a hundredth of a unit of the logarithm.
    """
    gp, side = make_gp(20, d, seed), agent(Domain.box(d))
    for candidate in candidates_of(gp, side, packet(d)):
        start = theta_of(candidate.model.rest.hyper)
        box = [tuple(np.log(Bounds().lengthscale))] * d
        box.append(tuple(np.log(Bounds().outputscale)))
        best = minimize(
            lambda theta, c=candidate: -log_posterior(c, theta)[0],
            np.clip(start, *np.transpose(box)),
            bounds=box,
            method="L-BFGS-B",
        )
        hyper = candidate.refitted(MODEL).model.rest.hyper
        height, mean = log_posterior(candidate, theta_of(hyper))
        assert height > -best.fun - 0.01
        assert height > log_posterior(candidate, start)[0]
        assert hyper.mean == pytest.approx(mean, rel=1e-6, abs=1e-9)


def test_second_fit_leaves_noise_trend_and_data():
    noise = np.linspace(0.01, 0.05, 14)
    plain = make_gp(14, 2)
    gp = GaussianProcess.condition(plain.X, plain.y, plain.hyper, noise)
    side = agent(Domain.box(2))
    for candidate in candidates_of(gp, side, packet(2)):
        again = candidate.refitted(MODEL)
        assert again.model.rest.hyper.noise_variance == gp.hyper.noise_variance
        decided = again.on(gp)
        assert np.array_equal(decided.rest.noise, noise)
        assert np.array_equal(decided.y, gp.y)
        assert decided.prior is candidate.model.prior
        fitted = again.model.rest.hyper
        assert np.array_equal(decided.rest.hyper.lengthscales, fitted.lengthscales)
        assert decided.rest.hyper.outputscale == fitted.outputscale


def test_without_a_trend_nothing_is_fitted_again():
    gp, side = make_gp(14, 2), agent(Domain.box(2))
    none = side.study(gp).candidates[1]
    assert none.refitted(MODEL) is none


def test_second_fit_keeps_one_lengthscale_a_choice():
    model = replace(MODEL, groups=MIXED.groups)
    X = MIXED.sample(15, np.random.default_rng(0))
    y = np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 3]
    gp = model.fit(Dataset(X=X, y=y)).posterior
    side = agent(MIXED, model=model)
    for candidate in candidates_of(gp, side, packet(MIXED)):
        hyper = candidate.refitted(model).model.rest.hyper
        assert len(set(hyper.lengthscales[OPTIONS])) == 1
        assert len(set(hyper.lengthscales)) > 1
        start = theta_of(candidate.model.rest.hyper, model)
        found = log_posterior(candidate, theta_of(hyper, model), model)[0]
        assert found > log_posterior(candidate, start, model)[0]


def test_the_model_fitted_again_is_conditioned_anew():
    """Its mean at any point, against the densities' own formula."""
    gp, side = make_gp(14, 2), agent(Domain.box(2), focus="none")
    (candidate, _) = candidates_of(gp, side, packet(2))
    decided = candidate.refitted(MODEL).on(gp)
    hyper, prior = decided.rest.hyper, decided.prior
    X = np.random.default_rng(3).random((4, 2))

    def kernel(A, B):
        q = squared_distances(A, B, hyper.lengthscales)
        S = np.diag(prior.variances)
        return matern52(q, hyper.outputscale) + prior.basis(A) @ S @ prior.basis(B).T

    K = kernel(gp.X, gp.X) + np.diag(gp.noise)
    residual = gp.y - hyper.mean - prior.basis(gp.X) @ prior.means
    mean = hyper.mean + prior.basis(X) @ prior.means
    mean = mean + kernel(X, gp.X) @ np.linalg.solve(K, residual)
    assert decided.predict(X)[0] == pytest.approx(mean, rel=1e-8)
    variance = kernel(X, X) - kernel(X, gp.X) @ np.linalg.solve(K, kernel(gp.X, X))
    assert decided.predict(X)[1] ** 2 == pytest.approx(np.diagonal(variance), rel=1e-6)


def test_many_points_are_fitted_thinned_and_decided_on_all():
    gp, side = make_gp(MAX_POINTS + 20, 1), agent(Domain.box(1), focus="none")
    aimed = side.aimed(side.study(gp), packet(1))
    assert len(aimed.candidates[0].model.y) == MAX_POINTS
    assert len(side.decision_posterior(gp, aimed, 1, address()).y) == len(gp.y)


# The same alone.


@pytest.mark.parametrize("domain", [Domain.box(3), MIXED], ids=["box", "mixed"])
@pytest.mark.parametrize("choice", ["likeliest", "sampled"])
@pytest.mark.parametrize("focus", ["place", "none"])
def test_trend_is_shape_that_trusts_nobody(domain, choice, focus):
    """To the bit, whatever the others sent."""
    given = {"choice": choice, "focus": focus}
    alone = agent(domain, strategy=TrendSettings, **given)
    deaf = agent(domain, trust="own", **given)
    gp = make_gp(14, domain.dim)
    first = alone.aimed(alone.study(gp), alone.nothing)
    second = deaf.aimed(deaf.study(gp), packet(domain, LARGEST, SHARPEST))
    assert np.array_equal(alone.landmarks(first), deaf.landmarks(second))
    assert alone.judgement(first) == deaf.judgement(second)
    X = np.random.default_rng(0).random((6, domain.dim))
    for t in (1, 2, 3):
        decided = [
            side.decision_posterior(gp, aimed, t, address(t)).predict(X)
            for side, aimed in ((alone, first), (deaf, second))
        ]
        assert np.array_equal(*decided)


def test_trend_says_nothing():
    side, gp = agent(strategy=TrendSettings), make_gp(14, 3)
    data = Dataset(X=gp.X, y=gp.y)
    assert side.upload(gp, data, side.study(gp), None, address()) is None
    check_agent_side(side, packets=[packet(3), packet(2), NOTHING])


def test_alone_is_a_packet_that_says_nothing():
    gp = make_gp(14, 3)
    for side in (agent(), agent(strategy=TrendSettings)):
        assert len(side.nothing) == 0
        aimed = side.aimed(side.study(gp), side.nothing)
        assert [c.name for c in aimed.candidates] == ["own", "none"]
        X = np.random.default_rng(0).random((5, 3))
        first, second = (
            side.decision_posterior(gp, each, 1, address()).predict(X)
            for each in (None, aimed)
        )
        assert np.array_equal(first, second)


@pytest.mark.parametrize("domain", [PLAIN, MIXED], ids=["numbers", "mixed"])
def test_the_gradient_of_what_is_decided_on(domain):
    """Through trend, second fit and, of numbers, focus, against differences."""
    gp, side = on_mixed() if domain is MIXED else on_numbers()
    aimed = side.aimed(side.study(gp), packet(domain))
    decided = side.decision_posterior(gp, aimed, 1, address())
    X = np.random.default_rng(2).random((4, domain.dim))
    found = decided.moments(X)
    slope = differences(lambda Y: decided.predict(Y)[0], X)
    assert found.mean_gradient == pytest.approx(slope, rel=1e-5, abs=1e-6)
    slope = differences(lambda Y: decided.predict(Y)[1], X)
    assert found.std_gradient == pytest.approx(slope, rel=1e-5, abs=1e-6)
