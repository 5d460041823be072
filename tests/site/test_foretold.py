"""What the others foretold of a site's results: kept, counted, said and bounded."""

import json
import math
from dataclasses import replace

import pytest
from tests.site.sites import quietly, told
from tests.site.test_judgement import bowl, exchanged, federation

import guidefbo as gf
from guidefbo.agent.record import MOST, Forecast, Forecasts, record_of
from guidefbo.site.helping import help_of


def agreeing(**options):
    """Return a site whose data are like the others'."""
    return exchanged(federation(sign=1.0, packet_lifetime=50, **options))[0]


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_question_goes_with_two_forecasts_in_the_sites_units(goal):
    agent = agreeing(goal=goal)
    trial = agent.ask()
    others, alone = trial.basis.foretold
    # Both models and the plain one have seen the same twenty results.
    for forecast in (others, alone):
        assert abs(forecast.mean - trial.basis.mean) < 4.0 * trial.basis.std
        assert 0.0 < forecast.std < 1.0
    assert agent.scores == ()
    agent.tell(trial, others.mean)
    assert agent.scores == (trial.basis.foretold.score(others.mean),)


def test_a_point_of_ones_own_may_go_with_the_same_forecasts():
    agent, twin = agreeing(), agreeing()
    asked, unforetold = agent.ask(), twin.begin({"x": 0.2, "y": 0.9})
    assert unforetold.basis is None
    trial = twin.begin(asked.values, foretell=True)
    for one, other in zip(trial.basis.foretold, asked.basis.foretold, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    # It is known what is held, not whether that took part in choosing the point.
    assert (trial.basis.odds, trial.guided) == (asked.basis.odds, False)
    twin.tell(unforetold, 0.0)
    twin.tell(trial, 0.1)
    helped = help_of(twin)
    assert helped.scores == (trial.basis.foretold.score(0.1),)
    assert helped.alone.num_results == help_of(agent).alone.num_results


@pytest.mark.parametrize("foretell", [True, False])
def test_points_of_ones_own_may_be_rounds_in_which_data_speak(foretell):
    agent = exchanged(federation(num_results=20, packet_lifetime=50))[0]
    for x in (0.2, 0.8):
        assert agent.guidance.state == "active"
        trial = agent.begin({"x": x, "y": 0.4}, foretell=foretell)
        agent.tell(trial, bowl(trial.values, -1.0))
    assert (agent.guidance.state == "doubted") == foretell


def test_whoever_hears_from_nobody_foretells_nothing():
    agent = told("box", 6, method="shape-ucb")
    assert agent.ask().basis.foretold is None
    assert agent.begin({"x": 0.5, "y": 10.0}, foretell=True).basis is None


def test_what_was_missed_counts_against_the_others():
    """Two sites with the same results, of which one had other forecasts."""
    odds = []
    for miss in (5.0, 0.0):
        agent = agreeing(patience=0)
        for trial in agent.ask(4):
            value = bowl(trial.values)
            foretold = Forecasts(
                others=Forecast(value + miss, 1.0), alone=Forecast(value, 1.0)
            )
            basis = replace(trial.basis, foretold=foretold)
            agent._book._trials[trial.id] = replace(trial, basis=basis)
            agent.tell(trial.id, value)
        assert record_of(agent.scores) == (-4 * MOST if miss else 0.0)
        odds.append(agent.guidance.odds)
        said = help_of(agent).lines(agent.setup.labels)[-1]
        assert ("counts against it, by odds of 1.63e+05" in said) == bool(miss)
    ratio = (odds[1] / (1.0 - odds[1])) / (odds[0] / (1.0 - odds[0]))
    assert ratio == pytest.approx(math.exp(4 * MOST), rel=1e-6)


def test_a_result_run_elsewhere_says_nothing_of_the_forecast():
    agent = agreeing()
    trial = agent.ask()
    agent.tell(trial, 0.0, values={"x": 0.9 if trial.values["x"] < 0.5 else 0.1})
    assert agent.scores == ()


def test_a_result_run_at_rounded_values_counts():
    agent = agreeing()
    trial = agent.ask()
    agent.tell(trial, 0.0, values={k: round(v, 2) for k, v in trial.values.items()})
    assert agent.scores == (trial.basis.foretold.score(0.0),)


def test_the_told_spread_of_a_result_counts():
    agent = agreeing()
    trial = agent.ask()
    agent.tell(trial, 5.0, std=0.5)
    assert agent.scores == (trial.basis.foretold.score(5.0, 0.5),)


def test_who_tells_a_spread_has_forecasts_as_sharp_as_who_knows_the_noise():
    """The common noise is no part of a result that has its own."""
    knows, tells = agreeing(noise=1e-3), agreeing()
    for trial in tells.trials:
        tells.tell(trial.id, trial.value, std=1e-3)
    for agent in (knows, tells):
        assert agent.ask().basis.foretold.others.std < 0.1
    trial = tells.ask()
    assert trial.basis.foretold.alone.noise > 1e-3
    off = trial.basis.foretold.alone.mean + 5.0 * trial.basis.foretold.alone.std
    assert trial.basis.foretold.score(off, 1e-3) != trial.basis.foretold.score(off)
    tells.tell(trial, off, std=1e-3)
    assert tells.scores == (trial.basis.foretold.score(off, 1e-3),)


def test_a_file_keeps_the_noise_and_one_without_it_is_read(tmp_path):
    agent, path = agreeing(), tmp_path / "site.json"
    trial = agent.ask()
    agent.save(path)
    assert gf.Agent.load(path).trials[-1].basis == trial.basis
    form = json.loads(path.read_text())
    noises = [f.pop("noise") for f in form["trials"][-1]["basis"]["foretold"].values()]
    assert all(noise > 0.0 for noise in noises)
    path.write_text(json.dumps(form))
    others, _ = gf.Agent.load(path).trials[-1].basis.foretold
    assert others == trial.basis.foretold.others._replace(noise=0.0)


def test_another_federation_begins_without_a_record():
    agent = agreeing()
    trial = agent.ask()
    agent.tell(trial, 5.0)
    agent.rename(site="elsewhere")
    assert len(agent.scores) == 1
    agent.rename(federation="other")
    assert agent.scores == ()
    assert agent.trials[-1].basis.mean == trial.basis.mean


def test_a_correction_replaces_the_score():
    agent = agreeing()
    first, second = agent.ask(2)
    agent.tell(first, 5.0)
    agent.tell(second, bowl(second.values))
    before = agent.scores
    agent.tell(first, bowl(first.values))
    after = agent.scores
    assert after[1] == before[1]
    assert after[0] == first.basis.foretold.score(bowl(first.values))


def test_forecasts_survive_the_file_and_old_files_have_none(tmp_path):
    agent = agreeing()
    for _ in range(2):
        trial = agent.ask()
        agent.tell(trial, bowl(trial.values))
    path = tmp_path / "a.json"
    agent.save(path)
    again = gf.Agent.load(path)
    assert again.scores == agent.scores
    assert again.trials[-1].basis == agent.trials[-1].basis
    with quietly():
        assert again.ask() == agent.ask()
    form = json.loads(path.read_text())
    for trial in form["trials"]:
        (trial["basis"] or {}).pop("foretold", None)
    path.write_text(json.dumps(form))
    assert gf.Agent.load(path).scores == ()


@pytest.mark.parametrize(
    "foretold",
    [
        3,
        {"others": {"mean": 1.0, "std": 1.0}},
        {"others": {"mean": "1", "std": 1.0}, "alone": {"mean": 1.0, "std": 1.0}},
        {"others": {"mean": 1.0, "std": -1.0}, "alone": {"mean": 1.0, "std": 1.0}},
        {"others": {"mean": 1.0}, "alone": {"mean": 1.0, "std": 1.0}},
        {"others": 5, "alone": {"mean": 1.0, "std": 1.0}},
    ],
)
def test_forecasts_that_are_none_are_refused(tmp_path, foretold):
    agent = agreeing()
    trial = agent.ask()
    agent.tell(trial, bowl(trial.values))
    path = tmp_path / "a.json"
    agent.save(path)
    form = json.loads(path.read_text())
    form["trials"][-1]["basis"]["foretold"] = foretold
    path.write_text(json.dumps(form))
    with pytest.raises(gf.FedBOError):
        gf.Agent.load(path)


def test_it_is_said_in_words():
    agent = agreeing()
    for _ in range(3):
        trial = agent.ask()
        agent.tell(trial, bowl(trial.values))
    better = sum(score > 0.0 for score in agent.scores)
    said = help_of(agent).lines(agent.setup.labels)[-1]
    assert said.startswith(
        f"the others' model foretold {better} of 3 results better than your own data "
        "alone would have"
    )
