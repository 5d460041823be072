"""Tutorials are run as they stand: their files, then their commands, in one folder."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.fences import commands_in, files_in, lay_out, to_words

TUTORIALS = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))


def follow(page, folder):
    """Do what a page says, and return what each of its commands printed."""
    lay_out(page, folder)
    printed = {}
    for line in commands_in(page):
        done = subprocess.run(
            to_words(line), cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert done.stdout.strip(), line
        printed[line] = done.stdout
    return printed


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_is_followed_to_its_end(path, tmp_path):
    printed = follow(path.read_text(encoding="utf-8"), tmp_path)
    AFTERWARDS[path.stem](printed, tmp_path)


def after_your_own_method(printed, folder):
    """The method is certified, listed, run, compared with GUIDE and reported."""
    (listing,) = (text for line, text in printed.items() if " methods " in line)
    assert {"beacon-ucb", "beacon-nei", "beacon-ts"} <= set(listing.split())
    study = json.loads((folder / "results/beacon/study.json").read_text())
    assert {"guide-ucb", "beacon-ucb"} <= set(study["methods"])
    assert len(list((folder / "results/beacon/runs").glob("*.json"))) == 16
    report = (folder / "results/beacon/report/report.md").read_text()
    assert "16 finished, 0 failed" in report
    assert "beacon-ucb" in report
    assert any("--plugin" in line and "--jobs 2" in line for line in printed)


def after_your_own_task(printed, folder):
    """The task is run, studied and reported, and a table of results becomes one."""
    record = json.loads((folder / "run.json").read_text())
    assert np.shape(record["queries"]) == (3, 10, 5)
    assert record["metric"] == {"name": "recovery", "unit": "%", "goal": "max"}
    report = (folder / "results/recipe/report/report.md").read_text()
    assert "consensus-nei" in report
    (rows,) = (text for line, text in printed.items() if line == "python3 table.py")
    # 9 runs of 3 agents, 15 evaluations each.
    assert "405 rows" in rows
    (made,) = (text for line, text in printed.items() if "from-table" in line)
    assert "looked up" in made


AFTERWARDS = {
    "your-own-method": after_your_own_method,
    "your-own-task": after_your_own_task,
}


def test_method_of_the_tutorial_is_one_file_outside_the_package():
    (path,) = (p for p in TUTORIALS if p.stem == "your-own-method")
    files = files_in(path.read_text(encoding="utf-8"))
    assert set(files) == {
        "my_method.py",
        "test_my_method.py",
        "from_python.py",
        "study.toml",
    }
