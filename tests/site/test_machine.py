"""Any sequence of questions and answers, against a plain account of what was said."""

import json
import tempfile
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.site.sites import METHODS, SPACES, handed, in_space, make, packet, quietly
from tests.strategies import printable, seeds

from guidefbo import Agent, Bool, Choice, FedBOError, Float
from guidefbo.core.errors import DataError

PENDING, DONE, FAILED = "pending", "done", "failed"
ABANDONED, EXPIRED = "abandoned", "expired"

outcomes = st.one_of(
    st.floats(-10.0, 10.0),
    st.integers(-3, 3),
    st.sampled_from([0.0, -0.0, 1e12, -1e12, 1e-12, 1e99, -1e99]),
)
stds = st.one_of(st.none(), st.none(), st.sampled_from([0.0, 0.1, 1.0, 1e6]))
no_outcomes = st.sampled_from(
    [
        (float("nan"), None, None),
        (float("inf"), None, None),
        (-float("inf"), None, None),
        (1e101, None, None),
        (10**400, None, None),
        (None, None, None),
        ("1.0", None, None),
        (True, None, None),
        (1.0 + 0.0j, None, None),
        ([1.0], None, None),
        (1.0, -0.1, None),
        (1.0, float("nan"), None),
        (1.0, True, None),
        (1.0, None, "both"),
        (None, None, 3),
        (None, 0.1, "broke"),
    ]
)
NEW = handed(make("box"), packet(2)).to_bytes()
no_packets = st.sampled_from(
    [
        b"",
        b"\xff\xfe",
        b"{}",
        b"[" * 5000,
        "no json",
        b"x" * (2 << 20),
        7,
        [],
        NEW.replace(b"guide.packet", b"guide.upload"),
        NEW.replace(b"0.9", b"NaN"),
        NEW.replace(b"0.9", b"1e400"),
        NEW.replace(b"0.9", b"1.5"),
        NEW.replace(b"site-0", b"site-1"),
        NEW.replace(b"default", b"other"),
    ]
)


@dataclass
class Entry:
    """What is known of one trial, kept the simplest way."""

    values: dict
    due_at: int
    is_own: bool
    state: str = PENDING
    records: list = field(default_factory=list)


def grid_of(space):
    """Return every point of a space without floats, None where there are too many."""
    if any(isinstance(p, Float) for p in space.parameters.values()):
        return None
    levels = [
        p.options
        if isinstance(p, Choice)
        else (False, True)
        if isinstance(p, Bool)
        else range(p.low, p.high + 1)
        for p in space.parameters.values()
    ]
    return [
        dict(zip(space.parameters, point, strict=True)) for point in product(*levels)
    ]


class Site(RuleBasedStateMachine):
    """A site that asks, answers, errs, stops and comes back."""

    @initialize(
        name=st.sampled_from(sorted(SPACES)),
        goal=st.sampled_from(["max", "min"]),
        method=st.sampled_from(METHODS),
        seed=st.integers(0, 1000),
        initial=st.integers(1, 4),
        expire_after=st.integers(2, 8),
        packet_lifetime=st.integers(1, 5),
        num_agents=st.sampled_from([None, 3]),
        noise=st.sampled_from([None, None, 0.1]),
    )
    def begin(self, name, goal, method, **options):
        self.space, self.goal = SPACES[name], goal
        self.grid = grid_of(self.space)
        self.expire_after = options["expire_after"]
        self.lifetime = options["packet_lifetime"]
        self.takes_guidance = method.startswith("guide")
        self.agent = make(self.space, goal, method=method, **options)
        self.book, self.num_told = [], 0
        self.guidance, self.received_at = "none", 0
        self.seen = {}

    # What the site does.

    @rule()
    def ask(self):
        with quietly():
            self.enter_asked([self.agent.ask()])

    @rule(n=st.integers(1, 3))
    def ask_several(self, n):
        with quietly():
            trials = self.agent.ask(n)
        assert len(trials) == n
        self.enter_asked(trials)

    @precondition(lambda self: self.book)
    @rule(data=st.data(), value=outcomes, std=stds)
    def tell(self, data, value, std):
        trial_id = self.draw_id(data)
        told = self.agent.tell(self.name(data, trial_id), value, std=std)
        self.record(trial_id, float(value), std, None)
        assert told == self.agent.trials[trial_id - 1]

    @precondition(lambda self: self.book)
    @rule(data=st.data(), reason=st.text(printable, max_size=5).filter(str.strip))
    def fail(self, data, reason):
        trial_id = self.draw_id(data)
        self.agent.tell(self.name(data, trial_id), failed=reason)
        self.record(trial_id, None, None, reason)

    @precondition(lambda self: any(e.state == DONE for e in self.book))
    @rule(data=st.data(), value=outcomes, std=stds)
    def correct(self, data, value, std):
        done = [k for k, e in enumerate(self.book, start=1) if e.state == DONE]
        trial_id = data.draw(st.sampled_from(done))
        self.agent.tell(trial_id, value, std=std)
        self.record(trial_id, float(value), std, None)

    @precondition(lambda self: self.book)
    @rule(data=st.data(), value=outcomes, std=stds)
    def tell_by_values(self, data, value, std):
        """Telling values answers the first open question for them, or is the own."""
        values = dict(self.book[self.draw_id(data) - 1].values)
        self.tell_values(values, value, std)

    @rule(seed=seeds, value=outcomes, std=stds)
    def bring_own(self, seed, value, std):
        (x,) = self.space.domain.sample(1, np.random.default_rng(seed))
        self.tell_values(self.space.from_unit(x), value, std)

    @precondition(lambda self: self.book)
    @rule(data=st.data())
    def abandon(self, data):
        trial_id = self.draw_id(data)
        entry = self.book[trial_id - 1]
        if entry.state in (DONE, FAILED):
            with pytest.raises(DataError, match="cannot be abandoned"):
                self.agent.abandon(self.name(data, trial_id))
        else:
            self.agent.abandon(self.name(data, trial_id))
            entry.state = ABANDONED

    @rule(data=st.data(), told=no_outcomes)
    def tell_nonsense(self, data, told):
        value, std, failed = told
        values = self.space.from_unit(np.full(self.space.dim, 0.25))
        targets = [values, *range(1, len(self.book) + 1)]
        target = data.draw(st.sampled_from(targets))
        with pytest.raises(DataError):
            self.agent.tell(target, value, std=std, failed=failed)

    @rule(trial=st.sampled_from([0, -1, 999, True, None, "1", 1.0, {}, {"q": 1.0}]))
    def tell_nobody(self, trial):
        with pytest.raises(FedBOError):
            self.agent.tell(trial, 1.0)

    @rule(center=st.floats(0.0, 1.0), weight=st.floats(0.0, 1.0), text=st.booleans())
    def receive(self, center, weight, text):
        message = handed(self.agent, packet(self.space.dim, center, weight))
        with quietly():
            data = message.to_bytes().decode() if text else message
            said = self.agent.receive(data)
        if self.takes_guidance:
            self.guidance, self.received_at = "active", self.num_told
        assert said == self.agent.guidance
        assert (said.refusal is None) == self.takes_guidance

    @rule(message=no_packets)
    def receive_nonsense(self, message):
        with pytest.warns(UserWarning, match="the packet was refused: "):
            assert self.agent.receive(message).refusal

    @rule()
    def receive_nothing(self):
        assert self.agent.receive(None) == self.agent.guidance

    @rule(goes_on=st.booleans())
    def save_and_load(self, goes_on):
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder, "a.json"), Path(folder, "b.json")
            self.agent.save(first)
            loaded = Agent.load(first)
            loaded.save(second)
            assert first.read_bytes() == second.read_bytes()
            assert json.loads(first.read_text())["setup"]["goal"] == self.goal
        assert loaded.trials == self.agent.trials
        with quietly():
            assert str(loaded) == str(self.agent)
            assert same_message(loaded.upload(), self.agent.upload())
            assert loaded.best() == self.agent.best()
            trial = self.agent.ask()
            assert loaded.ask() == trial
        self.enter_asked([trial])
        if goes_on:
            self.agent = loaded

    # The account.

    def draw_id(self, data):
        return data.draw(st.integers(1, len(self.book)))

    def name(self, data, trial_id):
        """Return the trial itself or its id."""
        trial = self.agent.trials[trial_id - 1]
        return data.draw(st.sampled_from([trial_id, trial, np.int64(trial_id)]))

    def enter_asked(self, trials):
        num_out = sum(entry.state == PENDING for entry in self.book) + len(trials)
        for trial in trials:
            self.enter_one(trial, self.num_told + num_out)

    def enter_one(self, trial, due_at):
        assert trial.id == len(self.book) + 1
        assert (trial.state, trial.records) == (PENDING, ())
        assert trial.origin in ("design", "model", "fallback")
        assert in_space(self.space, trial.values)
        is_active = self.expected_guidance() == "active"
        assert trial.guided == (is_active and trial.origin == "model")
        taken = [e.values for e in self.book if e.state in (PENDING, FAILED)]
        if self.grid is None:
            x = self.space.to_unit(trial.values)
            for values in taken:
                assert np.linalg.norm(x - self.space.to_unit(values)) > 1e-4
        elif any(point not in taken for point in self.grid):
            assert trial.values not in taken
        self.book.append(Entry(trial.values, due_at, is_own=False))

    def tell_values(self, values, value, std):
        first = [
            k
            for k, entry in enumerate(self.book, start=1)
            if not entry.records and entry.values == values
        ]
        told = self.agent.tell(values, value, std=std)
        if not first:
            self.book.append(Entry(values, self.num_told + 1, is_own=True))
            first = [len(self.book)]
        assert told.id == first[0]
        self.record(first[0], float(value), std, None)

    def record(self, trial_id, *outcome):
        entry = self.book[trial_id - 1]
        if not entry.records or entry.records[-1][1:] != outcome:
            self.num_told += 1
            entry.records.append((self.num_told, *outcome))
            entry.state = FAILED if outcome[0] is None else DONE
            for other in self.book:
                age = self.num_told - other.due_at
                if other.state == PENDING and age >= self.expire_after:
                    other.state = EXPIRED

    def expected_guidance(self):
        # A correction is no new result.
        firsts = [entry.records[0][0] for entry in self.book if entry.records]
        age = sum(order > self.received_at for order in firsts)
        is_old = age >= self.lifetime
        return "stale" if self.guidance == "active" and is_old else self.guidance

    # What always holds.

    @invariant()
    def book_is_the_account(self):
        trials = self.agent.trials
        assert [t.id for t in trials] == list(range(1, len(self.book) + 1))
        for trial, entry in zip(trials, self.book, strict=True):
            assert trial.values == entry.values
            assert trial.state == entry.state
            assert (trial.origin == "own") == entry.is_own
            records = [(r.order, r.value, r.std, r.failed) for r in trial.records]
            assert records == entry.records
            assert trial.goal == self.goal

    @invariant()
    def records_only_grow(self):
        for trial in self.agent.trials:
            before = self.seen.get(trial.id, ())
            assert trial.records[: len(before)] == before
            self.seen[trial.id] = trial.records

    @invariant()
    def model_knows_the_results_and_nothing_else(self):
        done = [e for e in self.book if e.state == DONE]
        if not done:
            assert self.agent.best() is None
            assert self.agent.upload() is None
            return
        gp, data, _ = self.agent.fitted
        assert len(gp.X) == len(data) == len(done)
        for part in (gp.X, data.y, gp.alpha, gp.hyper.lengthscales):
            assert np.isfinite(part).all()
        best = self.agent.best()
        assert best.goal == self.goal
        assert best.trial.state == best.observed.state == DONE
        values = [e.records[-1][1] for e in done]
        assert best.observed.value == (max if self.goal == "max" else min)(values)
        assert np.isfinite([best.mean, best.std or 0.0]).all()
        assert best.std is None or best.std >= 0.0

    @invariant()
    def guidance_is_as_told(self):
        assert self.agent.guidance.state == self.expected_guidance()

    @invariant()
    def goal_stands_everywhere(self):
        assert self.agent.goal == self.agent.setup.goal == self.goal
        for text in (str(self.agent), *map(str, self.agent.trials)):
            assert f"goal {self.goal}" in text


def same_message(a, b):
    return a is b is None or a.to_bytes() == b.to_bytes()


class TestSite(Site.TestCase):
    settings = settings(max_examples=50, stateful_step_count=12)


@pytest.mark.slow
class TestSiteAtLength(Site.TestCase):
    settings = settings(max_examples=1200, stateful_step_count=15)
