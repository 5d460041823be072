"""The recipes of CONTRIBUTING are executed as written, on a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fences import fences

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SIZE = ("--dim", "2", "--agents", "2", "--init", "4", "--rounds", "2")
CODE = """
from guidefbo.methods.registry import find_method
from guidefbo.simulation import method_costs as cost
cost.method_names = lambda: ["explore", "guide-explore", "midpoint-ucb"]
for found in cost.measure_costs(2):
    print(found.method, *found.scalars)
print(sorted(find_method("midpoint-explore").settings))
"""
STUDY = """
name = "new"
repetitions = 1

[[grid]]
problem = "quartic"
level = 1
dim = 2
num_agents = 2
num_initial = 4
num_rounds = 2
method = ["ucb", "explore", "midpoint-ucb"]
"""


def sections():
    """Return what stands under each heading."""
    parts = re.split(r"^## (.+)$", TEXT, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def apply_recipe(text, folder):
    """Do what a recipe says; return new files and changed ones with lines added."""
    new, changed = [], {}
    for block in fences(text):
        path = folder / block["title"]
        if block["language"] == "diff":
            assert path.is_file(), f"{path} is said to exist"
            changed[block["title"]] = patch(path, block["text"])
        else:
            assert not path.exists(), f"{path} is said to be new"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")
            new.append(block["title"])
    return new, changed


def patch(path, text):
    """Change a file as hunks of lines say; return how many lines were added."""
    content = path.read_text(encoding="utf-8")
    for hunk in text.split("@@\n"):
        lines = hunk.splitlines()
        before = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        after = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        assert content.count(before) == 1, (path, before)
        content = content.replace(before, after)
    path.write_text(content, encoding="utf-8")
    return sum(line.startswith("+") for line in text.splitlines())


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package after all recipes, and what each of them did."""
    folder = tmp_path_factory.mktemp("copy")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=without)
    done = {
        name: apply_recipe(text, folder)
        for name, text in sections().items()
        if name.startswith("Add ")
    }
    return folder, done


@pytest.fixture(scope="module")
def call(copy):
    folder, _ = copy

    def call(*words):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    return call


def test_recipes_touch_as_many_files_as_they_say(copy):
    _, done = copy
    rule, strategy, function = done.values()
    assert list(done) == [
        "Add a decision rule",
        "Add a federation strategy",
        "Add a test function",
    ]
    assert rule[1] == strategy[1] == {"src/guidefbo/methods/registry.py": 1}
    assert len(function[1]) == 2
    assert not function[0]
    said = sections()["What a change touches"]
    assert said.count("one line in one: `methods/registry.py`") == 2
    assert "two: `problems/synthetic/formulas.py` and `functions.py`" in said


def test_code_of_the_recipes_is_tidy(copy):
    folder, done = copy
    files = [name for new, changed in done.values() for name in (*new, *changed)]
    for words in (("format", "--check"), ("check",)):
        command = [sys.executable, "-m", "ruff", *words, "--no-cache"]
        command += ["--config", str(ROOT / "pyproject.toml")]
        found = subprocess.run(
            [*command, *files], cwd=folder, capture_output=True, text=True
        )
        assert found.returncode == 0, found.stdout + found.stderr


def test_new_parts_keep_the_contracts(copy, call):
    _, done = copy
    tests = [name for new, _ in done.values() for name in new if "test_" in name]
    assert len(tests) == 2
    assert "2 passed" in call("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


def test_new_methods_are_listed_and_counted(call):
    listed = {
        line.split()[0] for line in call("-m", "guidefbo", "methods").splitlines()
    }
    assert {"explore", "guide-explore", "midpoint-ucb", "midpoint-explore"} <= listed
    settings = call("-m", "guidefbo", "methods", "--settings")
    assert "mean_share=0.0" in settings
    assert "midpoint_width=0.2" in settings
    lines = call("-c", CODE).splitlines()
    assert lines[0] == "explore 0 0"
    assert lines[2] == "midpoint-ucb 2 2"
    assert "mean_share" in lines[3]
    assert "midpoint_width" in lines[3]


def test_new_methods_and_functions_run_in_studies_and_reports(copy, call):
    folder, _ = copy
    command = ("-m", "guidefbo", "run", "quartic", "--method", "midpoint-explore")
    call(*command, *SIZE, "--set", "midpoint_width=0.3", "--out", "run.json")
    record = json.loads((folder / "run.json").read_text())
    assert record["scalars"] == {"up_per_agent_round": 2, "down_per_agent_round": 2}
    (folder / "new.toml").write_text(STUDY, encoding="utf-8")
    call("-m", "guidefbo", "study", "run", "new.toml", "--jobs", "1")
    call("-m", "guidefbo", "study", "report", "results/new")
    report = (folder / "results/new/report/report.md").read_text(encoding="utf-8")
    assert "3 finished, 0 failed" in report
    assert "midpoint-ucb" in report
