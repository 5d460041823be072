"""What the model said is kept in the file, so that to show it takes no model."""

import json
import warnings
from dataclasses import replace

import pytest
from tests.site.sites import told
from tests.site.test_helping import guided
from typer.testing import CliRunner

import guidefbo as gf
from guidefbo.cli.app import app


def shown(path, *words):
    done = CliRunner().invoke(app, ["show", str(path), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def file(tmp_path):
    """A guided site that has just asked."""
    agent = guided()
    agent.ask()
    agent.save(tmp_path / "a.json")
    return tmp_path / "a.json"


def test_after_a_question_it_is_what_the_model_says(file):
    light = gf.Agent.load(file, knows_method=False)
    fresh = gf.Agent.load(file)
    assert light.summary(fits=False) == fresh.summary()
    assert light.recommended() == fresh.best()
    assert light._built is None
    assert shown(file) == shown(file, "--fit")
    assert shown(file, "--json") == shown(file, "--json", "--fit")
    assert json.loads(shown(file, "--json"))["unseen"] == []


def test_results_that_it_has_not_seen_are_named(file):
    before = gf.Agent.load(file).best()
    with gf.Agent.update(file) as agent:
        agent.tell(7, 900.0)
    said = shown(file)
    assert f"best by posterior mean (goal max): trial {before.trial.id}, " in said
    assert "best single observation: trial 7, 900" in said
    command = f"guidefbo show {file} --fit"
    assert f"the model has not seen trial 7 yet; have it look: {command}" in said
    form = json.loads(shown(file, "--json"))
    assert form["unseen"] == [7]
    assert (form["best"]["id"], form["best"]["mean"]) == (before.trial.id, before.mean)
    assert form["best"]["observed"]["id"] == 7
    fitted = json.loads(shown(file, "--json", "--fit"))
    assert fitted["unseen"] == []
    assert (fitted["best"]["id"], fitted["best"]["observed"]["id"]) == (7, 7)
    assert "has not seen" not in shown(file, "--fit")


def test_a_model_that_was_never_there_recommends_nothing(tmp_path):
    agent = gf.Agent(gf.Space(x=gf.Float(0, 1)), goal="min")
    path = tmp_path / "a.json"
    agent.save(path)
    assert "best: no result yet" in shown(path)
    assert json.loads(shown(path, "--json"))["best"] is None
    with gf.Agent.update(path) as agent:
        for k in range(8):
            agent.tell({"x": k / 10}, abs(k - 3.0))
    said = shown(path)
    assert "best single observation: trial 4, 0 at x=0.3" in said
    assert "has not seen trials 1, 2, 3, 4, 5 and 3 more yet" in said
    best = json.loads(shown(path, "--json"))["best"]
    assert (best["id"], best["mean"], best["values"]) == (4, None, {"x": 0.3})


def test_a_correction_is_not_seen(file):
    best = gf.Agent.load(file).best().trial.id
    other = 1 if best != 1 else 2
    with gf.Agent.update(file) as agent:
        agent.tell(other, 0.123)
    form = json.loads(shown(file, "--json"))
    assert (form["unseen"], form["best"]["id"]) == ([other], best)
    # Of a corrected recommendation the mean is another one, and nobody knows which.
    with gf.Agent.update(file) as agent:
        agent.tell(best, 0.05)
    assert gf.Agent.load(file, knows_method=False).recommended() is None
    assert json.loads(shown(file, "--json"))["best"]["mean"] is None


def test_what_breaks_a_limit_is_not_recommended(tmp_path):
    path = tmp_path / "a.json"
    agent = gf.Agent(
        gf.Space(x=gf.Float(0, 10)),
        goal="max",
        initial=2,
        outcomes=[gf.Outcome("impurity", at_most=2)],
    )
    agent.tell({"x": 1.0}, 5.0, outcomes={"impurity": 3.0})
    agent.tell({"x": 2.0}, 9.0, outcomes={"impurity": 4.0})
    agent.ask()
    agent.save(path)
    assert "no result keeps the limits yet; best by posterior mean" in shown(path)
    with gf.Agent.update(path) as agent:
        agent.tell({"x": 8.0}, 1.0, outcomes={"impurity": 1.0})
    assert "best single observation: trial 4, 1 at x=8" in shown(path)
    best = json.loads(shown(path, "--json"))["best"]
    assert (best["id"], best["keeps_limits"], best["mean"]) == (4, True, None)


def test_what_a_strategy_computes_keeps_nothing_from_being_saved(file, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("of a plugin")

    agent = gf.Agent.load(file)
    agent.ask()
    monkeypatch.setattr("guidefbo.site.workings.sum_up", broken)
    agent.save(file)
    assert len(gf.Agent.load(file).trials) == 8
    assert gf.Agent.load(file, knows_method=False).recommended() is None


def test_results_outside_the_space_are_no_news(file):
    with gf.Agent.update(file) as agent:
        agent.tell({"heat": 119.0, "catalyst": "P1"}, 0.5)
        agent.change(bounds={"heat": (20, 118)})
        agent.summary()
    assert json.loads(shown(file, "--json", "--fit"))["unseen"] == []


def test_a_recommendation_that_failed_since_is_none(file):
    best = gf.Agent.load(file).best().trial
    with gf.Agent.update(file) as agent:
        agent.tell(best, failed="mixed up")
    assert gf.Agent.load(file, knows_method=False).recommended() is None
    assert "best single observation" in shown(file)


def test_guidance_grows_old_without_the_model(file):
    with gf.Agent.update(file) as agent:
        for k in range(12):
            agent.tell({"heat": 30.0 + k, "catalyst": "P1"}, 0.1)
    assert "guidance stale: 12 results came after the upload" in shown(file)
    with gf.Agent.update(file) as agent:
        agent.tell({"heat": 50.0, "catalyst": "P1"}, 0.1)
    for words in ((), ("--fit",)):
        assert "guidance stale: 13 results came after the upload" in shown(file, *words)


def test_what_was_found_of_a_packet_goes_with_it(file):
    agent = gf.Agent.load(file)
    held = agent.summary().held
    assert held.expected is not None
    again = replace(held, expected=None, rank=None, weights={}, verdict=None)
    assert again.judged_as(held) == held
    other = replace(again, order=(9, 9))
    assert other.judged_as(held) == other
    doubted = replace(held, state="doubted", reason="the own data speak against it")
    assert again.judged_as(doubted) == doubted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent.receive("not a packet")
    agent.save(file)
    said = json.loads(shown(file, "--json"))["guidance"]
    assert said["refusal"] is not None
    assert said["expected"] == held.expected


def test_changes_of_the_space_let_it_go(file):
    with gf.Agent.update(file) as agent:
        agent.change(bounds={"heat": (30, 130)})
    assert gf.Agent.load(file, knows_method=False).recommended() is None


def test_an_agent_alone_says_so(tmp_path):
    agent = told("box", 4)
    agent.ask()
    agent.save(tmp_path / "a.json")
    assert "guidance none: no packet was received; working alone" in shown(
        tmp_path / "a.json"
    )


def check_let_go(file):
    """See that the results are there, and of the model nothing is said."""
    agent = gf.Agent.load(file, knows_method=False)
    assert len(agent.results) == 6
    assert agent.recommended() is None
    assert agent.summary(fits=False).held.state == "active"
    said = shown(file)
    assert "has not seen trials 1, 2, 3, 4, 5 and 1 more and the newest packet" in said


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("told", -1),
        ("told", "many"),
        ("best", 99),
        ("best", 0),
        ("best", 7),
        ("best", True),
        ("mean", "high"),
        ("mean", None),
        ("std", []),
        ("lucky", 1.5),
        ("held", None),
        ("held.state", 3),
        ("held.state", "superb"),
        ("held.reason", "a\u0000b"),
        ("std", -1.0),
        ("told", 99),
        ("held.order", [1]),
        ("held.order", [1, "a"]),
        ("held.place", {"heat": 50.0}),
        ("held.place", {"heat": "hot", "catalyst": "P1"}),
        ("held.weights", {"others": 2.0}),
        ("held.weights", {str(k): 0.0 for k in range(30)}),
        ("held.rank", -0.1),
        ("held.expected", "good"),
    ],
)
def test_what_cannot_be_is_let_go(file, field, value):
    form = json.loads(file.read_text())
    part, _, name = field.rpartition(".")
    target = form["summary"][part] if part else form["summary"]
    assert name in target
    target[name] = value
    file.write_text(json.dumps(form))
    check_let_go(file)


@pytest.mark.parametrize("name", ["told", "best", "mean", "std", "lucky", "held"])
def test_all_of_it_must_be_there(file, name):
    form = json.loads(file.read_text())
    del form["summary"][name]
    file.write_text(json.dumps(form))
    check_let_go(file)
