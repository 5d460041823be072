"""What the documents show is run: README snippets and every doctest of the package."""

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import guidefbo
from guidefbo.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.S)
COMMANDS = re.findall(r"^guidefbo (.*?)(?:\s+#.*)?$", README, flags=re.M)
MODULES = [m.name for m in pkgutil.walk_packages(guidefbo.__path__, "guidefbo.")]
SMALL = "--dim 2 --agents 2 --init 3 --rounds 1"


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_readme_snippet_runs(snippet, capsys):
    exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_readme_shows_both_entry_points():
    assert any("gf.simulate" in s for s in SNIPPETS)
    assert any("gf.optimize" in s for s in SNIPPETS)


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_command_runs(command, tmp_path, monkeypatch):
    """Every command line of the README, at a small size where it runs a method."""
    monkeypatch.chdir(tmp_path)
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
