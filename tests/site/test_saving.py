"""Several processes on one file: what a save acknowledged stays in it."""

import subprocess
import sys
import threading

import pytest
from tests.site.sites import make

from guidefbo import Agent
from guidefbo.core.lock import LockedError, exclusive
from guidefbo.site.file import AgentFileError

SEVERAL = """
import sys
from guidefbo import Agent, FedBOError
from guidefbo.cli.app import app
way, path, first, count = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])

def retry(x):
    while True:
        agent = Agent.load(path)
        agent.tell({"x": x, "y": 10.0}, -x)
        try:
            return agent.save(path)
        except FedBOError:
            continue

def update(x):
    with Agent.update(path) as agent:
        agent.tell({"x": x, "y": 10.0}, -x)

def command(x):
    app(["tell", path, f"x={x},y=10", str(-x)], standalone_mode=False)

tell = {"retry": retry, "update": update, "command": command}[way]
print("ready", flush=True)
sys.stdin.readline()
for k in range(count):
    tell((first + 2 * k) / 1000)
    print("saved", first + 2 * k, flush=True)
"""
"""A process that tells and says of each result when it is in the file."""


def compete(path, ways, count):
    """Let two processes tell results at the same time; return which were saved."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SEVERAL, way, path, str(first), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for first, way in enumerate(ways)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        # Both pipes of both are read, or a full one would stop its process.
        said = {}
        readers = [
            threading.Thread(target=lambda p=p: said.update({p: p.communicate()}))
            for p in processes
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout=300)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    lines = [line for out, _ in said.values() for line in out.splitlines()]
    assert all(process.returncode == 0 for process in processes), said
    return sorted(int(line.split()[1]) for line in lines if line.startswith("saved"))


WAYS = [("retry", "retry"), ("update", "update"), ("retry", "command")]


def check_nothing_is_lost(folder, ways, count):
    path = folder / "a.json"
    make(method="ucb").save(path)
    saved = compete(path, ways, count)
    assert saved == list(range(2 * count))
    trials = Agent.load(path).trials
    assert sorted(trial.values["x"] for trial in trials) == [k / 1000 for k in saved]
    assert all(trial.value == -trial.values["x"] for trial in trials)
    orders = sorted(record.order for trial in trials for record in trial.records)
    assert orders == list(range(1, 2 * count + 1))


@pytest.mark.parametrize("ways", WAYS, ids="-".join)
def test_two_processes_lose_nothing(ways, tmp_path):
    check_nothing_is_lost(tmp_path, ways, 15)


@pytest.mark.slow
@pytest.mark.parametrize("ways", [*WAYS, ("update", "command")], ids="-".join)
def test_two_processes_lose_nothing_ten_times_eighty(ways, tmp_path):
    for k in range(10):
        folder = tmp_path / str(k)
        folder.mkdir()
        check_nothing_is_lost(folder, ways, 80)


def test_what_another_process_wrote_is_not_lost(tmp_path):
    path = tmp_path / "a.json"
    agent = make(method="ucb")
    agent.save(path)
    agent.save(path)
    other = Agent.load(path)
    other.tell({"x": 0.5, "y": 10.0}, 1.0)
    other.save(path)
    agent.ask()
    with pytest.raises(AgentFileError, match=r"changed by another .* Agent\.update"):
        agent.save(path)
    assert len(Agent.load(path).trials) == 1
    agent.save(tmp_path / "b.json")
    path.unlink()
    agent.save(path)


@pytest.mark.parametrize("content", ["{}", "", None])
def test_first_save_loses_no_file_that_was_there(content, tmp_path):
    path = tmp_path / "a.json"
    if content is None:
        make(method="ucb", seed=1).save(path)
    else:
        path.write_text(content)
    before = path.read_bytes()
    agent = make(method="ucb")
    with pytest.raises(AgentFileError, match=r"exists.*Agent\.load.*overwrite=True"):
        agent.save(path)
    assert path.read_bytes() == before
    agent.save(path, overwrite=True)
    agent.ask()
    agent.save(path)
    assert Agent.load(path).trials == agent.trials


def test_agent_of_one_file_is_not_saved_over_another(tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    make(method="ucb").save(first)
    make(method="ucb").save(second)
    with pytest.raises(AgentFileError, match=r"b\.json exists"):
        Agent.load(first).save(second)


def test_agent_saved_to_two_files_knows_both(tmp_path):
    agent = make(method="ucb")
    for _ in range(2):
        for name in ("a.json", "copy.json"):
            agent.ask()
            agent.save(tmp_path / name)
    assert len(Agent.load(tmp_path / "copy.json").trials) == 4


def test_overwriting_takes_the_place_of_a_changed_file(tmp_path):
    path = tmp_path / "a.json"
    agent = make(method="ucb")
    agent.save(path)
    with Agent.update(path) as other:
        other.ask()
    agent.save(path, overwrite=True)
    assert Agent.load(path).trials == ()


def test_save_waits_for_the_holder_and_gives_up(tmp_path):
    path = tmp_path / "a.json"
    agent = make(method="ucb")
    agent.save(path)
    agent.ask()
    with exclusive(path), pytest.raises(LockedError, match=r"wait=120"):
        agent.save(path, wait=0.1)
    assert Agent.load(path).trials == ()
    agent.save(path)
    assert len(Agent.load(path).trials) == 1


def test_update_loads_saves_and_lets_go(tmp_path):
    path = tmp_path / "a.json"
    make(method="ucb").save(path)
    with Agent.update(path) as agent:
        trial = agent.ask()
        # Saved half-way: the block holds the file and does not wait for itself.
        agent.save(path)
        agent.tell(trial, 1.0)
        with pytest.raises(LockedError), Agent.update(path, wait=0.0):
            pass
    assert Agent.load(path).trials == agent.trials
    agent.ask()
    agent.save(path)
    assert len(Agent.load(path).trials) == 2


def test_update_that_raises_changes_nothing(tmp_path):
    path = tmp_path / "a.json"
    make(method="ucb").save(path)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), Agent.update(path) as agent:
        agent.tell(agent.ask(), 1 / 0)
    assert path.read_bytes() == before
    with Agent.update(path, wait=0.0):
        pass


def test_update_of_nothing_leaves_no_lock(tmp_path):
    with (
        pytest.raises(AgentFileError, match=r"No such file.*guidefbo init"),
        Agent.update(tmp_path / "a.json"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_links_are_one_file(tmp_path):
    path, link = tmp_path / "a.json", tmp_path / "link.json"
    make(method="ucb").save(path)
    link.symlink_to(path)
    agent = Agent.load(link)
    agent.ask()
    agent.save(path)
    agent.ask()
    agent.save(link)
    assert link.is_symlink()
    assert len(Agent.load(path).trials) == 2
