"""The host changes the search space: who is told what, and what is still used."""

import json
from copy import deepcopy

import pytest
from tests.coordinator.world import SPACE, make_upload, read_packet

from guidefbo.coordinator import host
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.spaces import LONGEST, change_space
from guidefbo.core.errors import SettingsError, SpaceError
from guidefbo.core.space.form import fingerprint, space_from_form

NAMES = ("north", "south", "west")


def changed(**bounds):
    """Return the space of the tests with other bounds."""
    form = deepcopy(SPACE)
    for name, (low, high) in bounds.items():
        form["parameters"][name] |= {"low": low, "high": high}
    return space_from_form(form)


WIDER = changed(dose=(0.1, 20.0), heat=(-0.5, 1.0))


def upload_in(space, site, sequence):
    """Return an upload that speaks of another space."""
    form = json.loads(make_upload(site, sequence))
    form["space"] = fingerprint(space)
    return json.dumps(form)


def message(world, letter):
    status, said = world.ask(letter)
    assert status == 409
    assert said["error"] == "changed"
    assert len(said["message"]) < 500
    return said["message"]


def test_the_fingerprint_is_where_these_tests_change_it():
    assert json.loads(make_upload("north", 1))["space"] == fingerprint(changed())


def test_old_uploads_are_no_longer_used_and_sites_are_told(world):
    sites = world.joined(*NAMES)
    for site in sites:
        said = world.ok(site.exchange(5))
    assert said["packet"] is not None
    done = change_space(world.store, "reaction", WIDER)
    assert done.lines == ["dose: high 10 -> 20", "heat: low 0 -> -0.5"]
    assert done.affected == list(NAMES)
    assert done.num_retired == 3
    assert done.federation.terms.space == fingerprint(WIDER) != done.former
    assert host.overview(world.store, "reaction").num_uploads == 0

    north, south, west = sites
    told = message(world, north.exchange(6))
    assert "dose: high 10 -> 20; heat: low 0 -> -0.5" in told
    command = "guidefbo change FILE --bounds dose=0.1,20 --bounds heat=-0.5,1"
    assert command in told
    # Who has nothing new to hand over is told the same.
    said = world.ok(south.exchange())
    assert said["packet"] is None
    assert command in said["reason"]
    assert (said["accepted"], said["num_uploads"]) == (None, 0)

    for site in (north, south):
        world.ok(site.exchange(upload=upload_in(WIDER, site.name, 6)))
    # Two have followed, and three are needed: the old upload of west counts no more.
    said = world.ok(north.exchange())
    assert said["reason"] == "it would be made of 2 uploads; 3 are needed"
    said = world.ok(west.exchange(upload=upload_in(WIDER, "west", 5)))
    head = read_packet(said["packet"]).head
    assert head.terms.space == fingerprint(WIDER)
    assert head.num_uploads == 3


def test_it_survives_a_restart(world):
    (north,) = world.joined("north")
    world.ok(north.exchange(5))
    change_space(world.store, "reaction", WIDER)
    world.restart()
    assert "dose: high 10 -> 20" in message(world, north.exchange(6))
    found = host.overview(world.store, "reaction").federation
    assert found.former == (SPACE,)
    assert "former" in json.loads(host.export(world.store, "reaction"))


def test_who_is_two_versions_behind_is_told_the_whole_way(small):
    (north,) = small.joined("north")
    change_space(small.store, "reaction", WIDER)
    further = changed(dose=(0.1, 30.0), heat=(0.0, 1.0))
    change_space(small.store, "reaction", further)
    told = message(small, north.exchange(1))
    assert "(dose: high 10 -> 30)" in told
    again = message(small, north.exchange(upload=upload_in(WIDER, "north", 1)))
    assert "(dose: high 20 -> 30; heat: low -0.5 -> 0)" in again


def test_back_to_a_former_space(small):
    (north,) = small.joined("north")
    change_space(small.store, "reaction", WIDER)
    change_space(small.store, "reaction", changed())
    assert small.ok(north.exchange(1))["accepted"] == 1


def test_who_joins_with_an_agent_of_the_former_space_is_told(small):
    from tests.coordinator.world import Site

    change_space(small.store, "reaction", WIDER)
    code = host.invite(small.store, "reaction", "east").code
    site = Site("east")
    letter = site.join(code, space=fingerprint(changed()))
    assert "dose: high 10 -> 20" in message(small, letter)
    said = small.ok(site.join(code))
    assert said["terms"]["space"] == fingerprint(WIDER)
    # It has sent nothing yet, and is not told of a change it was not there for.
    assert "sent none yet" in small.ok(site.exchange())["reason"]


def test_a_space_nobody_had_is_foreign(small):
    (north,) = small.joined("north")
    letter = north.exchange(upload=upload_in(WIDER, "north", 1))
    status, said = small.ask(letter)
    assert (status, said["error"]) == (422, "foreign")
    assert "guidefbo federation change" in said["message"]


def test_a_letter_read_before_the_change_stores_nothing_after_it(small):
    """Between reading a letter and storing it the host may be quicker."""
    from guidefbo.coordinator.request import authenticate
    from guidefbo.coordinator.work import process
    from guidefbo.wire.letter import read_letter

    (north,) = small.joined("north")
    with small.store.reading() as connection:
        request = authenticate(connection, read_letter(north.exchange(5)))
    change_space(small.store, "reaction", WIDER)
    with small.store.writing() as connection:
        (outcome,) = process(connection, [request])
    assert isinstance(outcome, Refusal)
    assert outcome.code == "changed"
    assert host.overview(small.store, "reaction").num_uploads == 0


def test_only_said_where_it_is_not_to_be_done(small):
    (north,) = small.joined("north")
    small.ok(north.exchange(5))
    done = change_space(small.store, "reaction", WIDER, is_done=False)
    assert done.lines
    assert host.overview(small.store, "reaction").num_uploads == 1
    assert small.ok(north.exchange(6))["accepted"] == 6


def test_long_differences_fit_into_a_sentence(tmp_path):
    from tests.coordinator.world import World

    names = [f"a-parameter-with-a-long-name-{k}" for k in range(30)]
    names = [name.replace("-", "_") for name in names]
    number = {"type": "float", "low": 0.0, "high": 1.0, "log": False}
    old = {"parameters": dict.fromkeys(names, number)}
    new = {"parameters": dict.fromkeys(names, number | {"high": 1 / 3})}
    world = World(str(tmp_path / "a.db"), create=False)
    host.create(world.store, "wide", old, goal="max", method="guide-ucb")
    (north,) = world.joined("north", federation="wide")
    change_space(world.store, "wide", space_from_form(new))
    form = json.loads(make_upload("north", 1, "wide"))
    form["space"] = fingerprint(space_from_form(old))
    told = message(world, north.exchange(upload=json.dumps(form)))
    assert "guidefbo change FILE --like SPACE.toml" in told
    assert len(told) < LONGEST + 100
    world.close()


@pytest.mark.parametrize(
    ("form", "error", "said"),
    [
        ({}, SettingsError, "is this one already"),
        ({"heat": None}, SpaceError, "more: heat: removed"),
        ({"time": {"type": "int", "low": 1, "high": 9}}, SpaceError, "time: added"),
        ({"dose": {"type": "float", "low": 1, "high": 9}}, SpaceError, "log True"),
    ],
)
def test_what_sites_could_not_follow_is_refused(small, form, error, said):
    parameters = {k: v for k, v in (SPACE["parameters"] | form).items() if v}
    space = space_from_form({"parameters": parameters})
    with pytest.raises(error, match=said):
        change_space(small.store, "reaction", space)
    found = host.overview(small.store, "reaction").federation
    assert (found.former, found.space) == ((), SPACE)


def test_unknown_federations_are_refused(small):
    with pytest.raises(Refusal, match="no federation nowhere"):
        change_space(small.store, "nowhere", WIDER)
