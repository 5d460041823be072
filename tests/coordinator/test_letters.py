"""What letters do, on both kinds of store; what is refused changes nothing."""

import base64
import json

import pytest
from tests.coordinator.world import SPACE, Site, World, make_upload, read_packet, terms

from guidefbo.coordinator import host
from guidefbo.coordinator.members import list_members, newest_uploads
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.form import fingerprint, space_from_form
from guidefbo.server.exchange import build_server, exchange
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import seal


def stored(world, federation="reaction"):
    """Return everything that a letter can change."""
    with world.store.reading() as connection:
        return (
            host.overview(world.store, federation).federation.round,
            list_members(connection, federation),
            dict(newest_uploads(connection, federation)),
        )


def count_uploads(world):
    from sqlalchemy import func, select

    from guidefbo.coordinator.tables import uploads

    with world.store.reading() as connection:
        return connection.execute(select(func.count()).select_from(uploads)).scalar()


def test_join_tells_everything_an_agent_needs(world):
    code = host.invite(world.store, "reaction", "north").code
    site = Site("north")
    said = world.ok(site.join(code))
    assert (said["federation"], said["site"]) == ("reaction", "north")
    assert said["terms"]["space"] == fingerprint(space_from_form(said["space"]))
    assert said["space"] == SPACE
    assert (said["goal"], said["method"], said["role"]) == ("max", "guide-ucb", "site")
    assert said["settings"] == {}
    assert said["seed"] is None
    assert said["min_sites"] == 3
    assert said["last_number"] == 1
    assert said["coordinator_key"] == world.public_key


def test_strategies_that_draw_alike_get_one_seed(world):
    world.create("features", method="fts")
    seeds = set()
    for name in ("north", "south"):
        site = Site(name, "features")
        code = host.invite(world.store, "features", name).code
        seeds.add(world.ok(site.join(code))["seed"])
    assert len(seeds) == 1
    assert isinstance(seeds.pop(), int)


def test_packets_are_made_of_the_newest_uploads(world):
    north, south, west = world.joined("north", "south", "west")
    first = world.ok(north.exchange(4))
    assert first["packet"] is None
    assert first["accepted"] == 4
    assert first["reason"] == "it would be made of 1 uploads; 3 are needed"
    assert world.ok(south.exchange(2))["num_uploads"] == 2
    said = world.ok(west.exchange(7))
    assert said["reason"] is None
    assert said["num_uploads"] == 3
    head = read_packet(said["packet"]).head
    assert (head.site, head.answers, head.round, head.num_uploads) == ("west", 7, 3, 3)
    # And they are those of the one function that makes packets.
    names = {"north": 4, "south": 2, "west": 7}
    federation = host.overview(world.store, "reaction").federation
    expected = exchange(
        build_server("guide", {}),
        {name: make_upload(name, n).encode() for name, n in names.items()},
        t=1,
        seed=federation.secret_seed,
        terms=terms(),
        number=3,
    )
    assert said["packet"].encode() == expected.packets["west"]
    # The first site gets its packet when it asks again, without a new upload.
    again = world.ok(north.exchange(4))
    assert again["packet"].encode() == expected.packets["north"]


def test_nothing_newer_is_not_sent_again(world):
    sites = world.joined("north", "south", "west")
    for site in sites:
        said = world.ok(site.exchange(1))
    head = read_packet(said["packet"]).head
    order = list(head.order)
    same = world.ok(sites[2].exchange(1, held=order))
    assert same["packet"] is None
    assert "nothing is newer" in same["reason"]
    assert same["num_uploads"] == 3
    world.ok(sites[0].exchange(2))
    newer = read_packet(world.ok(sites[2].exchange(1, held=order))["packet"]).head
    assert newer.order > head.order


def test_same_letter_again_changes_nothing_and_is_answered_alike(world):
    north, south, west = world.joined("north", "south", "west")
    world.ok(north.exchange(1))
    world.ok(south.exchange(1))
    letter = west.exchange(1)
    first, before = world.ok(letter), stored(world)
    for _ in range(3):
        assert world.ok(letter) == first
    world.restart()
    assert world.ok(letter) == first
    assert stored(world) == before
    assert count_uploads(world) == 3
    # Also after another site has gone on.
    world.ok(north.exchange(2))
    assert world.ok(letter) == first


def test_same_upload_in_a_new_letter_changes_nothing(world):
    (north,) = world.joined("north")
    world.ok(north.exchange(3))
    assert world.ok(north.exchange(3))["accepted"] == 3
    assert stored(world)[0] == 1
    assert count_uploads(world) == 1


def test_newest_letter_wins_where_results_were_corrected(world):
    (north,) = world.joined("north")
    world.ok(north.exchange(3))
    corrected = make_upload("north", 3, center=(0.9, 0.9))
    world.ok(north.exchange(upload=corrected))
    round_, members, newest = stored(world)
    assert newest["north"][0] == corrected.encode()
    # A correction is a change, and no further round of the campaign.
    assert (round_, members[0].num_uploads) == (2, 1)


def test_older_upload_is_refused(world):
    (north,) = world.joined("north")
    world.ok(north.exchange(3))
    before = stored(world)
    assert world.refused(north.exchange(2)) == "older"
    assert stored(world) == before


def test_numbers_only_grow(world):
    (north,) = world.joined("north")
    early = north.exchange(1)
    late = north.exchange(2)
    world.ok(late)
    before = stored(world)
    assert world.refused(early) == "replayed"
    north.number -= 1
    assert world.refused(north.exchange(5)) == "replayed"
    assert stored(world) == before


def test_codes_work_once(world):
    code = host.invite(world.store, "reaction", "north").code
    site = Site("north")
    letter = site.join(code)
    first = world.ok(letter)
    # The same letter again, after a crash at the site.
    assert world.ok(letter) == first
    assert world.refused(Site("north").join(code)) == "unknown_code"
    world.ok(site.exchange(1))
    assert world.refused(letter) == "unknown_code"


def test_codes_are_typed_in_many_ways(world):
    code = host.invite(world.store, "reaction", "north").code
    typed = code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    world.ok(Site("north").join(typed))


def test_new_code_ends_the_old_one(world):
    old = host.invite(world.store, "reaction", "north").code
    new = host.invite(world.store, "reaction", "north").code
    assert world.refused(Site("north").join(old)) == "unknown_code"
    world.ok(Site("north").join(new))


def test_codes_expire(world, monkeypatch):
    made = host.invite(world.store, "reaction", "north", days=1)
    after = made.invitation.expires + 1.0
    monkeypatch.setattr("guidefbo.coordinator.work.time.time", lambda: after)
    assert world.refused(Site("north").join(made.code)) == "expired_code"


def test_join_with_an_agent_of_another_space(world):
    code = host.invite(world.store, "reaction", "north").code
    site = Site("north")
    assert world.refused(site.join(code, space="abc")) == "foreign"
    world.ok(site.join(code, space=terms().space))


def test_site_comes_back_with_a_new_key(world):
    (north,) = world.joined("north")
    world.ok(north.exchange(5))
    code = host.invite(world.store, "reaction", "north").code
    again = Site("north")
    said = world.ok(again.join(code))
    assert said["last_number"] == north.number == 2
    assert world.refused(north.exchange(6)) == "bad_signature"
    again.number = said["last_number"]
    # A new agent begins anew, with fewer results.
    assert world.ok(again.exchange(1))["accepted"] == 1
    assert count_uploads(world) == 2


def test_key_is_changed_and_the_letter_may_come_again(world):
    (north,) = world.joined("north")
    new = SigningKey.make()
    letter = north.letter("rotate", public_key=new.public)
    first = world.ok(letter)
    assert first["rotated"] is True
    assert world.ok(letter) == first
    assert world.refused(north.exchange(1)) == "bad_signature"
    north.key = new
    assert world.ok(north.exchange(1))["accepted"] == 1
    assert world.refused(letter) == "bad_signature"


def test_leaving_takes_the_upload_out(world):
    north, south, west = world.joined("north", "south", "west")
    for site in (north, south, west):
        world.ok(site.exchange(1))
    letter = north.letter("leave", forget=False)
    first = world.ok(letter)
    assert first["left"] is True
    assert world.ok(letter) == first
    said = world.ok(south.exchange(2))
    assert (said["packet"], said["num_uploads"]) == (None, 2)
    assert world.refused(north.exchange(2)) == "not_a_site"
    assert count_uploads(world) == 4


def test_leaving_and_forgetting_removes_every_upload(world):
    north, south = world.joined("north", "south")
    for sequence in (1, 2, 3):
        world.ok(north.exchange(sequence))
    world.ok(south.exchange(1))
    assert world.ok(north.letter("leave", forget=True))["left"] is True
    assert count_uploads(world) == 1


def test_revoked_site(world):
    north, south = world.joined("north", "south")
    world.ok(north.exchange(1))
    host.revoke(world.store, "reaction", "north")
    assert world.refused(north.exchange(2)) == "revoked"
    assert set(stored(world)[2]) == set()
    # It may be invited again.
    code = host.invite(world.store, "reaction", "north").code
    north.key = SigningKey.make()
    world.ok(north.join(code))
    with pytest.raises(SettingsError, match="no site 'nort'"):
        host.revoke(world.store, "reaction", "nort")
    assert world.ok(south.exchange(1))["accepted"] == 1


def test_closed_federation(world):
    (north,) = world.joined("north")
    letter = north.exchange(1)
    host.set_open(world.store, "reaction", False)
    assert world.refused(letter) == "closed"
    with pytest.raises(SettingsError, match="is closed"):
        host.invite(world.store, "reaction", "south")
    host.set_open(world.store, "reaction", True)
    assert world.ok(letter)["accepted"] == 1


def test_sites_leave_a_closed_federation(world):
    north, south = world.joined("north", "south")
    for site in (north, south):
        world.ok(site.exchange(1))
    host.set_open(world.store, "reaction", False)
    letter = north.letter("leave", forget=True)
    first = world.ok(letter)
    assert first["left"] is True
    assert world.ok(letter) == first
    assert world.ok(south.letter("leave", forget=False))["left"] is True
    assert count_uploads(world) == 1
    # Nothing else is taken, and nobody leaves in another's name.
    new = SigningKey.make().public
    assert world.refused(south.letter("rotate", public_key=new)) == "closed"
    assert world.refused(south.exchange(2)) == "closed"
    assert world.refused(south.letter("leave", forget=True)) == "not_a_site"
    thief = Site("south", number=south.number)
    assert world.refused(thief.letter("leave", forget=True)) == "bad_signature"
    assert count_uploads(world) == 1
    host.set_open(world.store, "reaction", True)
    assert world.refused(north.exchange(2)) == "not_a_site"


def test_listen_only_and_speak_only(world):
    sites = world.joined("north", "south", "west")
    (ear,) = world.joined("ear", role="listen-only")
    (mouth,) = world.joined("mouth", role="speak-only")
    for site in sites[:2]:
        world.ok(site.exchange(1))
    # What a listener sends is not stored and does not count.
    said = world.ok(ear.exchange(1))
    assert (said["accepted"], said["num_uploads"]) == (None, 2)
    said = world.ok(mouth.exchange(4))
    assert (said["packet"], said["accepted"]) == (None, 4)
    assert "takes no packets" in said["reason"]
    packet = read_packet(world.ok(ear.exchange())["packet"])
    assert packet.head.num_uploads == 3
    assert (packet.head.site, packet.head.answers) == ("ear", 0)
    assert len(packet.body.components) == 3


def test_roles_need_a_strategy_that_can(world):
    world.create("features", method="fts")
    with pytest.raises(SettingsError, match="only for sites that upload"):
        host.invite(world.store, "features", "ear", role="listen-only")
    with pytest.raises(SettingsError, match="no role 'host'"):
        host.invite(world.store, "reaction", "ear", role="host")


def test_site_without_an_upload_gets_no_packet(world):
    *others, late = world.joined("north", "south", "west", "late")
    for site in others:
        world.ok(site.exchange(1))
    said = world.ok(late.exchange())
    assert said["packet"] is None
    assert "has sent none yet" in said["reason"]


def test_upload_that_does_not_fit_is_left_out_and_counted_out(world):
    sites = world.joined("north", "south", "west", "flat")
    for site in sites[:3]:
        world.ok(site.exchange(1))
    form = json.loads(make_upload("flat", 1))
    # Of the space, and of another setting than the other sites.
    del form["body"]["variance"]
    form["body"]["covariance"] = [0.01, 0.0, 0.01]
    said = world.ok(sites[3].exchange(upload=json.dumps(form)))
    assert said["packet"] is None
    assert said["reason"].startswith("left out: expected diagonal components")
    assert said["num_uploads"] == 3
    assert read_packet(world.ok(sites[0].exchange(2))["packet"]).head.num_uploads == 3


def test_federation_is_full(world):
    world.create("tiny", max_sites=1)
    world.joined("north", federation="tiny")
    code = host.invite(world.store, "tiny", "south").code
    assert world.refused(Site("south", "tiny").join(code)) == "full"


def test_letters_at_the_same_time_share_a_transaction(world):
    sites = world.joined(*(f"s{n}" for n in range(12)))
    world.desk.writer.num_batches = 0
    answers = world.together([site.exchange(1) for site in sites])
    assert all(status == 200 for status, _ in answers)
    assert stored(world)[0] == 12
    assert count_uploads(world) == 12
    assert world.desk.writer.num_batches < 12


def test_two_letters_of_one_site_at_the_same_time(world):
    (north,) = world.joined("north")
    letters = [north.exchange(n) for n in range(1, 9)]
    said = world.together(letters)
    codes = {status if status == 200 else body["error"] for status, body in said}
    assert 200 in codes
    assert codes <= {200, "replayed"}
    # The last one won, whatever came first.
    _, (member,), newest = stored(world)
    assert (member.number, member.sequence) == (9, 8)
    assert newest["north"][0] == make_upload("north", 8).encode()


def test_flood_of_the_same_letter(world):
    (north,) = world.joined("north")
    letter = north.exchange(1)
    said = world.together([letter] * 24)
    assert {status for status, _ in said} == {200}
    assert count_uploads(world) == 1
    assert stored(world)[0] == 1


def test_foreign_letters_are_refused(world):
    world.create("other")
    (north,) = world.joined("north")
    (stranger,) = world.joined("north", federation="other")
    before = stored(world), stored(world, "other")
    # Signed with the key of the same name in another federation.
    letter = Site("north", key=stranger.key, number=5).exchange(1)
    assert world.refused(letter) == "bad_signature"
    # An upload of another federation, of another site, of another space.
    for upload in (make_upload("north", 1, "other"), make_upload("south", 1)):
        assert world.refused(north.exchange(upload=upload)) == "foreign"
    form = json.loads(make_upload("north", 1))
    form["space"] = "abc"
    assert world.refused(north.exchange(upload=json.dumps(form))) == "foreign"
    assert world.refused(Site("nobody").exchange(1)) == "not_a_site"
    assert world.refused(Site("north", "nowhere").exchange(1)) == "not_found"
    # At another federation's door, or at that of another purpose.
    assert world.refused(north.exchange(1), federation="other") == "foreign"
    assert world.refused(north.exchange(1), purpose="leave") == "invalid"
    assert (stored(world), stored(world, "other")) == before


def flip(letter, field, place=-3):
    form = json.loads(letter)
    data = bytearray(base64.b64decode(form[field]))
    data[place] ^= 1
    form[field] = base64.b64encode(bytes(data)).decode()
    return json.dumps(form).encode()


def test_forged_letters_are_refused(world):
    (north,) = world.joined("north")
    letter = north.exchange(1)
    before = stored(world)
    assert world.refused(flip(letter, "signature")) == "bad_signature"
    assert world.refused(flip(letter, "payload")) in ("bad_signature", "invalid")
    forged = Site("north", key=SigningKey.make(), number=3).exchange(1)
    assert world.refused(forged) == "bad_signature"
    assert stored(world) == before
    assert world.ok(letter)["accepted"] == 1


def test_join_letter_must_be_signed_by_the_key_in_it(world):
    code = host.invite(world.store, "reaction", "north").code
    site = Site("north")
    payload = {
        "purpose": "join",
        "federation": None,
        "site": None,
        "number": 1,
        "code": code,
        "public_key": SigningKey.make().public,
        "space": None,
    }
    assert world.refused(seal(payload, site.key)) == "bad_signature"
    world.ok(site.join(code))


@pytest.mark.parametrize("length", [0, 1, 40, 200, -1])
def test_truncated_letters_are_refused(small, length):
    (north,) = small.joined("north")
    assert small.refused(north.exchange(1)[:length]) == "invalid"


def test_oversized_letters_are_refused(small):
    (north,) = small.joined("north")
    assert small.refused(north.exchange(upload="x" * 70_000)) == "too_large"


@pytest.mark.parametrize(
    ("purpose", "fields"),
    [
        ("exchange", {"upload": None}),
        ("exchange", {"upload": 7, "held": None}),
        ("exchange", {"upload": "{}", "held": None}),
        ("exchange", {"upload": None, "held": [1]}),
        ("exchange", {"upload": None, "held": [1, -1]}),
        ("exchange", {"upload": None, "held": [1, True]}),
        ("exchange", {"upload": None, "held": [1, 2.0]}),
        ("exchange", {"upload": None, "held": None, "more": 1}),
        ("leave", {"forget": "yes"}),
        ("leave", {}),
        ("rotate", {"public_key": "abc"}),
        ("rotate", {"public_key": None}),
        ("answer", {}),
        ("refusal", {}),
        ("nonsense", {}),
    ],
)
def test_malformed_payloads_are_refused(small, purpose, fields):
    (north,) = small.joined("north")
    before = stored(small)
    assert small.refused(north.letter(purpose, **fields)) == "invalid"
    assert stored(small) == before


def test_refusals_are_counted(small):
    (north,) = small.joined("north")
    small.refused(b"nonsense")
    letter = north.exchange(1)
    small.ok(letter)
    small.refused(flip(north.exchange(2), "signature"))
    text = small.desk.metrics.to_text()
    assert 'letters_total{purpose="unread",outcome="invalid"} 1' in text
    assert 'letters_total{purpose="exchange",outcome="bad_signature"} 1' in text
    assert 'letters_total{purpose="exchange",outcome="ok"} 1' in text
    assert small.desk.metrics.refused() == 2


def test_sealed_refusals_are_signed(small):
    from guidefbo.wire.letter import open_letter

    (north,) = small.joined("north")
    letter = flip(north.exchange(1), "signature")
    got = small.desk.answer(letter, limit=10_000, is_sealed=True)
    said = open_letter(got.body, small.public_key).payload
    assert (got.status, said["purpose"], said["error"]) == (
        401,
        "refusal",
        "bad_signature",
    )


def test_strategy_that_fails_stops_nobody(small, monkeypatch):
    sites = small.joined("north", "south", "west")

    def fail(*arguments, **named):
        raise ArithmeticError("never tried on this")

    monkeypatch.setattr("guidefbo.coordinator.packets.exchange", fail)
    for site in sites:
        said = small.ok(site.exchange(1))
    assert said["accepted"] == 1
    assert "could not be made" in said["reason"]


def test_create_checks_what_it_can(small):
    with pytest.raises(SettingsError, match="already"):
        small.create()
    with pytest.raises(SettingsError, match="no strategy with a server side 'guid'"):
        small.create("b", method="guid")
    with pytest.raises(SettingsError, match="packet_size must be a whole number"):
        small.create("b", settings={"packet_size": 0})
    with pytest.raises(SettingsError, match="min_sites must be"):
        small.create("b", min_sites=0)
    with pytest.raises(SettingsError, match="federation's name"):
        small.create("a/b")


def test_settings_reach_the_server(small):
    small.create("little", settings={"packet_size": 1, "beta": 4.0})
    sites = small.joined("north", "south", "west", federation="little")
    for site in sites:
        said = small.ok(site.exchange(1))
    assert len(read_packet(said["packet"]).body.components) == 1


def test_worlds_with_other_secrets_draw_otherwise(tmp_path):
    """Nobody outside can work out what is drawn."""
    packets = set()
    for n in range(3):
        made = World(str(tmp_path / f"{n}.db"), settings={"packet_size": 3})
        sites = made.joined(*(f"s{k}" for k in range(8)))
        for site in sites:
            said = made.ok(site.exchange(1))
        packets.add(str(read_packet(said["packet"]).body.components.centers))
        made.close()
    assert len(packets) > 1


def test_uploads_of_a_site_do_not_fill_the_disk(world, monkeypatch):
    monkeypatch.setattr("guidefbo.coordinator.members.MAX_KEPT", 5)
    monkeypatch.setattr("guidefbo.coordinator.work.PRUNE_EVERY", 4)
    north, south = world.joined("north", "south")
    world.ok(south.exchange(1))
    for sequence in range(1, 30):
        assert world.ok(north.exchange(sequence))["accepted"] == sequence
    assert 6 <= count_uploads(world) <= 5 + 4 + 1
    newest = stored(world)[2]
    assert newest["north"][0] == make_upload("north", 29).encode()
    assert newest["south"][0] == make_upload("south", 1).encode()
