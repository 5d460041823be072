"""A real Dask cluster on this machine: a scheduler and two workers."""

import os
import re
import subprocess
import sys
import time

import pytest


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
