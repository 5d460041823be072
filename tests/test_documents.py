"""What the documents show is run: README snippets and every doctest of the package."""

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import guidefbo
from guidefbo.cli.app import app
from guidefbo.simulation import cost

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.S)
BLOCKS = re.findall(r"```sh\n(.*?)```", README, flags=re.S)
SITE_BLOCKS = [block for block in BLOCKS if "guidefbo init" in block]
STUDY_BLOCKS = [block for block in BLOCKS if "guidefbo study" in block]
COMMANDS = re.findall(
    r"^guidefbo (.*?)(?:\s+#.*)?$",
    "\n".join(b for b in BLOCKS if b not in SITE_BLOCKS + STUDY_BLOCKS),
    flags=re.M,
)
SPACES = re.findall(r"```toml\n(.*?)```", README, flags=re.S)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MODULES = [m.name for m in pkgutil.walk_packages(guidefbo.__path__, "guidefbo.")]
SMALL = "--dim 2 --agents 2 --init 3 --rounds 1"


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_readme_snippet_runs(snippet, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_readme_shows_the_entry_points():
    for name in ("gf.simulate", "gf.optimize", "gf.Agent"):
        assert any(name in s for s in SNIPPETS)


def test_readme_day_of_a_site(tmp_path, monkeypatch):
    """The commands a site is shown, in the order of the README.

    Nothing is left from one to the next but the file; `tests/cli` has real processes.
    """
    (block,), (space,) = SITE_BLOCKS, SPACES
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text(space, encoding="utf-8")
    lines = [line for line in block.splitlines() if line.startswith("guidefbo ")]
    assert len(lines) >= 8
    for line in lines:
        done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert done.exit_code == 0, (line, done.output)
        assert done.stdout.strip()
    assert (tmp_path / "site.png").stat().st_size > 10_000


def test_readme_night_of_a_researcher(tmp_path):
    """The commands of a study in the order of the README, with fewer runs."""
    (block,) = STUDY_BLOCKS
    lines = [line for line in block.splitlines() if line.startswith("guidefbo ")]
    assert len(lines) >= 5
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        if words[1] == "run":
            words += ["--repetitions", "1", "--jobs", "1"]
            words += ["--where", "problem=levy", "--where", "level=1"]
        done = subprocess.run(
            [sys.executable, "-m", "guidefbo", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout.strip()
    assert (tmp_path / "quick.json.gz").stat().st_size < 20_000
    assert "<table" in (tmp_path / "results/quick/report/report.html").read_text()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example):
    command = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"best by posterior mean" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_command_runs(command, tmp_path, monkeypatch):
    """Every command line of the README, at a small size where it runs a method."""
    monkeypatch.chdir(tmp_path)
    # The size of the runs behind `methods --cost`.
    monkeypatch.setattr(cost, "NUM_AGENTS", 2)
    monkeypatch.setattr(cost, "NUM_ROUNDS", 1)
    size = SMALL if command.startswith("run") else ""
    done = CliRunner().invoke(app, shlex.split(f"{command} {size}"))
    assert done.exit_code == 0, done.output
    assert done.output.strip()


def test_readme_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    missing = [t for t in targets if not (ROOT / t).exists()]
    assert not missing


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_some_doctests_are_found():
    finder = doctest.DocTestFinder()
    found = sum(
        len(test.examples)
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
    )
    assert found >= 10
