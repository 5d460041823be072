"""Sites that exchange what their objectives look like in the large."""

import numpy as np
import pytest
from tests.site.sites import (
    LIGHT,
    SPACES,
    handed,
    in_space,
    make,
    measure,
    packet,
    quietly,
    told,
)

from guidefbo import Agent
from guidefbo.core.errors import GuidanceWarning, WireError
from guidefbo.methods.default import DEFAULT_METHOD, LONE_METHOD
from guidefbo.server.exchange import merge
from guidefbo.wire.codec import read
from guidefbo.wire.envelope import PacketHead
from guidefbo.wire.shape import ShapePacket

METHOD = "shape-ucb"


def federation(name, num_sites=2, num_results=4, **options):
    return {
        f"site {n}": told(
            name, num_results, seed=n, agent_id=n, **{"method": METHOD} | options
        )
        for n in range(num_sites)
    }


def exchanged(sites, **options):
    """Return the packets of an exchange among some sites."""
    uploads = {place: site.upload() for place, site in sites.items()}
    return merge(uploads, method=METHOD, **options)


@pytest.mark.parametrize("name", SPACES)
def test_sites_exchange_and_go_on(name):
    sites = federation(name)
    packets = exchanged(sites)
    assert packets.keys() == sites.keys()
    site = sites["site 0"]
    assert site.receive(packets["site 0"]).state == "active"
    with quietly():
        trial = site.ask()
    assert in_space(site.space, trial.values)


@pytest.mark.parametrize("method", ["shape-nei", "shape-ts", "shape-ts-grid"])
def test_every_rule(method):
    sites = federation("mixed", method=method)
    packets = merge({p: s.upload() for p, s in sites.items()}, method=method)
    site = sites["site 0"]
    site.receive(packets["site 0"])
    assert site.ask().guided


def test_a_packet_has_the_form_of_an_upload():
    """E95: of the other one's, where there are two."""
    sites = federation("mixed")
    packets = exchanged(sites, settings={"pooling": "moments"})
    heard = read(packets["site 0"], ShapePacket, PacketHead).body
    sent = sites["site 1"].upload().body
    assert heard.form == sent.form
    assert sent.kinds == ("slopes", "bends", "choice", "place")
    assert sent.sizes == (3, 3, 3, 3)
    theirs, ours = (np.concatenate(each.means) for each in (sent, heard))
    assert (np.abs(ours) <= np.abs(theirs)).all()
    assert (np.sign(ours) == np.sign(theirs)).all()


def test_running_and_failed_trials_are_reckoned_with():
    """Several questions in a row differ, and a failure is no end."""
    sites = federation("box", num_results=5)
    packets = exchanged(sites)
    site = sites["site 0"]
    site.receive(packets["site 0"])
    with quietly():
        first, second, third = site.ask(3)
        places = {tuple(t.values.values()) for t in (first, second, third)}
        assert len(places) == 3
        site.tell(first, failed="burst")
        site.tell(second, 0.3)
        assert in_space(site.space, site.ask().values)
    assert len(site.upload().body) == 6


def test_uploads_ignore_what_was_received():
    """The same bytes before and after, whatever the packet says."""
    sites = federation("mixed", num_results=5)
    site = sites["site 0"]
    before = site.upload().to_bytes()
    assert site.receive(exchanged(sites)["site 0"]).state == "active"
    assert site.upload().to_bytes() == before


def test_alone_a_site_hears_that_there_is_nobody():
    site, hermit = (told("box", 5, method=METHOD, seed=3) for _ in range(2))
    packets = merge({"here": site.upload()}, method=METHOD)
    said = site.receive(packets["here"])
    assert (said.state, said.packet) == ("none", None)
    trial = site.ask()
    assert not trial.guided
    assert trial.values == hermit.ask().values


def test_trend_is_a_site_that_trusts_nobody():
    """The same queries to the bit, with a packet at hand and without."""
    deaf = federation("mixed", settings=LIGHT | {"trust": "own"})
    site = deaf["site 0"]
    hermit = told("mixed", 4, method="trend-ucb", seed=0, agent_id=0)
    site.receive(exchanged(deaf)["site 0"])
    assert site.guidance.state == "active"
    assert site.guidance.weights.keys() == {"own", "none"}
    for _ in range(2):
        first, second = site.ask(), hermit.ask()
        assert first.values == second.values
        for each, trial in ((site, first), (hermit, second)):
            each.tell(trial, measure(each.space, trial.values))


@pytest.mark.parametrize("name", ["line", "box", "mixed", "tiny", "shares"])
def test_who_names_no_method_has_the_lone_model_of_trend(name):
    """To the bit: no less because no packet came, and ready to exchange."""
    chosen = Agent(SPACES[name], goal="max", initial=4, seed=2)
    hermit = Agent(SPACES[name], goal="max", initial=4, seed=2, method=LONE_METHOD)
    assert chosen.setup.method == DEFAULT_METHOD == METHOD
    for _ in range(6):
        with quietly():
            first, second = chosen.ask(), hermit.ask()
        assert first.values == second.values
        for each, trial in ((chosen, first), (hermit, second)):
            each.tell(trial, measure(each.space, trial.values))
    assert chosen.upload() is not None
    assert hermit.upload() is None


def test_trend_sends_nothing_and_takes_nothing():
    hermit = told("box", 4, method="trend-ucb")
    assert hermit.upload() is None
    with pytest.warns(GuidanceWarning, match="takes no guidance"):
        assert hermit.receive(handed(hermit, packet(2))).state == "none"


def test_messages_of_an_earlier_version_are_refused():
    """They had no places and did not say which block is which."""
    site, sites = told("box", 4, method=METHOD), federation("box")
    new = exchanged(sites)["site 0"]
    old = new.replace(b'"strategy_version":2', b'"strategy_version":1')
    assert old != new
    words = "version 1 of shape, and this side has version 2"
    with pytest.warns(GuidanceWarning, match=words):
        assert site.receive(old).state == "none"


def test_a_site_survives_its_file(tmp_path):
    sites = federation("mixed")
    site = sites["site 0"]
    site.receive(exchanged(sites)["site 0"])
    site.save(tmp_path / "a.json")
    loaded = Agent.load(tmp_path / "a.json")
    assert loaded.guidance.state == "active"
    assert loaded.ask().values == site.ask().values


def test_a_plot_has_no_field_to_draw(tmp_path):
    sites = federation("mixed")
    site = sites["site 0"]
    site.receive(exchanged(sites)["site 0"])
    site.plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_messages_of_another_method_or_space_are_refused():
    site = told("box", 4, method=METHOD)
    with pytest.warns(GuidanceWarning, match=r"guide\.packet"):
        assert site.receive(handed(site, packet(2))).state == "none"
    with pytest.raises(WireError, match=r"shape\.upload"):
        merge({"b": told("box", 4).upload()}, method=METHOD)
    line = exchanged(federation("line"))
    with pytest.warns(GuidanceWarning, match="another search space"):
        assert make("box", method=METHOD).receive(line["site 0"]).state == "none"
