"""A coordinator that changes its key: sites follow, and nobody else is believed."""

import grp
import os
import pwd

import pytest
from tests.connect.answerer import tell_some
from tests.connect.real import Host, command
from tests.connect.test_service import as_user, open_folder  # noqa: F401

from guidefbo.connect.errors import ForeignAnswerError
from guidefbo.connect.link import connect
from guidefbo.connect.link_file import LinkFile
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import read_letter, seal
from guidefbo.wire.succession import make_succession


def joined(host, where, folder, site="a", **named):
    folder.mkdir(exist_ok=True)
    file = folder / f"{site}.json"
    return connect(file, where, code=host.invite(site), **named)


def test_sites_follow_to_a_new_key_and_say_so(tmp_path):
    host = Host(tmp_path / "host")
    old = host("federation", "key").strip()
    with host.serving() as where:
        link = joined(host, where, tmp_path / "sites")
        tell_some(link.places.file, 5)
        link.sync()
        assert LinkFile.load(link.places.link).coordinator_key == old
        new = host("federation", "key", "--rotate").strip()
        assert new == host("federation", "key").strip() != old
        said = command("sync", link.places.file)
        assert f"the host can confirm it: {new}" in said
        assert LinkFile.load(link.places.link).coordinator_key == new
        # Once: from now on it is the key.
        assert "new key" not in command("sync", link.places.file)
        # Away while it changes twice.
        for _ in range(2):
            last = host("federation", "key", "--rotate").strip()
        assert f"confirm it: {last}" in command("sync", link.places.file)
        audit = command("audit", link.places.file)
        assert audit.count("the coordinator has a new key") == 2
        assert f"before: {old}" in audit
        # Who was given the first key joins with it.
        late = joined(host, where, tmp_path / "late", "b", coordinator_key=old)
        assert late.facts.coordinator_key == last
        assert late.sync().is_online
        words = ["--coordinator-key", old, "--code", host.invite("c")]
        said = command("join", where, *words, tmp_path / "c.json")
        assert f"its old one vouches for it; the host can confirm it: {last}\n" in said
        words = ["--coordinator-key", last, "--code", host.invite("d")]
        said = command("join", where, *words, tmp_path / "d.json")
        assert "vouches" not in said


def test_the_same_through_a_folder_also_for_a_refusal(tmp_path):
    host = Host(tmp_path / "host")
    share = tmp_path / "share"
    share.mkdir()
    with host.serving("--folder", str(share), "--every", "0.1"):
        where = f"folder:{share}"
        link = joined(host, where, tmp_path / "sites")
        tell_some(link.places.file, 5)
        assert link.sync().moved.sent == 5
        new = host("federation", "key", "--rotate").strip()
        host("federation", "close", "reaction")
        with pytest.raises(Exception, match="closed"):
            link.sync()
        host("federation", "close", "reaction", "--reopen")
        assert link.sync().is_online
        assert LinkFile.load(link.places.link).coordinator_key == new


def test_nobody_else_is_followed(tmp_path, monkeypatch):
    """Neither one whom no key vouches for, nor the old key once it was replaced."""
    host = Host(tmp_path / "host")
    with host.serving() as where:
        link = joined(host, where, tmp_path / "sites")
        tell_some(link.places.file, 5)
        link.sync()
        thief, other = SigningKey.make(), SigningKey.make()
        pinned = link.facts.coordinator_key
        # It cannot sign with the old key, so it signs with its own.
        false = make_succession(other, thief.public, 1).text

        def forge(transport, post):
            said = {
                "purpose": "answer",
                "federation": "reaction",
                "site": "a",
                "number": post.letter.number,
                "answers": post.letter.digest,
                "successions": [false],
                "accepted": 5,
                "packet": None,
                "reason": "none",
                "num_uploads": 1,
            }
            return seal(said, thief)

        with monkeypatch.context() as patch:
            patch.setattr("guidefbo.connect.http.HttpTransport.deliver", forge)
            with pytest.raises(ForeignAnswerError, match="another key"):
                link.sync()
        assert LinkFile.load(link.places.link).coordinator_key == pinned
        # What stands in the mailbox proves nothing by itself.
        link.mailbox.add_successions([false])
        assert link.sync().is_online
        assert LinkFile.load(link.places.link).coordinator_key == pinned


def test_a_stolen_old_key_is_worth_nothing_after_the_change(tmp_path, monkeypatch):
    host = Host(tmp_path / "host")
    copy = tmp_path / "before.db"
    host("federation", "backup", copy)
    with host.serving() as where:
        link = joined(host, where, tmp_path / "sites")
        tell_some(link.places.file, 5)
        link.sync()
        host("federation", "key", "--rotate")
        link.sync()
        # The thief has the old store, and vouches for a key of its own.
        from guidefbo.coordinator.federation import signing_key
        from guidefbo.coordinator.schema import open_current

        store = open_current(str(copy))
        with store.reading() as connection:
            stolen = signing_key(connection)
        store.close()
        thief = SigningKey.make()
        letters = [make_succession(stolen, thief.public, 1).text]

        def forge(transport, post):
            number = read_letter(post.data).number
            said = {"purpose": "answer", "federation": "reaction", "site": "a"}
            said |= {"number": number, "answers": post.letter.digest}
            said |= {"successions": letters, "accepted": 5, "packet": None}
            return seal(said | {"reason": "none", "num_uploads": 1}, thief)

        monkeypatch.setattr("guidefbo.connect.http.HttpTransport.deliver", forge)
        with pytest.raises(ForeignAnswerError, match="another key"):
            link.sync()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can become another user",
)
def test_the_half_that_talks_follows_without_writing_the_link(tmp_path, open_folder):  # noqa: F811
    nobody = pwd.getpwnam("nobody")
    host = Host(tmp_path / "host")
    file = open_folder / "a.json"
    group = grp.getgrgid(nobody.pw_gid).gr_name
    with host.serving() as where:
        command("join", where, "--code", host.invite("a"), file, "--group", group)
        tell_some(file, 5)
        link = connect(file)
        link.sync()
        for _ in range(2):
            new = host("federation", "key", "--rotate").strip()
            said = as_user(nobody, lambda: command("sync", "--mail-only", file))
            assert f"confirm it: {new}" in said
            # The owner writes it down, and the other may still read it.
            assert link.sync().is_online
            assert LinkFile.load(link.places.link).coordinator_key == new
            assert link.places.link.stat().st_gid == nobody.pw_gid
        assert link.rotate()
        said = as_user(nobody, lambda: command("sync", "--mail-only", file))
        assert "nothing new to hand over" in said
