"""The scripts that run the checks: what they refuse, and that kernels really change."""

import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from guidefbo.problems.datasets.folders import cache_folder, data_folder

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "scripts" / "kernels.py"


OURS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
"""Set where this suite itself runs as another processor."""


def call(*words, **environment):
    inherited = {name: text for name, text in os.environ.items() if name not in OURS}
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        env=inherited | environment,
    )


@pytest.mark.parametrize(
    "two", list(permutations(["--fast", "--long", "--portable"], 2)), ids=" ".join
)
def test_check_runs_one_thing_at_a_time(two):
    done = call(ROOT / "check", *two)
    assert done.returncode == 2
    assert "expected one of --fast, --long and --portable" in done.stderr
    assert f"got {two[0]} and {two[1]}" in done.stderr


def test_ci_says_what_had_not_finished(tmp_path):
    """With no time at all, and an interpreter that takes its time."""
    interpreter = tmp_path / "python"
    interpreter.write_text("#!/bin/sh\nsleep 20\n")
    interpreter.chmod(0o755)
    done = call(ROOT / ".ci" / "run", CI_MINUTES="0", PYTHON=str(interpreter))
    assert done.returncode == 124
    assert "TIME-OUT. ./check had not finished 0 minutes after" in done.stderr


@pytest.fixture(scope="module")
def kernels():
    done = call(sys.executable, KERNELS)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    return {name: rest for name, *rest in map(str.split, done.stdout.splitlines())}


def test_three_kernels_are_tried(kernels):
    assert len(kernels) == 3
    assert {"old", "avx2"} <= kernels.keys()


def test_a_kernel_is_what_it_says(kernels):
    core, *features = kernels["old"]
    environment = {
        "OPENBLAS_CORETYPE": core,
        "NPY_DISABLE_CPU_FEATURES": "".join(features),
    }
    done = call(sys.executable, KERNELS, "--verify", "old", **environment)
    assert done.returncode == 0, done.stderr
    assert "with []" in done.stdout
    other = call(sys.executable, KERNELS, "--verify", "avx2", **environment)
    assert other.returncode == 1
    assert "expected OpenBLAS Haswell" in other.stderr


def test_the_suite_writes_nothing_into_the_users_folders():
    for folder in (cache_folder(), data_folder()):
        assert Path.home() / ".cache" not in folder.parents
        assert Path.home() / ".local" not in folder.parents
        assert os.environ["XDG_CACHE_HOME"] in map(str, folder.parents)
