"""A coordinator in a process of its own, and how to end it at a named moment."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

SRC = Path(__file__).parents[2] / "src"

DRIVER = """
import os, signal, sys
from guidefbo.coordinator import points

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def at(count):
    left = [count]
    def reached():
        left[0] -= 1
        if left[0] == 0:
            kill()
    return reached

name, count = sys.argv[1], int(sys.argv[2])
assert name in points.NAMES, name
points.hooks[name] = at(count)
sys.argv[1:] = sys.argv[3:]
from guidefbo.cli.app import main
main()
"""

NURSERY = """
import json, os, signal, sys
import alembic.command, uvicorn.lifespan.on
import guidefbo.cli.app, guidefbo.cli.serve, guidefbo.coordinator.serve
from guidefbo.server.registry import find_server

find_server("guide")
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
pid = None
for line in iter(sys.stdin.readline, ""):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv[1:] = json.loads(line)
        guidefbo.cli.app.main()
        os._exit(0)
    print("pid", pid, flush=True)
if pid is not None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""
"""Imports what the service needs once, and forks one for every line that comes."""


def environment():
    return {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}


def command(*words, kill_at=None):
    """Return the words of a guidefbo command, to be killed at the n-th such moment."""
    if kill_at is None:
        return [sys.executable, "-m", "guidefbo", *words]
    name, count = kill_at
    return [sys.executable, "-c", DRIVER, name, str(count), *words]


def run(*words, kill_at=None, **named):
    return subprocess.run(
        command(*words, kill_at=kill_at),
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
        **named,
    )


class Service:
    """A running `guidefbo serve`."""

    def __init__(self, store, *options, kill_at=None, log=None):
        self.log = log
        words = ("serve", "--store", store, "--port", "0", *options)
        with open(log or os.devnull, "ab") as errors:
            self.process = subprocess.Popen(
                command(*words, kill_at=kill_at),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment(),
            )
        # Connections are kept, as those of a site's program are.
        self.client = httpx.Client(timeout=30)
        line = self.process.stdout.readline()
        assert line.startswith("listening at "), line
        self.url = line.split()[-1]

    def post(self, letter, purpose, federation="reaction", client=None):
        path = "join" if purpose == "join" else f"federations/{federation}/{purpose}"
        return (client or self.client).post(
            f"{self.url}/api/v1/{path}",
            content=letter,
            headers={"content-type": "application/json"},
        )

    def get(self, path, **named):
        return self.client.get(self.url + path, **named)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=30)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.client.close()


class Nursery:
    """Starts `guidefbo serve` again and again without importing everything anew.

    Each is a process of its own, forked from one that has opened nothing yet. One runs
    at a time.
    """

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        self.pid = None

    def serve(self, store, *options):
        """Start a service, and return its address."""
        words = ("serve", "--store", store, "--port", "0", *options)
        print(json.dumps(words), file=self.process.stdin, flush=True)
        # Both write into the same pipe, and either may be first.
        lines = dict(self.process.stdout.readline().rsplit(None, 1) for _ in range(2))
        assert set(lines) == {"pid", "listening at"}, lines
        self.pid = int(lines["pid"])
        return lines["listening at"]

    def kill(self):
        """Kill the service that runs, and wait until it has gone."""
        os.kill(self.pid, signal.SIGKILL)
        wait_for(lambda: not Path(f"/proc/{self.pid}").exists())

    def close(self):
        """End the service that runs, and the process that it came from."""
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@contextmanager
def serving(store, *options, **named):
    service = Service(store, *options, **named)
    try:
        yield service
    finally:
        service.stop()


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "It did not happen in time."
        time.sleep(0.02)
