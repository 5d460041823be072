"""Strategies, rules and problems of one's own: from a file, by hand, installed."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.experiments.dask_cluster import cluster  # noqa: F401
from tests.experiments.tiny import call, records
from typer.testing import CliRunner

import guidefbo as gf
from guidefbo.canvas import COLOURS
from guidefbo.cli import cost_table
from guidefbo.cli.app import app
from guidefbo.core.errors import GuidanceWarning, SettingsError, UnknownNameError
from guidefbo.core.settings import real
from guidefbo.experiments.results import read_study
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import load_study, parse_study
from guidefbo.methods import registry
from guidefbo.methods.guide import STRATEGY as GUIDE
from guidefbo.methods.plugins import Plugin, load_plugin
from guidefbo.methods.rules.ucb import RULE as UCB
from guidefbo.problems import library
from guidefbo.problems.realworld.fedhpo_official import TRUST
from guidefbo.problems.synthetic.functions import FUNCTIONS
from guidefbo.reports.frame import lay_out
from guidefbo.reports.looks import looks_of
from guidefbo.server import registry as server_registry
from guidefbo.simulation import method_costs as cost
from guidefbo.testing import check_agent_side, check_codec, check_rule
from guidefbo.testing import check_server_side as check_server

FILE = Path(__file__).with_name("plugin.py")
PLUGIN = Plugin.read(FILE)
SIZE = {"dim": 2, "num_agents": 3, "num_initial": 4, "num_rounds": 2}
WORDS = ["--dim", "2", "--agents", "3", "--init", "4", "--rounds", "2"]
SQUARE = gf.Space(x=gf.Float(-1, 1), y=gf.Float(0, 1))
STUDY = """
name = "own"
repetitions = 2

[[grid]]
problem = ["bowl", "sphere"]
level = 1
dim = 2
num_agents = 2
num_initial = 4
num_rounds = 2
method = ["relay-bold", "bold", "relay-ucb", "ucb"]
settings.boldness = 2.0
"""
NUM_RUNS = 16
TRUSTING = """
import os
import guidefbo as gf

def values():
    trust = float(os.environ.get("GUIDEFBO_TRUST_PICKLE") == "1")
    space = gf.Space(x=gf.Float(0, 1))
    return gf.Tasks(space, [lambda v: trust], num_initial=2, num_rounds=0)
"""


@pytest.fixture
def own():
    """The records of the plugin, not yet entered."""
    module = {"__name__": __name__}
    exec(compile(PLUGIN.source, PLUGIN.name, "exec"), module)
    return module


def invoke(*words):
    return CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "200"})


def plugin_of(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(text)
    return path


def write_study(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(STUDY)
    return path


# From a file.


def test_a_plugin_brings_what_stands_at_its_top_level():
    assert sorted(load_plugin(PLUGIN)) == ["bold", "bowl", "relay"]
    # Again is nothing new.
    assert sorted(load_plugin(PLUGIN)) == ["bold", "bowl", "relay"]
    names = registry.method_names()
    assert {"bold", "relay-bold", "relay-ucb", "guide-bold"} <= set(names)
    assert len(names) == len(set(names))
    for name in names:
        assert registry.find_method(name).name == name


def test_the_plugin_keeps_the_contracts(own):
    side, server = own["RelayAgent"](2), own["RelayServer"]()
    places = {f"s{n}": own["Place"]((0.1 * n, 0.5, 0.25)) for n in range(3)}
    check_codec(places["s1"])
    check_server(server, places)
    misfit = own["Place"]((0.5,))
    check_agent_side(side, packets=places.values(), misfits=[misfit])
    check_rule(own["Boldness"]())


def test_run(tmp_path):
    out = tmp_path / "run.json"
    words = ["--plugin", FILE, *WORDS, "--out", out, "--set", "boldness=2"]
    done = invoke("run", "bowl", "--method", "relay-bold", *words)
    assert done.exit_code == 0, done.output
    record = json.loads(out.read_text())
    assert record["spec"]["settings"] == {"boldness": 2.0}
    assert record["spec"]["problem"] == "bowl"
    assert record["scalars"] == {"up_per_agent_round": 2, "down_per_agent_round": 2}
    # The paper says nothing of it.
    assert "scalars_paper" not in record


def test_without_the_plugin_its_names_are_not_known():
    done = invoke("run", "bowl", "--method", "relay-bold", *WORDS)
    assert done.exit_code == 2
    assert "There is no" in done.output


def test_listings():
    listed = invoke("methods", "--plugin", FILE).output.splitlines()
    texts = dict(line.split(maxsplit=1) for line in listed)
    assert texts["relay-bold"] == (
        "mean plus standard deviations; the best place up, a neighbour's down"
    )
    assert {"bold", "relay-ucb", "guide-bold"} <= texts.keys()
    settings = invoke("methods", "--settings", "--plugin", FILE).output
    assert "boldness" in settings
    assert "num_copies" in settings
    problems = invoke("problems", "--plugin", FILE).output
    assert "flat in the middle" in problems


def test_costs_have_no_count_of_the_papers(monkeypatch):
    load_plugin(PLUGIN)
    assert "relay-bold" in cost.method_names()
    for module in (cost, cost_table):
        monkeypatch.setattr(module, "method_names", lambda: ["ucb", "relay-bold"])
    (line,) = [
        line
        for line in invoke("methods", "--cost", "--plugin", FILE).output.splitlines()
        if "relay-bold" in line
    ]
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells[:5] == ["relay-bold", "10", "10", "-", "-"]


def test_several_plugins(tmp_path):
    other = PLUGIN.source.replace('"relay', '"echo').replace('"bold"', '"brave"')
    path = plugin_of(tmp_path, other.replace('"bowl"', '"cup"'))
    listed = invoke("methods", "--plugin", FILE, "--plugin", path).output
    # The strategies of the one go with the rules of the other.
    assert "relay-brave" in listed
    assert "echo-bold" in listed


# Studies.


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The records of the study, run in this process."""
    folder = tmp_path_factory.mktemp("here")
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (registry, "_strategies"),
            (registry, "_rules"),
            (library, "_registered"),
            (server_registry, "_registered"),
        ):
            patch.setattr(module, name, dict(getattr(module, name)))
        load_plugin(PLUGIN)
        study = load_study(str(write_study(folder)))
        tally = run_study(study, folder / "out", jobs=1, plugins=[PLUGIN])
        assert (tally.num_finished, tally.failures) == (NUM_RUNS, {})
    return folder / "out"


def test_a_study_in_worker_processes(here, tmp_path):
    out = tmp_path / "out"
    words = ["--plugin", FILE, "--jobs", 2, "--out", out]
    done = call("run", write_study(tmp_path), *words)
    assert done.returncode == 0, done.stderr
    assert f"{NUM_RUNS} runs added" in done.stderr
    assert records(out) == records(here)


def test_a_study_on_a_cluster(here, cluster, tmp_path, monkeypatch):  # noqa: F811
    """The workers have no such file: its text travels with the runs."""
    pytest.importorskip("distributed")
    address, _ = cluster
    out, file = tmp_path / "out", plugin_of(tmp_path, PLUGIN.source)
    words = ["--backend", "dask", "--address", address, "--out", out]
    done = call("run", write_study(tmp_path), "--plugin", file, *words)
    assert done.returncode == 0, done.stderr
    assert records(out) == records(here)
    # So does the word that pickles are trusted, for the runs of which it was said.
    trusting = f"{plugin_of(tmp_path, TRUSTING, 'trusting.py')}:values"
    study = parse_study({"common": {"problem": trusting, "method": "ucb"}})
    for trust in ("1", "0"):
        monkeypatch.setenv(TRUST, trust)
        place = tmp_path / f"trust-{trust}"
        where = {"backend": "dask", "address": address}
        run_study(study, place, repetitions=1, **where)
        (outcome,) = read_study(place).outcomes.values()
        assert outcome.final == float(trust)


def test_a_report_needs_no_plugin(here, tmp_path):
    """What it says of the methods stands in the study's own files."""
    done = call("report", here, "--out", tmp_path / "report")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report" / "report.md").read_text()
    assert "relay-bold / bold" in text
    assert "relay-ucb / ucb" in text
    note = read_study(here).methods["relay-bold"]
    assert (note.strategy, note.rule, note.dash) == ("relay", "bold", "dashdot")
    assert note.settings["boldness"] == 1.0
    assert (note.paper, note.paper_strategy) == (None, None)


def test_a_report_draws_them_unlike_all_others(here):
    looks = looks_of(lay_out(read_study(here)).contenders)
    told = {who.label: (k["color"], str(k["linestyle"])) for who, k in looks.items()}
    assert len(set(told.values())) == len(told) == 4
    # Plain UCB looks as always; the plugin's strategy has a colour that was free.
    assert told["ucb"][0] == told["bold"][0] == COLOURS["black"]
    assert COLOURS["black"] not in {told["relay-bold"][0], told["relay-ucb"][0]}


def test_a_colour_of_ones_own(own, tmp_path):
    gf.register(replace(own["RELAY"], colour="green"))
    plain = STUDY.replace('"bowl", ', "").replace('"relay-bold", "bold", ', "")
    (tmp_path / "own.toml").write_text(plain.replace("settings.boldness = 2.0", ""))
    study = load_study(str(tmp_path / "own.toml"))
    run_study(study, tmp_path / "out", repetitions=1, jobs=1)
    looks = looks_of(lay_out(read_study(tmp_path / "out")).contenders)
    told = {who.label: look["color"] for who, look in looks.items()}
    assert told["relay-ucb"] == COLOURS["green"]


def test_a_study_without_its_plugin_is_refused(tmp_path):
    done = call("run", write_study(tmp_path), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "There is no" in done.stderr
    assert not (tmp_path / "out").exists()


# What cannot be used.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = x / 0\n", "mine.py, line 2, cannot be loaded: ZeroDivisionError"),
        ("def f(:\n", "mine.py, line 1, cannot be loaded: SyntaxError"),
        ("import nowhere_at_all\n", "line 1, cannot be loaded: ModuleNotFoundError"),
        (
            "import guidefbo as gf\n\n"
            "R = gf.Rule(name='a b', text='', settings=object)\n",
            "mine.py, line 3, cannot be loaded: The name of a rule must be",
        ),
        (
            "import guidefbo as gf\nfrom dataclasses import dataclass\n@dataclass\n"
            "class S:\n    beta: float = 1.0\nR = gf.Rule(name='a', text='', "
            "settings=S)\n",
            "mine.py, line 6, cannot be loaded: Field beta of a settings type needs",
        ),
        ("x = 1\n", "mine.py brings nothing: expected a Strategy, a Rule or a Synth"),
        ("", "mine.py brings nothing"),
        (
            "from guidefbo.methods.guide import STRATEGY\n"
            "from guidefbo.methods.rules.ucb import RULE\n"
            "from guidefbo.problems.synthetic.functions import FUNCTIONS\n"
            "SPHERE = FUNCTIONS['sphere']\n",
            "mine.py brings nothing",
        ),
    ],
    ids=[
        "raises",
        "no-python",
        "no-module",
        "no-name",
        "no-setting",
        "nothing",
        "empty",
        "imported-only",
    ],
)
def test_a_broken_plugin_is_refused_with_its_file_and_line(tmp_path, text, message):
    path = plugin_of(tmp_path, text)
    for words in (("run", "sphere", *WORDS), ("methods",), ("study", "plan", "quick")):
        done = invoke(*words, "--plugin", path)
        assert done.exit_code == 2
        assert message in " ".join(done.output.split())
        assert "Traceback" not in done.output
    # Nothing half-loaded is left behind.
    assert not [
        name for name in sys.modules if name.startswith("guidefbo_plugin_")
    ] or ("nothing" in message)


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    done = invoke("methods", "--plugin", tmp_path / "absent.py")
    assert done.exit_code == 2
    assert "Cannot read the plugin" in done.output
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    done = invoke("methods", "--plugin", tmp_path / "bytes.py")
    assert done.exit_code == 2
    assert "is not text" in done.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name="relay"', 'name="guide"'), "guide comes with guidefbo. Choose another"),
        (('name="bold"', 'name="ucb"'), "ucb comes with guidefbo"),
        (('name="bowl"', 'name="sphere"'), "There is a problem sphere already"),
        (('name="bold"', 'name="fts"'), "With fts there would be two methods fts"),
        (("seconds=3.0", "is_plain=True"), "With relay there would be two methods ts"),
        (
            ('name="relay",', 'name="ucb", rules=("nei",),'),
            "With ucb there would be two methods ucb",
        ),
    ],
    ids=["strategy", "rule", "problem", "rule-as-strategy", "plain", "method"],
)
def test_a_name_that_exists_is_refused(tmp_path, change, message):
    assert change[0] in PLUGIN.source
    path = plugin_of(tmp_path, PLUGIN.source.replace(*change))
    done = invoke("methods", "--plugin", path)
    assert done.exit_code == 2
    assert f"mine.py: {message}" in " ".join(done.output.split())


def test_two_plugins_of_one_name_are_refused(tmp_path):
    path = plugin_of(tmp_path, PLUGIN.source + "\nX = 1\n", "second.py")
    done = invoke("methods", "--plugin", FILE, "--plugin", path)
    assert done.exit_code == 2
    assert "second.py: Another record is entered as relay" in done.output


def test_a_strategy_whose_rule_is_not_there(tmp_path):
    text = PLUGIN.source.replace('name="relay",', 'name="relay", rules=("nope",),')
    done = invoke("methods", "--plugin", plugin_of(tmp_path, text))
    assert done.exit_code == 2
    assert "There is no rule 'nope'" in done.output
    assert "Traceback" not in done.output


def test_a_plugin_may_build_on_parts_of_the_package(tmp_path):
    text = (
        "from dataclasses import replace\n"
        "from guidefbo.methods.guide import STRATEGY\n"
        "MINE = replace(STRATEGY, name='mine', rules=('nei',))\n"
    )
    path = plugin_of(tmp_path, text)
    assert load_plugin(Plugin.read(path)) == ["mine"]
    light = {"num_paths": 20, "num_candidates": 40, "num_features": 32}
    trace = gf.simulate("sphere", method="mine", settings=light, **SIZE)
    plain = gf.simulate("sphere", method="guide-nei", settings=light, **SIZE)
    assert trace.best_value.tolist() == plain.best_value.tolist()


# By hand.


def test_register_and_ask_by_name(own):
    for name in ("RELAY", "BOLD", "BOWL"):
        gf.register(own[name])
        gf.register(own[name])
    trace = gf.simulate("bowl", method="relay-bold", **SIZE)
    assert trace.spec.method == "relay-bold"
    assert trace.scalars_paper is None
    with pytest.raises(UnknownNameError, match="no setting of relay-bold 'beta'"):
        gf.simulate("bowl", method="relay-bold", settings={"beta": 1}, **SIZE)


@pytest.mark.parametrize("thing", ["guide", None, 3, object()])
def test_only_records_are_entered(thing):
    with pytest.raises(SettingsError, match="Expected a Strategy, a Rule or a Synth"):
        gf.register(thing)


@pytest.mark.parametrize(
    "record", [GUIDE, UCB, FUNCTIONS["sphere"]], ids=lambda r: r.name
)
def test_records_of_the_package_are_not_entered_again(record):
    with pytest.raises(SettingsError, match="Choose another name"):
        gf.register(record)


def test_another_record_of_the_same_name_is_refused(own):
    gf.register(own["RELAY"])
    gf.register(own["RELAY"])
    for other in ({"version": 2}, {"rules": ("ucb",)}, {"text": "another"}):
        with pytest.raises(SettingsError, match="Another record is entered as relay"):
            gf.register(replace(own["RELAY"], **other))


def test_a_plugin_that_ends_the_program_is_refused(tmp_path):
    path = plugin_of(tmp_path, "import sys\nsys.exit(0)\n")
    done = invoke("run", "sphere", "--plugin", path, *WORDS)
    assert done.exit_code == 2
    assert "SystemExit" in done.output


def test_a_method_of_records_in_a_simulation(own):
    method = gf.Method(own["RELAY"], "ucb")
    assert method.name == "relay-ucb"
    first = gf.simulate("sphere", method=method, settings={"num_copies": 2}, **SIZE)
    assert first.spec.method == "relay-ucb"
    again = gf.simulate("sphere", method="relay-ucb", **SIZE)
    other = gf.simulate("sphere", method=gf.Method("relay", own["BOLD"]), **SIZE)
    assert first.best_value.shape == again.best_value.shape == other.best_value.shape
    assert other.spec.method == "relay-bold"


def test_a_method_of_records_in_a_study_with_two_processes(own, tmp_path):
    mine = gf.Method(replace(GUIDE, name="mine"), "ucb")
    form = {
        "name": "records",
        "repetitions": 2,
        "common": {"problem": "sphere", "level": 1, **SIZE},
        "grid": [{"method": ["ucb", mine], "settings": {"num_paths": 9}}],
    }
    tally = run_study(parse_study(form), tmp_path, jobs=2)
    assert (tally.num_finished, tally.failures) == (4, {})
    results = read_study(tmp_path)
    assert {row.spec["method"] for row in results.rows} == {"ucb", "mine-ucb"}
    assert results.methods["mine-ucb"].strategy == "mine"


def test_a_method_of_records_in_optimize(own):
    shifted = [lambda v, c=c: (v["x"] - c) ** 2 + v["y"] for c in (0.2, 0.4)]
    method = gf.Method(own["RELAY"], own["BOLD"])
    result = gf.optimize(
        shifted, SQUARE, goal="min", method=method, initial=4, rounds=2
    )
    assert result.method == "relay-bold"
    assert len(result.history) == 12


def test_a_method_of_records_at_sites(own):
    """Ask, tell, upload, merge, receive, save and open again."""
    method = gf.Method(own["RELAY"], "ucb")
    sites = [
        gf.Agent(SQUARE, goal="max", method=method, agent_id=n, initial=3)
        for n in range(2)
    ]
    for agent in sites:
        for trial in agent.ask(3):
            agent.tell(trial, trial.values["x"])
    uploads = {f"s{n}": agent.upload() for n, agent in enumerate(sites)}
    packets = gf.merge(uploads)
    for n, agent in enumerate(sites):
        agent.receive(packets[f"s{n}"])
        assert agent.ask().values.keys() == {"x", "y"}
    with pytest.warns(GuidanceWarning, match="it is for the site 'site-1'"):
        sites[0].receive(packets["s1"])


def test_an_agents_file_names_its_method(own, tmp_path):
    path = tmp_path / "site.json"
    method = gf.Method(own["RELAY"], "ucb")
    agent = gf.Agent(SQUARE, goal="max", method=method, settings={"num_copies": 3})
    agent.save(path)
    again = gf.Agent.load(path)
    assert again.setup.method == "relay-ucb"
    assert again.setup.settings == {"num_copies": 3}
    registry._strategies.clear()
    with pytest.raises(gf.FedBOError, match="relay-ucb"):
        gf.Agent.load(path)


def test_a_record_in_the_name_of_another_is_not_run_as_that(own):
    """Runs go by names: one name, one method."""
    impostor = replace(GUIDE, seconds=1.0)
    with pytest.raises(SettingsError, match="guide comes with guidefbo"):
        gf.simulate("sphere", method=gf.Method(impostor, "ucb"), **SIZE)
    gf.register(own["RELAY"])
    other = replace(own["RELAY"], agent=GUIDE.agent)
    with pytest.raises(SettingsError, match="Another record is entered as relay"):
        gf.simulate("sphere", method=gf.Method(other, "ucb"), **SIZE)


def test_a_pair_that_does_not_go_together_is_refused(own):
    narrow = replace(own["RELAY"], name="narrow", rules=("ucb",))
    with pytest.raises(SettingsError, match="narrow does not go with the rule nei"):
        gf.simulate("sphere", method=gf.Method(narrow, "nei"), **SIZE)
    with pytest.raises(SettingsError, match="guide does not go with the rule ei"):
        gf.Agent(SQUARE, goal="max", method=gf.Method("guide", "ei"))


def test_the_same_definition_again_replaces_itself(own):
    """A cell of a notebook is run twice."""

    def define(default):
        @dataclass(frozen=True)
        class Mine:
            boldness: float = real(default, "standard deviations added")

            def build(self):
                return own["Boldness"](self.boldness)

        return gf.Rule(name="mine", text="", settings=Mine)

    gf.register(define(1.0))
    gf.register(define(2.0))
    assert registry.find_method("mine").settings["boldness"].default == 2.0


def test_settings_that_contradict_each_other_are_refused(own):
    @dataclass(frozen=True)
    class Clash:
        beta: float = real(9.0, "another beta")

        def build(self, domain, model, search):
            return own["RelayAgent"](1)

    clash = replace(own["RELAY"], name="clash", agent=Clash)
    with pytest.raises(SettingsError, match="beta is declared twice and not alike"):
        gf.simulate("sphere", method=gf.Method(clash, "ucb"), **SIZE)


# Installed.

POINTS = """
[guidefbo.strategies]
relay = ownfbo:RELAY
{strategies}
[guidefbo.rules]
bold = ownfbo:BOLD
{rules}
[guidefbo.problems]
bowl = ownfbo:BOWL
{problems}
"""
SCRIPT = """
import json, sys, warnings
import guidefbo as gf
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = eval(sys.argv[1])
said = sorted({str(warning.message) for warning in caught})
print(json.dumps([found, said]))
"""


def with_installed(tmp_path, expression, **broken):
    """Evaluate in a process where a package brings the plugin's records."""
    info = tmp_path / "ownfbo-1.0.dist-info"
    info.mkdir()
    (tmp_path / "ownfbo.py").write_text(PLUGIN.source)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ownfbo\nVersion: 1.0\n"
    )
    groups = dict.fromkeys(("strategies", "rules", "problems"), "") | broken
    (info / "entry_points.txt").write_text(POINTS.format(**groups))
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, expression],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


LISTED = (
    "[m.name for m in __import__('guidefbo.methods.registry', fromlist='x')"
    ".all_methods()] + [p.name for p in "
    "__import__('guidefbo.problems.library', fromlist='x').all_problems()]"
)


@pytest.mark.parametrize("method", ["relay-bold", "relay-ucb", "bold", "placebo-bold"])
def test_an_installed_method_is_found_when_first_asked_for(tmp_path, method):
    expression = f"gf.simulate('bowl', method='{method}', **{SIZE}).spec.method"
    assert with_installed(tmp_path, expression) == [method, []]


def test_installed_records_are_listed(tmp_path):
    names, said = with_installed(tmp_path, LISTED)
    assert {"relay-bold", "relay-ucb", "bold", "guide-bold", "bowl"} <= set(names)
    assert said == []


BROKEN = {
    "strategies": "gone = nowhere:X\nother = ownfbo:RELAY\nguide = ownfbo:RELAY",
    "rules": "odd = ownfbo:BOWL",
    "problems": "lost = ownfbo:NOTHING",
}


def test_a_broken_entry_point_only_warns(tmp_path):
    names, said = with_installed(tmp_path, LISTED, **BROKEN)
    assert {"relay-bold", "guide-ucb", "bowl", "sphere"} <= set(names)
    assert not {"gone", "odd", "other", "lost"} & set(names)
    told = " ".join(said)
    for words in (
        "nowhere:X of guidefbo.strategies cannot be used: No module named 'nowhere'",
        "ownfbo:RELAY of guidefbo.strategies cannot be used: expected a "
        "guidefbo.Strategy named 'other'",
        "ownfbo:BOWL of guidefbo.rules cannot be used: expected a guidefbo.Rule named",
        "ownfbo:NOTHING of guidefbo.problems cannot be used",
    ):
        assert words in told


def test_a_broken_entry_point_does_not_concern_the_others(tmp_path):
    """Whoever asks for something else hears nothing of it."""
    expression = f"gf.simulate('sphere', method='guide-ucb', **{SIZE}).spec.method"
    assert with_installed(tmp_path, expression, **BROKEN) == ["guide-ucb", []]
