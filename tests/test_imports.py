"""What importing the package costs and brings along; each in a fresh interpreter."""

import csv
import json
import re
import subprocess
import sys
import time
from importlib.metadata import requires
from io import StringIO
from pathlib import Path

import pytest

import guidefbo
from guidefbo.site.table import csv_of

HEAVY = [
    *("torch", "botorch", "gpytorch", "optuna", "flwr", "guidefbo.integrations"),
    *("sklearn", "fastapi", "matplotlib", "typer", "rich"),
]
"""None of these is needed to run a federation."""
LIMIT = 0.5
"""Seconds for `import guidefbo` on one core, interpreter start-up not counted."""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout


def loaded_by(code):
    code += "\nimport json, sys\n"
    code += f"print(json.dumps(sorted(set({HEAVY}) & set(sys.modules))))"
    return json.loads(run(code).splitlines()[-1])


@pytest.mark.parametrize(
    "code",
    [
        "import guidefbo",
        "from guidefbo import Float, Space, optimize, simulate",
        "from guidefbo import simulate; simulate('sphere', dim=2, num_agents=2, "
        "num_initial=4, num_rounds=1)",
        "import guidefbo.agent.loop, guidefbo.server.strategies.guide.server",
    ],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded_by(code) == []


def test_import_alone_loads_no_numerics():
    code = "import guidefbo, sys; print('numpy' in sys.modules, 'scipy' in sys.modules)"
    assert run(code).split() == ["False", "False"]


def test_import_is_quick():
    code = (
        "import time; began = time.perf_counter(); import guidefbo; "
        "print(time.perf_counter() - began)"
    )
    assert min(float(run(code)) for _ in range(3)) < LIMIT


def test_command_needs_declared_packages_only():
    """What only a dependency's dependency brings may be gone with its next release."""
    declared = {re.match(r"[\w-]+", line)[0] for line in requires("guidefbo")}
    needed = {re.match(r"[\w-]+", line)[0] for line in requires("typer") or ()}
    hidden = {"click"} - declared - needed
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(hidden)}))\n"
    code += "from guidefbo.cli.app import main; sys.argv = ['guidefbo', 'methods']\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "main()"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "guide-ucb" in done.stdout


def test_listing_commands_start_without_a_simulation():
    """`guidefbo methods` answers at once, from fresh."""
    began = time.perf_counter()
    run("from guidefbo.cli.app import app; app(['--version'], standalone_mode=False)")
    assert time.perf_counter() - began < 5.0


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The file of a site with results, settings, a constraint and a packet it holds."""
    path = tmp_path_factory.mktemp("site") / "site.json"
    space = guidefbo.Space(
        water=guidefbo.Float(0, 1), oil=guidefbo.Float(0, 1), days=guidefbo.Int(1, 9)
    ).subject_to(guidefbo.SumTo(1.0, "water", "oil"))
    agents = [
        guidefbo.Agent(
            space,
            goal="max",
            method="guide-ucb",
            site=name,
            settings={"num_paths": 20},
        )
        for name in ("north", "south")
    ]
    for agent in agents:
        for value in range(4):
            agent.tell(agent.ask(), float(value))
    packets = guidefbo.merge({a.setup.site: a.upload() for a in agents})
    agents[0].receive(packets["north"])
    agents[0].ask()
    agents[0].save(path)
    return path


def check_light(words):
    """Run a command and see that it loads neither the model nor SciPy."""
    code = "import json, sys; from guidefbo.cli.app import app\n"
    code += f"app({list(words)}, standalone_mode=False)\n"
    code += "print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(run(code).splitlines()[-1])
    assert "guidefbo.site.agent" in loaded
    heavy = ("scipy", "guidefbo.agent", "guidefbo.server", "guidefbo.methods")
    found = [n for n in loaded if n.startswith(heavy)]
    names = {"guidefbo.methods", "guidefbo.methods.default"}
    light = {"guidefbo.agent", "guidefbo.agent.dataset", "guidefbo.agent.record"}
    assert set(found) <= light | names


def test_the_table_loads_neither_the_model_nor_scipy(site, tmp_path):
    out = tmp_path / "trials.csv"
    check_light(["export", str(site), "-o", str(out)])
    whole = csv_of(guidefbo.Agent.load(site))
    rows = [csv.reader(StringIO(t)) for t in (whole, out.read_text("utf-8-sig"))]
    for all_cells, cells in zip(*rows, strict=True):
        assert cells == all_cells[:-2]
        assert len(cells) > 10


@pytest.mark.parametrize("words", [(), ("--json",), ("--trials",)])
def test_show_loads_neither_the_model_nor_scipy(words, site, tmp_path):
    check_light(["show", str(site), *words])
    path = tmp_path / "site.json"
    path.write_bytes(site.read_bytes())
    with guidefbo.Agent.update(path) as agent:
        agent.tell(5, 0.5)
    check_light(["show", str(path), *words])


@pytest.mark.parametrize("words", [("tell", "5", "0.5"), ("abandon", "5")])
def test_writing_a_result_down_loads_neither_the_model_nor_scipy(words, site, tmp_path):
    path = tmp_path / "site.json"
    path.write_bytes(site.read_bytes())
    check_light([words[0], str(path), *words[1:]])
    held = [json.loads(p.read_text())["guidance"] for p in (site, path)]
    assert held[0] == held[1]
    assert held[1]["packet"] is not None
    trials = guidefbo.Agent.load(path).trials
    assert trials[4].state != guidefbo.Agent.load(site).trials[4].state


@pytest.mark.parametrize("name", guidefbo.__all__)
def test_public_names_resolve(name):
    assert getattr(guidefbo, name) is not None
    assert name in dir(guidefbo)


def test_star_import_gives_the_public_names():
    names = {}
    exec("from guidefbo import *", names)
    assert set(guidefbo.__all__) <= names.keys()


def test_version_is_a_version():
    major, minor, patch = guidefbo.__version__.split(".")
    assert all(part.isdigit() for part in (major, minor, patch))


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="'guidefbo' has no attribute 'optimise'"):
        _ = guidefbo.optimise
    assert not hasattr(guidefbo, "__wrapped__")


def test_nothing_in_the_package_imports_the_suites():
    """`testing` is a leaf."""
    root = Path(guidefbo.__file__).parent
    users = [
        path
        for path in root.rglob("*.py")
        if "testing" not in path.relative_to(root).parts
        and "guidefbo.testing" in path.read_text()
    ]
    assert users == []
