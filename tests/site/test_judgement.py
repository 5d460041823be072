"""Whether a site's own data speak for the others: in numbers, in words, on show."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.site.sites import make, told
from typer.testing import CliRunner

import guidefbo as gf
from guidefbo.cli.app import app
from guidefbo.core.errors import NumericalError
from guidefbo.site.judgement import Judgement
from guidefbo.wire.envelope import Envelope
from guidefbo.wire.shape import ShapePacket

MODELS = {"others": "the other sites' trend", "own": "an own trend", "none": "no trend"}


def bowl(values, sign=1.0):
    return -sign * sum((x - 0.5) ** 2 for x in values.values())


def federation(method="shape-ucb", sign=-1.0, num_results=14, **options):
    """Return three agents on a line; the first sees the bowl of the others turned."""
    space = gf.Space(x=gf.Float(0, 1), y=gf.Float(0, 1))
    agents = [
        make(space, method=method, seed=n, site=f"s{n}", **options) for n in range(3)
    ]
    rng = np.random.default_rng(0)
    for n, agent in enumerate(agents):
        for x in rng.random((num_results, 2)):
            values = {"x": float(x[0]), "y": float(x[1])}
            noise = 0.02 * rng.standard_normal()
            agent.tell(values, bowl(values, sign if n == 0 else 1.0) + noise)
    return agents


def exchanged(agents):
    packets = gf.merge({str(n): a.upload() for n, a in enumerate(agents)})
    for n, agent in enumerate(agents):
        agent.receive(packets[str(n)])
    return agents


@pytest.mark.parametrize(
    ("weight", "verdict"),
    [
        (0.5, "they speak for the others"),
        (0.499, "they do not decide for or against the others yet"),
        (0.1, "they do not decide for or against the others yet"),
        (0.099, "they speak against the others"),
    ],
)
def test_words(weight, verdict):
    weights = {
        "others": weight,
        "own": 0.75 * (1 - weight),
        "none": 0.25 * (1 - weight),
    }
    said = str(Judgement(weights=weights, models=MODELS))
    assert said.endswith(f"; {verdict}")
    percent = [round(100 * w) for w in weights.values()]
    assert (
        f"the other sites' trend {percent[0]} %, an own trend {percent[1]} %, "
        f"no trend {percent[2]} %" in said
    )


def test_words_where_the_others_are_not_used():
    said = str(Judgement(weights={"own": 0.8, "none": 0.2}, models=MODELS))
    assert said == (
        "your own data: an own trend 80 %, no trend 20 %; what the others sent is not "
        "used"
    )


def test_data_speak_for_who_is_alike_and_against_who_is_not():
    alike, turned = (
        exchanged(federation(sign=sign, num_results=20))[0].guidance
        for sign in (1.0, -1.0)
    )
    for guidance in (alike, turned):
        assert guidance.weights.keys() == MODELS.keys()
        assert sum(guidance.weights.values()) == pytest.approx(1.0)
    assert alike.weights["others"] > 0.5 > 0.1 > turned.weights["others"]
    assert str(alike.judgement).endswith("they speak for the others")
    assert str(turned.judgement).endswith("they speak against the others")


def test_the_judgement_is_what_the_decision_rests_on():
    agent = exchanged(federation())[1]
    policy, fitted = agent.setup.policy(), agent.fitted
    aimed = policy.aim(lambda: policy.study(fitted), agent.guidance.packet)
    assert agent.guidance.weights == {
        c.name: w for c, w in zip(aimed.candidates, aimed.weights, strict=True)
    }


def test_nothing_is_judged_without_a_packet_or_with_an_old_one():
    agents = federation(packet_lifetime=1)
    assert agents[0].guidance.judgement is None
    agent = exchanged(agents)[0]
    assert agent.guidance.weights
    agent.tell({"x": 0.1, "y": 0.2}, 0.3)
    assert agent.guidance.state == "stale"
    assert agent.guidance.weights == {}
    assert "your own data" not in str(agent)


@pytest.mark.parametrize(
    ("method", "settings", "names"),
    [
        ("shape-ucb", {"trust": "own"}, {"own", "none"}),
        ("shape-ucb", {"trust": "others"}, set()),
        ("guide-ucb", {}, set()),
        ("consensus-ucb", {}, set()),
    ],
)
def test_methods_that_compare_fewer_models(method, settings, names):
    agent = exchanged(federation(method, settings=settings, num_results=6))[0]
    assert agent.guidance.state == "active"
    assert agent.guidance.weights.keys() == names


def test_a_lone_site_of_trend_has_nobody_to_judge():
    """Its models are compared for the decision; there is no guidance to speak of."""
    agent = federation("trend-ucb", num_results=6)[0]
    assert agent.upload() is None
    assert agent.guidance.judgement is None
    assert not agent.ask().guided


def test_looking_changes_nothing(tmp_path):
    """The next query is the same, whoever asked for the weights before."""
    first, second = (exchanged(federation())[0] for _ in range(2))
    assert first.guidance.weights
    assert first.ask().values == second.ask().values
    assert first.guidance.weights == second.guidance.weights
    assert first.guidance == replace(first.guidance, judgement=None)


def test_new_results_are_judged_anew():
    agent = exchanged(federation(sign=-1.0, num_results=6))[0]
    before = dict(agent.guidance.weights)
    agent.tell({"x": 0.01, "y": 0.02}, bowl({"x": 0.01, "y": 0.02}, -1.0))
    assert agent.guidance.weights != before


def test_an_extreme_packet_is_judged_too():
    agent = exchanged(federation(num_results=4))[0]
    message = agent.guidance.message
    body = ShapePacket(
        kinds=("slopes", "bends", "place"),
        means=(np.full(2, 8.0), np.full(2, -8.0), np.full(2, 8.0)),
        variances=(np.full(2, 1e-4), np.full(2, 1e4), np.full(2, 1e-4)),
    )
    agent.receive(Envelope(head=message.head, body=body))
    weights = agent.guidance.weights
    assert np.isfinite([*weights.values()]).all()
    assert sum(weights.values()) == pytest.approx(1.0)


def test_data_that_break_the_models_are_not_judged(monkeypatch):
    agent = exchanged(federation(num_results=4))[0]

    def broken(*given):
        raise NumericalError("no factor")

    monkeypatch.setattr(type(agent._workings.policy), "judgement", broken)
    assert agent.guidance.state == "active"
    assert agent.guidance.judgement is None


def test_show_says_it(tmp_path):
    file = tmp_path / "site.json"
    agent = exchanged(federation(sign=1.0))[0]
    agent.save(file)
    before = file.read_bytes()
    shown = CliRunner().invoke(app, ["show", str(file)]).output
    lines = [line for line in shown.splitlines() if line.startswith("your own data")]
    assert lines == [str(agent.guidance.judgement)]
    form = json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).output)
    assert form["guidance"]["weights"] == pytest.approx(agent.guidance.weights)
    assert file.read_bytes() == before
    alone = tmp_path / "alone.json"
    told(method="ucb").save(alone)
    form = json.loads(CliRunner().invoke(app, ["show", str(alone), "--json"]).output)
    assert form["guidance"]["weights"] == {}


def test_the_picture_says_it(tmp_path):
    pytest.importorskip("matplotlib")
    agent = exchanged(federation(sign=1.0))[0]
    figure = agent.plot(tmp_path / "site.png")
    below = figure.subfigs[1].get_suptitle()
    assert below.splitlines()[-1] == str(agent.guidance.judgement)
