"""What the documents show is run: README, guides and every doctest of the package."""

import doctest
import importlib
import importlib.util
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
from guidefbo.core.space.form import fingerprint, space_from_form
from guidefbo.methods.registry import (
    RULES,
    STRATEGIES,
    all_methods,
    find_strategy,
)
from guidefbo.simulation import method_costs as cost
from guidefbo.wire.codec import read
from guidefbo.wire.envelope import PacketHead, UploadHead

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
NOT_HERE = {
    "guidefbo.integrations.botorch",
    "guidefbo.integrations.botorch_shape",
    "guidefbo.integrations.flower",
}
"""Adapters to packages that only long tests install, and test there."""
MODULES = [
    m.name
    for m in pkgutil.walk_packages(guidefbo.__path__, "guidefbo.")
    if m.name not in NOT_HERE
]
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
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    assert {
        "docs/index.md",
        "docs/guide/site.md",
        "docs/guide/research.md",
        "docs/tutorials/your-own-method.md",
        "docs/architecture.md",
        "docs/methods/index.md",
        "docs/formats.md",
        "docs/results/index.md",
    } <= set(targets)
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
ELSEWHERE = ("tutorials", "integrations")
OURSELVES = [path for path in PAGES if path.parent.name not in ELSEWHERE]
"""Pages whose code is run here; tutorials are followed in tests/test_tutorials.py, and
pages on adapters in tests/integrations."""
INLINE = re.compile(r"(?<!`)`(guidefbo [^`]+)`(?!`)")
SMALLER = "--dim 2 --agents 6 --init 3 --rounds 1"
NOT_OURS = ("pip install ", "chmod ", "python3 ", "./check", "#")
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


FORMATS = DOCS / "formats.md"


def shown(form):
    """Return the JSON objects of a format that the page on formats shows."""
    objects = [json.loads(block["text"]) for block in blocks(FORMATS, "json")]
    return [found for found in objects if found["format"] == form]


def test_messages_shown_are_messages():
    """An upload and the packet that answers it."""
    upload, packet = shown("guidefbo-message")
    sent, received = find_strategy("guide").messages
    asked = read(json.dumps(upload).encode(), sent, UploadHead)
    answer = read(json.dumps(packet).encode(), received, PacketHead)
    assert asked.head.terms == answer.head.terms
    assert asked.head.site == answer.head.site
    assert asked.head.sequence == answer.head.answers
    space = guidefbo.Space(
        dose=guidefbo.Float(0.1, 10, log=True), hours=guidefbo.Float(1, 8)
    )
    assert asked.head.terms.space == fingerprint(space)


def test_fields_of_the_envelope_are_told():
    table = FORMATS.read_text(encoding="utf-8")
    for message in shown("guidefbo-message"):
        for name in message:
            assert re.search(rf"^\| .*`{name}`.* \|", table, flags=re.M), name


def test_every_kind_of_message_is_told():
    page = FORMATS.read_text(encoding="utf-8")
    kinds = {
        message.KIND
        for name in STRATEGIES
        for message in find_strategy(name).messages or ()
    }
    assert kinds
    assert all(f"| `{kind}` |" in page for kind in kinds)


def test_agent_shown_can_be_loaded(tmp_path):
    (form,) = shown("guidefbo-agent")
    path = tmp_path / "site.json"
    path.write_text(json.dumps(form), encoding="utf-8")
    assert guidefbo.Agent.load(path).trials[0].value == 0.83
    guidefbo.Agent.load(path).save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == form


def test_record_shown_has_the_fields_of_a_record():
    (form,) = shown("guidefbo-run")
    size = {"dim": 2, "num_agents": 2, "num_initial": 3, "num_rounds": 1}
    trace = guidefbo.simulate("sphere", method="guide-ucb", **size)
    record = trace.to_record() | trace.evaluations
    assert list(record) == list(form)
    assert record["spec"] == form["spec"]
    assert all(
        record[name].keys() == form[name].keys() for name in ("bytes", "seconds")
    )


@pytest.fixture(scope="module")
def tables():
    script = ROOT / "scripts" / "settings_tables.py"
    spec = importlib.util.spec_from_file_location("settings_tables", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_of_settings_are_those_of_the_records(tables):
    for path in tables.pages():
        text = path.read_text(encoding="utf-8")
        assert tables.renew(text) == text, (
            f"{path.name} has old settings: python scripts/settings_tables.py --write"
        )


def test_every_strategy_has_its_table_of_settings(tables):
    text = "".join(path.read_text(encoding="utf-8") for path in tables.pages())
    marked = set(re.findall(r"<!-- settings: ([a-z-]+) -->", text))
    # Working alone has none beside those of all methods.
    assert marked == {"all", "rules", *STRATEGIES} - {"independent"}


def test_every_strategy_is_told_of():
    listing = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    assert all(f"| [{name}](" in listing for name in STRATEGIES)
    # Other tests may have entered methods of their own.
    ours = [m for m in all_methods() if is_ours(m)]
    assert f"these are {len(ours)} methods" in listing


def is_ours(method):
    return method.strategy.name in STRATEGIES and method.rule.name in RULES


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_no_page_speaks_of_what_is_gone(path):
    gone = ["mode=as-run", "methods/catalog", "methods/build.py", "methods/uses.py"]
    text = path.read_text(encoding="utf-8")
    if path == FORMATS:  # says what becomes of old files
        gone.remove("mode=as-run")
    assert not [word for word in gone if word in text]


def test_places_of_assumptions_exist():
    rows = (DOCS / "assumptions.md").read_text(encoding="utf-8").splitlines()
    places = [row.rsplit("|", 2)[1] for row in rows if re.match(r"\| [ABC]\d", row)]
    assert len(places) > 50
    paths = {path.strip() for place in places for path in place.split(",")}
    assert not [p for p in paths if not (ROOT / "src" / "guidefbo" / p).exists()]


def test_merge_names_what_it_leaves_out(tmp_path, monkeypatch):
    """As the guide of a site says: one sentence, exit code 3, the others answered."""
    monkeypatch.chdir(tmp_path)
    space = guidefbo.Space(dose=guidefbo.Float(0, 1))
    for name, site in (("a", "north"), ("b", "north"), ("c", "south")):
        agent = guidefbo.Agent(space, goal="max", site=site)
        agent.tell({"dose": 0.5}, 1.0)
        Path(f"{name}.json").write_bytes(agent.upload().to_bytes())
    words = ["merge", "a.json", "b.json", "c.json", "--out-dir", "packets"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 3
    assert "b.json is left out" in done.output
    assert "Every site needs a name of its own" in done.output
    assert "Warning" not in done.output
    assert len(list(Path("packets").glob("*.packet.json"))) == 2
