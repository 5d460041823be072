"""Places that a packet names are starts of the search for the next query."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.agent.numerics import make_data
from tests.site.sites import LIGHT, LIGHTER, SPACES, in_space, packet, quietly, told

from guidefbo import Float, Int, Space
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.search import maximise_acquisition
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.missing import Missing
from guidefbo.agent.policy import best_points
from guidefbo.agent.side import Alone, Pointing, Starting
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.model import Fitted, Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.agent.units import Units
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.registry import find_method, method_names
from guidefbo.wire.consensus import ConsensusPacket

MODEL = Model(noise_std=0.1, priors=Priors())


@dataclass(frozen=True)
class Mute:
    """A strategy that does all that another does, but points nowhere."""

    inner: Any

    def upload(self, posterior, data, insight, held, address):
        return self.inner.upload(posterior, data, insight, held, address)

    def decision_posterior(self, posterior, packet, t, address):
        return self.inner.decision_posterior(posterior, packet, t, address)


def decide(policy, fitted, told, address, missing=None):
    """Return the query of the first round, with what the strategy makes of the fit."""
    aimed = policy.aim(lambda: policy.study(fitted), told)
    return policy.decide(fitted, aimed, 1, address, missing)


def policy_of(domain, method="consensus-ucb", **settings):
    # Where the others point, as narrowly as they say.
    given = {"aim": "others", "min_spread": 0.0, **settings}
    return find_method(method).policy(given, domain, MODEL)


def place(center, std=0.2):
    """Return what the others agree on."""
    center = np.asarray(center, dtype=float)[None]
    return ConsensusPacket(
        components=Components(
            weights=np.ones(1), centers=center, variances=np.full(center.shape, std**2)
        )
    )


def fitted_on(X, y, ell=0.7):
    """Return a posterior that needs no fit, and its data."""
    hyper = Hyperparameters(
        lengthscales=np.full(X.shape[1], ell),
        outputscale=1.0,
        mean=0.0,
        noise_variance=0.01,
    )
    gp = GaussianProcess.condition(X, y, hyper)
    return Fitted(gp, Dataset(X=X, y=y), Units.plain(y))


def address(seed=0):
    return Streams(seed).of(0, 1)


NARROW = np.array([0.7, 0.3, 0.65, 0.35, 0.7, 0.3, 0.6, 0.4, 0.7, 0.3])
"""A place inside the ten-dimensional cube that no edge or middle leads to."""


def cornered():
    """Return a site with data in one corner of ten dimensions."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.random((30, 10))
    return fitted_on(X, np.zeros(30))


@pytest.mark.parametrize("rule", ["ucb", "nei"])
def test_a_narrow_field_far_from_all_data_is_found(rule):
    """With a standard deviation of 0.05 it covers next to nothing of the cube."""
    policy = policy_of(Domain.box(10), f"consensus-{rule}", max_strength=3)
    x = decide(policy, cornered(), place(NARROW, 0.05), address())
    # Within the field: two of its standard deviations in every coordinate.
    assert np.abs(x - NARROW).max() < 0.1


def test_without_landmarks_it_is_missed():
    """The same decision, of a strategy that points nowhere: why there are landmarks.

    With three seeds the queries are those of a site alone: none of the points that were
    looked at has felt the field.
    """
    policy = policy_of(Domain.box(10), max_strength=3)
    mute = replace(policy, side=Mute(policy.side))
    fitted = cornered()
    for seed in range(3):
        x = decide(mute, fitted, place(NARROW, 0.05), address(seed))
        assert np.abs(x - NARROW).max() > 0.2
        alone = decide(mute, fitted, None, address(seed))
        assert x == pytest.approx(alone, abs=1e-9)


def test_a_landmark_is_a_start_like_any_other():
    """The decision is the best of one search, from the usual starts and this one."""
    X, y = make_data(8, 3)
    fitted = fitted_on(X, y)
    policy, told = policy_of(Domain.box(3)), place([0.2, 0.9, 0.4])
    posterior = policy.decision_posterior(fitted.posterior, told, 1, address())
    acquisition = policy.rule.acquisition(posterior, address().at(Purpose.RULE))
    expected = maximise_acquisition(
        acquisition,
        policy.domain,
        policy.search,
        address().at(Purpose.SEARCH),
        near=np.array([[0.2, 0.9, 0.4]]),
    )
    assert np.array_equal(decide(policy, fitted, told, address()), expected)


# Where the domain is not the cube.


@pytest.mark.parametrize("name", ["mixed", "grid", "shares", "cut"])
@pytest.mark.parametrize("center", [0.0, 0.45, 1.0])
def test_landmarks_are_admitted_into_the_domain(name, center):
    """A place off the steps or outside the constraints, as a mean of places is."""
    domain = SPACES[name].domain
    light = LIGHT if domain.polytope is None else LIGHTER
    policy = policy_of(domain, **light)
    X = domain.sample(6, np.random.default_rng(0))
    fitted = fitted_on(X, np.sin(3.0 * X.sum(axis=1)))
    told = place(np.full(domain.dim, center), 0.1)
    x = decide(policy, fitted, told, address())
    assert np.array_equal(domain.snap(x[None])[0], x)
    if domain.polytope is not None:
        assert domain.polytope.contains(x[None, domain.columns]).all()


def test_a_narrow_field_is_found_among_steps():
    """Nine integers and a float: the landmark sits on steps, and so does the query."""
    domain = Space(**{f"n{i}": Int(1, 20) for i in range(9)}, x=Float(0.0, 1.0)).domain
    X = domain.snap(0.3 * np.random.default_rng(0).random((30, 10)))
    fitted = fitted_on(X, np.zeros(30))
    policy = policy_of(domain, max_strength=3, num_starts=3, num_raw=16)
    x = decide(policy, fitted, place(NARROW, 0.05), address())
    assert np.array_equal(domain.snap(x[None])[0], x)
    assert np.abs(x - NARROW).max() < 0.15


# Who points nowhere.

POINTING = ("consensus-", "guide-", "shape-", "shared-data-", "trend-")


@pytest.mark.parametrize("method", method_names())
def test_who_points(method):
    """Five strategies, GUIDE only if told to: the others search as they always did."""
    side = policy_of(Domain.box(2), method).side
    assert isinstance(side, Pointing) == method.startswith(POINTING)
    assert isinstance(side, Starting) == method.startswith("placebo-")
    assert isinstance(side, Alone) == method.startswith(("shape-", "trend-"))


@pytest.mark.parametrize("start", ["none", "centers"])
def test_guide_and_the_control_start_at_centers_if_told_to(start, starts):
    """What consensus does anyhow, so that the three can be compared like for like."""
    X, y = make_data(9, 2)
    body = packet(2, 0.8)
    for method, heard, centers in (
        ("guide-ucb", body, body.components.centers.tolist()),
        ("placebo-ucb", None, [[0.5, 0.5]]),
    ):
        found = find_method(method)
        policy = found.policy({"starts": start}, Domain.box(2), MODEL)
        agent = RoundAgent(
            agent_id=0, data=Dataset(X=X, y=y), policy=policy, streams=Streams(0)
        )
        if heard is not None:
            agent.receive(heard)
        agent.ask()
        assert starts[-1].tolist() == (centers if start == "centers" else [])


# Who looks somewhere without a packet.


@pytest.fixture
def starts(monkeypatch):
    """Where searches for a query began, as far as they were told."""
    found = []

    def watched(*args, near, **kwargs):
        found.append(near)
        return maximise_acquisition(*args, near=near, **kwargs)

    monkeypatch.setattr("guidefbo.agent.policy.maximise_acquisition", watched)
    return found


@pytest.mark.parametrize("method", ["shape-ucb", "trend-ucb", "trend-nei"])
def test_a_lone_agent_starts_at_its_own_landmarks(method, starts):
    """In a simulated run, with nothing received and with a packet of nobody."""
    policy = policy_of(Domain.box(3), method)
    X, y = make_data(9, 3)
    agent = RoundAgent(
        agent_id=0, data=Dataset(X=X, y=y), policy=policy, streams=Streams(0)
    )
    first = agent.ask()
    side, posterior = policy.side, agent.posterior
    own = side.landmarks(side.aimed(side.study(posterior), side.nothing))
    assert own.shape == (3, 3)
    assert np.array_equal(starts[0], policy.domain.admit(own))
    assert agent.judgement.keys() == {"own", "none"}
    if method == "shape-ucb":
        agent.receive(side.nothing)
        assert np.array_equal(agent.ask(), first)


@pytest.mark.parametrize("space", ["box", "mixed", "cut"])
@pytest.mark.parametrize("method", ["shape-ucb", "trend-ucb"])
def test_a_lone_site_starts_at_its_own_landmarks(method, space, starts):
    """Before its best results, which a site starts from as well; it is not guided."""
    site = told(space, 5, method=method, settings=LIGHTER)
    starts.clear()
    with quietly():
        trial = site.ask()
    policy = site.setup.policy()
    side, posterior = policy.side, site.fitted.posterior
    own = side.landmarks(side.aimed(side.study(posterior), side.nothing))
    near = policy.domain.admit(own)
    assert np.array_equal(starts[0][: len(near)], near)
    assert len(starts[0]) > len(near)
    assert not trial.guided
    assert in_space(site.space, trial.values)


@pytest.mark.parametrize("method", ["ucb", "guide-ucb", "consensus-ucb"])
def test_others_have_nothing_to_aim_at_without_a_packet(method):
    """And nothing is studied for it."""
    policy = policy_of(Domain.box(3), method)

    def refuse():
        raise AssertionError("studied in vain")

    assert policy.aim(refuse, None) is None


def test_where_a_packet_points():
    side = policy_of(Domain.box(2)).side
    nobody = np.empty((0, 2))
    empty = Components(weights=nobody[:, 0], centers=nobody, variances=nobody)
    assert side.landmarks(None) is None
    assert side.landmarks(ConsensusPacket(components=empty)) is None
    assert side.landmarks(place([0.2, 0.4])).tolist() == [[0.2, 0.4]]


def test_the_search_starts_where_the_agent_looks(monkeypatch):
    """E88: at the place between its own and the others', not at theirs."""
    X, y = make_data(8, 3)
    fitted, told = fitted_on(X, y), place([0.2, 0.9, 0.4])
    policy = policy_of(Domain.box(3), aim="blend")
    starts = []

    def watched(*args, near, **kwargs):
        starts.append(near)
        return maximise_acquisition(*args, near=near, **kwargs)

    monkeypatch.setattr("guidefbo.agent.policy.maximise_acquisition", watched)
    decide(policy, fitted, told, address())
    own, v = policy.side.study(fitted.posterior)
    between = (own / v + np.array([0.2, 0.9, 0.4]) / 0.04) / (1.0 / v + 1.0 / 0.04)
    assert starts[0] == pytest.approx(between[None], rel=1e-12)


@pytest.mark.parametrize("name", ["box", "mixed", "cut"])
def test_no_further_start_is_no_further_start(name):
    """None and none at all: the same query, to the bit."""
    domain = SPACES[name].domain
    policy = policy_of(domain, "ucb", **LIGHTER)
    X = domain.sample(6, np.random.default_rng(0))
    gp = fitted_on(X, X.sum(axis=1)).posterior
    posterior = policy.decision_posterior(gp, None, 1, address())
    acquisition = policy.rule.acquisition(posterior, address().at(Purpose.RULE))
    first, second = (
        maximise_acquisition(
            acquisition, domain, policy.search, address().at(Purpose.SEARCH), near=near
        )
        for near in (None, np.empty((0, domain.dim)))
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("method", ["ucb", "guide-ucb", "guide-nei", "consensus-ucb"])
def test_without_landmarks_a_decision_is_as_it_was(method):
    """To the bit: one search with no further starts, or the best points known."""
    policy = policy_of(Domain.box(3), method, **LIGHT)
    fitted = fitted_on(*make_data(8, 3))
    told = packet(3) if method.startswith("guide") else None
    posterior = policy.decision_posterior(fitted.posterior, told, 1, address())
    acquisition = policy.rule.acquisition(posterior, address().at(Purpose.RULE))
    for missing, near in ((None, None), (Missing.none(3), best_points(fitted))):
        expected = maximise_acquisition(
            acquisition,
            policy.domain,
            policy.search,
            address().at(Purpose.SEARCH),
            near=near,
        )
        x = decide(policy, fitted, told, address(), missing)
        assert np.array_equal(x, expected)


# Messages from elsewhere.


@pytest.mark.parametrize("name", ["box", "mixed", "cut"])
def test_packet_of_another_dimension_is_refused_in_words(name):
    domain = SPACES[name].domain
    with pytest.raises(WireError, match=f"dimension {domain.dim}, got 1"):
        policy_of(domain).check(place([0.5]))
