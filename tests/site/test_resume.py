"""Stop and come back: the file holds everything, whole or not at all."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.site.sites import SPACES, handed, make, measure, packet, quietly, told
from tests.strategies import printable

from guidefbo import Agent, Choice, FedBOError, Float, Space
from guidefbo.core.files import OutputError
from guidefbo.site.file import AgentFileError

RESUME = """
import json, sys, warnings
from guidefbo import Agent
warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    agent = Agent.load(path)
    upload, best = agent.upload(), agent.best()
    print(json.dumps([
        [trial.values for trial in agent.ask(3)],
        upload and upload.to_bytes().decode(),
        [best.trial.id, best.mean, best.std, best.observed.id],
        str(agent),
    ]))
"""
NURSERY = """
import os, sys
from guidefbo import Agent
for line in sys.stdin:
    path, pid = line.strip(), os.fork()
    if pid == 0:
        agent = Agent.load(path)
        while True:
            agent.tell(1, len(agent.trials[0].records) + 1.0)
            agent.save(path)
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("gone", flush=True)
"""


def used(name, method="guide-ucb", goal="min"):
    """Return an agent with everything that can be in a file."""
    agent = make(name, goal, method=method, expire_after=4, noise=None)
    agent.ask()
    for k in range(5):
        trial = agent.ask()
        agent.tell(trial, measure(agent.space, trial.values), std=0.1 * k or None)
    agent.tell(agent.ask(), failed='the "pump" broke \u20ac')
    agent.abandon(agent.ask())
    agent.tell(3, 0.125)
    (x,) = agent.space.domain.sample(1, np.random.default_rng(0))
    agent.tell(agent.space.from_unit(x), 1e-300)
    with quietly():
        agent.receive(handed(agent, packet(agent.space.dim, 0.3)))
    agent.ask()
    return agent


def outlook(agent):
    """Return what the agent recommends, uploads and asks next."""
    with quietly():
        best, upload = agent.best(), agent.upload()
        return best, upload and upload.to_bytes(), agent.guidance.state, agent.ask(3)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "guide-ucb") for name in SPACES if name != "cut"),
        ("mixed", "guide-nei"),
        ("box", "guide-ts"),
        ("box", "nei"),
    ],
)
def test_loaded_agent_goes_on_bit_for_bit(name, method, tmp_path):
    agent = used(name, method)
    agent.save(tmp_path / "a.json")
    loaded = Agent.load(str(tmp_path / "a.json"))
    assert (loaded.setup, loaded.trials) == (agent.setup, agent.trials)
    assert outlook(loaded) == outlook(agent)
    for each in (agent, loaded):
        each.tell(each.trials[-1], 0.5)
    assert outlook(loaded) == outlook(agent)


def test_fresh_process_goes_on_bit_for_bit(tmp_path):
    agents = {"mixed": used("mixed"), "shares": used("shares"), "box": told("box", 5)}
    paths = [tmp_path / f"{name}.json" for name in agents]
    for agent, path in zip(agents.values(), paths, strict=True):
        agent.save(path)
    done = subprocess.run(
        [sys.executable, "-c", RESUME, *paths],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = map(json.loads, done.stdout.splitlines())
    for agent, (asked, upload, best, _) in zip(agents.values(), lines, strict=True):
        mine, my_upload, _, trials = outlook(agent)
        assert asked == [trial.values for trial in trials]
        assert upload == my_upload.decode()
        assert best == [mine.trial.id, mine.mean, mine.std, mine.observed.id]


def test_saving_changes_nothing(tmp_path):
    agent, other = used("box"), used("box")
    for _ in range(3):
        agent.save(tmp_path / "a.json")
    assert {p.name for p in tmp_path.iterdir()} == {"a.json", "a.json.lock"}
    assert outlook(agent) == outlook(other)


def test_file_is_strict_json_that_a_person_can_read(tmp_path):
    used("mixed").save(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text(encoding="ascii")

    def refuse(name):
        raise AssertionError(name)

    form = json.loads(text, parse_constant=refuse)
    assert (form["format"], form["version"]) == ("guidefbo-agent", 3)
    assert form["setup"]["goal"] == "min"
    assert len(text.splitlines()) > 50


def test_save_replaces_the_file_or_leaves_it(tmp_path):
    agent = told("box", 2)
    agent.save(tmp_path / "a.json")
    before = (tmp_path / "a.json").read_bytes()
    refused = {
        tmp_path: "exists and is no file",
        tmp_path / "absent" / "a.json": "absent does not exist",
        tmp_path / ("a" * 300): "Cannot write",
    }
    for path, why in refused.items():
        with pytest.raises(OutputError, match=why):
            agent.save(path)
    assert (tmp_path / "a.json").read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"a.json", "a.json.lock"}
    assert not tmp_path.with_name(f"{tmp_path.name}.lock").exists()


def test_killed_at_any_moment_the_file_is_one_that_was_written(tmp_path):
    """SIGKILL while a process does nothing but tell and save."""
    path = tmp_path / "a.json"
    told("box", 4).save(path)
    rng = random.Random(0)
    counts, span = [1], 0.06
    nursery = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", NURSERY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(25):
            nursery.stdin.write(f"{path}\n")
            nursery.stdin.flush()
            pid = int(nursery.stdout.readline())
            time.sleep(rng.uniform(0.0, span))
            subprocess.run(["kill", "-9", str(pid)], check=True)
            assert nursery.stdout.readline() == "gone\n"
            trial = Agent.load(path).trials[0]
            values = [record.value for record in trial.records]
            assert values[1:] == [float(k) for k in range(2, len(values) + 1)]
            counts.append(len(values))
            # On a busy machine it takes longer until anything is saved.
            span *= 1.0 if counts[-1] > counts[-2] else 1.3
    finally:
        nursery.stdin.close()
        nursery.kill()
        nursery.wait()
        nursery.stdout.close()
    assert counts == sorted(counts)
    assert counts[-1] > 5
    # What a killed process leaves behind is never taken for a state.
    names = {p.name for p in tmp_path.iterdir()}
    names -= {"a.json", "a.json.lock"}
    assert all(name.startswith(".a.json.") for name in names)
    agent = Agent.load(path)
    agent.save(path)
    assert Agent.load(path).trials == agent.trials


# Files that are no agents.


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The text of a file with everything in it."""
    path = tmp_path_factory.mktemp("whole") / "a.json"
    used("mixed").save(path)
    return path.read_text()


def load_text(folder, text):
    path = Path(folder, "a.json")
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Agent.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "[]",
        "3",
        '"guidefbo-agent"',
        "{}",
        '{"format": "guidefbo-message", "version": 2}',
        '{"format": "guidefbo-agent"}',
        '{"format": "guidefbo-agent", "version": 3}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "1" * 100_000,
        b"\xff\xfe\x00\x01",
        b"\x89PNG\r\n",
        b"PK\x03\x04",
        b"\x00" * 500,
        "x,y\n1,2\n",
    ],
    ids=lambda t: repr(t)[:30],
)
def test_foreign_file_is_refused_with_a_sentence(text, tmp_path):
    with pytest.raises(AgentFileError, match=r"a\.json.*[a-z ]{8,}") as caught:
        load_text(tmp_path, text)
    assert len(str(caught.value)) < 1000


def test_truncated_file_is_refused(whole, tmp_path):
    body = whole.rstrip()
    for length in range(0, len(body), 97):
        with pytest.raises(AgentFileError, match=r"a\.json"):
            load_text(tmp_path, body[:length])


@pytest.mark.parametrize("version", [4, 0, 99, "1", None, -1, 1.5, True, 1.0])
def test_other_version_is_refused(version, whole, tmp_path):
    form = json.loads(whole) | {"version": version}
    with pytest.raises(AgentFileError, match=r"expected version 3, got .*upgrade"):
        load_text(tmp_path, json.dumps(form))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": 3,', '"version": 3, "version": 3,'),
        ('"goal": "min"', '"goal": "max", "goal": "min"'),
        ('"records": [', '"records": [], "records": ['),
    ],
)
def test_duplicate_key_is_refused(old, new, whole, tmp_path):
    assert old in whole
    with pytest.raises(AgentFileError, match=r"each field once, got .* twice"):
        load_text(tmp_path, whole.replace(old, new, 1))


def test_absent_file_and_folder_are_refused(tmp_path):
    with pytest.raises(AgentFileError, match=r"No such file.*guidefbo init"):
        Agent.load(tmp_path / "a.json")
    with pytest.raises(AgentFileError, match="Cannot read"):
        Agent.load(tmp_path)


INFINITE = "infinite number"
"""Stands for 1e999, which JSON text can hold and Python reads as infinity."""


def changed(whole, place, value):
    form = json.loads(whole)
    *way, last = place
    part = form
    for key in way:
        part = part[key]
    part[last] = value
    return json.dumps(form).replace(f'"{INFINITE}"', "1e999")


RECORD = ("trials", 2, "records", 0)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("setup",), None),
        (("setup", "goal"), "up"),
        (("setup", "method"), ["ucb"]),
        (("setup", "settings"), []),
        (("setup", "settings"), None),
        (("setup", "settings"), {"beta": INFINITE}),
        (("setup", "seed"), 1.5),
        (("setup", "noise"), -1.0),
        (("setup", "space"), {}),
        (("setup", "space", "parameters", "x", "low"), 5),
        (("setup", "space", "parameters", "x", "high"), INFINITE),
        (("setup", "unknown"), 1),
        (("guidance",), []),
        (("guidance", "state"), "strong"),
        (("guidance", "packet"), None),
        (("guidance", "since"), INFINITE),
        (("guidance", "since"), None),
        (("trials",), {}),
        (("trials", 1), None),
        (("trials", 1, "id"), 7),
        (("trials", 0, "id"), True),
        (("trials", 1, "state"), "lost"),
        (("trials", 1, "state"), "pending"),
        (("trials", 1, "state"), "failed"),
        (("trials", 0, "state"), "done"),
        (("trials", 1, "origin"), "heaven"),
        (("trials", 1, "values"), {}),
        (("trials", 1, "values", "x"), 2.0),
        (("trials", 1, "values", "n"), 1.5),
        (("trials", 1, "values", "drug"), "z"),
        (("trials", 1, "values", "warm"), 1),
        (("trials", 1, "due_at"), INFINITE),
        (("trials", 1, "due_at"), "soon"),
        (("trials", 1, "records"), None),
        ((*RECORD, "value"), None),
        ((*RECORD, "value"), INFINITE),
        ((*RECORD, "value"), True),
        ((*RECORD, "std"), -1.0),
        ((*RECORD, "failed"), "and a value"),
        (("trials", 6, "records", 0, "failed"), "\x1b[31m"),
        (("trials", 6, "records", 0, "failed"), "\ud800"),
        (("setup", "space", "parameters", "drug", "options"), ["a", "b", "\x00"]),
        (("setup", "num_agents"), 10**9),
        (("setup", "seed"), 2**200),
        ((*RECORD, "order"), INFINITE),
        ((*RECORD, "order"), 10**30),
        ((*RECORD, "order"), -3),
        ((*RECORD, "order"), 1),
        ((*RECORD, "order"), None),
    ],
    ids=str,
)
def test_damaged_field_is_refused(place, value, whole, tmp_path):
    with pytest.raises(AgentFileError, match=r"a\.json.*[a-z ]{8,}"):
        load_text(tmp_path, changed(whole, place, value))


def test_a_damaged_file_names_the_trial(whole, tmp_path):
    text = changed(whole, (*RECORD, "value"), "x")
    with pytest.raises(AgentFileError, match=r"trial 3: Expected a finite number"):
        load_text(tmp_path, text)
    form = json.loads(whole)
    del form["trials"][2]["records"][0]["std"]
    with pytest.raises(AgentFileError, match=r"trial 3: 'std' is missing"):
        load_text(tmp_path, json.dumps(form))


junk = st.sampled_from(
    [None, True, -1, 0, 7, 1.5, -1e99, 10**30, INFINITE, "", "x", "\ud800", [], {}]
) | st.text(max_size=3)


@st.composite
def mutations(draw):
    """A way to change the text of a file."""
    kind = draw(st.sampled_from(["field", "absent", "bytes", "swap"]))
    steps = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=9))
    value = draw(junk)
    raw = draw(st.binary(max_size=3))

    def mutate(text):
        if kind == "bytes":
            data, where = text.encode(), steps[0] % len(text)
            return data[:where] + raw + data[where + steps[-1] % 4 :]
        form = part = json.loads(text)
        for step in steps:
            keys = list(part) if isinstance(part, dict) else list(range(len(part)))
            key = keys[step % len(keys)]
            if not isinstance(part[key], dict | list) or not part[key]:
                break
            if step == steps[-1]:
                break
            part = part[key]
        if kind == "field":
            part[key] = value
        elif kind == "absent":
            del part[key]
        else:
            other = keys[steps[0] % len(keys)]
            part[key], part[other] = part[other], part[key]
        return json.dumps(form).replace(f'"{INFINITE}"', "1e999")

    return mutate


def check_mutation(mutate, whole, folder):
    """A changed file is refused, or it is an agent that can be used."""
    try:
        agent = load_text(folder, mutate(whole))
    except FedBOError:
        return
    with quietly():
        agent.best()
        agent.ask()
        str(agent)
    agent.save(folder / "b.json", overwrite=True)
    assert Agent.load(folder / "b.json").trials == agent.trials


FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=150, suppress_health_check=FIXTURE)
@given(mutate=mutations())
@example(mutate=lambda text: text)
def test_any_change_of_a_file_loads_or_is_refused(mutate, whole, tmp_path):
    check_mutation(mutate, whole, tmp_path)


@pytest.mark.slow
@settings(max_examples=3000, suppress_health_check=FIXTURE)
@given(mutate=mutations())
def test_very_many_changes_of_a_file(mutate, whole, tmp_path):
    check_mutation(mutate, whole, tmp_path)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.text(
        st.characters(exclude_characters="=,", exclude_categories=["C", "Z"]),
        min_size=1,
        max_size=8,
    ),
    option=st.text(printable, max_size=8),
    reason=st.text(printable, max_size=8).filter(str.strip),
)
def test_any_text_survives_the_file(name, option, reason, tmp_path):
    space = Space(**{name: Choice(option, option + "'"), f"{name}2": Float(0, 1)})
    agent = make(space, method="ucb")
    agent.tell(agent.ask(), failed=reason)
    agent.ask()
    agent.save(tmp_path / "a.json", overwrite=True)
    loaded = Agent.load(tmp_path / "a.json")
    assert (loaded.trials, loaded.space) == (agent.trials, agent.space)
