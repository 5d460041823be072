"""The life of a site from the shell: files, sentences, exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from guidefbo import Agent
from guidefbo.cli.app import main
from guidefbo.cli.show import print_trials
from guidefbo.core.errors import NumericalError, SettingsError, WireError
from guidefbo.server.exchange import build_server, exchange, merge
from guidefbo.site.guidance import GuidanceState
from guidefbo.site.learner import Learner

COMMAND = [sys.executable, "-c", "from guidefbo.cli.app import main; main()"]
"""What the installed script `guidefbo` does."""
SPACE = """
[parameters.dose]
type = "float"
low = -2
high = 2

[parameters.days]
type = "int"
low = 1
high = 4

[parameters.drug]
type = "choice"
options = ["a", "b, c", 1.5, true]

[parameters.fast]
type = "bool"
"""
LINE = '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
QUICK = [
    word
    for pair in ("num_paths=20", "num_candidates=50", "num_raw=20", "num_starts=2")
    for word in ("--set", pair)
]
OWN = "dose=-1.5,days=3,drug=a,fast=yes"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Call the command in this process and in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "line.toml").write_text(LINE)

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["guidefbo", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert (ended.value.code or 0) == code, said.err
        return said

    return run


@pytest.fixture
def site(call):
    """A site with a mixed space and three trials asked."""
    call("init", "site.json", "space.toml", "--goal", "max", "--seed", 7)
    call("ask", "site.json", "-n", 3)
    return call


def shell(*arguments, **options):
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


def trial(number, file="site.json"):
    return Agent.load(file).trials[number - 1]


# The life of a site


def test_life_in_real_processes(tmp_path):
    """What the documents teach, one process per line."""

    def step(*arguments, code=0):
        done = shell(*arguments, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done

    space = step("init", "--example").stdout
    (tmp_path / "space.toml").write_text(space)
    made = step("init", "site.json", "space.toml", "--goal", "min", "--initial", 2)
    assert "goal: min (lower values are better)" in made.stdout
    assert "seed: 0" in made.stdout
    assert "parameter dose: 0.1 to 10 mg, logarithmic" in made.stdout
    assert "parameter days: whole number, 1 to 14" in made.stdout
    assert "parameter drug: one of a, b, c" in made.stdout
    assert "constraint: water + 2 oil <= 1.5" in made.stdout
    assert "initial points: 2" in made.stdout
    assert made.stdout.splitlines()[-1] == "next: guidefbo ask site.json"
    assert made.stderr == ""
    asked = step("ask", "site.json")
    assert asked.stdout.startswith("trial 1 (goal min, design, alone): dose=")
    assert asked.stderr == "guidefbo: then tell: guidefbo tell site.json 1 VALUE\n"
    assert "told trial 1 (done, goal min)" in step("tell", "site.json", 1, -0.5).stdout
    item = json.loads(step("ask", "site.json", "--json").stdout)
    assert item.keys() == {"id", "values", "goal", "origin", "guided"}
    assert (item["id"], item["goal"], item["origin"]) == (2, "min", "design")
    told = step("tell", "site.json", 2, "--failed", "sample lost")
    assert told.stdout.endswith("-> failed: sample lost\n")
    step("tell", "site.json", 1, "-1e-3")
    step("tell", "site.json", 2, 0.25, "--std", 0.1)
    third = step("ask", "site.json").stdout
    assert third.startswith("trial 3 (goal min, model, alone)")
    left = step("abandon", "site.json", 3).stdout
    assert left.startswith("abandoned trial 3 (abandoned, goal min)")
    shown = step("show", "site.json", "--trials").stdout
    assert "trials: 2 done, 1 abandoned (initial points: 2)" in shown
    assert "best by posterior mean (goal min): trial 1" in shown
    assert "best single observation: trial 1, -0.001" in shown
    assert "guidance none" in shown
    lines = shown.splitlines()
    assert lines[-4].split("\t")[:3] == ["id", "state", "how"]
    assert lines[-3].split("\t")[-3:] == ["-0.001", "", "corrected 1x"]
    assert lines[-2].split("\t")[-3:] == ["0.25", "0.1", "corrected 1x"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "site.json", "site.json.lock", "space.toml"
    ]  # fmt: skip


def test_agent_of_the_shell_is_the_agent_of_python(site):
    """Every command loads and saves; the questions are the same."""
    here = Agent(
        Agent.load("site.json").space, goal="max", seed=7, settings={"num_raw": 100}
    )
    assert [t.values for t in here.ask(3)] == [t.values for t in map(trial, (1, 2, 3))]


@pytest.mark.parametrize(
    ("text", "value"),
    [("-0.5", -0.5), ("-1e-3", -1e-3), ("-.5", -0.5), ("-3", -3.0), ("0", 0.0)],
)
def test_numbers_of_any_sign(site, text, value):
    said = site("tell", "site.json", 1, text, "--std", "0")
    assert "told trial 1 (done, goal max)" in said.out
    assert (trial(1).value, trial(1).std) == (value, 0.0)


def test_options_may_come_first(site):
    site("tell", "--std", "0.5", "site.json", 1, "-2")
    assert (trial(1).value, trial(1).std) == (-2.0, 0.5)


def test_correction_and_repetition(site):
    site("tell", "site.json", 3, 0.8)
    lines = site("tell", "site.json", 3, 0.9).out.splitlines()
    assert lines[0] == "corrected trial 3: 0.8 -> 0.9 (the old record is kept)"
    assert lines[1].startswith("trial 3 (done, goal max)")
    again = site("tell", "site.json", 3, 0.9).out
    assert again.startswith(
        "nothing changed, this was told before: trial 3 (done, goal"
    )
    site("tell", "site.json", 3, "--failed", "spilt")
    assert [r.value for r in trial(3).records] == [0.8, 0.9, None]
    back = site("tell", "site.json", 3, -0.9, "--std", 0.1).out
    assert "corrected trial 3: failed (spilt) -> -0.9 ± 0.1" in back


def test_own_result(site):
    said = site("tell", "site.json", OWN, "-0.25").out
    assert said.startswith("told own result, trial 4 (done, goal max): dose=-1.5")
    assert trial(4).values == {"dose": -1.5, "days": 3, "drug": "a", "fast": True}
    assert (trial(4).value, trial(4).origin) == (-0.25, "own")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ('"drug=b, c"', "b, c"),
        ("drug=1.5", 1.5),
        ("drug=1.50", 1.5),
        ("drug=true", True),
    ],
)
def test_options_by_their_text(site, text, option):
    site("tell", "site.json", f"{text},dose=1,days=3.0,fast=False", 1)
    assert trial(4).values == {"dose": 1.0, "days": 3, "drug": option, "fast": False}


def test_digits_that_were_shown_name_the_trial(site):
    """Six digits are shown; typed back, they mean the trial that was asked."""
    site("init", "line.json", "line.toml", "--goal", "min")
    shown = site("ask", "line.json").out
    assert trial(1, "line.json").values["x"] != float(shown.split("x=")[1])
    said = site("tell", "line.json", shown.split(": ")[1].strip(), 0.5).out
    assert said.startswith("told trial 1 (done, goal min)")


def test_late_answer_to_an_abandoned_trial(site):
    site("abandon", "site.json", 2)
    assert "told trial 2 (done" in site("tell", "site.json", 2, 1).out


def test_json_of_show_is_whole(site):
    site("tell", "site.json", 1, -2, "--std", 0.5)
    site("tell", "site.json", 2, "--failed", "lost")
    form = json.loads(site("show", "site.json", "--json", "--trials").out)
    assert form["goal"] == "max"
    assert form["counts"] == {
        "pending": 1, "done": 1, "failed": 1, "abandoned": 0, "expired": 0
    }  # fmt: skip
    assert form["best"]["id"] == form["best"]["observed"]["id"] == 1
    assert form["best"]["observed"]["value"] == -2.0
    assert form["guidance"]["state"] == "none"
    assert [t["id"] for t in form["pending"]] == [3]
    assert [t["state"] for t in form["trials"]] == ["done", "failed", "pending"]
    assert "trials" not in json.loads(site("show", "site.json", "--json").out)


def test_show_lists_what_is_pending_and_changes_nothing(call, tmp_path):
    call("init", "site.json", "line.toml", "--goal", "max")
    (tmp_path / "site.json.lock").unlink()
    assert "best: no result yet" in call("show", "site.json").out
    before = (tmp_path / "site.json").stat().st_mtime_ns
    call("show", "site.json", "--trials")
    assert (tmp_path / "site.json").stat().st_mtime_ns == before
    assert not (tmp_path / "site.json.lock").exists()
    call("ask", "site.json")
    assert "pending: trial 1 (pending, goal max): x=" in call("show", "site.json").out


def test_trials_are_a_table_on_a_terminal(site):
    site("tell", "site.json", 1, "--failed", "broken [b]glass")
    site("tell", "site.json", 2, -0.5)
    console = Console(file=StringIO(), force_terminal=True, width=200)
    print_trials(Agent.load("site.json"), console)
    text = console.file.getvalue()
    assert "broken [b]glass" in text
    assert "value (max)" in text
    assert "───" in text
    assert "std" not in text
    assert "\t" not in text
    narrow = Console(file=StringIO(), force_terminal=True, width=30)
    print_trials(Agent.load("site.json"), narrow)
    for value in (trial(1).values["dose"], trial(2).values["dose"]):
        assert f"{value:.6g}" in narrow.file.getvalue()


def test_settings_and_place_in_the_federation(call):
    said = call(
        "init", "site.json", "line.toml", "--goal", "min", "--method", "guide-nei",
        "--seed", 3, "--noise", 0.2, "--initial", 4, "--agents", 3, "--agent-id", 2,
        "--set", "num_paths=9", "--set", "belief=single-gaussian",
    ).out  # fmt: skip
    assert "method: guide-nei (num_paths=9, belief=single-gaussian)" in said
    assert "site 2 of 3" in said
    setup = Agent.load("site.json").setup
    assert (setup.num_agents, setup.agent_id, setup.noise) == (3, 2, 0.2)
    assert "goal: min" in call("show", "site.json").out


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_link_to_a_file_stays_a_link(site, tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "site.json")
    site("tell", "link.json", 1, 5)
    assert (tmp_path / "link.json").is_symlink()
    assert trial(1).value == 5.0


def test_picture(site, monkeypatch):
    drawn = []
    monkeypatch.setattr(Agent, "plot", lambda agent, path: drawn.append(path.name))
    assert (
        site("plot", "site.json", "-o", "out.png").out == "wrote out.png (goal max)\n"
    )
    assert drawn == ["out.png"]


# Tables


@pytest.mark.parametrize(
    "text",
    [
        'dose,days,drug,fast,value\n-1.5,3,a,yes,-0.5\n1,4,"b, c",0,2\n',
        "dose;days;drug;fast;value\r\n-1.5;3;a;yes;-0.5\r\n1;4;b, c;0;2\r\n",
        "value\tfast\tdrug\tdays\tdose\n-0.5\tyes\ta\t3\t-1.5\n\n2\t0\tb, c\t4\t1\n",
        '\ufeffdose, days ,drug,fast,value\n-1.5,3,a,yes,-0.5\n1,4,"b, c",0,2\n',
    ],
    ids=["commas", "semicolons", "tabs", "byte order mark"],
)
def test_table_of_own_results(site, tmp_path, text):
    (tmp_path / "results.csv").write_bytes(text.encode())
    said = site("tell", "site.json", "--csv", "results.csv").out
    assert said == "told 2 results (goal max): trials 4 to 5\n"
    assert [trial(k).value for k in (4, 5)] == [-0.5, 2.0]
    assert trial(5).values == {"dose": 1.0, "days": 4, "drug": "b, c", "fast": False}


def test_table_with_spreads_and_failures(call, tmp_path):
    (tmp_path / "r.csv").write_text(
        "x,value,std,failed\n0.1,1,0.2,\n0.2,,,lost\n0.3,2,,\n"
    )
    said = call(
        "init", "site.json", "line.toml", "--goal", "max", "--results", "r.csv"
    ).out
    assert "initial points: 5 (3 results given, 2 to go)" in said
    assert [(t.value, t.std, t.failed) for t in Agent.load("site.json").trials] == [
        (1.0, 0.2, None), (None, None, "lost"), (2.0, None, None)
    ]  # fmt: skip


def test_table_told_twice_is_refused(site, tmp_path):
    """A table that grows is told again, rows and all; nothing counts twice unseen."""
    (tmp_path / "r.csv").write_text(
        "dose,days,drug,fast,value\n1,3,a,yes,5\n2,3,a,1,6\n"
    )
    site("tell", "site.json", "--csv", "r.csv")
    said = site("tell", "site.json", "--csv", "r.csv", code=2).err
    assert "r.csv: 2 of 2 rows cannot be used. Nothing was changed" in said
    assert "row 3: the same values with the same result were told before" in said
    assert len(Agent.load("site.json").trials) == 5
    site("tell", "site.json", "--csv", "r.csv", "--repeats")
    assert len(Agent.load("site.json").trials) == 7


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x,value\n0.5,1\n0.6,abc\n", ["row 3", "value as a number", "'abc'"]),
        ("x,value\n0.5,1\n7,1\n", ["row 3", "Parameter x", "[0, 1], got 7"]),
        ("x,value\n0.5,nan\n", ["row 2", "finite number", "got nan"]),
        ("x,value\n0.5,1e200\n", ["row 2", "finite number"]),
        ("x;value\n0,5;1\n", ["row 2", "Parameter x", "'0,5'", "a point"]),
        ("x,value\n\n0.5\n", ["row 3", "Expected 2 cells, got 1"]),
        ("x,value,failed\n0.5,,\n", ["row 2", "a reason in the column failed"]),
        ("x,value,failed\n0.5,1,lost\n", ["row 2", "either a value or failed"]),
        ("x,value,std\n0.5,1,-1\n", ["row 2", "standard deviation"]),
        ("x,result\n0.5,1\n", ["header of x, value", "missing ['value']", "'result'"]),
        ("x,x,value\n0.5,1,1\n", ["each once"]),
        ("", ["header of x, value"]),
        ("x,value\n", ["below the header", "got none"]),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_bad_tables_change_nothing(call, tmp_path, text, says):
    (tmp_path / "r.csv").write_text(text)
    call("init", "site.json", "line.toml", "--goal", "max")
    before = (tmp_path / "site.json").read_bytes()
    for arguments in (
        ["tell", "site.json", "--csv", "r.csv"],
        ["init", "new.json", "line.toml", "--goal", "max", "--results", "r.csv"],
    ):
        said = call(*arguments, code=2)
        assert said.out == ""
        assert "r.csv" in said.err
        for word in says:
            assert word in said.err
    assert (tmp_path / "site.json").read_bytes() == before
    assert not (tmp_path / "new.json").exists()


def test_table_that_is_no_text(call, tmp_path):
    (tmp_path / "r.csv").write_bytes(b"x,value\n0.5,\xff\xfe\n")
    call("init", "site.json", "line.toml", "--goal", "max")
    assert "CSV UTF-8" in call("tell", "site.json", "--csv", "r.csv", code=2).err
    assert "No such file" in call("tell", "site.json", "--csv", "no.csv", code=2).err


def test_parameter_named_value_has_no_table(call, tmp_path):
    (tmp_path / "line.toml").write_text(LINE.replace(".x", ".value"))
    (tmp_path / "r.csv").write_text("value,value\n1,1\n")
    call("init", "site.json", "line.toml", "--goal", "max")
    said = call("tell", "site.json", "--csv", "r.csv", code=2)
    assert "A parameter is named 'value'" in said.err


# Refusals


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tell", "site.json"], ["a trial and its value", "Got nothing"]),
        (["tell", "site.json", "1"], ["a trial and its value", "Got 1"]),
        (["tell", "site.json", "1", "2", "3"], ["Got 1 2 3"]),
        (["tell", "site.json", "1", "abc"], ["a number such as -0.5", "'abc'"]),
        (["tell", "site.json", "1", "0,5"], ["'0,5'", "a point, not a comma"]),
        (["tell", "site.json", "1", "nan"], ["Expected a finite number", "got nan"]),
        (["tell", "site.json", "1", "-inf"], ["Expected a finite number", "got -inf"]),
        (["tell", "site.json", "9", "1"], ["its id (1 to 3)", "got 9"]),
        (["tell", "site.json", "one", "1"], ["id such as 3", "'one'"]),
        (["tell", "site.json", "1", "1", "--failed", "x"], ["either a value or"]),
        (["tell", "site.json", "1", "--failed", "x", "--std", "1"], ["either a value"]),
        (["tell", "site.json", "1", "1", "--std", "-1"], ["standard deviation"]),
        (["tell", "site.json", "1", "1", "--stdd", "1"], ["--stdd", "mean --std"]),
        (["tell", "site.json", "1", "--fail", "x"], ["--fail", "mean --failed"]),
        (["tell", "site.json", "1", "1", "-s", "2"], ["no option -s"]),
        (["tell", "--bogus", "site.json", "1", "1"], ["no option --bogus"]),
        (["tell", "site.json", "1", "1", "--csv", "r.csv"], ["leave out everything"]),
        (["tell", "site.json", "dose=1", "1"], ["values for ['dose', 'days'"]),
        (["tell", "site.json", "dose=1,dose=2", "1"], ["each parameter once"]),
        (["tell", "site.json", OWN.replace("=3", "=3.5"), "1"], ["whole number"]),
        (["tell", "site.json", OWN.replace("=3", "=x"), "1"], ["days", "a number"]),
        (["tell", "site.json", OWN.replace("=a", "=z"), "1"], ["one of a, b, c"]),
        (["tell", "site.json", OWN.replace("yes", "si"), "1"], ["true or false"]),
        (["tell", "site.json", OWN.replace("-1.5", "9"), "1"], ["[-2, 2], got 9"]),
        (["tell", "site.json", OWN.replace("-1.5", "nan"), "1"], ["[-2, 2], got nan"]),
        (["tell", "site.json", "1", "1", "--std", "1e200"], ["from 0 to 1e+100"]),
        (["tell", "site.json", "1", "nan"], ["finite number", "--failed 'reason'"]),
        (["tell", "none.json", "1", "1"], ["Cannot read none.json", "guidefbo init"]),
        (
            ["init", "space.toml", "new.json", "--goal", "max"],
            ["agent's file comes first: guidefbo init new.json space.toml"],
        ),
        (["tell", "space.toml", "1", "1"], ["space.toml is damaged or not an agent"]),
        (["ask", "none.json"], ["Cannot read none.json"]),
        (["ask", "."], ["Cannot read ."]),
        (["ask", "site.json", "-n", "0"], ["n must be", "at least 1, got 0"]),
        (["ask", "site.json", "--wait", "-1"], ["seconds, at least 0, got -1"]),
        (["abandon", "site.json", "9"], ["its id (1 to 3)"]),
        (["abandon", "site.json", "x"], ["id such as 3"]),
        (["show", "none.json"], ["Cannot read none.json"]),
        (["upload", "site.json", "-o", "site.json"], ["would be overwritten"]),
        (["upload", "site.json", "-o", "absent/up.json"], ["folder absent does not"]),
        (["plot", "site.json", "-o", "site.json"], ["would be overwritten"]),
        (["receive", "site.json", "none.json"], ["Cannot read none.json"]),
        (["merge", "none.json", "--out-dir", "."], ["Cannot read none.json"]),
        (["merge", "site.json", "--out-dir", "."], ["site.json: Expected"]),
        (["merge", "a/u.json", "b/u.json", "--out-dir", "."], ["a name of its own"]),
        (["merge", "a.json", "a.json", "--out-dir", "."], ["a name of its own"]),
        (["merge", "site.json", "--out-dir", "o", "--method", "ucb"], ["to merge"]),
        (["merge", "site.json", "--out-dir", "o", "--round", "0"], ["t must be"]),
    ],
    ids=lambda value: " ".join(value)[:50],
)  # fmt: skip
def test_refusals_change_nothing(site, tmp_path, arguments, says):
    (tmp_path / "site.json.lock").unlink()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    said = site(*arguments, code=2)
    assert said.out == ""
    for word in says:
        assert word in said.err
    assert said.err.count("\n") == 1
    (tmp_path / "site.json.lock").unlink(missing_ok=True)
    assert {
        p.name: p.read_bytes()
        for p in tmp_path.iterdir()
        if p.name != "space.toml.lock"
    } == before


NEW = ["init", "new.json", "line.toml", "--goal", "max"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["init"], ["guidefbo init site.json space.toml", "--example"]),
        (["init", "new.json"], ["Expected the agent's file and the space"]),
        (NEW[:3], ["--goal max if higher", "no default"]),
        ([*NEW[:4], "most"], ["goal must be 'max' or 'min', got 'most'"]),
        ([*NEW, "--method", "guide-ubc"], ["no method 'guide-ubc'", "'guide-ucb'"]),
        ([*NEW, "--seed", "-1"], ["seed must be", "got -1"]),
        ([*NEW, "--noise", "-1"], ["noise must be", "got -1"]),
        ([*NEW, "--initial", "0"], ["initial must be", "got 0"]),
        ([*NEW, "--agents", "3"], ["--agents 3 needs --agent-id"]),
        ([*NEW, "--agents", "3", "--agent-id", "3"], ["at least 4, got 3"]),
        ([*NEW, "--set", "bogus=1"], ["no setting of shape-ucb 'bogus'"]),
        ([*NEW, "--set", "beta"], ["key=value, got 'beta'"]),
        ([*NEW, "--gaol", "max"], ["--gaol"]),
        (["init", "line.toml", "line.toml", *NEW[3:], "--force"], ["overwritten"]),
        (["init", "a/b.json", *NEW[2:]], ["folder a does not exist"]),
        (["init", "new.json", "no.toml", *NEW[3:]], ["the space no.toml"]),
        (["init", "new.json", "bad.toml", *NEW[3:]], ["bad.toml is not TOML"]),
        (["init", "new.json", "odd.toml", *NEW[3:]], ["odd.toml: Parameter x", "type"]),
    ],
    ids=lambda value: " ".join(value)[:50],
)  # fmt: skip
def test_refused_agents_are_not_created(call, tmp_path, arguments, says):
    (tmp_path / "bad.toml").write_text("[parameters")
    (tmp_path / "odd.toml").write_text('[parameters.x]\ntype = "real"\n')
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    said = call(*arguments, code=2)
    assert said.out == ""
    for word in says:
        assert word in said.err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_existing_agent_is_replaced_by_force_only(site, tmp_path):
    before = (tmp_path / "site.json").read_bytes()
    said = site("init", "site.json", "line.toml", "--goal", "min", code=2)
    assert "site.json exists, and its results would be lost" in said.err
    assert "--force" in said.err
    assert (tmp_path / "site.json").read_bytes() == before
    site("init", "site.json", "line.toml", "--goal", "min", "--force")
    assert Agent.load("site.json").goal == "min"


def test_told_trial_cannot_be_abandoned(site):
    site("tell", "site.json", 1, 2)
    said = site("abandon", "site.json", 1, code=2)
    assert "Trial 1 is done and cannot be abandoned" in said.err


def test_misspelt_option_in_a_real_process(tmp_path):
    done = shell("tell", "site.json", "1", "--valeu", "3", cwd=tmp_path)
    assert done.returncode == 2
    assert "no option --valeu" in done.stderr


@pytest.mark.parametrize(
    ("name", "teaches"),
    [
        ("init", ["--goal", "--example", "--results", "space.toml --goal max"]),
        ("ask", ["guidefbo ask site.json", "--json"]),
        ("tell", ["guidefbo tell site.json 3 -0.5", "--failed", "--csv", "--std"]),
        ("abandon", ["guidefbo abandon site.json 3"]),
        ("show", ["guidefbo show site.json --trials", "--json"]),
        ("plot", ["guidefbo plot site.json -o site.png"]),
        ("export", ["guidefbo export site.json -o trials.csv"]),
        ("change", ["guidefbo change site.json --bounds", "--without", "--fix"]),
        ("upload", ["guidefbo upload site.json -o", "Exit code 3"]),
        ("receive", ["guidefbo receive site.json", "Exit code 3"]),
        ("merge", ["guidefbo merge a.json b.json", "--out-dir", "--round"]),
    ],
)
def test_help_teaches_with_an_example(call, monkeypatch, name, teaches):
    monkeypatch.setenv("COLUMNS", "200")
    said = call(name, "--help").out
    for word in [*teaches, "Example"]:
        assert word in said


# Locks


TELLER = """
import sys
from guidefbo.cli.app import app
print("ready", flush=True)
sys.stdin.readline()
for k in range(20):
    x = (int(sys.argv[1]) + 2 * k) / 50
    app(["tell", "site.json", f"x={x}", str(-x)], standalone_mode=False)
"""


def test_two_processes_lose_no_result(call, tmp_path):
    call("init", "site.json", "line.toml", "--goal", "max")
    tellers = [
        subprocess.Popen(
            [sys.executable, "-c", TELLER, str(k)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k in range(2)
    ]
    try:
        for teller in tellers:
            assert teller.stdout.readline() == "ready\n"
        for teller in tellers:
            teller.stdin.write("go\n")
            teller.stdin.flush()
        for teller in tellers:
            _, err = teller.communicate(timeout=60)
            assert teller.returncode == 0, err
    finally:
        for teller in tellers:
            teller.kill()
            teller.wait()
    trials = Agent.load("site.json").trials
    assert sorted(t.values["x"] for t in trials) == [k / 50 for k in range(40)]
    assert all(t.value == -t.values["x"] for t in trials)
    assert sorted(r.order for t in trials for r in t.records) == list(range(1, 41))


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is posix")
def test_killed_holder_is_waited_for_and_then_gone(site, tmp_path):
    code = "import sys, time; from pathlib import Path\n"
    code += "from guidefbo.core.lock import exclusive\n"
    code += "with exclusive(Path('site.json')):\n    print(1, flush=True)\n"
    code += "    time.sleep(600)"
    holder = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline()
        before = (tmp_path / "site.json").read_bytes()
        said = site("tell", "site.json", 1, 5, "--wait", 1.2, code=2)
        notice, refusal = said.err.splitlines()
        assert "in use by another command; waiting up to 1.2 s" in notice
        assert "not free within 1.2 s. Nothing was changed" in refusal
        assert (tmp_path / "site.json").read_bytes() == before
        assert "goal: max" in site("show", "site.json").out
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=10)
        site("tell", "site.json", 1, 5, "--wait", 5)
        assert trial(1).value == 5.0
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


# Between sites


@pytest.fixture
def federation(call):
    """Three sites with five results each, and their uploads."""
    for k, name in enumerate("abc"):
        call(
            "init", f"{name}.json", "line.toml", "--goal", "max", "--seed", 5,
            "--method", "guide-ucb", "--agents", 3, "--agent-id", k, *QUICK,
        )  # fmt: skip
        for line in call("ask", f"{name}.json", "-n", 5, "--json").out.splitlines():
            asked = json.loads(line)
            x = asked["values"]["x"]
            call("tell", f"{name}.json", asked["id"], -((x - 0.6) ** 2))
        said = call("upload", f"{name}.json", "-o", f"{name}.up.json").out
        assert "4 scalars (goal max)" in said
    return call


def test_three_sites_guide_each_other(federation, tmp_path):
    ups = ["c.up.json", "a.up.json", "b.up.json"]
    said = federation("merge", *ups, "--out-dir", "out/round1", "--seed", 2).out
    assert said.count("wrote out/round1/") == 3
    for name in "abc":
        packet = f"out/round1/{name}.up.packet.json"
        said = federation("receive", f"{name}.json", packet).out
        assert said == "guidance active: received after 5 results (goal max)\n"
    said = federation("ask", "a.json")
    assert "trial 6 (goal max, model, guided): x=" in said.out
    assert "guidance active" in federation("show", "a.json").out
    for k in range(10):
        federation("tell", "a.json", f"x={k / 20}", 0)
    said = federation("ask", "a.json", "--json")
    assert json.loads(said.out)["guided"] is False
    assert said.err.startswith("guidefbo: guidance stale: 10 results")
    assert said.err.count("\n") == 1


def test_merge_is_what_the_server_does(federation, tmp_path):
    uploads = {n: (tmp_path / f"{n}.up.json").read_bytes() for n in "bca"}
    server = build_server("guide", {})
    expected = exchange(server, uploads, t=4, seed=9)
    merged = merge(uploads, t=4, seed=9)
    assert list(merged) == ["a", "b", "c"]
    assert merged == expected.packets
    assert expected.left_out == {}
    federation("merge", *(f"{n}.up.json" for n in "cab"), "--out-dir", ".",
               "--round", 4, "--seed", 9)  # fmt: skip
    assert (tmp_path / "b.up.packet.json").read_bytes() == merged["b"]


def test_merge_takes_the_setting_that_its_help_names(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (named,) = re.findall(r"--set (\w+=\w+)", call("merge", "--help").out)
    call("init", "a.json", "line.toml", "--goal", "max")
    for x in (0.1, 0.5, 0.9):
        call("tell", "a.json", f"x={x}", x)
    call("upload", "a.json", "-o", "a.up.json")
    merge_ = ["merge", "a.up.json", "--out-dir", "."]
    assert "wrote a.up.packet.json" in call(*merge_, "--set", named).out
    call(*merge_, "--set", "beta=2", code=2)


def test_refused_packet_is_saved_and_said(federation):
    federation("merge", "a.up.json", "b.up.json", "--out-dir", ".")
    federation("receive", "a.json", "a.up.packet.json")
    said = federation("receive", "a.json", "b.up.json", code=3)
    assert said.out == "guidance active: received after 5 results (goal max); saved\n"
    assert said.err.startswith(
        "guidefbo: the packet was refused: Expected a 'guide.packet'"
    )
    assert said.err.count("\n") == 1
    assert Agent.load("a.json").guidance.state == GuidanceState.ACTIVE
    assert "the last packet was refused" in federation("show", "a.json").out
    said = federation("receive", "a.json", "b.up.packet.json", code=3)
    assert "it is for the site 'site-1', and this is 'site-0'" in said.err


def test_bad_upload_is_named_and_the_others_are_answered(federation, tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    space = LINE + LINE.replace(".x", ".y")
    (tmp_path / "two.toml").write_text(space)
    federation(
        "init", "d.json", "two.toml", "--goal", "max", "--method", "guide-ucb", *QUICK
    )
    federation("tell", "d.json", "x=0.5,y=0.5", 1)
    federation("upload", "d.json", "-o", "wide.json")
    for bad, says in [("bad.json", "Expected format"), ("wide.json", "another search")]:
        said = federation(
            "merge", "a.up.json", bad, "b.up.json", "--out-dir", "o", code=3
        )
        assert f"{bad} is left out" in said.err
        assert says in said.err
        written = sorted(path.name for path in (tmp_path / "o").iterdir())
        assert written == ["a.up.packet.json", "b.up.packet.json"]


def test_site_and_federation_have_names(call):
    said = call("init", "north.json", "line.toml", "--goal", "max").out
    assert "site: north in the federation default" in said
    call("init", "x.json", "line.toml", "--goal", "max", "--site", "south",
         "--federation", "reaction")  # fmt: skip
    setup = Agent.load("x.json").setup
    assert (setup.site, setup.federation) == ("south", "reaction")
    said = call("init", "y.json", "line.toml", "--goal", "max", "--site", "a b", code=2)
    assert "site must be a name" in said.err


def test_a_site_is_renamed(federation):
    federation("merge", "a.up.json", "b.up.json", "--out-dir", ".")
    federation("receive", "a.json", "a.up.packet.json")
    said = federation("rename", "a.json", "--site", "north", "--federation", "f2").out
    assert said == "site: north in the federation f2\n"
    shown = federation("show", "a.json").out
    assert "site: north in the federation f2" in shown
    assert "guidance none: the site was renamed" in shown
    form = json.loads(federation("show", "a.json", "--json").out)
    assert (form["site"], form["federation"]) == ("north", "f2")
    assert form["counts"]["done"] == 5
    said = federation("rename", "a.json", "--site", "a b", code=2)
    assert "site must be a name" in said.err


def test_no_packet_of_an_earlier_exchange_is_left(federation, tmp_path):
    ups = ["a.up.json", "b.up.json", "c.up.json"]
    federation("merge", *ups, "--out-dir", "o")
    (tmp_path / "c.up.json").write_text("{}")
    said = federation("merge", *ups, "--out-dir", "o", code=3)
    assert "c.up.json is left out" in said.err
    assert not (tmp_path / "o" / "c.up.packet.json").exists()


def test_merge_refuses_a_method_that_is_none(federation, tmp_path):
    ups = ["a.up.json", "b.up.json", "c.up.json", "--out-dir", "o"]
    for wrong in ("guide-uc", "guide-", "guide-ucb-", "guid"):
        said = federation("merge", *ups, "--method", wrong, code=2).err
        assert f"There is no method '{wrong}'. Did you mean 'guide" in said
        assert not (tmp_path / "o").exists()
    said = federation("merge", *ups, "--method", "ucb", code=2).err
    assert "'ucb' exchanges nothing" in said
    for right in ("guide", "guide-ucb", "guide-nei"):
        federation("merge", *ups, "--method", right)


def test_merge_refuses_what_it_cannot_do():
    with pytest.raises(SettingsError, match="'guide-' exchanges nothing"):
        merge({"a": b""}, method="guide-")
    with pytest.raises(SettingsError, match="at least one, as in"):
        merge({})
    with pytest.raises(SettingsError, match="'ucb' exchanges nothing"):
        merge({"a": b""}, method="ucb")
    with pytest.raises(WireError, match=r"^site-b: Expected a JSON message"):
        merge({"site-b": b"\xff"})


def test_nothing_to_tell(call, tmp_path):
    call("init", "site.json", "line.toml", "--goal", "max")
    said = call("upload", "site.json", "-o", "up.json", code=3)
    assert said.out == ""
    assert "nothing to tell" in said.err
    assert not (tmp_path / "up.json").exists()


def test_fallback_is_one_line(call, monkeypatch):
    call("init", "site.json", "line.toml", "--goal", "max", "--initial", 1)
    call("tell", "site.json", "x=0.5", 1)

    def fail(agent):
        raise NumericalError("no\nroot")

    monkeypatch.setattr(Learner, "fit", fail)
    said = call("ask", "site.json", "--json")
    assert json.loads(said.out)["origin"] == "fallback"
    assert said.err.startswith("guidefbo: The model cannot be used (no root)")
    assert said.err.count("\n") == 1
    call("upload", "site.json", "-o", "up.json", code=3)


def test_one_command_is_prepared_and_the_others_come_back():
    from guidefbo.cli.app import app, only

    every = list(app.registered_commands), list(app.registered_groups)
    with only("tell"):
        assert [c.callback.__name__ for c in app.registered_commands] == ["tell"]
        assert not app.registered_groups
    with only("study"):
        assert not app.registered_commands
        assert len(app.registered_groups) == 1
    for name in ("", "tel", "--help"):
        with only(name):
            assert (app.registered_commands, app.registered_groups) == every
    assert (app.registered_commands, app.registered_groups) == every


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_what_cannot_be_printed_is_saved_and_said(call):
    def unprinted(*arguments):
        with FULL.open("w") as full:
            done = subprocess.run(
                [*COMMAND, *map(str, arguments)],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
            )
        assert done.returncode == 1
        (sentence,) = done.stderr.splitlines()
        assert "could not be printed: No space left on device. See: guide" in sentence
        return sentence

    new = ["s.json", "line.toml", "--goal", "max"]
    assert "s.json is created" in unprinted("init", *new)
    assert "saved in s.json: trial 1, 2" in unprinted("ask", "s.json", "-n", 2)
    assert "saved in s.json: trial 3" in unprinted("ask", "s.json", "--json")
    assert "told is saved in s.json" in unprinted("tell", "s.json", 1, 0.5)
    assert "trial 2 of s.json is abandoned" in unprinted("abandon", "s.json", 2)
    within = ["--within", "x=0,0.5"]
    assert "s.json is changed" in unprinted("change", "s.json", *within)
    assert "guidefbo show s.json --trials" in unprinted("show", "s.json")
    states = [trial.state for trial in Agent.load("s.json").trials]
    assert states == ["done", "abandoned", "pending"]
