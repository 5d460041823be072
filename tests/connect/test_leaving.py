"""Sites leave a federation that has ended for them, and nobody else can make them."""

import pytest
from tests.connect.answerer import Answerer, Refused, tell_some
from tests.connect.answerer import serving as answering
from tests.connect.real import Host, command

from guidefbo import Agent
from guidefbo.connect.errors import ForeignAnswerError, OfflineError, RefusedError
from guidefbo.connect.link import connect
from guidefbo.core.files import OutputError
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import seal

REVOKE = "guidefbo federation revoke reaction a --forget"


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path / "host")


@pytest.fixture
def share(tmp_path):
    folder = tmp_path / "share"
    folder.mkdir()
    return folder


def join(host, where, file):
    """Join as the site a, and hand over what was learnt from five results."""
    link = connect(file, where, code=host.invite("a"))
    tell_some(file, 5)
    assert link.sync().moved.sent == 5
    return link


def is_linked(link):
    places = link.places
    return {places.link.exists(), places.key.exists()} == {True}


def is_alone(link):
    """Whether a site has left: nothing of the link stays, and all of the results."""
    places = link.places
    assert not places.link.exists()
    assert not places.key.exists()
    assert (places.mail / "audit.jsonl").exists()
    assert link.mailbox.state().pending is None
    return len(Agent.load(places.file).trials) == 5


def uploads_there(host):
    """Return the state of the site a, and the uploads that the store has of it."""
    from guidefbo.coordinator.members import find_member, last_upload
    from guidefbo.coordinator.schema import open_current

    store = open_current(host.store)
    try:
        with store.reading() as connection:
            member = find_member(connection, "reaction", "a")
            return member.state, last_upload(connection, member) is not None
    finally:
        store.close()


@pytest.mark.parametrize("door", ["http", "folder"])
def test_a_site_leaves_a_closed_federation(host, tmp_path, share, door):
    file = tmp_path / "a.json"
    with host.serving("--folder", str(share), "--every", "0.1") as where:
        link = join(host, where if door == "http" else f"folder:{share}", file)
        host("federation", "close", "reaction")
        with pytest.raises(RefusedError, match="closed"):
            link.sync()
        with pytest.raises(RefusedError, match="closed"):
            link.rotate()
        assert uploads_there(host) == ("joined", True)
        said = command("leave", file, "--forget", "--patience", 20)
    assert "a has left the federation reaction; your upload there was removed" in said
    assert uploads_there(host) == ("left", False)
    assert is_alone(link)


def test_a_revoked_site_leaves_on_a_signed_refusal(host, tmp_path, share):
    file, where = tmp_path / "a.json", f"folder:{share}"
    with host.serving("--folder", str(share), "--every", "0.1"):
        link = join(host, where, file)
        host("federation", "revoke", "reaction", "a")
        words = ["join", where, "--code", host.invite("a"), file, "--patience", 20]
        command(*words, code=2)
        said = command("leave", file, "--forget", "--patience", 20)
        assert "a has left the federation reaction, which takes nothing of it" in said
        assert "(revoked)" in said
        assert "your upload there was not removed by this command" in said
        assert REVOKE in said
        assert uploads_there(host) == ("revoked", True)
        assert is_alone(link)
        # What the host was told to say does it, also afterwards.
        command(*REVOKE.split()[1:], "--store", host.store)
        assert uploads_there(host) == ("revoked", False)
        words[3] = host.invite("a")
        assert "as a (site)" in command(*words)
        assert connect(file, patience=20.0).sync().moved.sent == 5


def test_an_unsigned_refusal_makes_nobody_leave(host, tmp_path, capsys):
    """Over HTTP it could be anybody's: somebody at the site has to say so."""
    file = tmp_path / "a.json"
    with host.serving() as where:
        link = join(host, where, file)
        host("federation", "revoke", "reaction", "a")
        with pytest.raises(RefusedError, match=r"\(revoked\).* is not signed") as told:
            link.leave()
        assert f"guidefbo leave {file} --anyway" in str(told.value)
        assert (told.value.code, told.value.is_signed) == ("revoked", False)
        assert is_linked(link)
        command("leave", file, code=2)
        code = host.invite("a")
        # A code that was not used: what join says leads out as well.
        with pytest.raises(Exception, match=r"Leave it first: .* --anyway"):
            connect_again(file, where, code)
        said = command("leave", file, "--anyway")
        assert "the coordinator has not confirmed it: The coordinator refused" in said
        assert "your upload there was not removed by this command" in said
        assert is_alone(link)
        assert connect_again(file, where, code).site == "a"


def connect_again(file, where, code):
    from guidefbo.connect.join import Joining, join
    from guidefbo.connect.places import Places

    return join(Joining(places=Places.of(file), where=where, code=code)).link


def test_forged_refusals_make_nobody_leave(host, tmp_path, monkeypatch):
    """Signed by another key, or the coordinator's own to another letter."""
    with host.serving() as where:
        link = join(host, where, tmp_path / "a.json")
        # The coordinator's own key, as a store has it that the forger cannot read.
        key, thief = signing_key_of(host), SigningKey.make()

        def forge(signer, **changes):
            def deliver(transport, post):
                said = {
                    "purpose": "refusal",
                    "federation": "reaction",
                    "site": "a",
                    "number": post.letter.number,
                    "answers": post.letter.digest,
                    "successions": [],
                    "error": "revoked",
                    "message": "The host has ended the membership of a.",
                }
                return seal(said | changes, signer)

            return deliver

        name = "guidefbo.connect.http.HttpTransport.deliver"
        for deliver in (
            forge(thief),
            forge(key, answers="0" * 64),
            forge(key, site="b"),
            forge(key, number=1),
        ):
            monkeypatch.setattr(name, deliver)
            with pytest.raises(ForeignAnswerError):
                link.leave()
            assert is_linked(link)
        # Refusals of the coordinator's that say nothing of the membership.
        for code in ("bad_signature", "replayed", "invalid", "rate_limited"):
            monkeypatch.setattr(name, forge(key, error=code))
            with pytest.raises(RefusedError, match=code) as told:
                link.leave()
            assert ("--anyway" in str(told.value)) == (code != "rate_limited")
            assert is_linked(link)
        monkeypatch.setattr(name, forge(key))
        left = link.leave(forget=True)
        assert (left.is_confirmed, left.is_forgotten) == (True, False)
        assert is_alone(link)


def signing_key_of(host):
    from guidefbo.coordinator.federation import signing_key
    from guidefbo.coordinator.schema import open_current

    store = open_current(host.store)
    with store.reading() as connection:
        key = signing_key(connection)
    store.close()
    return key


@pytest.mark.parametrize("code", ["closed", "not_a_site", "not_found"])
def test_an_older_coordinator_says_so_in_a_folder(tmp_path, share, code):
    coordinator = Answerer()
    file = tmp_path / "a.json"

    def refuse(letter, payload):
        raise Refused(410, code, "It is over.")

    with answering(coordinator) as where:
        link = connect(file, where, code=coordinator.invite("a"))
        tell_some(file, 5)
    link.places.link.write_text(
        link.places.link.read_text().replace(where, f"folder:{share}")
    )
    link = connect(file, patience=0.0)
    coordinator._leave = refuse
    assert link.leave() is None
    assert is_linked(link)
    assert coordinator.turn(share) == 1
    left = link.leave()
    assert f"The coordinator refused ({code}): It is over." in str(left)
    assert is_alone(link)


def test_leaving_a_coordinator_that_is_gone_for_good(host, tmp_path, share):
    file = tmp_path / "a.json"
    with host.serving() as where:
        link = join(host, where, file)
    with pytest.raises(OfflineError):
        link.leave(forget=True)
    assert is_linked(link)
    left = link.leave(forget=True, anyway=True)
    assert (left.is_confirmed, left.is_forgotten) == (False, None)
    assert "whether your upload there was removed is not known" in str(left)
    assert is_alone(link)
    # Through a folder that nobody reads any more; without the key it cannot even ask.
    with host.serving("--folder", str(share), "--every", "0.1"):
        code = host.invite("a")
        link = connect(file, f"folder:{share}", code=code, patience=20.0)
    command("leave", file, "--patience", 0, code=3)
    assert is_linked(link)
    assert "its answer has not come yet" in command(
        "leave", file, "--anyway", "--patience", 0
    )
    with host.serving("--folder", str(share), "--every", "0.1"):
        code = host.invite("a")
        link = connect(file, f"folder:{share}", code=code, patience=20.0)
    link.places.key.unlink()
    command("leave", file, code=2)
    assert "Cannot read the key" in command("leave", file, "--anyway")
    assert is_alone(link)


def test_nothing_is_left_where_it_cannot_be_written_down(host, tmp_path, monkeypatch):
    with host.serving() as where:
        link = join(host, where, tmp_path / "a.json")

        def full(*words, **named):
            raise OutputError("Cannot write the audit log: No space left on device.")

        with monkeypatch.context() as patch:
            patch.setattr("guidefbo.connect.audit.AuditLog.add", full)
            with pytest.raises(OutputError):
                link.leave(anyway=True)
        assert is_linked(link)
        assert link.leave().is_confirmed
