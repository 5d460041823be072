"""Letters inside Flower: the parts, and a real fleet with TLS, node keys and kills.

Flower pins versions that the other tests do not have; `./check --long` runs this file
in an environment of its own, with `-m flower`.
"""

import doctest
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import pytest

import guidefbo as gf
from guidefbo.core.errors import SettingsError, WireError

pytestmark = [
    pytest.mark.flower,
    # Of Flower and what it stands on, at the versions it pins.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
EXAMPLES = Path(__file__).parents[2] / "examples" / "integrations"
SITES = ("a", "b", "c")
PATIENCE = 150.0
"""Seconds to wait for an answer: an exchange takes some ten, on a busy machine more."""
PLACE = "reaction/north/000000000007.letter"


@pytest.fixture(scope="module")
def flower():
    from guidefbo.integrations import flower

    return flower


def test_doctests(flower):
    assert doctest.testmod(flower) == (0, 3)


def test_only_places_of_letters_are_places(flower):
    digest = "_join/0123456789abcdef.letter"
    assert flower.is_place(PLACE)
    assert flower.is_place(digest)
    for text in (
        *("../site.json", "/etc/passwd", "reaction/../../x/1.letter", "a/b/c/1.letter"),
        *("reaction/north/1.json", "reaction/north/.1.letter", "_join/../1.letter"),
        *("x" * 500, "", "reaction//1.letter", 7, None, "reaction/north/1.letter\n"),
    ):
        assert not flower.is_place(text), text
    with pytest.raises(WireError, match="no place"):
        flower.Carried("../../home/site.json", b"")
    with pytest.raises(WireError, match="at most"):
        flower.Carried(PLACE, b"x" * (flower.MAX_LETTER + 1))


def test_a_message_is_checked_before_anything_is_written(flower):
    from flwr.app import ConfigRecord, RecordDict

    letters = [flower.Carried(PLACE, b"one"), flower.Carried("_join/ab.letter", b"")]
    assert flower.from_content(flower.to_content(letters)) == letters
    assert flower.from_content(flower.to_content([])) == []

    def made(**fields):
        return RecordDict({"letters": ConfigRecord(fields)})

    for content in (
        RecordDict({}),
        made(places=[PLACE], data=[]),
        made(places=["../x"], data=[b""]),
        made(places=[PLACE], data=["text"]),
        made(places=PLACE, data=b"x"),
        made(places=[PLACE] * 17, data=[b""] * 17),
    ):
        with pytest.raises(WireError):
            flower.from_content(content)


def test_a_spool_gives_letters_until_they_are_answered(flower, tmp_path):
    spool = flower.Spool(tmp_path)
    assert spool.waiting() == []
    inside = tmp_path / "in" / "reaction" / "north"
    inside.mkdir(parents=True)
    (inside / "000000000008.letter").write_bytes(b"eight")
    (inside / "000000000007.letter").write_bytes(b"seven")
    (inside / ".000000000009.letter").write_bytes(b"half")
    (inside / "notes.txt").write_bytes(b"no letter")
    secret = tmp_path / "secret"
    secret.write_bytes(b"observations")
    (inside / "000000000001.letter").symlink_to(secret)
    assert [c.data for c in spool.waiting()] == [b"seven", b"eight"]
    spool.keep(flower.Carried(PLACE, b"answer"))
    assert [c.data for c in spool.waiting()] == [b"eight"]
    assert (tmp_path / "out" / PLACE).read_bytes() == b"answer"
    # An answer to nothing that was asked is not kept.
    spool.keep(flower.Carried("reaction/south/000000000001.letter", b"x"))
    assert not (tmp_path / "out" / "reaction" / "south").exists()
    for k in range(10, 40):
        (inside / f"{k:012d}.letter").write_bytes(b"x")
    assert len(spool.waiting()) == flower.MAX_LETTERS


@dataclass
class Answer:
    status: int
    body: bytes


class Desk:
    """Answers letters in capitals; `busy` ones later."""

    def answer(self, data, *, limit, is_sealed):
        assert is_sealed
        return Answer(503 if data == b"busy" else 200, data.upper())


class Nodes:
    """A grid whose nodes are functions of the content."""

    def __init__(self, nodes):
        self.nodes, self.waiting = nodes, {}

    def get_node_ids(self):
        return list(self.nodes)

    def push_messages(self, messages):
        for message in messages:
            number = f"m{len(self.waiting)}-{time.monotonic_ns()}"
            message.metadata._message_id = number
            self.waiting[number] = message
            yield number

    def pull_messages(self, numbers):
        from flwr.app import Error, Message

        for number in numbers:
            message = self.waiting[number]
            reply = self.nodes[message.metadata.dst_node_id](message.content)
            if reply == "error":
                yield Message(Error(code=5, reason="gone"), reply_to=message)
            elif reply is not None:
                yield Message(reply, reply_to=message)


@pytest.fixture
def identity(monkeypatch):
    """What the SuperLink says to the process of a ServerApp."""
    from flwr.supercore.task_identity import TaskIdentity

    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


@pytest.mark.usefixtures("identity")
def test_nodes_do_not_wait_for_each_other(flower):
    seen = {1: [], 2: [], 3: []}

    def node(number, replies):
        replies = iter(replies)

        def visit(content):
            seen[number].append([c.data for c in flower.from_content(content)])
            return next(replies)

        return visit

    def letters(*data):
        carried = [
            flower.Carried(f"reaction/n/{k:012d}.letter", d) for k, d in enumerate(data)
        ]
        return flower.to_content(carried)

    quiet = [letters()] * 9
    grid = Nodes(
        {
            1: node(1, [letters(b"one", b"busy"), letters(b"two"), *quiet]),
            2: node(2, [None] * 9),  # never answers
            3: node(3, [letters(b"x"), "error", letters(b"y"), *quiet]),
        }
    )
    visits = flower.Round(grid=grid, desk=Desk(), pause=10.0)
    assert visits.step(0.0) == 2
    assert visits.step(1.0) == 1
    # After an error a node rests, and its answers are brought again.
    assert visits.step(2.0) == 0
    assert visits.step(20.0) == 1
    assert visits.step(21.0) == 0
    assert seen[1][:3] == [[], [b"ONE"], [b"TWO"]]
    assert seen[3][:4] == [[], [b"X"], [b"X"], [b"Y"]]
    assert [v.node for v in visits.under_way.values()].count(2) == 1
    # A reply that does not come is taken for lost, and the node is visited again.
    assert len(seen[2]) == 5
    assert visits.step(flower.LOST + 1.0) == 0
    assert {v.since for v in visits.under_way.values() if v.node == 2} == {
        flower.LOST + 1.0
    }


@pytest.mark.usefixtures("identity")
def test_half_a_reply_holds_nobody_up(flower, monkeypatch):
    """Flower waits three minutes for what a node that died had not yet uploaded."""
    monkeypatch.setattr(flower, "STEP", 0.05)
    is_dead = threading.Event()
    asked = flower.to_content([flower.Carried(PLACE, b"x")])

    class Stuck(Nodes):
        def pull_messages(self, numbers):
            at = [self.waiting[n].metadata.dst_node_id for n in numbers]
            if 2 in at and not is_dead.is_set():
                is_dead.wait(30.0)
            return list(super().pull_messages(numbers))

    grid = Stuck({1: lambda _: asked, 2: lambda _: None})
    visits = flower.Round(grid=grid, desk=Desk(), pause=10.0)
    assert visits.step(0.0) == 0
    assert visits.step(1.0) == 0
    assert threading.active_count() < 20
    held_up = visits.looking
    # What is late is given up, everything is visited again, and nothing is lost.
    is_dead.set()
    assert visits.step(flower.LOST + 1.0) == 1
    assert held_up.replies.result(5.0), "the late look had the other node's reply"
    assert visits.step(flower.LOST + 2.0) == 1


@pytest.mark.usefixtures("identity")
def test_an_outage_of_the_grid_does_not_end_the_run(flower, monkeypatch, caplog):
    """Flower repeats most calls, but not after a broken handshake of TLS."""
    import httpx
    from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

    class Desks(Desk):
        writer = SimpleNamespace(close=lambda: None)

    store = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr("guidefbo.coordinator.schema.open_current", lambda _: store)
    monkeypatch.setattr(
        "guidefbo.coordinator.answer.open_desk", lambda *_, **__: Desks()
    )
    monkeypatch.setattr(flower, "STEP", 0.01)
    request = httpx.Request("POST", "https://127.0.0.1/")

    def status(number):
        return httpx.HTTPStatusError(
            "", request=request, response=httpx.Response(number, request=request)
        )

    class Failing(Nodes):
        """Each of the three calls of a step fails in turn, after a step that works."""

        errors = cycle(
            (
                *(None, None, None),
                httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred"),
                *(None, ObjectPushError("ab", 1, "session")),
                *(None, None, httpx.ReadTimeout("The handshake operation timed out")),
                status(500),
            )
        )

        def get_node_ids(self):
            return self._or_error(super().get_node_ids())

        def push_messages(self, messages):
            return self._or_error(list(super().push_messages(messages)))

        def pull_messages(self, numbers):
            return self._or_error(list(super().pull_messages(numbers)))

        def _or_error(self, value):
            error = next(self.errors)
            if error is not None:
                raise error
            return value

    answered = []

    def node(content):
        answered.extend(c.data for c in flower.from_content(content))
        return flower.to_content([flower.Carried(PLACE, b"x")])

    grid = Failing({1: node})
    context = SimpleNamespace(
        run_config={"store": "x.db", "pause": 0.0, "minutes": 0.005}
    )
    flower.serve(grid, context)
    assert set(answered) == {b"X"}
    assert len(caplog.records) >= 4
    # What does not pass by itself ends the run, with its reason.
    for error in (status(400), ValueError("no grid"), SettingsError("no store")):
        grid.get_node_ids = raising(error)
        with pytest.raises(type(error)):
            flower.serve(grid, context)


def raising(error):
    def call():
        raise error

    return call


def test_settings_of_a_run(flower):
    assert flower.settings_of({"store": "x.db"}) == ("x.db", 60.0, 0.0)
    for wrong in ({}, {"store": 3}, {"store": "x", "pause": "1"}, {"store": ""}):
        with pytest.raises(SettingsError):
            flower.settings_of(wrong)


def test_nothing_that_reads_observations_is_loaded():
    code = (
        "import sys, guidefbo.integrations.flower; print([m for m in sys.modules if "
        "m.startswith(('guidefbo.agent', 'guidefbo.site', 'guidefbo.methods'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def tell(link, count):
    asked = []
    with gf.Agent.update(link.places.file) as agent:
        for _ in range(count):
            trial = agent.ask()
            agent.tell(trial, -((trial.values["x"] - 0.4) ** 2))
            asked.append((dict(trial.values), trial.guided))
    return asked


def exchange(links, asked, count):
    """Let every site tell some results and exchange once, one after the other."""
    for site, link in links.items():
        asked[site] += tell(link, count)
        synced = link.sync()
        assert synced.is_online, synced


def packets(links):
    found = {site: link.mailbox.incoming() for site, link in links.items()}
    return {site: None if m is None else m.packet for site, m in found.items()}


def over_http(folder):
    from tests.connect.real import Host

    host = Host(folder / "host")
    asked = {site: [] for site in SITES}
    with host.serving() as where:
        links = {
            s: gf.connect(folder / f"{s}.json", where, code=host.invite(s))
            for s in SITES
        }
        exchange(links, asked, 6)
        exchange(links, asked, 1)
        exchange(links, asked, 1)
        return asked, packets(links)


def load_fleet():
    spec = spec_from_file_location("flower_fleet", EXAMPLES / "flower_fleet.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_fleet_with_kills_carries_the_same_packets_as_http(tmp_path):
    """A SuperNode and the SuperLink are killed in the middle; nothing is different."""
    from tests.connect.real import Host

    Fleet = load_fleet().Fleet

    (tmp_path / "http").mkdir()
    expected = over_http(tmp_path / "http")
    host, fleet = Host(tmp_path / "host"), Fleet(tmp_path)
    asked = {site: [] for site in SITES}
    try:
        fleet.start_link()
        fleet.start_executor()
        for site in SITES:
            (tmp_path / site).mkdir()
            fleet.start_node(site, tmp_path / site)
        fleet.start_node("stranger", tmp_path / "a", register=False)
        fleet.run_app(host.store, minutes=15)
        links = {
            site: gf.connect(
                tmp_path / f"{site}.json",
                f"folder:{tmp_path / site}",
                code=host.invite(site),
                patience=PATIENCE,
            )
            for site in SITES
        }
        exchange(links, asked, 6)
        # A key that nobody registered is refused.
        fleet.wait_for(
            lambda: fleet.processes["node-stranger"].poll() is not None, "a stranger"
        )
        fleet.kill("node-c")
        died = time.monotonic()
        fleet.kill("superlink")
        time.sleep(5.0)
        fleet.start_link()
        # The others go on without it.
        pair = {site: links[site] for site in ("a", "b")}
        exchange(pair, asked, 1)
        # With its key a node comes back as itself, once its old life is forgotten.
        time.sleep(max(0.0, 75.0 - (time.monotonic() - died)))
        fleet.start_node("c", tmp_path / "c", register=False)
        exchange({"c": links["c"]}, asked, 1)
        exchange(links, asked, 1)
        assert (asked, packets(links)) == expected
        assert any(guided for _, guided in asked["a"])
    except Exception:
        print(fleet.logs())
        raise
    finally:
        fleet.close()
