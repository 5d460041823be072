"""A study on a real Dask cluster: a scheduler and two workers, one of them killed."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.experiments.tiny import NUM_RUNS, records, start, write_study

from guidefbo.core.errors import FedBOError
from guidefbo.experiments import workers
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import load_study

pytest.importorskip("distributed")
ROUNDS = 10


def launch(folder, name, *words):
    """Start a part of the cluster; its log goes to a file."""
    log = folder / f"{name}.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    return process, log


def wait_for(log, pattern, process):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text())
        if found:
            return found
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(log.read_text())


@pytest.fixture
def cluster(tmp_path):
    """Yield the scheduler's address and the two worker processes."""
    parts = []
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    try:
        scheduler, log = launch(
            tmp_path, "scheduler", "scheduler", *local, "--port", "0"
        )
        parts.append(scheduler)
        address = wait_for(log, r"tcp://127\.0\.0\.1:\d+", scheduler)[0]
        for number in (1, 2):
            # No nanny: a killed worker stays dead.
            words = [address, "--nthreads", "1", "--no-nanny", *local]
            worker, log = launch(tmp_path, f"worker{number}", "worker", *words)
            parts.append(worker)
            wait_for(log, "Registered to", worker)
        yield address, parts[1:]
    finally:
        for part in reversed(parts):
            part.kill()
            part.wait(timeout=30)


def test_a_study_survives_the_death_of_a_worker(cluster, tmp_path):
    address, parts = cluster
    path, out = write_study(tmp_path, rounds=ROUNDS), tmp_path / "out"
    words = ["--backend", "dask", "--address", address, "--out", out]
    process = start("run", path, *words)
    deadline = time.monotonic() + 200
    while len(list((out / "runs").glob("*-*.json"))) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    parts[0].send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert f"{NUM_RUNS} runs added" in said
    assert "0 failed" in said
    # The survivor's work is what one process here would have done.
    here = tmp_path / "here"
    run_study(load_study(str(path)), here, repetitions=1, jobs=1)
    assert records(here).items() <= records(out).items()


def test_an_address_nobody_answers_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 1)
    study, address = load_study(str(write_study(tmp_path))), "tcp://127.0.0.1:9"
    words = "No Dask scheduler answers at tcp://127.0.0.1:9"
    with pytest.raises(workers.ClusterError, match=words) as caught:
        run_study(study, tmp_path / "out", backend="dask", address=address)
    # The command line says those in a sentence and ends with 2.
    assert isinstance(caught.value, FedBOError)
