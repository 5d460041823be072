"""A site's daily work in any order, at two sites that are mirror images.

What is run differs from what was asked, outcomes have limits, tables go out and come
in, the space changes, and a site cannot run all of it. One site maximises f, the other
minimises -f: they ask the same questions to the bit.
"""

import csv
import json
import os
import tempfile
from io import StringIO
from pathlib import Path

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
from tests.site.sites import handed, make, packet, quietly

from guidefbo import Agent, Choice, FedBOError, Float, Int, Outcome, Space
from guidefbo.core.errors import OutsideWarning
from guidefbo.site.helping import help_of
from guidefbo.site.summary import Summary
from guidefbo.site.table import columns_of, csv_of

SEQUENCES = int(os.environ.get("GUIDEFBO_SEQUENCES", "100"))
"""How many sequences the long test runs; before a release 2000 or more."""
SPACE = Space(
    heat=Float(20, 120, step=0.5, unit="degC"),
    load=Float(0.1, 10, log=True, digits=3),
    n=Int(1, 30),
    cat=Choice("a", "b", "c"),
)
numbers = st.floats(-50.0, 50.0)


class Bench(RuleBasedStateMachine):
    """Two agents to whom the same happens, but for the sign of the values."""

    @initialize(
        method=st.sampled_from(["ucb", "nei", "guide-ucb", "shape-ucb"]),
        seed=st.integers(0, 100),
        num_outcomes=st.integers(0, 2),
    )
    def begin(self, method, seed, num_outcomes):
        limits = [Outcome("dirt", at_most=1.0), Outcome("grip", at_least=-1.0)]
        given = {"method": method, "seed": seed, "outcomes": limits[:num_outcomes]}
        self.agents = [make(SPACE, goal, **given) for goal in ("max", "min")]
        self.outcomes = [limit.name for limit in limits[:num_outcomes]]
        self.takes_guidance = method.startswith("guide")
        self.results, self.num_versions = {}, 1

    def both(self, act):
        """Do the same at both; return what came of it, or the refusal of both."""
        done = []
        for agent, sign in zip(self.agents, (1.0, -1.0), strict=True):
            with quietly():
                try:
                    done.append(act(agent, sign))
                except FedBOError as error:
                    done.append(type(error))
        return done

    @rule(n=st.integers(1, 2))
    def ask(self, n):
        high, low = self.both(lambda agent, sign: agent.ask(n))
        assert [t.values for t in high] == [t.values for t in low]
        setup = self.agents[0].setup
        for trial in high:
            assert setup.space.clean(trial.values) == trial.values
            assert (2 * trial.values["heat"]).is_integer()
            for name, value in setup.fixed.items():
                assert trial.values[name] == value
            for name, gone in setup.without.items():
                assert trial.values[name] not in gone
            for name, (first, last) in setup.within.items():
                assert first - 1e-9 <= trial.values[name] <= last + 1e-9
            basis = trial.basis
            assert (basis is not None) == (trial.origin == "model") or basis is None

    @precondition(lambda self: self.agents[0].trials)
    @rule(
        data=st.data(),
        value=numbers,
        heat=st.one_of(st.none(), st.floats(10.0, 140.0)),
        measured=st.lists(numbers, min_size=2, max_size=2),
    )
    def tell(self, data, value, heat, measured):
        trial_id = data.draw(st.integers(1, len(self.agents[0].trials)))
        outcomes = dict(zip(self.outcomes, measured, strict=False))
        values = None if heat is None else {"heat": heat}

        def act(agent, sign):
            told = {"values": values, "outcomes": outcomes}
            bounds = agent.space.parameters["heat"]
            if heat is not None and not bounds.low <= heat <= bounds.high:
                reach = 0.05 * (bounds.high - bounds.low)
                if bounds.low - reach <= heat <= bounds.high + reach:
                    with pytest.warns(OutsideWarning):
                        return agent.tell(trial_id, sign * value, **told)
            return agent.tell(trial_id, sign * value, **told)

        high, low = self.both(act)
        if isinstance(high, type):
            assert high is low
            return
        self.results[trial_id] = value
        assert high.value == -low.value == value
        assert high.as_run == low.as_run
        assert heat is None or high.as_run["heat"] == heat
        assert {**high.outcomes, **outcomes} == high.outcomes

    @precondition(lambda self: self.agents[0].trials)
    @rule(data=st.data())
    def fail(self, data):
        trial_id = data.draw(st.integers(1, len(self.agents[0].trials)))
        self.both(lambda agent, sign: agent.tell(trial_id, failed="broke"))
        self.results.pop(trial_id, None)

    @rule(
        low=st.sampled_from([20.0, 30.0, 50.0]), high=st.sampled_from([90, 120, 130.0])
    )
    def change_bounds(self, low, high):
        lines, same = self.both(
            lambda agent, sign: agent.change(bounds={"heat": (low, high)})
        )
        assert lines == same
        if isinstance(lines, list):
            self.num_versions += 1
            assert lines[0].startswith("heat: ")

    @rule(
        limits=st.sampled_from(
            [
                {"without": {"cat": ["a"]}},
                {"without": {"cat": ["a", "c"]}},
                {"within": {"n": (3, 9)}},
                {"within": {"load": (0.5, 2.0)}},
                {"fix": {"n": 4}},
                {"free": ["cat", "n", "load"]},
            ]
        )
    )
    def limit(self, limits):
        terms = self.agents[0].setup.terms
        self.both(lambda agent, sign: agent.change(**limits))
        assert self.agents[0].setup.terms == terms

    @rule(center=st.floats(0.0, 1.0))
    def receive(self, center):
        if self.takes_guidance:
            body = packet(SPACE.dim, center)
            self.both(lambda agent, sign: agent.receive(handed(agent, body)))

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            for k, agent in enumerate(self.agents):
                path = Path(folder, f"{k}.json")
                agent.save(path)
                again = Agent.load(path)
                assert again.trials == agent.trials
                assert again.setup == agent.setup
                again.save(Path(folder, f"again-{k}.json"))
                assert Path(folder, f"again-{k}.json").read_bytes() == path.read_bytes()
                assert json.loads(path.read_text())["version"] == 3
                self.agents[k] = again

    @rule()
    def export(self):
        agent = self.agents[0]
        rows = list(csv.DictReader(StringIO(csv_of(agent), newline="")))
        columns = columns_of(agent)
        assert [int(row["trial"]) for row in rows] == columns["trial"]
        read = [float(row["value"]) if row["value"] else None for row in rows]
        assert read == columns["value"]
        heats = [float(row["heat [degC]"]) for row in rows]
        assert heats == [trial.as_run["heat"] for trial in agent.trials]

    @invariant()
    def results_are_those_told(self):
        told = {t.id: t.value for t in self.agents[0].trials if t.value is not None}
        assert told == self.results
        assert self.agents[0].setup.version == self.num_versions

    @invariant()
    def best_is_the_best_that_keeps_the_limits(self):
        agent = self.agents[0]
        best, other = self.both(lambda agent, sign: agent.best())
        assert (best is None) == (other is None)
        if best is None:
            return
        assert best.trial.id == other.trial.id
        assert best.mean == -other.mean
        limits = agent.setup.outcomes

        def keeps(trial):
            told = trial.outcomes
            return all(o.name in told and o.slack(told[o.name]) >= 0.0 for o in limits)

        assert best.keeps_limits == keeps(best.trial) == keeps(best.observed)
        if best.keeps_limits:
            inside = len(agent.fitted.data) == len(self.results)
            clean = [t.value for t in agent.trials if t.value is not None and keeps(t)]
            assert not inside or best.observed.value == max(clean)

    @invariant()
    def whether_the_others_help_can_always_be_told(self):
        # Not through `both`, which takes a refusal for an answer.
        high, low = (help_of(agent) for agent in self.agents)
        assert high.held.num_others == low.held.num_others
        assert [d.distance for d in high.detours] == [d.distance for d in low.detours]

    @invariant()
    def what_was_noted_is_what_the_model_says(self):
        for agent in self.agents:
            summary = agent.summary()
            assert agent.recommended() == agent.best()
            assert not agent.results or not summary.unseen(agent.results)
            form = json.loads(json.dumps(summary.to_form(), allow_nan=False))
            assert Summary.from_form(form, agent.setup, agent.trials) == summary


class TestBench(Bench.TestCase):
    settings = settings(max_examples=12, stateful_step_count=10)


@pytest.mark.slow
class TestBenchAtLength(Bench.TestCase):
    settings = settings(max_examples=SEQUENCES, stateful_step_count=12)
