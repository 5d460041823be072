"""A study of a few small runs, and how to run it as a process of its own."""

import json
import os
import subprocess
import sys

TOML = """
name = "tiny"
title = "A few small runs"
repetitions = 3

[[grid]]
problem = ["sphere", "ackley"]
level = 1
dim = 2
num_agents = 2
num_initial = 4
num_rounds = {rounds}
method = ["ucb", "guide-ucb"]
settings.num_paths = 20
settings.num_candidates = 50
"""
NUM_RUNS = 12


def write_study(folder, rounds=4):
    path = folder / "tiny.toml"
    path.write_text(TOML.format(rounds=rounds))
    return path


def command(*words):
    return [sys.executable, "-m", "guidefbo", "study", *map(str, words)]


def call(*words, **options):
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=240, **options
    )


def start(*words, **options):
    """Start a study in a session of its own, so that signals reach only it."""
    return subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        **options,
    )


def records(folder):
    """Return the finished records by name, without times, versions, files' names."""
    found = {}
    for path in sorted((folder / "runs").glob("*.json")):
        form = json.loads(path.read_text())
        form.pop("seconds")
        form.pop("environment")
        # The same file may have another name.
        form["code"] = sorted(form["code"].values())
        # Equal evaluations are equal bytes.
        form["evaluations"] = path.with_suffix(".npz").read_bytes()
        found[path.name] = form
    return found
