"""The space of a site changes, and a site that cannot run all of it."""

import json

import numpy as np
import pytest
from tests.cli.test_site_commands import call as call
from tests.site.sites import SPACES, handed, in_space, make, measure, packet, told

import guidefbo as gf
from guidefbo.core.space.changes import difference
from guidefbo.core.space.region import Region


def test_results_stay_and_questions_follow():
    agent = told("mixed", 6, method="ucb")
    before = agent.trials
    lines = agent.change(bounds={"x": (0.5, 2.0)}, add_options={"drug": ["d"]})
    assert lines[0] == "x: low 0 -> 0.5, high 1 -> 2"
    assert lines[1] == "drug: options a, b, c -> a, b, c, d"
    assert "version 2 of the space" in lines[2]
    assert agent.trials == before
    assert agent.setup.former == (SPACES["mixed"],)
    # Results below the new bound by more than a little are kept and not modelled.
    inside = [t for t in before if t.values["x"] >= 0.5 - 0.05 * 1.5]
    assert 0 < len(inside) < 6
    assert len(agent.fitted.data) == len(inside)
    for _ in range(4):
        trial = agent.ask()
        assert in_space(agent.space, trial.values)
        agent.tell(trial, measure(agent.space, trial.values))


def test_a_changed_agent_is_saved_and_goes_on(tmp_path):
    agent = told("mixed", 6, method="ucb")
    agent.change(bounds={"x": (0.6, 0.9)})
    agent.change(without={"drug": ["a"]}, fix={"warm": True}, within={"n": (5, 20)})
    agent.tell(agent.ask(), 1.0)
    agent.save(tmp_path / "a.json")
    again = gf.Agent.load(tmp_path / "a.json")
    assert again.setup == agent.setup
    assert again.setup.version == 2
    assert again.trials == agent.trials
    assert again.ask() == agent.ask()
    form = json.loads((tmp_path / "a.json").read_text())
    form["trials"][0]["values"]["x"] = 7.0
    (tmp_path / "b.json").write_text(json.dumps(form))
    with pytest.raises(ValueError, match="damaged"):
        gf.Agent.load(tmp_path / "b.json")


def test_messages_of_the_old_space_no_longer_fit():
    agent = told("box", 4)
    old = handed(agent, packet(2))
    agent.receive(old)
    terms = agent.setup.terms
    agent.change(bounds={"x": (0, 2)})
    assert agent.setup.terms.space != terms.space
    assert agent.guidance.state == "none"
    assert "the space was changed" in agent.guidance.reason
    with pytest.warns(UserWarning, match="refused"):
        agent.receive(old)


def test_limits_of_a_site_change_no_message():
    agent = told("mixed", 5)
    agent.receive(handed(agent, packet(agent.space.dim)))
    terms, upload = agent.setup.terms, agent.upload().to_bytes()
    lines = agent.change(without={"drug": ["b"]}, fix={"n": 7})
    assert lines == [
        "drug: never b at this site",
        "n: always 7 at this site",
    ]
    assert agent.setup.terms == terms
    assert agent.guidance.state == "active"
    assert agent.upload().to_bytes() == upload
    assert agent.change(free=["n", "drug"]) == ["drug: free again", "n: free again"]


def test_options_left_out_add_up_until_they_are_freed():
    agent = told("mixed", 2)
    agent.change(without={"drug": ["a"]})
    assert agent.change(without={"drug": ["b", "a"]}) == [
        "drug: never a, b at this site"
    ]
    assert agent.setup.without == {"drug": ("a", "b")}
    with pytest.raises(gf.FedBOError, match="no option left"):
        agent.change(without={"drug": ["c"]})
    assert agent.change(free=["drug"], without={"drug": ["c"]}) == [
        "drug: never c at this site"
    ]


def test_an_option_left_out_is_not_fixed():
    agent = told("mixed", 2)
    agent.change(without={"drug": ["a"]})
    says = "drug cannot always be a, which this site leaves out: .* --free drug"
    with pytest.raises(gf.FedBOError, match=says):
        agent.change(fix={"drug": "a"})
    agent.change(fix={"drug": "b"})
    with pytest.raises(gf.FedBOError, match="cannot always be b"):
        agent.change(without={"drug": ["b"]})
    agent.change(free=["drug"], fix={"drug": "a"})
    assert (agent.setup.without, agent.setup.fixed) == ({}, {"drug": "a"})


@pytest.mark.parametrize("name", ["mixed", "shares", "cut", "box"])
@pytest.mark.parametrize("method", ["ucb", "guide-nei"])
def test_what_a_site_lacks_is_never_asked(name, method):
    limits = {
        "mixed": {"without": {"drug": ["a"]}, "within": {"n": (3, 9), "x": (0.2, 0.4)}},
        "shares": {"within": {"water": (0.3, 0.5)}, "fix": {"soap": 0.1}},
        "cut": {"without": {"c": ["u"]}, "within": {"d": (2, 4), "a": (-1, 0)}},
        "box": {"within": {"y": (2, 5)}},
    }[name]
    agent = make(name, method=method, initial=3)
    agent.change(**limits)
    if method != "ucb":
        agent.receive(handed(agent, packet(agent.space.dim, 0.95)))
    for _ in range(7):
        trial = agent.ask()
        assert in_space(agent.space, trial.values, 1e-7)
        for key, (low, high) in limits.get("within", {}).items():
            assert low - 1e-9 <= trial.values[key] <= high + 1e-9
        for key, gone in limits.get("without", {}).items():
            assert trial.values[key] not in gone
        for key, value in limits.get("fix", {}).items():
            assert trial.values[key] == pytest.approx(value)
        agent.tell(trial, measure(agent.space, trial.values))
    # What was run outside all the same is a result like any other.
    x = agent.space.domain.sample(1, np.random.default_rng(0))[0]
    agent.tell(agent.space.from_unit(x), 0.5)
    assert len(agent.fitted.data) == 8


def test_the_way_into_the_whole_and_back():
    space = gf.Space(
        a=gf.Float(1, 100, log=True),
        n=gf.Int(1, 40),
        m=gf.Int(1, 100, log=True),
        c=gf.Choice("u", "v", "w"),
        s=gf.Float(0, 10, step=0.5),
    )
    region = Region.of(
        space,
        within={"a": (10, 50), "n": (5, 9), "m": (4, 30), "s": (2.2, 7)},
        without={"c": ("v",)},
        fixed={},
    )
    Z = region.domain.sample(40, np.random.default_rng(1))
    X = region.embed(Z)
    assert region.pull(X) == pytest.approx(Z, abs=1e-9)
    for x in X:
        values = space.from_unit(x)
        assert 10 - 1e-9 <= values["a"] <= 50 + 1e-9
        assert 5 <= values["n"] <= 9
        assert 4 <= values["m"] <= 30
        assert values["c"] != "v"
        assert 2.5 <= values["s"] <= 7
        assert (2 * values["s"]).is_integer()
        # Steps and options sit where those of the whole space sit.
        assert space.to_unit(values) == pytest.approx(x, abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "Nothing would change"),
        (
            {"bounds": {"drug": (1, 2)}},
            "Only a number of the space has",
        ),
        ({"bounds": {"n": (1.5, 3)}}, "whole bounds"),
        ({"bounds": {"x": (2, 1)}}, "low < high"),
        (
            {"add_options": {"x": [1]}},
            "Only a choice of the space has",
        ),
        ({"add_options": {"drug": ["a"]}}, "different options"),
        ({"within": {"x": (-1, 1)}}, "narrower bounds"),
        ({"within": {"drug": (0, 1)}}, "narrower bounds"),
        ({"without": {"drug": ["z"]}}, "expected one of"),
        ({"without": {"drug": ["a", "b", "c"]}}, "no option left"),
        ({"without": {"x": [1]}}, "has no options"),
        ({"fix": {"x": 2.0}}, "Expected a number in"),
        ({"fix": {"q": 2.0}}, "no parameter 'q'"),
        ({"fix": {"x": 0.5, "n": 3, "drug": "a", "warm": True}}, "Every parameter"),
        ({"free": ["q"]}, "to free"),
    ],
)
def test_what_cannot_change_is_refused_and_nothing_changes(changes, says):
    agent = told("mixed", 2)
    setup = agent.setup
    with pytest.raises(gf.FedBOError, match=says):
        agent.change(**changes)
    assert agent.setup is setup


DIALS = gf.Space(
    x=gf.Float(0, 10, step=0.5),
    y=gf.Float(0, 1000, digits=2),
    n=gf.Int(1, 9),
    z=gf.Float(0, 1),
)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"fix": {"x": 0.33}}, r"x cannot always be 0\.33: .*of 0\.5 .* 0 or 0\.5\."),
        ({"fix": {"y": 123}}, r"y cannot .* in 2 significant .* 120 or 130\."),
        ({"bounds": {"x": (0, 11)}, "fix": {"x": 10.9}}, r"x .* at 10\.5 or 11\."),
        ({"within": {"x": (2.6, 2.9)}}, r"x: .* steps of 0\.5 .* none lies"),
        ({"within": {"x": (2.6, 3.1)}}, r"x: .* steps of 0\.5 .* only 3 lies"),
        ({"within": {"n": (2.2, 2.9)}}, r"n: .* whole numbers, .* none lies"),
        ({"within": {"n": (2, 2.9)}}, r"n: .* whole numbers, .* only 2 lies"),
    ],
)
def test_limits_between_two_values_are_refused(changes, says):
    agent = make(DIALS)
    setup = agent.setup
    with pytest.raises(gf.FedBOError, match=f"^Parameter {says}"):
        agent.change(**changes)
    assert agent.setup is setup


@pytest.mark.parametrize("held", [{"x": 0.1 + 0.4}, {"x": 10}, {"y": 120}, {"y": 1000}])
def test_a_value_that_is_asked_is_held(held):
    agent = make(DIALS, initial=2, method="ucb")
    agent.change(fix=held)
    for trial in agent.ask(3):
        assert {name: trial.values[name] for name in held} == held


def test_a_value_held_between_two_steps_before_is_read(tmp_path):
    agent = make(DIALS)
    agent.change(fix={"x": 0.5})
    agent.save(tmp_path / "a.json")
    form = json.loads((tmp_path / "a.json").read_text())
    form["setup"]["fixed"]["x"] = 0.33
    (tmp_path / "a.json").write_text(json.dumps(form))
    again = gf.Agent.load(tmp_path / "a.json")
    again.change(fix={"n": 3})
    with pytest.raises(gf.FedBOError, match="x cannot always be"):
        again.change(bounds={"x": (0, 12)})


def test_the_difference_of_two_spaces_in_words():
    old = gf.Space(a=gf.Float(0, 1), b=gf.Choice(1, 2))
    new = gf.Space(a=gf.Float(0, 1, unit="g", step=0.1), c=gf.Bool())
    assert difference(old, old) == []
    assert difference(old, new) == [
        "a: step None -> 0.1, unit None -> g",
        "b: removed",
        "c: added",
    ]


def test_change_from_the_shell(call):
    call("init", "s.json", "space.toml", "--goal", "max", "--seed", 7)
    call("ask", "s.json", "-n", 3)
    call("tell", "s.json", 1, 1, 2, 2, 3, 3)
    words = ["--bounds", "dose=-1,3", "--add-option", "drug=new", "--fix", "days=2"]
    said = call("change", "s.json", *words, "--without", "drug=b, c").out
    assert "dose: low -2 -> -1, high 2 -> 3" in said
    assert "days: always 2 at this site" in said
    assert "drug: never b, c at this site" in said
    agent = gf.Agent.load("s.json")
    assert agent.setup.version == 2
    assert len(agent.trials) == 3
    asked = [
        json.loads(line)
        for line in call("ask", "s.json", "-n", 3, "--json").out.splitlines()
    ]
    assert all(a["values"]["days"] == 2 for a in asked)
    assert all(-1 <= a["values"]["dose"] <= 3 for a in asked)
    shown = call("show", "s.json", "--trials").out
    assert "limit of this site: drug: never b, c\nlimit of this site: days: al" in shown
    assert "space: version 2, since the first: dose: low -2 -> -1, high 2 ->" in shown
    form = json.loads(call("show", "s.json", "--json").out)
    assert (form["space_version"], form["fixed"]) == (2, {"days": 2})
    for wrong, says in (
        (["--bounds", "dose=1"], "LOW,HIGH"),
        (["--bounds", "dose=3,-1"], "Parameter dose: Float needs finite bounds"),
        (["--bounds", "drug=1,2"], "there are dose, days"),
        (["--fix", "dose=99"], "Parameter dose: Expected a number in"),
        (["--fix", "days"], "NAME=..."),
        (["--without", "drug=z"], "Expected one of"),
        ([], "Nothing would change"),
    ):
        assert says in call("change", "s.json", *wrong, code=2).err
