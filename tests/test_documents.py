"""What the documents show is run: README, guides and every doctest of the package."""

import doctest
import importlib
import json
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
import yaml
from tests.fences import fences
from typer.testing import CliRunner

import guidefbo
from guidefbo.cli.app import app
from guidefbo.core.space.form import space_from_form
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


DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.name != "report.md")
OURSELVES = [path for path in PAGES if path.parent.name != "tutorials"]
"""Pages whose code is run here; tutorials are followed in tests/test_tutorials.py."""
INLINE = re.compile(r"(?<!`)`(guidefbo [^`]+)`(?!`)")
SMALLER = "--dim 2 --agents 6 --init 3 --rounds 1"
NOT_OURS = ("pip install ", "python3 ", "./check", "#")
"""Lines of a shell block that are no command of this package."""
SITE_GUIDE = DOCS / "guide" / "site.md"


def page_id(path):
    return path.relative_to(DOCS).as_posix()


def blocks(path, language):
    found = fences(path.read_text(encoding="utf-8"))
    return [match for match in found if match["language"] == language]


def shell_lines(path):
    """Return the commands of this package a page shows, and refuse unknown lines."""
    lines = [
        line for block in blocks(path, "sh") for line in block["text"].splitlines()
    ]
    ours = [line for line in lines if line.startswith("guidefbo ")]
    others = [line for line in lines if line.strip() and line not in ours]
    assert all(line.startswith(NOT_OURS) for line in others), others
    return ours


def parse_command(line):
    """Read a command line as the program would, and run nothing."""
    words = shlex.split(line, comments=True)[1:]
    command = typer.main.get_command(app)
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{line}: no command {words[0]}"
        command = command.commands[words.pop(0)]
    if words:  # else it is only named
        command.make_context("guidefbo", words)


WITH_PYTHON = [path for path in OURSELVES if blocks(path, "python")]
WITH_SHELL = [path for path in PAGES if shell_lines(path)]
WITH_COMMANDS = [path for path in PAGES if INLINE.search(path.read_text("utf-8"))]


def test_guides_show_something():
    assert SITE_GUIDE in WITH_SHELL
    assert SITE_GUIDE in WITH_PYTHON
    assert DOCS / "guide" / "research.md" in WITH_SHELL


@pytest.mark.parametrize("path", WITH_PYTHON, ids=page_id)
def test_python_of_a_page_runs(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(path, "python"):
        exec(compile(block["text"], str(path), "exec"), {})
        assert capsys.readouterr().out.strip()


def test_guide_of_a_site_can_be_pasted(tmp_path, monkeypatch):
    """Its files and commands in the order of the page, in one folder."""
    monkeypatch.chdir(tmp_path)
    for match in fences(SITE_GUIDE.read_text(encoding="utf-8")):
        if match["title"]:
            Path(match["title"]).write_text(match["text"], encoding="utf-8")
    for line in shell_lines(SITE_GUIDE):
        done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert done.exit_code == 0, (line, done.output)
        assert done.output.strip()
    assert Path("site.png").stat().st_size > 10_000


@pytest.mark.parametrize("path", WITH_SHELL, ids=page_id)
def test_commands_of_a_page_are_ours(path):
    for line in shell_lines(path):
        parse_command(line)


@pytest.mark.parametrize(
    "line",
    sorted(
        {
            line
            for path in OURSELVES
            for line in shell_lines(path)
            if line.startswith(("guidefbo run", "guidefbo methods"))
            and line.removeprefix("guidefbo ") not in COMMANDS
        }
    ),
)
def test_run_of_a_page_works(line, tmp_path, monkeypatch):
    """Small: what is tested is that problem, method and settings exist."""
    monkeypatch.chdir(tmp_path)
    size = SMALLER if line.startswith("guidefbo run") else ""
    words = shlex.split(f"{line} {size}", comments=True)[1:]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "line",
    sorted(
        {
            line
            for path in WITH_SHELL
            for line in shell_lines(path)
            if line.startswith("guidefbo study run") and ".toml" not in line
        }
    ),
)
def test_study_of_a_page_can_be_planned(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)[1:]
    done = CliRunner().invoke(app, ["study", "plan", *words[2:]])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=page_id)
def test_commands_in_sentences_are_ours(path):
    for line in INLINE.findall(path.read_text(encoding="utf-8")):
        parse_command(" ".join(line.split()))


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_data_shown_on_a_page_can_be_read(path):
    for block in blocks(path, "json"):
        json.loads(block["text"])
    for block in blocks(path, "toml"):
        form = tomllib.loads(block["text"])
        if "parameters" in form:
            assert space_from_form(form).parameters


def test_site_loads_nothing_from_elsewhere():
    """A page that needs the network shows nothing where there is none."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert config["theme"]["font"] is False
    assert config["site_dir"] == "build/site"
    assets = [*config.get("extra_css", []), *config.get("extra_javascript", [])]
    assert all((DOCS / name).is_file() for name in assets)
    names = [p if isinstance(p, str) else next(iter(p)) for p in config["plugins"]]
    assert set(names) <= {"search", "mkdocstrings"}


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_lists_of_a_page_are_lists(path):
    """Python-Markdown wants an empty line before a list, also after an indented one."""
    before, is_code = "", False
    for line in path.read_text(encoding="utf-8").splitlines():
        is_code ^= line.startswith("```")
        is_item = re.match(r"([-*]|\d+\.) ", line) is not None
        if is_item and not is_code and before.strip():
            is_list = re.match(r"([-*]|\d+\.) | {2,3}\S", before) is not None
            assert is_list, f"{path.name}: {line}"
        before = line
