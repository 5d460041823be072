import numpy as np
import pytest
from tests.agent.numerics import make_data, make_gp

from guidefbo.agent.belief.dpgmm import DirichletProcessMixture
from guidefbo.agent.belief.mixture import OptimumBelief
from guidefbo.agent.belief.single_gaussian import SingleGaussian
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.schedule import SCHEDULES, decaying
from guidefbo.agent.guidance.settings import INTERVENTIONS
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.paths.maximise import (
    ExactSampler,
    FeatureSampler,
    OptimumSamples,
)
from guidefbo.agent.policy import Policy
from guidefbo.agent.strategies.guide.agent import GuideAgent
from guidefbo.agent.strategies.guide.settings import BELIEFS, SAMPLERS, GuideSettings
from guidefbo.agent.strategies.independent.agent import IndependentAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.core.errors import DataError, WireError
from guidefbo.core.streams import Streams
from guidefbo.wire.guide import MAX_SCORE, GuidancePacket

ADDRESS = Streams(0).of(0, 1)


def guide(**parts):
    settings = {
        "sampler": ExactSampler(num_paths=60),
        "belief": SingleGaussian(),
        "intervention": INTERVENTIONS["local"],
        "schedule": decaying,
        "domain": Domain.box(2),
        "num_candidates": 80,
        "max_strength": 2.0,
        "lcb_coefficient": 1.0,
        "packet_size": 5,
    }
    return GuideAgent(**settings | parts)


def make_agent(side=None, seed=0, num_points=6, agent_id=0):
    X, y = make_data(num_points, 2)
    policy = Policy(
        domain=Domain.box(2),
        model=Model(noise_std=0.1, priors=Priors()),
        side=side or guide(),
        rule=UpperConfidenceBound(beta=4.0),
        search=SearchSettings(num_raw=40, num_starts=4),
    )
    return RoundAgent(
        agent_id=agent_id,
        data=Dataset(X=X, y=y),
        policy=policy,
        streams=Streams(seed),
    )


def make_packet(dim=2, count=1):
    return GuidancePacket(
        components=Components(
            weights=np.full(count, 0.7 / count),
            centers=np.full((count, dim), 0.3),
            variances=np.full((count, dim), 0.05),
        )
    )


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((1, 2)), np.array([np.nan]), "finite number .*got nan"),
        (np.zeros((1, 2)), np.array([np.inf]), "finite number .*got inf"),
        (np.array([[0.5, 1.2]]), np.zeros(1), "unit cube, got coordinates from 0.5"),
        (np.array([[np.nan, 0.2]]), np.zeros(1), "unit cube"),
    ],
)
def test_unusable_observations_are_refused(X, y, message):
    with pytest.raises(DataError, match=message):
        Dataset(X=X, y=y)


def test_data_are_copied_and_appended_to_a_new_set():
    X, y = make_data(3, 2)
    data = Dataset(X=X, y=y)
    longer = data.append(np.full((1, 2), 0.5), np.array([9.0]))
    X[0, 0] = 0.123
    assert data.X[0, 0] != 0.123
    assert (len(data), len(longer)) == (3, 4)
    assert longer.y[-1] == 9.0
    assert (longer.X[:3] == data.X).all()


def test_upload_is_the_dominant_component_with_its_score():
    """E12, E13, E14: centre, spread and mass of the heaviest component."""
    gp = make_gp(6, 2)
    data = Dataset(X=gp.X, y=np.arange(6.0))
    centers = np.array([[0.9, 0.9], [0.1, 0.2], [0.4, 0.6]])
    variances = np.array([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])

    def belief(samples, stream):
        del stream
        assert samples.counts.sum() == 60
        masses = np.array([0.2, 0.3, 0.5])
        return OptimumBelief(masses=masses, centers=centers, variances=variances)

    upload = guide(belief=belief).upload(gp, data, None, None, Streams(1).of(0, 1))
    assert upload.mass == 0.5
    assert upload.center.tolist() == [0.4, 0.6]
    assert upload.variance.tolist() == [0.05, 0.06]
    mean, std = gp.predict(centers[2:])
    expected = (mean[0] - std[0] - 2.5) / (np.std(data.y, ddof=1) + 1e-6)
    assert upload.value_score == pytest.approx(expected, rel=1e-9)


def test_upload_candidates_are_uniform_and_fresh_every_round():
    gp, seen = make_gp(6, 2), []

    def spy(posterior, candidates, address):
        del posterior, address
        seen.append(candidates)
        return OptimumSamples(points=candidates[:2], counts=np.ones(2))

    data = Dataset(X=gp.X, y=np.arange(6.0))
    for t in (1, 1, 2):
        guide(sampler=spy, num_candidates=500).upload(
            gp, data, None, None, Streams(0).of(3, t)
        )
    assert seen[0].shape == (500, 2)
    assert (seen[0] == seen[1]).all()
    assert (seen[0] != seen[2]).any(axis=1).all()
    # Means of 500 uniforms have a standard error of 0.013.
    assert seen[0].mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.05)


def test_upload_of_equal_observations_stays_within_the_wire():
    # E14: without any spread the score is in units of the value, and clipped.
    gp = make_gp(1, 2)
    data = Dataset(X=gp.X, y=np.array([1e8]))
    upload = guide().upload(gp, data, None, None, Streams(0).of(0, 1))
    assert upload.value_score == -MAX_SCORE


def test_guidance_decides_only_when_a_packet_arrived():
    """E16, E17, E18: strength λ_max / √t on the received field."""
    gp = make_gp(6, 2)
    assert guide().decision_posterior(gp, None, 1, ADDRESS) is gp
    posterior = guide().decision_posterior(gp, make_packet(), 4, ADDRESS)
    assert isinstance(posterior, InterventionalPosterior)
    x = np.array([[0.3, 0.3]])
    assert posterior.predict(x)[1] == pytest.approx(
        (1.0 + 2.0 / 2.0 * 0.7) * gp.predict(x)[1], rel=1e-12
    )


def test_a_packet_of_another_dimension_is_refused():
    """At the door: the agent then decides as if nothing had come."""
    agent = make_agent()
    with pytest.raises(WireError, match="dimension 2, got 3"):
        agent.receive(make_packet(3))
    assert (agent.ask() == make_agent().ask()).all()
    agent.receive(None)
    assert (agent.ask() == make_agent().ask()).all()


def test_a_packet_beyond_the_size_that_was_set_is_refused():
    """What a decision costs is for the site to say, not for the server."""
    for size in (1, 5):
        agent = make_agent(guide(packet_size=size))
        agent.receive(make_packet(count=size))
        words = f"at most {size} components, got {size + 1}. Set packet_size"
        with pytest.raises(WireError, match=words):
            agent.receive(make_packet(count=size + 1))


def test_settings_reach_the_parts():
    """With the paper's values, and as many components as coordinates."""
    box = Domain.box(3)
    build = {"domain": box, "model": None, "search": SearchSettings()}
    usual = GuideSettings().build(**build)
    assert usual == GuideAgent(
        sampler=FeatureSampler(num_paths=500, num_features=500),
        belief=DirichletProcessMixture(max_components=3, is_full=False),
        intervention=INTERVENTIONS["local"],
        schedule=SCHEDULES["decaying"],
        domain=box,
        num_candidates=1000,
        max_strength=1.0,
        lcb_coefficient=1.0,
        packet_size=5,
    )
    chosen = GuideSettings(
        num_paths=7,
        num_candidates=8,
        max_components=9,
        lcb_coefficient=0.5,
        max_strength=2.5,
        schedule="constant",
        sampler="exact",
        covariance="full",
        intervention="uniform",
        starts="centers",
        packet_size=11,
    )
    assert chosen.build(**build) == GuideAgent(
        sampler=ExactSampler(num_paths=7),
        belief=DirichletProcessMixture(max_components=9, is_full=True),
        intervention=INTERVENTIONS["uniform"],
        schedule=SCHEDULES["constant"],
        domain=box,
        num_candidates=8,
        max_strength=2.5,
        lcb_coefficient=0.5,
        packet_size=11,
        starts_at_centers=True,
    )
    single = GuideSettings(belief="single-gaussian", covariance="full").build(**build)
    assert single.belief == SingleGaussian(is_full=True)
    few = GuideSettings(num_paths=2).build(**build)
    assert few.belief == DirichletProcessMixture(max_components=2, is_full=False)


def test_a_packet_is_checked_once(monkeypatch):
    """Where it comes in; the decision and the next upload trust what passed."""
    calls, check = [], GuideAgent.check

    def counted(self, packet, dim):
        calls.append(dim)
        check(self, packet, dim)

    monkeypatch.setattr(GuideAgent, "check", counted)
    agent = make_agent()
    play(agent, 1, make_packet())
    agent.upload()
    assert calls == [2]


def test_the_independent_agent_hears_and_says_nothing():
    gp, side = make_gp(6, 2), IndependentAgent()
    data = Dataset(X=gp.X, y=np.arange(6.0))
    assert side.upload(gp, data, None, None, Streams(0).of(0, 1)) is None
    assert side.decision_posterior(gp, make_packet(), 1, ADDRESS) is gp


def play(agent, num_rounds, packet=None):
    queries = []
    for _ in range(num_rounds):
        agent.upload()
        if packet is not None:
            agent.receive(packet)
        x = agent.ask()
        assert ((x >= 0.0) & (x <= 1.0)).all()
        agent.tell(x, float(-((x - 0.4) ** 2).sum()))
        queries.append(x)
    return np.array(queries)


def test_a_round_grows_the_data_and_the_next_exchange_ends_the_packet():
    agent = make_agent()
    assert (agent.t, len(agent.data)) == (1, 6)
    first = agent.posterior
    assert agent.posterior is first
    queries = play(agent, 2, make_packet())
    assert (agent.t, len(agent.data)) == (3, 8)
    assert (agent.data.X[6:] == queries).all()
    assert agent.posterior is not first
    # A round without an exchange: what was heard in the last one still counts.
    guided, local = agent.ask(), make_agent_like(agent).ask()
    assert (guided != local).any()
    # An exchange without an answer: the decision is local.
    agent.upload()
    assert (agent.ask() == local).all()


def make_agent_like(agent):
    """Return an independent agent with the same data, two rounds on."""
    twin = make_agent(side=IndependentAgent())
    for x, y in zip(agent.data.X[6:], agent.data.y[6:], strict=True):
        twin.tell(x, float(y))
    return twin


def test_runs_repeat_with_their_seed_and_differ_between_agents():
    one, two, other = (
        play(make_agent(seed=seed), 2, make_packet()) for seed in (5, 5, 6)
    )
    assert (one == two).all()
    assert (one != other).any()
    uploads = [make_agent(agent_id=n).upload().center for n in (0, 1)]
    assert (uploads[0] != uploads[1]).any()


def test_asking_twice_gives_one_answer():
    agent = make_agent()
    assert (agent.ask() == agent.ask()).all()


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("intervention", INTERVENTIONS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("is_full", [False, True])
def test_every_combination_of_parts_plays_a_round(
    belief, sampler, intervention, schedule, is_full
):
    side = guide(
        belief=BELIEFS[belief](4, is_full),
        sampler=SAMPLERS[sampler](30, 40),
        intervention=INTERVENTIONS[intervention],
        schedule=SCHEDULES[schedule],
    )
    agent = make_agent(side=side)
    upload = agent.upload()
    assert upload.variance.ndim == 1 + is_full
    agent.receive(
        GuidancePacket(
            components=Components(
                weights=np.array([upload.mass]),
                centers=upload.center[None],
                variances=upload.variance[None],
            )
        )
    )
    assert agent.ask().shape == (2,)
