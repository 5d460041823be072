"""Sites that seek a consensus by exchanging messages."""

import numpy as np
import pytest
from tests.site.sites import SPACES, handed, in_space, make, packet, quietly, told

from guidefbo import Agent
from guidefbo.agent.strategies.consensus.agent import ConsensusAgent
from guidefbo.core.errors import GuidanceWarning, WireError
from guidefbo.server.exchange import merge
from guidefbo.server.strategies.consensus.settings import FUSIONS
from guidefbo.wire.codec import read
from guidefbo.wire.consensus import ConsensusPacket
from guidefbo.wire.envelope import PacketHead

METHOD = "consensus-ucb"


def federation(name, num_sites=3, num_results=5):
    return {
        f"site {n}": told(name, num_results, method=METHOD, seed=n, agent_id=n)
        for n in range(num_sites)
    }


@pytest.mark.parametrize(
    ("name", "fusion"),
    [
        *((name, "dersimonian-laird") for name in SPACES),
        *(("line", fusion) for fusion in FUSIONS if fusion != "dersimonian-laird"),
    ],
)
def test_sites_exchange_and_go_on(name, fusion):
    sites = federation(name, 2 if name in ("cut", "shares") else 3)
    uploads = {place: site.upload() for place, site in sites.items()}
    packets = merge(uploads, method=METHOD, settings={"fusion": fusion})
    assert packets.keys() == sites.keys()
    for place, site in sites.items():
        said = site.receive(packets[place])
        assert said.state == "active"
        with quietly():
            trial = site.ask()
        assert in_space(site.space, trial.values)


@pytest.mark.parametrize("method", ["consensus-ucb", "consensus-nei", "consensus-ts"])
def test_every_rule(method):
    sites = [told("box", 5, method=method, agent_id=n) for n in range(2)]
    packets = merge({str(n): s.upload() for n, s in enumerate(sites)}, method=method)
    sites[0].receive(packets["0"])
    assert sites[0].ask().guided


def test_a_packet_is_what_the_other_said():
    """Two sites: each hears the other, as sure as it said."""
    one, other = (told("box", 6, method=METHOD, agent_id=n) for n in (1, 2))
    packets = merge({"one": one.upload(), "other": other.upload()}, method=METHOD)
    heard = read(packets["one"], ConsensusPacket, PacketHead).body.components
    assert heard.centers[0] == pytest.approx(other.upload().body.center, rel=1e-12)
    assert heard.variances[0] == pytest.approx(other.upload().body.variance, rel=1e-12)


def test_the_own_place_is_computed_once_a_fit(monkeypatch):
    """For the message and all guided questions; a site alone never computes it."""
    calls, study = [], ConsensusAgent.study

    def counted(self, posterior):
        calls.append(len(posterior.y))
        return study(self, posterior)

    monkeypatch.setattr(ConsensusAgent, "study", counted)
    site, other = (told("box", 6, method=METHOD, agent_id=n) for n in (1, 2))
    site.ask(2)
    assert not calls
    packets = merge({"one": site.upload(), "other": other.upload()}, method=METHOD)
    assert calls == [6, 6]
    site.receive(packets["one"])
    site.upload()
    assert all(trial.guided for trial in site.ask(3))
    assert calls == [6, 6]
    site.tell({"x": 0.3, "y": 20.0}, 0.4)
    site.ask(2)
    assert calls == [6, 6, 7]


@pytest.mark.parametrize("num_pending", [0, 5])
def test_what_is_imagined_does_not_move_the_own_place(num_pending, monkeypatch):
    """E88: results that are not there say nothing of where the optimum is."""
    site, other = (told("box", 8, method=METHOD, agent_id=n) for n in (1, 2))
    own = site.upload()
    packets = merge({"a": own, "b": other.upload()}, method=METHOD)
    site.receive(packets["a"])
    seen, aimed = [], ConsensusAgent.aimed

    def watched(self, insight, packet):
        seen.append((insight, aimed(self, insight, packet)))
        return seen[-1][1]

    monkeypatch.setattr(ConsensusAgent, "aimed", watched)
    with quietly():
        for _ in range(num_pending + 1):
            site.ask()
    # Worked out once for all questions from the same results.
    (((center, variance), _),) = seen
    assert np.array_equal(center, own.body.center)
    assert np.array_equal(variance, own.body.variance)


def test_alone_a_site_hears_that_there_is_nobody(tmp_path):
    site, hermit = (told("box", 5, method=METHOD, seed=3) for _ in range(2))
    packets = merge({"here": site.upload()}, method=METHOD)
    said = site.receive(packets["here"])
    assert (said.state, said.packet) == ("none", None)
    assert "nobody else has spoken; working alone" in str(said)
    trial = site.ask()
    assert not trial.guided
    assert trial.values == hermit.ask().values
    site.save(tmp_path / "a.json")
    assert Agent.load(tmp_path / "a.json").guidance == said


def test_a_site_survives_its_file(tmp_path):
    sites = federation("mixed", 2)
    uploads = {place: site.upload() for place, site in sites.items()}
    packets = merge(uploads, method=METHOD)
    site = sites["site 0"]
    site.receive(packets["site 0"])
    site.save(tmp_path / "a.json")
    loaded = Agent.load(tmp_path / "a.json")
    assert loaded.guidance.state == "active"
    assert loaded.ask().values == site.ask().values


def test_a_site_that_stays_away_is_not_missed():
    sites = federation("box", 4)
    uploads = {p: s.upload() for p, s in sites.items() if p != "site 2"}
    assert merge(uploads, method=METHOD).keys() == uploads.keys()


def test_messages_of_another_method_are_refused():
    site = told("box", 5, method=METHOD)
    with pytest.warns(GuidanceWarning, match=r"guide\.packet"):
        said = site.receive(handed(site, packet(2)))
    assert (said.state, said.packet) == ("none", None)
    with pytest.raises(WireError, match=r"consensus\.upload"):
        merge({"b": told("box", 5).upload()}, method=METHOD)


def test_a_packet_of_another_space_is_refused():
    line = [told("line", 4, method=METHOD, agent_id=n) for n in range(2)]
    packets = merge({str(n): s.upload() for n, s in enumerate(line)}, method=METHOD)
    with pytest.warns(GuidanceWarning, match="another search space"):
        assert make("box", method=METHOD).receive(packets["0"]).state == "none"
