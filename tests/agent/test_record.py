"""The record of the others' forecasts, by hand and on a server that lies to fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import guidefbo as gf
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.record import LAST, MOST, Forecast, Forecasts, record_of
from guidefbo.agent.side import OTHERS
from guidefbo.agent.units import Units
from guidefbo.core.streams import Streams
from guidefbo.wire.shape import SHARPEST, ShapePacket

finite = st.floats(-10.0, 10.0)


@given(finite, st.floats(0.5, 3.0), finite, st.floats(0.5, 3.0), finite)
def test_a_score_is_the_difference_of_log_densities(m, s, n, r, y):
    both = Forecasts(others=Forecast(m, s), alone=Forecast(n, r))
    gain = norm(m, s).logpdf(y) - norm(n, r).logpdf(y)
    assert both.score(y) == pytest.approx(np.clip(gain, -MOST, MOST), abs=1e-9)


def test_equal_forecasts_have_no_score():
    same = Forecast(1.0, 0.0)
    assert Forecasts(others=same, alone=same).score(7.0) == 0.0


def test_one_result_counts_at_most_twenty_to_one():
    sure = Forecasts(others=Forecast(0.0, 1e-3), alone=Forecast(0.0, 1.0))
    assert sure.score(5.0) == -MOST
    assert sure.score(0.0) == MOST
    assert np.exp(MOST) == pytest.approx(20.0, rel=0.01)


@given(st.lists(st.floats(-3.0, 3.0), max_size=30))
def test_a_record_is_the_worst_sum_of_latest_scores(scores):
    """E107, Page's sum: the least of all sums up to the last score, and zero."""
    tails = [sum(scores[k:]) for k in range(len(scores) + 1)]
    assert record_of(scores) == pytest.approx(min(tails), abs=1e-9)


def test_a_good_record_is_no_credit_and_a_bad_one_is_forgotten():
    assert record_of([3.0] * 20 + [-1.0]) == -1.0
    assert record_of([-3.0] * 500) == -3.0 * LAST
    assert record_of([-3.0] * 500 + [0.0] * LAST) == 0.0


def test_the_noise_is_that_of_the_result_where_it_is_told():
    one = Forecast(mean=1.0, std=0.3, noise=0.4)
    lost = one.log_density(2.0) - one.log_density(1.0)
    assert lost == pytest.approx(-0.5 * (1.0 / 0.5) ** 2)  # 0.3² + 0.4² = 0.5²
    by_default, known = (
        Forecast(1.0, 0.3, noise).log_density(2.0) for noise in (0.4, 0.0)
    )
    assert one.log_density(2.0) == by_default
    assert one.log_density(2.0, spread=0.0) == known
    assert one.log_density(2.0, spread=0.4) == by_default


def test_a_reading_that_is_known_to_be_coarse_says_little():
    both = Forecasts(others=Forecast(9.996, 0.138), alone=Forecast(9.991, 0.138))
    assert abs(both.score(5.0)) > 1.0
    assert abs(both.score(5.0, spread=50.0)) < 1e-3


def policy_of(trust="evidence"):
    space = gf.Space(**{name: gf.Float(0.0, 1.0) for name in "abc"})
    agent = gf.Agent(space, goal="max", method="shape-ucb", settings={"trust": trust})
    return agent.setup.policy()


def bowl(X):
    return -4.0 * ((X - 0.3) ** 2).sum(axis=1)


def sure_agent(policy):
    """Return an agent that is told its own estimate as if that were certain."""
    X = np.random.default_rng(3).random((20, 3))
    agent = RoundAgent(
        agent_id=0, data=Dataset(X=X, y=bowl(X)), policy=policy, streams=Streams(5)
    )
    upload = agent.upload()
    variances = tuple(np.full(size, SHARPEST) for size in upload.sizes)
    agent.receive(
        ShapePacket(kinds=upload.kinds, means=upload.means, variances=variances)
    )
    return agent


def asked(policy):
    """Return such an agent, its question, its fit and what it makes of the packet."""
    agent = sure_agent(policy)
    x, fitted = agent.ask(), agent.fit()
    return agent, x, fitted, policy.aim(lambda: policy.study(fitted), agent._packet)


def test_the_record_is_odds_against_the_others():
    """The packet is the site's own estimate, which its own data cannot refute."""
    policy = policy_of()
    agent = sure_agent(policy)
    fitted = agent.fit()

    def weights(record):
        aimed = policy.aim(lambda: policy.study(fitted), agent._packet, record=record)
        return policy.judgement(aimed)

    before, after = weights(0.0), weights(-MOST)
    for name in ("own", "none"):
        ratio = (before[OTHERS] / before[name]) / (after[OTHERS] / after[name])
        assert ratio == pytest.approx(np.exp(MOST), rel=1e-6)
    assert sum(after.values()) == pytest.approx(1.0)


def test_an_agent_remembers_what_the_others_foretold():
    policy = policy_of()
    agent, x, fitted, aimed = asked(policy)
    both = policy.forecasts(fitted, aimed, x)
    agent.tell(x, -100.0)
    assert agent._scores == [both.score(-100.0)]
    agent.tell(x, -100.0)
    assert agent._scores == [both.score(-100.0)], "nothing was foretold of this"


def test_forecasts_are_in_the_units_of_the_data():
    policy = policy_of()
    _, x, fitted, aimed = asked(policy)
    candidate = aimed.candidates[0]
    mean, std = candidate.model.predict(x[None])
    noise = candidate.model.rest.hyper.noise_variance
    found = policy.forecasts(fitted, aimed, x).others
    # Above the knee of tempered values the units are a shift and a scale.
    u = fitted.units
    assert u.to_site(mean)[0] >= u.knee
    assert found.mean == pytest.approx(u.shift + u.scale * mean[0])
    assert found.std == pytest.approx(u.scale * std[0])
    assert found.noise == pytest.approx(u.scale * np.sqrt(noise))


def test_a_normal_below_the_knee_is_widened_as_values_are():
    units = Units.tempered(np.array([-50.0, -9.0, -1.0, 0.0, 1.0]))
    z, h = units.to_model(np.array([-9.0])), 1e-6
    middle, spread = units.normal_to_site(z, np.array([h]))
    assert middle == pytest.approx(-9.0)
    difference = units.to_site(z + h) - units.to_site(z - h)
    assert spread == pytest.approx(difference / 2.0, rel=1e-4)


@pytest.mark.parametrize("trust", ["own", "others"])
def test_without_two_models_nothing_is_foretold(trust):
    policy = policy_of(trust)
    _, x, fitted, aimed = asked(policy)
    assert policy.forecasts(fitted, aimed, x) is None


def test_a_server_that_fits_its_lies_to_uploads_costs_less_than_without_the_record(
    monkeypatch,
):
    """The worst that the own data do not contradict, made anew in every round."""

    def cost(counts):
        if not counts:
            monkeypatch.setattr("guidefbo.agent.loop.record_of", lambda scores: 0.0)
        run = gf.simulate(
            "sphere",
            method="shape-ucb",
            level=2,
            common_shift=0.3,
            dim=6,
            num_agents=6,
            num_initial=15,
            num_rounds=20,
            seed=77,
            settings={"hostile": "adaptive"},
        )
        return float(np.sum(run.mean_simple_regret))

    assert cost(counts=True) < 0.97 * cost(counts=False)
