"""Sites of every federated method exchange messages and survive what does not fit."""

import json

import numpy as np
import pytest
from tests.site.sites import (
    LIGHT,
    SPACES,
    handed,
    in_space,
    make,
    measure,
    quietly,
    told,
)

from guidefbo import Agent, Float, Space
from guidefbo.core.errors import GuidanceWarning, SettingsError
from guidefbo.core.settings import settings_of
from guidefbo.methods.registry import all_methods
from guidefbo.server.exchange import merge
from guidefbo.site.guidance import Guidance
from guidefbo.wire.fmtbo import ModelPacket, SharedHyperparameters
from guidefbo.wire.fts import FeatureWeights, PeerPoint, RegionWeights

FEW = LIGHT | {"num_shared": 24, "trust": "others"}
CUBE = Space(x=Float(0, 1), y=Float(0, 1), z=Float(0, 1))
"""Another space than the box of two coordinates."""
OTHERWISE = {"num_shared": 25, "num_regions": 2, "share": "iso2"}
"""Settings that change a packet's form, where a method uses them."""


FEDERATED = {m.name: m for m in all_methods() if m.strategy.server is not None}
CASES = [n for n, m in FEDERATED.items() if m.strategy.site_refusal is None]


def known(method, settings):
    """Return those settings that a method has."""
    names = FEDERATED[method].settings
    return {name: value for name, value in settings.items() if name in names}


def federation(space, method, settings, num_sites=2):
    """Return sites with a design each; the seed is one for all."""
    return {
        f"site {n}": told(
            space,
            4,
            method=method,
            settings=settings,
            agent_id=n,
            num_agents=num_sites,
        )
        for n in range(num_sites)
    }


def exchange(sites, method, settings, t=1):
    """Return the packet of every site, as bytes."""
    uploads = {place: site.upload().to_bytes() for place, site in sites.items()}
    names = settings_of(FEDERATED[method].strategy.server)
    given = {name: value for name, value in settings.items() if name in names}
    return merge(uploads, method=method, t=t, settings=given)


def copied(agent, path):
    agent.save(path, overwrite=True)
    return Agent.load(path)


def test_only_those_that_show_values_to_other_sites_are_left_out():
    missing = FEDERATED.keys() - set(CASES)
    assert {FEDERATED[name].strategy.name for name in missing} == {
        "cgp",
        "shared-data",
    }
    with pytest.raises(SettingsError, match="simulations only: it compares the values"):
        make("box", method="cgp-ucb")


@pytest.mark.parametrize(
    ("method", "space"),
    [
        (case, space)
        for case in CASES
        for space in ("box", "mixed")
        # The rule makes no difference to what is exchanged.
        if space == "box" or FEDERATED[case].rule.name in ("ts", "ts-grid", "ei")
    ],
)
def test_sites_exchange_for_some_rounds(method, space, tmp_path):
    settings = known(method, FEW)
    sites = federation(space, method, settings, num_sites=3 if space == "box" else 2)
    num_moved = 0
    # On choices, draws that a packet moves to another option are rarer.
    for t in range(1, 3 if space == "box" else 5):
        packets = exchange(sites, method, settings, t)
        assert packets.keys() == sites.keys()
        for place, site in sites.items():
            alone = copied(site, tmp_path / "alone.json")
            alone._workings.guidance = Guidance()
            assert site.receive(packets[place]).state == "active"
            site.save(tmp_path / f"{place}.json")
            trial = site.ask()
            assert trial.guided
            assert in_space(site.space, trial.values)
            num_moved += alone.ask().values != trial.values
            if t == 2:
                again = Agent.load(tmp_path / f"{place}.json")
                assert again.guidance.state == "active"
                assert again.ask().values == trial.values
                assert again.upload().to_bytes() == site.upload().to_bytes()
            site.tell(trial, measure(site.space, trial.values))
    # A packet that is held is used, if not in every round.
    assert num_moved > 0


def misfits(method, settings):
    """Return packets of other sites: of another space, and with other settings."""
    others = [(CUBE, settings)]
    for name, value in known(method, OTHERWISE).items():
        others.append(("box", settings | {name: value}))
    for space, given in others:
        sites = federation(space, method, given)
        yield exchange(sites, method, given)["site 0"]


@pytest.mark.parametrize("method", CASES)
def test_what_does_not_fit_is_refused_and_what_is_held_stays(method, tmp_path):
    settings = known(method, FEW)
    sites = federation("box", method, settings)
    own = exchange(sites, method, settings)["site 0"]
    for other in misfits(method, settings):
        site = copied(sites["site 0"], tmp_path / "site.json")
        site.receive(own)
        keeper = copied(site, tmp_path / "keeper.json")
        with pytest.warns(GuidanceWarning, match="the packet was refused: "):
            said = site.receive(other)
        assert said.state == "active"
        assert said.refusal
        assert site.upload().to_bytes() == keeper.upload().to_bytes()
        for _ in range(2):
            trial, expected = site.ask(), keeper.ask()
            assert trial.guided
            assert trial.values == expected.values
            for each in (site, keeper):
                each.tell(each.trials[-1], measure(site.space, trial.values))
        with quietly():
            assert copied(site, tmp_path / "again.json").guidance == said
        refuse_in_file(site, other, tmp_path / "held.json")


def refuse_in_file(site, other, path):
    """A packet in a file is checked like one that comes."""
    site.save(path, overwrite=True)
    form = json.loads(path.read_text())
    form["guidance"]["packet"] = other.decode()
    path.write_text(json.dumps(form))
    loaded = Agent.load(path)
    assert loaded.trials == site.trials
    assert loaded.guidance.state == "none"
    assert loaded.guidance.refusal


def extremes(dim):
    """Return the largest packets that the wire lets pass, with who takes them."""
    wave = np.resize([1e6, -1e6], 48) / 7.0
    scales = np.resize([1e-9, 1e9], dim)
    point = np.resize([1.0 + 1e-10, -1e-10], dim)
    ard = SharedHyperparameters(lengthscales=scales, outputscale=1e9)
    iso = SharedHyperparameters(lengthscales=np.array([1e-9]), outputscale=1e-9)
    yield "fts", {}, FeatureWeights(weights=wave[:24])
    yield "fts-as-run", {}, PeerPoint(point=point)
    yield "fts-de", {}, RegionWeights(weights=np.stack([wave[:24]] * 4))
    yield "fts-de-as-run", {}, RegionWeights(weights=np.stack([wave] * 4))
    yield "fmtbo", {}, ModelPacket(hyper=ard)
    yield "fmtbo", {"share": "iso2"}, ModelPacket(hyper=iso)


@pytest.mark.parametrize("space", ["box", "tiny"])
def test_the_largest_that_passes_can_be_asked_about(space):
    """In every round: a site follows itself in some of them."""
    for method, settings, extreme in extremes(SPACES[space].dim):
        site = told(space, 4, method=method, settings=FEW | settings)
        assert site.receive(handed(site, extreme).to_bytes()).state == "active"
        for _ in range(3):
            with quietly():
                trial = site.ask()
            assert in_space(site.space, trial.values)
            site.tell(trial, measure(site.space, trial.values))
