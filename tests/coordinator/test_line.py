"""Who is served next: one place in line for each site, and turns for each address."""

import asyncio
import threading
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coordinator.world import Site

from guidefbo.coordinator import limits, writer
from guidefbo.coordinator.limits import Callers, Door
from guidefbo.coordinator.line import Line
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.request import Request
from guidefbo.coordinator.turns import Turns
from guidefbo.coordinator.writer import Writer
from guidefbo.wire.letter import read_letter


@dataclass(frozen=True)
class Item:
    whose: str
    number: int
    is_overtaken: bool = True


def taken(line, most=100):
    """Return what is done next, by site: its number, and those that it overtakes."""
    return {
        place.item.whose: (place.item.number, [i.number for i in place.overtaken])
        for place in line.take(most)
    }


def test_many_letters_of_a_site_take_one_place():
    line = Line()
    for number in range(40):
        line.add(Item("flood", number))
    for name in ("north", "south"):
        line.add(Item(name, 1))
    assert (len(line), line.num_sites) == (42, 3)
    assert taken(line) == {
        "flood": (39, list(range(39))),
        "north": (1, []),
        "south": (1, []),
    }
    assert len(line) == 0


def test_a_site_that_was_served_goes_behind_the_others():
    line = Line()
    for number in (1, 2):
        line.add(Item("flood", number, is_overtaken=False))
    line.add(Item("north", 1))
    assert taken(line, most=1) == {"flood": (1, [])}
    line.add(Item("flood", 3, is_overtaken=False))
    assert list(line) == ["north", "flood"]
    assert taken(line, most=1) == {"north": (1, [])}
    assert taken(line, most=1) == {"flood": (2, [])}
    assert taken(line, most=1) == {"flood": (3, [])}


def test_what_must_be_done_in_its_turn_is():
    line = Line()
    for number, is_overtaken in ((1, True), (2, True), (3, False), (4, True)):
        line.add(Item("north", number, is_overtaken))
    assert [taken(line) for _ in range(3)] == [
        {"north": (2, [1])},
        {"north": (3, [])},
        {"north": (4, [])},
    ]


def test_what_is_put_back_stands_before_what_came_since():
    line = Line()
    for number in (1, 2, 3):
        line.add(Item("north", number, is_overtaken=False))
    (place,) = line.take(1)
    line.add(Item("south", 1))
    line.put_back([place.item])
    assert len(line) == 4
    assert [taken(line, most=1) for _ in range(2)] == [
        {"north": (1, [])},
        {"south": (1, [])},
    ]


@given(
    sent=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=30
    ),
    most=st.integers(1, 3),
)
def test_every_letter_leaves_the_line_once(sent, most):
    line = Line()
    for whose, number, is_overtaken in sent:
        line.add(Item(whose, number, is_overtaken))
    found = []
    while len(line):
        places = line.take(most)
        names = [place.item.whose for place in places]
        assert 0 < len(names) <= most
        assert len(set(names)) == len(names)
        for place in places:
            assert all(i.number <= place.item.number for i in place.overtaken)
            assert all(i.is_overtaken for i in place.overtaken)
            found += [place.item, *place.overtaken]
    key = lambda item: (item.whose, item.number, item.is_overtaken)  # noqa: E731
    assert sorted(found, key=key) == sorted((Item(*s) for s in sent), key=key)


class Slow:
    """Does letters' work, and keeps the first transaction open until it is told."""

    def __init__(self):
        self.batches = []
        self.may_go = threading.Event()
        self.has_begun = threading.Event()
        self.refused = {}

    def __call__(self, connection, requests):
        del connection
        self.batches.append([(r.site, r.letter.number) for r in requests])
        self.has_begun.set()
        assert self.may_go.wait(30)
        return [
            self.refused.get((r.site, r.letter.number)) or r.letter.digest.encode()
            for r in requests
        ]


@pytest.fixture
def slow(small):
    """A writer whose first transaction, of a site that is not seen again, lasts."""
    process = Slow()
    process.writer = Writer(small.store, process)
    process.writer.submit(asked(Site("first").exchange(1)))
    assert process.has_begun.wait(30)
    yield process
    process.may_go.set()
    process.writer.close()


def asked(data):
    """Return a letter as it is handed to a writer."""
    letter = read_letter(data)
    return Request(
        letter=letter,
        federation=letter.payload["federation"],
        site=letter.payload["site"],
        public_key="",
    )


def outcome(future):
    got = future.result(timeout=30)
    return got.code if isinstance(got, Refusal) else got.decode()


def test_flood_gets_one_transaction_with_the_others(slow):
    """A burst of one site waits in line: nobody behind it waits for all of that."""
    flood, north = Site("flood"), Site("north")
    letters = [flood.exchange(n) for n in range(1, 41)]
    sent = [slow.writer.submit(asked(letter)) for letter in letters]
    honest = north.exchange(1)
    got = slow.writer.submit(asked(honest))
    assert slow.writer.num_waiting == 41
    slow.may_go.set()
    assert outcome(got) == read_letter(honest).digest
    assert [outcome(future) for future in sent[:-1]] == ["replayed"] * 39
    assert outcome(sent[-1]) == read_letter(letters[-1]).digest
    assert slow.batches == [[("first", 1)], [("flood", 40), ("north", 1)]]


def test_same_letter_again_in_line_has_the_same_answer(slow):
    letter = Site("north").exchange(1)
    sent = [slow.writer.submit(asked(letter)) for _ in range(5)]
    slow.may_go.set()
    assert {outcome(future) for future in sent} == {read_letter(letter).digest}
    assert slow.batches[1:] == [[("north", 1)]]


@pytest.mark.parametrize("code", ["older", "bad_signature", "changed"])
def test_older_letter_is_done_where_the_newest_is_refused(slow, code):
    north = Site("north")
    letters = [north.exchange(1) for _ in range(3)]
    slow.refused["north", 3] = Refusal(code, "No.")
    sent = [slow.writer.submit(asked(letter)) for letter in letters]
    slow.may_go.set()
    digest = read_letter(letters[1]).digest
    assert [outcome(future) for future in sent] == ["replayed", digest, code]
    assert slow.batches[1:] == [[("north", 3)], [("north", 2)]]


@pytest.mark.parametrize("code", writer.SHARED)
def test_refusals_that_hold_for_older_letters_cost_no_further_work(slow, code):
    north = Site("north")
    slow.refused["north", 3] = Refusal(code, "No.")
    sent = [slow.writer.submit(asked(north.exchange(1))) for _ in range(3)]
    slow.may_go.set()
    assert [outcome(future) for future in sent] == [code] * 3
    assert slow.batches[1:] == [[("north", 3)]]


def test_leaving_is_not_overtaken(slow):
    north = Site("north")
    letters = [
        north.exchange(1),
        north.letter("leave", forget=False),
        north.exchange(2),
    ]
    sent = [slow.writer.submit(asked(letter)) for letter in letters]
    slow.may_go.set()
    assert [outcome(f) for f in sent] == [read_letter(a).digest for a in letters]
    assert slow.batches[1:] == [[("north", n)] for n in (1, 2, 3)]


def test_who_waits_already_prolongs_nothing(small, monkeypatch):
    """Letters gather while sites come, not while one site keeps on writing."""
    monkeypatch.setattr(writer, "LONGEST", 60.0)
    monkeypatch.setattr(writer, "PATIENCE", 600.0)
    made = Writer(small.store, lambda connection, requests: [b""] * len(requests))
    try:
        # Transactions seem to take a minute and to have many letters.
        made._last_seconds.extend([60.0] * 3)
        made._last_size = 2
        began = time.monotonic()
        with made.arriving(("reaction", "flood")):
            names = ("flood", "north")
            sent = [made.submit(asked(Site(name).exchange(1))) for name in names]
            assert [future.result(timeout=50) for future in sent] == [b"", b""]
        assert time.monotonic() - began < 30
    finally:
        made.close()


def test_a_slow_transaction_makes_nobody_wait_as_long_again(small, monkeypatch):
    """How long letters gather follows what transactions usually take."""
    monkeypatch.setattr(writer, "LONGEST", 60.0)
    made = Writer(small.store, lambda connection, requests: [b""] * len(requests))
    try:
        made._last_seconds.extend([0.01, 20.0, 0.01])
        made._last_size = 2
        began = time.monotonic()
        with made.arriving(("reaction", "south")):
            made.submit(asked(Site("north").exchange(1))).result(timeout=30)
        assert time.monotonic() - began < 10
    finally:
        made.close()


def entered(turns, callers, steps):
    """Return in which order callers are let in, where each stays for some steps."""
    order = []

    async def come(caller):
        async with turns.of(caller):
            order.append(caller)
            for _ in range(steps):
                await asyncio.sleep(0)

    async def run():
        await asyncio.gather(*(come(caller) for caller in callers))

    asyncio.run(run())
    return order


def test_callers_are_let_in_in_turn():
    order = entered(Turns(1, 1), ["flood"] * 6 + ["north", "south"], steps=3)
    assert order[:4] == ["flood", "flood", "north", "south"]
    assert order[4:] == ["flood"] * 4


def test_one_caller_leaves_places_for_others():
    order = entered(Turns(4, 2), ["flood"] * 50 + ["north", "south"], steps=20)
    assert order[:4] == ["flood", "flood", "north", "south"]
    assert len(order) == 52


def test_who_is_called_away_gives_the_place_up():
    async def run():
        turns, order = Turns(1, 1), []

        async def come(caller, seconds):
            async with turns.of(caller):
                order.append(caller)
                await asyncio.sleep(seconds)

        async def start(caller, seconds=0.0):
            task = asyncio.create_task(come(caller, seconds))
            await asyncio.sleep(0)
            return task

        inside = await start("north", 60)
        waiting = await start("south")
        last = await start("west")
        waiting.cancel()
        # Before the one that waits has noticed.
        inside.cancel()
        await asyncio.wait_for(last, 30)
        assert order == ["north", "west"]
        # One that was let in and called away at the same moment.
        inside, waiting = await start("north", 60), await start("south")
        inside.cancel()
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait_for(await start("east"), 30)
        assert order[-1] == "east"

    asyncio.run(run())


def test_refusal_is_not_held_for_who_has_gone(monkeypatch):
    monkeypatch.setattr(limits, "HOLD", 60.0)

    async def run():
        callers = Callers(rate=1.0, connections=0, max_connections=4)
        messages = [
            {"type": "http.request", "body": b"abc", "more_body": False},
            {"type": "http.disconnect"},
        ]

        async def receive():
            return messages.pop(0)

        async def stays():
            await asyncio.sleep(3600)

        await asyncio.wait_for(callers.hold(receive), 30)
        assert not messages
        # A quarter of four connections may be held, and none is.
        held = asyncio.create_task(callers.hold(stays))
        await asyncio.sleep(0)
        assert not held.done()
        # One more is answered at once.
        await asyncio.wait_for(callers.hold(stays), 30)
        held.cancel()

    asyncio.run(run())


def test_of_a_refused_request_little_is_read(monkeypatch):
    monkeypatch.setattr(limits, "HOLD", 0.05)
    sizes = []

    async def receive():
        sizes.append(10_000)
        return {"type": "http.request", "body": bytes(10_000), "more_body": True}

    callers = Callers(rate=1.0, connections=0, max_connections=4)
    asyncio.run(asyncio.wait_for(callers.hold(receive), 30))
    assert sum(sizes) < limits.MAX_UNREAD + 20_000


def test_connections_at_the_same_moment_are_not_all_read():
    """As many are read as requests may come; the others cost next to nothing."""
    callers = Callers(rate=5.0, connections=30, max_connections=40)
    flood = [("192.0.2.1", port) for port in range(31)]
    doors = [callers.connect(peer) for peer in flood]
    # A second's worth; a quarter of all connections is held; then the most of one.
    assert doors == [Door.OPEN] * 5 + [Door.HELD] * 10 + [Door.SHUT] * 16
    assert callers.num_unread == 26
    assert callers.connect(("192.0.2.2", 1)) is Door.OPEN
    # The first request is paid for, the second is not.
    callers.take(flood[0])
    with pytest.raises(Refusal, match="Too many requests"):
        callers.take(flood[0])
    # A place of those that are held is free again.
    callers.let_go()
    for peer in flood[5:]:
        callers.disconnect(peer)
    assert callers.connect(flood[11]) is Door.HELD


def test_requests_that_were_paid_for_are_not_saved_up():
    callers = Callers(rate=0.001, connections=0, max_connections=40)
    peer = ("192.0.2.1", 1)
    for _ in range(4):
        assert callers.connect(peer) is Door.OPEN
        callers.disconnect(peer)
    with pytest.raises(Refusal):
        callers.take(peer)


def test_without_a_limit_every_connection_is_read():
    callers = Callers(rate=0.0, connections=0, max_connections=4)
    peers = [("192.0.2.1", port) for port in range(50)]
    assert {callers.connect(peer) for peer in peers} == {Door.OPEN}
    for peer in peers:
        callers.take(peer)
        callers.take(peer)
