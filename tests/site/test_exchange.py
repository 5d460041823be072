"""Sites of every federated method exchange messages and survive what does not fit."""

import json

import numpy as np
import pytest
from guidefbo.methods.build import build_server_side
from guidefbo.methods.catalog import METHODS
from guidefbo.methods.settings import MODES, Settings
from guidefbo.methods.uses import used_settings
from guidefbo.site.merge import merge
from tests.site.sites import LIGHT, SPACES, in_space, make, measure, quietly, told

from guidefbo import Agent, Float, Space
from guidefbo.core.errors import GuidanceWarning, SettingsError
from guidefbo.site.file import AgentFileError
from guidefbo.testing.codec import encode
from guidefbo.wire.cost import Cost
from guidefbo.wire.fmtbo import ModelPacket, SharedHyperparameters
from guidefbo.wire.fts import FeatureWeights, PeerPoint, RegionWeights

FEW = LIGHT | {"num_shared": 24}
CUBE = Space(x=Float(0, 1), y=Float(0, 1), z=Float(0, 1))
"""Another space than the box of two coordinates."""
OTHERWISE = {"num_shared": 25, "num_regions": 2, "share": "iso2"}
"""Settings that change a packet's form, where a method uses them."""


def is_for_sites(name):
    """Whether a method exchanges messages, and lets sites do so."""
    if build_server_side(METHODS[name], Settings()) is None:
        return False
    try:
        make("box", method=name)
    except SettingsError:
        return False
    return True


CASES = [
    pytest.param(name, mode, id=f"{name}, {mode}")
    for name, method in METHODS.items()
    if is_for_sites(name)
    for mode in (MODES if "mode" in used_settings(method) else MODES[:1])
]


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
    uploads = {place: encode(site.upload()) for place, site in sites.items()}
    return merge(uploads, method=method, t=t, settings=settings)


def copied(agent, path):
    agent.save(path, overwrite=True)
    return Agent.load(path)


def test_only_those_that_compare_values_between_sites_are_left_out():
    federated = {
        name for name in METHODS if build_server_side(METHODS[name], Settings())
    }
    missing = federated - {case.values[0] for case in CASES}
    assert {METHODS[name].strategy for name in missing} == {"cgp"}


@pytest.mark.parametrize(
    ("method", "mode", "space"),
    [
        pytest.param(*case.values, space, id=f"{case.id}, {space}")
        for case in CASES
        for space in ("box", "mixed")
        # The rule makes no difference to what is exchanged.
        if space == "box" or METHODS[case.values[0]].rule in ("ts", "ei")
    ],
)
def test_sites_exchange_for_some_rounds(method, mode, space, tmp_path):
    settings = FEW | {"mode": mode}
    sites = federation(space, method, settings, num_sites=3 if space == "box" else 2)
    num_moved = 0
    for t in (1, 2):
        packets = exchange(sites, method, settings, t)
        assert packets.keys() == sites.keys()
        for place, site in sites.items():
            alone = copied(site, tmp_path / "alone.json")
            alone.receive(None)
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
                assert encode(again.upload()) == encode(site.upload())
            site.tell(trial, measure(site.space, trial.values))
    # A packet that is held is used, if not in every round.
    assert num_moved > 0


def misfits(method, settings):
    """Return packets of other sites: of another space, and with other settings."""
    known = used_settings(METHODS[method])
    others = [(CUBE, settings)]
    for name, value in OTHERWISE.items():
        if name in known:
            others.append(("box", settings | {name: value}))
    for space, given in others:
        sites = federation(space, method, given)
        yield exchange(sites, method, given)["site 0"]


@pytest.mark.parametrize(("method", "mode"), CASES)
def test_what_does_not_fit_is_refused_and_harms_nobody(method, mode, tmp_path):
    settings = FEW | {"mode": mode}
    sites = federation("box", method, settings)
    own = exchange(sites, method, settings)["site 0"]
    site = copied(sites["site 0"], tmp_path / "site.json")
    hermit = copied(site, tmp_path / "hermit.json")
    num_refused = 0
    for other in misfits(method, settings):
        if Cost.of(other).scalars == Cost.of(own).scalars:
            # Nothing in it tells the space or the setting: it fits.
            assert copied(site, tmp_path / "fits.json").receive(other).state == "active"
            continue
        num_refused += 1
        site.receive(own)
        with pytest.warns(GuidanceWarning, match="working alone"):
            said = site.receive(other)
        assert (said.state, said.packet) == ("refused", None)
        assert "got" in said.reason
        assert encode(site.upload()) == encode(hermit.upload())
        for _ in range(2):
            trial, expected = site.ask(), hermit.ask()
            assert not trial.guided
            assert trial.values == expected.values
            for each in (site, hermit):
                each.tell(each.trials[-1], measure(site.space, trial.values))
        with quietly():
            assert copied(site, tmp_path / "again.json").guidance == said
        refuse_in_file(site, own, other, tmp_path / "held.json")
    assert num_refused > 0


def refuse_in_file(site, own, other, path):
    """A packet in a file is checked like one that comes."""
    keeper = copied(site, path)
    keeper.receive(own)
    keeper.save(path)
    form = json.loads(path.read_text())
    form["guidance"]["packet"] = other.decode()
    path.write_text(json.dumps(form))
    with pytest.raises(AgentFileError, match="must"):
        Agent.load(path)


def extremes(dim):
    """Return the largest packets that the wire lets pass, with who takes them."""
    wave = np.resize([1e6, -1e6], 48) / 7.0
    scales = np.resize([1e-9, 1e9], dim)
    point = np.resize([1.0 + 1e-10, -1e-10], dim)
    ard = SharedHyperparameters(lengthscales=scales, outputscale=1e9)
    iso = SharedHyperparameters(lengthscales=np.array([1e-9]), outputscale=1e-9)
    yield "fts", {}, FeatureWeights(weights=wave[:24])
    yield "fts", {"mode": "as-run"}, PeerPoint(point=point)
    yield "fts-de", {}, RegionWeights(weights=np.stack([wave[:24]] * 4))
    yield "fts-de", {"mode": "as-run"}, RegionWeights(weights=np.stack([wave] * 4))
    yield "fmtbo", {}, ModelPacket(hyper=ard)
    yield "fmtbo", {"share": "iso2"}, ModelPacket(hyper=iso)


@pytest.mark.parametrize("space", ["box", "tiny"])
def test_the_largest_that_passes_can_be_asked_about(space):
    """In every round: a site follows itself in some of them."""
    for method, settings, extreme in extremes(SPACES[space].dim):
        site = told(space, 4, method=method, settings=FEW | settings)
        assert site.receive(encode(extreme)).state == "active"
        for _ in range(3):
            with quietly():
                trial = site.ask()
            assert in_space(site.space, trial.values)
            site.tell(trial, measure(site.space, trial.values))
