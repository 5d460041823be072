"""Messages say whose they are: what a site's engineer may mix up is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.site.sites import LIGHT, handed, make, measure, packet, quietly, told

from guidefbo import Agent, Choice, Float, Int, Space, merge
from guidefbo.core.errors import (
    GuidanceWarning,
    SettingsError,
    UploadWarning,
    WireError,
)
from guidefbo.core.space.form import fingerprint
from guidefbo.wire.envelope import VERSION

DATA = Path(__file__).parent / "data"
SPACE = Space(dose=Float(0, 10), days=Int(1, 9), drug=Choice("a", "b"))
OTHERS = {
    "other bounds": Space(dose=Float(0, 20), days=Int(1, 9), drug=Choice("a", "b")),
    "other scale": Space(
        dose=Float(0, 10), days=Int(1, 9, log=True), drug=Choice("a", "b")
    ),
    "swapped options": Space(dose=Float(0, 10), days=Int(1, 9), drug=Choice("b", "a")),
    "another option": Space(dose=Float(0, 10), days=Int(1, 9), drug=Choice("a", "c")),
    "swapped parameters": Space(
        days=Int(1, 9), dose=Float(0, 10), drug=Choice("a", "b")
    ),
    "another name": Space(mass=Float(0, 10), days=Int(1, 9), drug=Choice("a", "b")),
    "another kind": Space(dose=Float(0, 10), days=Float(1, 9), drug=Choice("a", "b")),
}


def sites(space=SPACE, names="abc", num_results=5, **options):
    return {
        name: told(space, num_results, site=name, agent_id=n, **options)
        for n, name in enumerate(names)
    }


def packets_of(sites):
    return merge({name: site.upload() for name, site in sites.items()})


def refused(agent, packet, match):
    """Check that a packet is refused and that what was held stays in use."""
    before = agent.held_guidance
    with pytest.warns(GuidanceWarning, match=match):
        said = agent.receive(packet)
    assert said.refusal is not None
    assert replace(agent.held_guidance, refusal=None) == replace(before, refusal=None)
    return said


@pytest.mark.parametrize("name", OTHERS)
def test_a_packet_of_another_space_is_refused(name):
    assert fingerprint(OTHERS[name]) != fingerprint(SPACE)
    agent = sites()["a"]
    agent.receive(packets_of(sites())["a"])
    said = refused(agent, packets_of(sites(OTHERS[name]))["a"], "another search space")
    assert said.state == "active"
    assert agent.ask().guided


def test_the_goal_and_constraints_are_no_part_of_the_space():
    """Values are oriented so that larger is better."""
    up, down = told(SPACE, 5, site="up"), told(SPACE, 5, goal="min", site="down")
    packets = merge({"up": up.upload(), "down": down.upload()})
    assert up.receive(packets["up"]).state == "active"
    assert down.receive(packets["down"]).state == "active"


def test_another_sites_packet_is_refused():
    agents = sites()
    packets = packets_of(agents)
    refused(agents["a"], packets["b"], "for the site 'b', and this is 'a'")
    assert agents["a"].guidance.state == "none"


def test_a_packet_of_another_federation_is_refused():
    other = packets_of(sites(federation="elsewhere"))["a"]
    refused(sites()["a"], other, "federation 'elsewhere', and this is 'default'")


def test_a_packet_of_another_version_of_the_strategy_is_refused():
    agent = sites()["a"]
    terms = replace(agent.setup.terms, strategy_version=2)
    message = handed(agent, packet(agent.space.dim), terms=terms)
    refused(agent, message, "version 2 of guide")


def test_one_upload_under_two_names_is_left_out():
    agents = sites()
    uploads = {n: a.upload() for n, a in agents.items()} | {"d": agents["a"].upload()}
    with pytest.warns(UploadWarning, match="d is left out: it is of the site 'a'"):
        packets = merge(uploads)
    assert packets == packets_of(agents)


def test_two_sites_of_one_name_are_told_apart_from_one():
    """Both are agents without a name of their own: the newer upload counts."""
    old, new = told(SPACE, 4), told(SPACE, 5)
    with pytest.warns(UploadWarning, match="Every site needs a name of its own"):
        packets = merge({"old": old.upload(), "new": new.upload()})
    assert packets.keys() == {"new"}


def test_a_packet_of_round_1_after_twenty_results_is_refused():
    agent = sites()["a"]
    first = packets_of(sites())["a"]
    for _ in range(20):
        trial = agent.ask()
        agent.tell(trial, measure(agent.space, trial.values))
    refused(agent, first, "answers an upload 20 results ago, .* for 10. Upload again")


def test_a_packet_older_than_the_one_held_is_refused():
    agents = sites()
    first = packets_of(agents)
    for agent in agents.values():
        agent.tell(agent.ask(), 0.1)
    second = packets_of(agents)
    assert agents["a"].receive(second["a"]).state == "active"
    said = refused(agents["a"], first["a"], "older than the packet that is held")
    assert said.state == "active"
    # The same packet again is no harm, and takes the refusal back.
    assert agents["a"].receive(second["a"]).refusal is None


def test_of_two_answers_to_one_upload_the_later_round_is_newer():
    """Also where a site is missing in it."""
    agents = sites()
    uploads = {name: agent.upload() for name, agent in agents.items()}
    first = merge(uploads, t=1)
    second = merge({name: uploads[name] for name in "ab"}, t=2)
    assert agents["a"].receive(first["a"]).state == "active"
    assert agents["a"].receive(second["a"]).refusal is None
    assert agents["a"].guidance.message.head.num_uploads == 2
    refused(agents["a"], first["a"], "older")


def test_a_packet_of_nobody_else_does_not_take_the_place_of_the_others():
    for method in ("guide-ucb", "consensus-ucb"):
        agents = sites(method=method)
        agent = agents["a"]
        agent.receive(packets_of(agents)["a"])
        held = agent.held_guidance
        agent.tell(agent.ask(), 0.1)
        said = agent.receive(merge({"a": agent.upload()})["a"])
        assert (said.state, agent.held_guidance) == ("active", held)


def test_equal_spaces_have_equal_fingerprints():
    one = Space(x=Float(0, 10), n=Choice(1, 2), b=Choice(True, "a"))
    other = Space(x=Float(-0.0, 10.0), n=Choice(1.0, 2.0), b=Choice(True, "a"))
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(Space(n=Choice(1, 2))) != fingerprint(Space(n=Choice(True, 2)))


def test_a_site_can_be_renamed_and_keeps_its_results(tmp_path):
    agent = sites()["a"]
    agent.receive(packets_of(sites())["a"])
    trials = agent.trials
    agent.rename(site="north", federation="reaction")
    assert (agent.setup.site, agent.setup.federation) == ("north", "reaction")
    assert (agent.guidance.state, agent.trials) == ("none", trials)
    agent.save(tmp_path / "a.json")
    assert Agent.load(tmp_path / "a.json").upload().head.site == "north"
    with pytest.raises(SettingsError, match="site must be a name"):
        agent.rename(site="a b")


def test_a_packet_that_no_longer_fits_does_not_cost_the_results(tmp_path):
    agent = sites()["a"]
    agent.receive(packets_of(sites())["a"])
    agent.save(tmp_path / "a.json")
    form = json.loads((tmp_path / "a.json").read_text())
    form["setup"]["site"] = "north"
    (tmp_path / "a.json").write_text(json.dumps(form))
    loaded = Agent.load(tmp_path / "a.json")
    assert loaded.trials == agent.trials
    assert loaded.guidance.state == "none"
    assert "for the site 'a', and this is 'north'" in loaded.guidance.refusal


@pytest.mark.parametrize("damaged", ["{}", 5, "\ud800", "", "[", {}])
def test_a_damaged_packet_in_a_file_is_let_go_and_said(damaged, tmp_path):
    agent = sites()["a"]
    agent.receive(packets_of(sites())["a"])
    agent.save(tmp_path / "a.json")
    form = json.loads((tmp_path / "a.json").read_text())
    form["guidance"]["packet"] = damaged
    (tmp_path / "a.json").write_text(json.dumps(form))
    loaded = Agent.load(tmp_path / "a.json")
    assert (loaded.guidance.state, loaded.guidance.packet) == ("none", None)
    assert loaded.guidance.refusal
    assert loaded.trials == agent.trials
    assert not loaded.ask().guided


def test_uploads_of_another_strategy_are_not_answered():
    fmtbo = [told("box", 4, method="fmtbo", site=name) for name in "ab"]
    uploads = {site.setup.site: site.upload() for site in fmtbo}
    with pytest.raises(WireError, match="this is the server of 'fmtbo-as-run'"):
        merge(uploads, method="fmtbo-as-run")


def test_noise_that_protects_is_never_used_twice():
    few = {"num_shared": 16}
    many = [
        told("box", 4, method="fts-de", settings=few, site=n, agent_id=k)
        for k, n in enumerate("abcd")
    ]
    private = {"settings": {"privacy": "gaussian", "privacy_rate": 1.0}}

    def weights(seed=987654321):
        packets = merge({a.setup.site: a.upload() for a in many}, seed=seed, **private)
        return np.array(json.loads(packets["a"])["body"]["weights"])

    before = weights()
    assert np.array_equal(before, weights())
    many[3].tell(many[3].ask(), 0.2)
    # Fresh noise: the difference is as wide as the noise, not as what was told.
    assert np.std(weights() - before) > np.std(before)
    with pytest.raises(SettingsError, match="a seed that no site knows"):
        weights(seed=None)


def test_a_packet_from_the_future_is_refused():
    """The agent's file was put back, or the packet is forged."""
    agents = sites(num_results=8)
    refused(sites(num_results=5)["a"], packets_of(agents)["a"], "after 8 results")


def test_age_counts_from_the_upload_and_a_correction_does_not_age(tmp_path):
    agents = sites(packet_lifetime=4)
    packets = packets_of(agents)
    agent = agents["a"]
    for k in range(2):
        agent.tell(agent.ask(), 0.1 * k)
    assert agent.receive(packets["a"]).state == "active"
    for k in range(6):
        agent.tell(agent.trials[0], 0.5 + k)
    assert agent.guidance.state == "active"
    agent.tell(agent.ask(), 0.3)
    assert agent.guidance.state == "active"
    agent.tell(agent.ask(), failed="no")
    assert agent.guidance.state == "stale"
    assert "4 results came after the upload" in str(agent.guidance)
    agent.save(tmp_path / "a.json")
    assert Agent.load(tmp_path / "a.json").guidance == agent.guidance


def test_a_message_travels_as_bytes_text_or_itself():
    agents = sites()
    uploads = {
        "a": agents["a"].upload(),
        "b": agents["b"].upload().to_bytes(),
        "c": agents["c"].upload().to_bytes().decode(),
    }
    assert merge(uploads) == packets_of(agents)
    packet = packets_of(agents)["a"]
    assert agents["a"].receive(packet.decode()).state == "active"


def test_the_head_of_an_upload():
    agent = told(SPACE, 5, site="north", federation="reaction", settings=LIGHT)
    form = json.loads(agent.upload().to_bytes())
    assert form["format"] == "guidefbo-message"
    assert form["version"] == VERSION == 2
    named = {"federation": "reaction", "strategy": "guide", "site": "north"}
    assert {name: form[name] for name in named} == named
    assert form["space"] == fingerprint(SPACE)
    assert form["sequence"] == 5


NO_NAMES = ["", "a b", "a/b", "x" * 65, "ü", "a\nb", 7]


@pytest.mark.parametrize(
    ("what", "name"),
    [
        *((what, name) for what in ("site", "federation") for name in NO_NAMES),
        ("federation", None),
    ],
)
def test_names_are_plain(what, name):
    with pytest.raises(SettingsError, match=f"{what} must be a name"):
        make(**{what: name})


def test_a_message_of_yesterday_says_what_to_do():
    agent = told(SPACE, 4)
    form = json.loads(agent.upload().to_bytes())
    old = {k: form[k] for k in ("format", "kind", "body")} | {"version": 1}
    with pytest.raises(WireError, match=r"not say whose .* make the message again"):
        merge({"a": json.dumps(old)}, method="guide-ucb")


def test_a_file_of_version_1_loads_and_goes_on(tmp_path):
    agent = Agent.load(DATA / "site-version-1.json")
    assert agent.guidance.state == "active"
    assert len(agent.guidance.packet) > 0
    assert (agent.setup.site, agent.setup.federation) == ("site-0", "default")
    assert agent.setup.settings == {"beta": 2.0, "num_paths": 50}
    assert [t.state for t in agent.trials].count("done") == 7
    trial = agent.ask()
    assert trial.guided
    agent.save(tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text())["version"] == 3
    again = Agent.load(tmp_path / "new.json")
    assert again.guidance == agent.guidance
    assert again.trials == agent.trials
    # Old guidance grows stale, and a new packet takes its place.
    fresh = handed(agent, packet(agent.space.dim))
    assert agent.receive(fresh).state == "active"


def test_a_file_of_version_2_loads_and_goes_on(tmp_path):
    agent = Agent.load(DATA / "site-version-2.json")
    assert agent.guidance.state == "active"
    assert agent.setup.overshoot == 0.05
    assert [t.state for t in agent.trials].count("done") == 8
    assert all(trial.as_run == trial.values for trial in agent.trials)
    assert agent.trials[1].std == 0.1
    # As the version that wrote it would have gone on, but for the option: "b" then.
    assert agent.ask().values == {"x": 0.0, "n": 1, "drug": "c", "warm": False}
    agent.save(tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text())["version"] == 3
    assert Agent.load(tmp_path / "new.json").trials == agent.trials


def test_a_file_of_version_3_loads_and_goes_on(tmp_path):
    """With everything in it: units, steps, outcomes, as run, a changed space."""
    file = DATA / "site-version-3.json"
    agent = Agent.load(file)
    setup = agent.setup
    assert setup.method == "shape-ucb"
    assert (setup.objective, setup.unit, setup.outcome_bounds) == (
        "yield",
        "%",
        (0, 100),
    )
    assert [str(outcome) for outcome in setup.outcomes] == ["impurity [%] <= 2"]
    assert setup.version == 2
    assert setup.former[0].parameters["heat"].high == 120
    assert setup.space.parameters["cat"].options == ("a", "b", "c")
    assert (setup.without, setup.fixed) == ({"cat": ("b",)}, {"stir": True})
    assert [t.state for t in agent.trials] == [
        *["done"] * 7, "failed", "abandoned", "pending"
    ]  # fmt: skip
    corrected, as_run = agent.trials[0], agent.trials[6]
    assert [record.value for record in corrected.records][-1] == 77.7
    assert len(corrected.records) == 2
    assert (as_run.as_run["heat"], as_run.values["heat"]) != (120.9, 120.9)
    assert as_run.as_run["heat"] == 120.9
    assert (as_run.std, as_run.outcomes) == (0.5, {"impurity": 1.9})
    assert agent.held_guidance.message.head.num_uploads == 3
    agent.save(tmp_path / "new.json")
    form = json.loads((tmp_path / "new.json").read_text())
    # What the model said was not kept then.
    assert form.pop("summary")["told"] == 0
    assert form == json.loads(file.read_text())
    with quietly():
        asked = agent.ask().values
    # The version that wrote it, which kept farther from the limit, asked for 101.
    assert asked == {"heat": 110.0, "time": 60.0, "n": 1, "cat": "a", "stir": True}


def test_a_file_of_version_1_with_a_refused_packet_loads():
    agent = Agent.load(DATA / "site-version-1-refused.json")
    assert agent.setup.method == "fts-as-run"
    assert agent.guidance.state == "none"
    assert agent.guidance.refusal.startswith("Expected a JSON message")
