"""A coordinator runs without any code of the private side, and commands load late."""

import json
import subprocess
import sys

import pytest
from tests.coordinator.running import environment, run

PRIVATE = ("agent", "site", "connect", "methods", "problems", "simulation")
SERVICE = ("fastapi", "sqlalchemy", "alembic", "uvicorn", "jinja2", "cryptography")

IMPORT_ALL = """
import pkgutil, importlib
import guidefbo.coordinator as package
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
"""
WORK = """
import sys, tempfile
sys.path.insert(0, {root!r})
from tests.coordinator.world import World
world = World(tempfile.mkdtemp() + "/guidefbo.db")
for site in world.joined("north", "south", "west"):
    said = world.ok(site.exchange(1))
assert said["packet"]
world.close()
"""
COUNT = """
import json, sys
print(json.dumps(sorted(sys.modules)))
"""


def loaded(code):
    done = subprocess.run(
        [sys.executable, "-c", code + COUNT],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def private(modules):
    return [
        name
        for name in modules
        if name.startswith("guidefbo.") and name.split(".")[1] in PRIVATE
    ]


def test_every_module_is_loaded_without_private_code():
    modules = loaded(IMPORT_ALL)
    assert private(modules) == []
    assert sum(name.startswith("guidefbo.coordinator") for name in modules) > 20


def test_letters_are_answered_without_private_code(request):
    modules = loaded(WORK.format(root=str(request.config.rootpath)))
    assert private(modules) == []
    assert "guidefbo.server.strategies.guide.server" in modules


def test_private_code_would_be_seen():
    assert private(loaded("import guidefbo.agent.loop"))


def test_help_loads_nothing_of_the_service():
    code = """
from guidefbo.cli.app import app
for words in (["--help"], ["federation", "--help"], ["serve", "--help"]):
    try:
        app(words, standalone_mode=False)
    except SystemExit:
        pass
"""
    modules = loaded(code)
    assert not set(SERVICE) & set(modules)


def test_tell_loads_nothing_of_the_service(tmp_path):
    space = tmp_path / "space.toml"
    space.write_text('[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n')
    made = run("init", "site.json", "space.toml", "--goal", "max", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    code = f"""
from guidefbo.cli.app import app
app(["tell", {str(tmp_path / "site.json")!r}, "x=0.5", "1.0"], standalone_mode=False)
"""
    assert not set(SERVICE) & set(loaded(code))


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("fastapi", ["serve"]),
        ("sqlalchemy", ["federation", "list"]),
        ("sqlalchemy", ["federation", "create", "f", "space.toml", "--goal", "max"]),
        ("sqlalchemy", ["federation", "turn", "."]),
    ],
)
def test_missing_packages_are_named(tmp_path, missing, words):
    (tmp_path / "space.toml").write_text(
        '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
    )
    code = f"""
import sys
sys.modules[{missing!r}] = None
from guidefbo.cli.app import main
sys.argv = ["guidefbo", *{words!r}]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert "pip install 'guidefbo[service]'" in done.stderr
    assert "Traceback" not in done.stderr
