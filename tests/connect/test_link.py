"""A site's end of the wire against a small coordinator with real letters."""

import json
import os
import resource
import socket
import stat
import sys
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.connect.answerer import SPACE, Answerer, Refused, measure, serving, tell_some
from tests.connect.real import command
from typer.testing import CliRunner

import guidefbo as gf
from guidefbo import Agent
from guidefbo.cli.app import app
from guidefbo.connect.errors import (
    ForeignAnswerError,
    LinkError,
    OfflineError,
    RefusedError,
)
from guidefbo.connect.http import HttpTransport
from guidefbo.connect.link import Link, connect
from guidefbo.connect.link_file import LinkFile
from guidefbo.connect.places import Places
from guidefbo.connect.transport import Post, Way
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import OutputError
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import read_letter, seal


@pytest.fixture
def coordinator():
    return Answerer()


def join_all(coordinator, where, folder, sites):
    links = {}
    for site in sites:
        code = coordinator.invite(site)
        links[site] = connect(folder / f"{site}.json", where, code=code)
    return links


def events(link):
    return [entry.event for entry in link.mailbox.audit.entries()]


def test_join_creates_the_agent_of_the_federation(coordinator, tmp_path):
    file = tmp_path / "site.json"
    with serving(coordinator) as where:
        link = gf.connect(file, where, code=coordinator.invite("north"))
    agent = Agent.load(file)
    assert agent.space == SPACE
    assert (agent.goal, agent.setup.method) == ("max", "shape-ucb")
    assert (agent.setup.site, agent.setup.federation) == ("north", "reaction")
    assert link.facts.coordinator_key == coordinator.key.public
    places = Places.of(file)
    assert stat.S_IMODE(places.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(places.mail.stat().st_mode) == 0o700
    assert SigningKey.load(places.key).public == coordinator.keys["north"]
    assert not (places.mail / "joining.json").exists()
    # The private half and the code are in nothing that stays or left.
    secret = places.key.read_text().splitlines()[1]
    for path in [places.link, *places.mail.iterdir()]:
        assert secret not in path.read_text()
        assert "CODE-north" not in path.read_text()
    assert all(secret.encode() not in data for data in coordinator.seen)
    # Another place is another link.
    with pytest.raises(SettingsError, match="is linked to"):
        connect(file, "https://elsewhere:1")
    assert connect(file, where).facts == link.facts


def test_corrections_are_counted_and_said_to_be(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = connect(tmp_path / "a.json", where, code=coordinator.invite("a"))
        tell_some(link.places.file, 5)
        with Agent.update(link.places.file) as agent:
            agent.tell(1, 0.5)
        counted = "6 results and corrections"
        assert f"learnt from {counted}\n" in command("sync", link.places.file)
    said = command("audit", link.places.file)
    assert f"ready to leave: made after {counted}\n" in said
    assert f"    made after {counted}; " in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--group", "no-such-group"), "Cannot give the group 'no-such-group'"),
        (("--initial", "0"), "initial must be a whole number of at least 1, got 0"),
        (("--noise", "-1"), "noise must be a finite standard deviation"),
        (("--seed", "-1"), "seed must be a whole number of at least 0, got -1"),
    ],
)
def test_a_join_with_a_wish_that_cannot_be_met_uses_nothing_up(
    coordinator, tmp_path, words, said
):
    file = tmp_path / "site.json"
    with serving(coordinator) as where:
        call = ["join", where, "--code", coordinator.invite("north"), str(file)]
        done = CliRunner().invoke(app, [*call, *words])
        assert done.exit_code == 2
        assert said in " ".join(done.stderr.split())
        assert coordinator.seen == []
        assert list(tmp_path.iterdir()) == []
        assert "as north" in command(*call)


def test_an_agent_of_another_strategy_is_told_which_is_whose(coordinator, tmp_path):
    file = tmp_path / "site.json"
    Agent(SPACE, goal="max", method="guide-ucb").save(file)
    with serving(coordinator) as where:
        words = "it is of the strategy 'guide', and this federation uses 'shape'"
        with pytest.raises(LinkError, match=words):
            connect(file, where, code=coordinator.invite("a"))
        other = tmp_path / "other.json"
        Agent(SPACE, goal="max", method="shape-ucb").save(other)
        coordinator.terms = replace(coordinator.terms, strategy_version=1)
        words = "it is of version 2 of shape, and the federation has version 1: use"
        with pytest.raises(LinkError, match=words):
            connect(other, where, code=coordinator.invite("b"))


def test_sites_that_share_a_seed_ask_questions_of_their_own(tmp_path):
    """What all draw alike hangs on the seed, what each draws for itself does not."""
    coordinator = Answerer(method="fts")
    coordinator.seed = 77
    with serving(coordinator) as where:
        links = join_all(coordinator, where, tmp_path, ["a", "b", "c"])
        agents = [Agent.load(link.places.file) for link in links.values()]
        assert {agent.setup.seed for agent in agents} == {77}
        doses = {trial.values["dose"] for agent in agents for trial in agent.ask(5)}
        assert len(doses) == 15
        for link in links.values():
            tell_some(link.places.file, 7)
            link.sync()
        assert links["a"].sync().moved.num_uploads == 3
        # Whose functions are others cannot take part, and is told so.
        other = tmp_path / "other.json"
        Agent(SPACE, goal="max", method="fts", seed=5, site="d").save(other)
        with pytest.raises(LinkError, match=r"seed 77, and this agent has the seed 5"):
            connect(other, where, code=coordinator.invite("d"))
        Agent(SPACE, goal="max", method="fts", seed=77, agent_id=9).save(
            tmp_path / "same.json"
        )
        connect(tmp_path / "same.json", where, code=coordinator.invite("e"))


def test_three_sites_exchange_and_guidance_is_used(coordinator, tmp_path):
    with serving(coordinator) as where:
        links = join_all(coordinator, where, tmp_path, ["a", "b", "c"])
        for site, link in links.items():
            tell_some(link.places.file, 7)
            first = link.sync()
            assert first.moved.sent == 7, site
        again = links["a"].sync()
        assert again.moved.sent is None
        assert again.moved.num_uploads == 3
        assert "made of 3" in str(
            [e.fields for e in links["a"].mailbox.audit.entries()][-1]["words"]
        )
    assert str(again.guidance).startswith("guidance active")
    assert Agent.load(links["a"].places.file).ask().guided


def test_the_same_by_a_folder(coordinator, tmp_path):
    """The same letters in the same order give the same suggestions."""
    sites = ["a", "b", "c"]
    over_http = Answerer()
    (tmp_path / "http").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "folder").mkdir()
    with serving(over_http) as where:
        links = join_all(over_http, where, tmp_path / "http", sites)
        asked_http = campaign(links, lambda link: link.sync())
    shared = tmp_path / "shared"
    links = {}
    for site in sites:
        file = tmp_path / "folder" / f"{site}.json"
        code = coordinator.invite(site)
        with pytest.raises(OfflineError, match="has not come yet"):
            connect(file, f"folder:{shared}", code=code, patience=0.0)
        assert coordinator.turn(shared) == 1
        links[site] = connect(file, f"folder:{shared}", code=code, patience=0.0)

    def sync(link):
        assert not link.sync().is_online
        assert coordinator.turn(shared) == 1
        assert link.sync().is_online

    assert campaign(links, sync) == asked_http
    assert [p for p in shared.rglob("*") if p.is_file()] == []


def campaign(links, sync):
    asked = {site: [] for site in links}
    for k in range(3):
        for site, link in links.items():
            asked[site] += tell_some(link.places.file, 6 if k == 0 else 1)
            sync(link)
    return asked


def test_offline_the_agent_works_alone_and_the_next_sync_catches_up(
    coordinator, tmp_path
):
    with serving(coordinator) as where:
        links = join_all(coordinator, where, tmp_path, ["a", "b"])
        port = int(where.rpartition(":")[2])
    link = links["a"]
    tell_some(link.places.file, 6)
    synced = link.sync()
    assert not synced.is_online
    assert "cannot be reached" in str(synced)
    assert "working alone" in str(synced)
    assert "next sync catches up" in str(synced)
    tell_some(link.places.file, 1)
    assert not link.sync().is_online
    with serving(coordinator, port=port):
        synced = link.sync()
        assert synced.moved.sent == 7
        # Both letters arrived once each, the old one first.
        assert [sequence for _, sequence, _ in coordinator.applied] == [6, 7]


def test_numbers_are_on_disk_before_a_letter_leaves(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        at_sending = []

        def look(answer, key):
            state = link.mailbox.state()
            entries = list(link.mailbox.audit.entries())
            at_sending.append((answer, state, entries))
            return seal(answer, key)

        coordinator.twist = look
        link.sync()
    [(answer, state, entries)] = at_sending
    assert state.number == answer["number"] == 2
    assert read_letter(state.pending.encode()).digest == answer["answers"]
    assert entries[-1].event == "left"
    assert entries[-1].fields["letter"]["upload"] == coordinator.uploads["a"].decode()
    assert any("dose" in line for line in entries[-1].fields["words"])
    assert link.mailbox.state().pending is None


def test_what_leaves_and_comes_is_in_the_log_in_own_units(coordinator, tmp_path):
    with serving(coordinator) as where:
        links = join_all(coordinator, where, tmp_path, ["a", "b"])
        for link in [*links.values(), links["a"]]:
            if not link.mailbox.outgoing():
                tell_some(link.places.file, 6)
            link.sync()
    assert events(links["a"]) == [
        *["left", "came"],
        *["ready", "left", "came"],
        *["left", "came", "taken"],
    ]
    told = [t.value for t in Agent.load(links["a"].places.file).trials]
    text = (links["a"].places.mail / "audit.jsonl").read_text()
    assert all(repr(value) not in text for value in told)


@pytest.mark.parametrize(
    ("twist", "sentence"),
    [
        (lambda answer, key: seal(answer, SigningKey.make()), "another key"),
        (
            lambda answer, key: seal(answer | {"answers": "0" * 64}, key),
            "another quest",
        ),
        (lambda answer, key: seal(answer | {"site": "b"}, key), "has the site 'b'"),
        (lambda answer, key: seal(answer | {"federation": "x"}, key), "federation 'x'"),
        (lambda answer, key: seal(answer | {"number": 9}, key), "has the number 9"),
        (
            lambda answer, key: seal(answer | {"purpose": "join"}, key),
            "Expected an ans",
        ),
        (lambda answer, key: seal(answer, key)[:-40], "is no letter"),
        (lambda answer, key: b"<html>", "is no letter"),
        (lambda answer, key: b"", "is no letter"),
        (lambda answer, key: seal(answer | {"packet": 7}, key), "packet must be"),
        (lambda answer, key: seal(answer | {"packet": "{}"}, key), "cannot be read"),
    ],
)
def test_a_coordinator_that_lies_is_not_believed(
    coordinator, tmp_path, twist, sentence
):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        before = link.places.file.read_bytes()
        coordinator.twist = twist
        with pytest.raises(ForeignAnswerError, match=sentence):
            link.sync()
        assert link.mailbox.incoming() is None
        assert link.places.file.read_bytes() == before
        # The true answer is taken afterwards, to the same letter.
        coordinator.twist = None
        assert link.sync().moved.sent == 6
    assert len(coordinator.applied) == 1


def test_an_old_answer_is_no_answer(coordinator, tmp_path):
    """A packet of another site, or yesterday's answer, played back by somebody."""
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        kept = []

        def keep(answer, key):
            kept.append(seal(answer, key))
            return kept[-1]

        coordinator.twist = keep
        link.sync()
        coordinator.twist = lambda answer, key: kept[0]
        tell_some(link.places.file, 1)
        with pytest.raises(ForeignAnswerError, match="another question"):
            link.sync()


def test_a_packet_for_another_site_is_refused(coordinator, tmp_path):
    with serving(coordinator) as where:
        links = join_all(coordinator, where, tmp_path, ["a", "b"])
        for link in links.values():
            tell_some(link.places.file, 6)
            link.sync()
        links["a"].sync()
        packet = links["b"].mailbox.incoming().packet
        coordinator.twist = lambda answer, key: seal(answer | {"packet": packet}, key)
        with pytest.raises(ForeignAnswerError, match="is for 'b'"):
            links["a"].sync()


def test_an_answer_without_end_is_cut_off(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        coordinator.twist = lambda answer, key: b"x" * (8 << 20)
        synced = link.sync()
    assert not synced.is_online
    assert "longer than any letter" in synced.trouble


def test_a_slow_coordinator_is_not_waited_for(coordinator, tmp_path, monkeypatch):
    go_on = threading.Event()
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        coordinator.twist = lambda answer, key: go_on.wait(20) and seal(answer, key)
        slow = HttpTransport(address=where, silent_seconds=0.2)
        monkeypatch.setattr(Way, "open", lambda self: slow)
        synced = link.sync()
        go_on.set()
    assert "no sign of life for 0.2 s" in synced.trouble


def test_an_answer_byte_by_byte_is_not_waited_for(tmp_path):
    """Each byte in time, the whole never: the number of bytes is no excuse."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip():
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not stop.wait(0.05):
                connection.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    where = f"http://127.0.0.1:{listener.getsockname()[1]}"
    payload = {"purpose": "leave", "federation": "a", "site": "b", "number": 1}
    post = Post.of(seal(payload, SigningKey.make()))
    began = time.monotonic()
    with pytest.raises(OfflineError, match="not finished its answer after"):
        HttpTransport(address=where, total_seconds=0.5).deliver(post)
    assert time.monotonic() - began < 5.0
    stop.set()
    thread.join()
    listener.close()


def test_a_full_disk_lets_nothing_leave(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        link.post()
        before = len(coordinator.seen)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        # As if the disk were full: no file grows beyond what the log has by now.
        size = (link.places.mail / "audit.jsonl").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(OutputError, match="Cannot write"):
                link.move()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert len(coordinator.seen) == before
        assert link.sync().moved.sent == 6
    assert len(coordinator.applied) == 1


def test_refusals_are_told_with_their_sentence(coordinator, tmp_path):
    with serving(coordinator) as where:
        with pytest.raises(RefusedError, match=r"unknown_code.*not known here"):
            connect(tmp_path / "x.json", where, code="WRONG")
        assert not (tmp_path / "x.json").exists()
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        del coordinator.keys["a"]
        with pytest.raises(RefusedError, match="not in this federation"):
            link.sync()
        assert link.mailbox.state().pending is None
    assert events(link)[-1] == "refused"


def test_a_join_refused_in_a_folder_is_told_and_nothing_is_used_up(
    coordinator, tmp_path
):
    shared, file = tmp_path / "shared", tmp_path / "x.json"
    shared.mkdir()

    def attempt(**options):
        return connect(file, f"folder:{shared}", code="CODE-x", patience=0, **options)

    for key in (None, coordinator.key.public):
        with pytest.raises(OfflineError):
            attempt()
        assert coordinator.turn(shared) == 1
        said = r"unknown_code.*not known here" + ("" if key else ".*is not verified")
        with pytest.raises(RefusedError, match=said) as refused:
            attempt(coordinator_key=key)
        assert refused.value.is_verified == (key is not None)
        joining = Places.of(file).mail / "joining.json"
        assert joining.exists() == (key is None)
    coordinator.invite("x")
    with pytest.raises(OfflineError):
        attempt()
    coordinator.turn(shared)
    assert attempt().facts.site == "x"


def test_a_refusal_that_anybody_wrote_does_not_end_a_join(coordinator, tmp_path):
    """Its writer may name a key: the letter that has joined already is kept."""
    shared, file = tmp_path / "shared", tmp_path / "x.json"
    shared.mkdir()
    where, code = f"folder:{shared}", coordinator.invite("x")
    with pytest.raises(OfflineError):
        connect(file, where, code=code, patience=0)
    (question,) = shared.rglob("*.letter")
    asked = read_letter(question.read_bytes())
    coordinator.turn(shared)
    (answer,) = shared.rglob("*.letter")
    good, liar = answer.read_bytes(), SigningKey.make()
    said = {"purpose": "refusal", "federation": None, "site": None, "number": 1}
    said |= {"coordinator_key": liar.public, "error": "unknown_code", "message": "No."}
    answer.write_bytes(seal(said | {"answers": "another"}, liar))
    with pytest.raises(ForeignAnswerError, match="another question"):
        connect(file, where, code=code, patience=0)
    answer.write_bytes(seal(said | {"answers": asked.digest}, liar))
    with pytest.raises(RefusedError, match="is not verified"):
        connect(file, where, code=code, patience=0)
    answer.write_bytes(good)
    assert connect(file, where, code=code, patience=0).facts.site == "x"


def test_a_letter_refused_for_now_is_sent_again(coordinator, tmp_path):
    def busy(letter, payload):
        raise Refused(429, "rate_limited", "Too many letters; wait 5 s.")

    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        coordinator._exchange = busy
        synced = link.sync()
        assert "Too many letters" in synced.trouble
        pending = link.mailbox.state().pending
        assert pending is not None
        del coordinator._exchange
        assert link.sync().moved.sent == 6
        assert coordinator.seen[-1].decode() == pending


def test_a_join_can_be_repeated_after_a_cut_line(coordinator, tmp_path):
    file = tmp_path / "site.json"
    code = coordinator.invite("north")
    with serving(coordinator) as where:
        coordinator.twist = lambda answer, key: b""
        with pytest.raises(ForeignAnswerError):
            connect(file, where, code=code)
        assert not file.exists()
        coordinator.twist = None
        link = connect(file, where, code=code)
    assert len(set(coordinator.seen)) == 1
    assert link.facts.site == "north"


def test_the_log_says_what_was_not_delivered(coordinator, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        where = f"http://127.0.0.1:{unused.getsockname()[1]}"
    file = tmp_path / "north.json"
    with pytest.raises(OfflineError):
        connect(file, where, code="ABCD-EFGH")
    said = command("audit", file)
    assert f"left: letter 1 (join) for {where}\n" in said
    assert f"not delivered, or not answered: letter 1\n    {where} cannot be" in said
    assert "None" not in said
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
    tell_some(link.places.file, 6)
    assert not link.sync().is_online
    assert events(link) == ["left", "came", "ready", "left", "undelivered"]
    reason = list(link.mailbox.audit.entries())[-1].fields["reason"]
    assert "cannot be reached" in reason


def test_a_pinned_key_is_held_from_the_first_word(coordinator, tmp_path):
    file, code = tmp_path / "site.json", coordinator.invite("north")
    other = SigningKey.make().public
    with serving(coordinator) as where:
        with pytest.raises(ForeignAnswerError, match="another key"):
            connect(file, where, code=code, coordinator_key=other)
        connect(file, where, code=code, coordinator_key=coordinator.key.public)


def test_an_agent_that_exists_is_attached_if_it_fits(coordinator, tmp_path):
    file = tmp_path / "site.json"
    agent = Agent(SPACE, goal="max", method="shape-ucb", initial=4, seed=3)
    for _ in range(5):
        trial = agent.ask()
        agent.tell(trial, measure(agent, trial.values))
    agent.save(file)
    with serving(coordinator) as where:
        link = connect(file, where, code=coordinator.invite("north"))
        assert link.sync().moved.sent == 5
    kept = Agent.load(file)
    assert [t.records for t in kept.trials] == [t.records for t in agent.trials]
    assert (kept.setup.site, kept.setup.federation) == ("north", "reaction")
    assert kept.setup.seed == 3


@pytest.mark.parametrize(
    ("space", "method", "error", "sentence"),
    [
        (gf.Space(dose=gf.Float(0, 1)), "shape-ucb", RefusedError, "another one"),
        (SPACE, "guide-ucb", LinkError, "strategy 'guide', and"),
    ],
)
def test_an_agent_that_does_not_fit_stays_as_it_is(
    coordinator, tmp_path, space, method, error, sentence
):
    file, code = tmp_path / "site.json", coordinator.invite("north")
    Agent(space, goal="max", method=method).save(file)
    before = file.read_bytes()
    with serving(coordinator) as where:
        with pytest.raises(error, match=sentence):
            connect(file, where, code=code)
        assert file.read_bytes() == before
        assert not Places.of(file).link.exists()
        # The code is not lost: the same command without that agent joins.
        file.unlink()
        assert connect(file, where, code=code).facts.site == "north"


def test_leaving_keeps_the_agent_and_the_log(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        link.sync()
        assert link.leave(forget=True)
        assert coordinator.uploads == {}
        assert not link.places.link.exists()
        assert not link.places.key.exists()
        assert len(Agent.load(link.places.file).trials) == 6
        with pytest.raises(LinkError, match="in no federation"):
            Link(link.places.file)
        # It can come back: numbers go on.
        again = connect(link.places.file, where, code=coordinator.invite("a"))
        assert again.mailbox.state().number > 3
        assert again.sync().moved.sent == 6


def test_leaving_while_offline_is_not_leaving(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        port = int(where.rpartition(":")[2])
    with pytest.raises(OfflineError):
        link.leave()
    assert link.places.link.exists()
    with serving(coordinator, port=port):
        assert link.leave()


def test_listeners_send_nothing(coordinator, tmp_path):
    with serving(coordinator) as where:
        code = coordinator.invite("a", role="listen-only")
        link = connect(tmp_path / "a.json", where, code=code)
        tell_some(link.places.file, 6)
        assert link.sync().moved.sent is None
    assert link.mailbox.outgoing() is None
    assert coordinator.uploads == {}


def test_nothing_leaves_unseen_where_that_was_asked(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        replace(link.facts, needs_confirmation=True).save(link.places.link)
        link = Link(link.places.file)
        tell_some(link.places.file, 6)
        synced = link.sync()
        assert synced.is_waiting
        assert coordinator.uploads == {}
        link.release(link.due())
        synced = link.sync()
        assert not synced.is_waiting
        assert synced.moved.sent == 6


def test_the_same_results_are_uploaded_once(coordinator, tmp_path):
    """An upload is made once for the same results, whatever packet came since."""
    coordinator = Answerer("guide-ucb", min_sites=1)
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        for _ in range(3):
            link.sync()
    assert len(coordinator.applied) == 1


def test_a_renamed_agent_is_told_apart(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        with Agent.update(link.places.file) as agent:
            agent.rename(site="other")
        with pytest.raises(LinkError, match=r"guidefbo rename .* --site a"):
            link.sync()


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("http://host.example:80", "plain HTTP to another machine"),
        ("ftp://host", "Expected the coordinator's address"),
        ("host:8443", "Expected the coordinator's address"),
        ("https://", "Expected the coordinator's address"),
        ("https://a:99999", "Expected the coordinator's address"),
        ("https://user@host", "Expected the coordinator's address"),
        ("folder:/nowhere/at/all", "There is no folder"),
        ("folder:", "Expected the coordinator's address"),
    ],
)
def test_what_is_no_coordinator_is_refused_before_anything(tmp_path, where, sentence):
    with pytest.raises(SettingsError, match=sentence):
        connect(tmp_path / "site.json", where, code="A")
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_was_damaged_says_so(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
    path = link.places.link
    form = json.loads(path.read_text())
    for change, sentence in [
        ({"coordinator_key": "x"}, "base64"),
        ({"role": "king"}, "role must be"),
        ({"site": "../x"}, "site must be"),
        ({"version": 2}, "version 2"),
        ({"more": 1}, "unknown"),
        ({"min_sites": True}, "min_sites"),
    ]:
        path.write_text(json.dumps(form | change))
        with pytest.raises(LinkError, match=sentence):
            LinkFile.load(path)
    path.write_text("{")
    with pytest.raises(LinkError, match="damaged"):
        Link(link.places.file)


def test_a_torn_line_of_the_log_spoils_no_other(coordinator, tmp_path):
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        log = link.places.mail / "audit.jsonl"
        with log.open("ab") as file:
            file.write(b'{"event": "left", "at": "2')
        link.sync()
    assert events(link) == ["left", "came", "torn", "left", "came"]


def test_a_forged_file_in_the_folder_is_put_aside(coordinator, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    code = coordinator.invite("a")
    with pytest.raises(OfflineError):
        connect(tmp_path / "a.json", f"folder:{shared}", code=code, patience=0)
    coordinator.turn(shared)
    link = connect(tmp_path / "a.json", f"folder:{shared}", code=code, patience=0)
    tell_some(link.places.file, 6)
    link.sync()
    [question] = (shared / "in").rglob("*.letter")
    place = question.relative_to(shared / "in")
    (shared / "out" / place).parent.mkdir(parents=True)
    (shared / "out" / place).write_bytes(question.read_bytes())
    with pytest.raises(ForeignAnswerError, match="another key"):
        link.sync()
    coordinator.turn(shared)
    assert link.sync().moved.sent == 6


def test_a_newer_upload_replaces_a_letter_nobody_read(coordinator, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    code = coordinator.invite("a")
    with pytest.raises(OfflineError):
        connect(tmp_path / "a.json", f"folder:{shared}", code=code, patience=0)
    coordinator.turn(shared)
    link = connect(tmp_path / "a.json", f"folder:{shared}", code=code, patience=0)
    for count in (6, 1, 1):
        tell_some(link.places.file, count)
        assert not link.sync().is_online
    assert len(list((shared / "in").rglob("*.letter"))) == 1
    assert coordinator.turn(shared) == 1
    assert link.sync().moved.sent == 8
    assert [sequence for _, sequence, _ in coordinator.applied] == [8]


def test_a_share_that_is_gone_is_told(coordinator, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    code = coordinator.invite("a")
    with pytest.raises(OfflineError):
        connect(tmp_path / "a.json", f"folder:{shared}", code=code, patience=0)
    coordinator.turn(shared)
    link = connect(tmp_path / "a.json", f"folder:{shared}", code=code, patience=0)
    os.rename(shared, tmp_path / "away")
    assert "Is the share mounted?" in link.sync().trouble
    os.rename(tmp_path / "away", shared)
    link.sync()
    coordinator.turn(shared)
    assert link.sync().is_online


def test_an_expired_packet_is_refused_by_the_agent_and_logged(coordinator, tmp_path):
    with serving(coordinator) as where:
        links = join_all(coordinator, where, tmp_path, ["a", "b"])
        for link in links.values():
            tell_some(link.places.file, 6)
            link.sync()
        link = links["a"]
        link.move()
        tell_some(link.places.file, 11)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            guidance = link.take()
    assert "results ago" in guidance.refusal
    assert events(link)[-1] == "refused"


@pytest.mark.parametrize("package", ["httpx", "cryptography"])
def test_what_is_not_installed_is_named(coordinator, tmp_path, monkeypatch, package):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError, match=r"pip install 'guidefbo\[connect\]'"):
        connect(tmp_path / "site.json", "https://localhost:1", code="A")
    assert not Places.of(tmp_path / "site.json").key.exists()


def test_two_at_once_send_one_letter_after_the_other(coordinator, tmp_path):
    """A daemon and a command: each letter has a number of its own."""
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 6)
        link.post()
        threads = [threading.Thread(target=link.move) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    numbers = [read_letter(data).number for data in coordinator.seen]
    assert numbers == [1, 2, 3, 4, 5]
    assert len(coordinator.applied) == 1


def test_links_in_the_mailbox_lead_nowhere(coordinator, tmp_path):
    """Who may write into the mailbox gets no further than the mailbox."""
    precious = tmp_path / "precious"
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        tell_some(link.places.file, 5)
        for name in ("upload.json", "packet.json"):
            precious.write_text("precious")
            (link.places.mail / name).unlink(missing_ok=True)
            (link.places.mail / name).symlink_to(precious)
            with suppress(LinkError):
                link.sync()
            (link.places.mail / name).unlink(missing_ok=True)
            assert precious.read_text() == "precious"
        (link.places.mail / "audit.jsonl").unlink()
        (link.places.mail / "audit.jsonl").symlink_to(precious)
        with pytest.raises(OutputError, match="audit log"):
            link.sync()
        assert precious.read_text() == "precious"


def test_links_in_the_folder_lead_nowhere(coordinator, tmp_path):
    share, elsewhere = tmp_path / "share", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (share / "in").mkdir(parents=True)
    (share / "in" / "_join").symlink_to(elsewhere)
    code = coordinator.invite("a")
    with pytest.raises(OfflineError, match="is a link"):
        connect(tmp_path / "a.json", f"folder:{share}", code=code)
    assert list(elsewhere.iterdir()) == []


def test_what_a_coordinator_says_is_shown_as_text(coordinator, tmp_path):
    """No control sequence of another side reaches a terminal."""
    with serving(coordinator) as where:
        link = join_all(coordinator, where, tmp_path, ["a"])["a"]
        bad = "wait \x1b[2J\x07 for\nit" + "." * 900
        coordinator.twist = lambda said, key: seal(said | {"reason": bad}, key)
        (line,) = [x for x in link.sync().lines() if x.startswith("no packet")]
    assert line.startswith("no packet: wait [2J for it")
    assert line.isprintable()
    assert len(line) < 600
