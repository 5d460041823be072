"""`guidefbo tell` as a bench uses it: several results, and what was really run."""

import json
from pathlib import Path

import pytest
from tests.cli.test_site_commands import call as call

from guidefbo import Agent
from guidefbo.cli.answer import parted
from guidefbo.core.errors import SettingsError

SPACE = """
[parameters.temperature]
type = "float"
low = 30
high = 110

[parameters.time]
type = "float"
low = 60
high = 600

[parameters.catalyst]
type = "choice"
options = ["P1", "P2"]
"""


@pytest.fixture
def bench(call, tmp_path):
    """A site of a reaction with four trials asked."""
    (tmp_path / "bench.toml").write_text(SPACE)
    call("init", "s.json", "bench.toml", "--goal", "max", "--seed", 3)
    call("ask", "s.json", "-n", 4)
    return call


def trials():
    return Agent.load("s.json").trials


def test_what_was_run_beside_the_value(bench):
    said = bench("tell", "s.json", 2, 70, "temperature=109", "catalyst=P2").out
    trial = trials()[1]
    assert trial.value == 70.0
    assert trial.as_run["temperature"] == 109.0
    assert f"temperature=109 (asked {trial.values['temperature']:.6g})" in said
    row = bench("show", "s.json", "--trials").out.splitlines()[-3]
    assert row.split("\t")[3] == "109"
    assert "asked temperature=" in row
    form = json.loads(bench("show", "s.json", "--json", "--trials").out)["trials"][1]
    assert form["as_run"]["temperature"] == 109.0
    assert form["values"] == dict(trial.values)


def test_several_trials_in_one_command(bench):
    own = "temperature=50,time=100,catalyst=P1"
    said = bench(
        "tell", "s.json", 1, -5, 2, 70, "temperature=109,time=99", own, 3.5, 4, 8
    ).out
    values = [trial.value for trial in trials()]
    assert values == [-5.0, 70.0, None, 8.0, 3.5]
    assert trials()[1].as_run["time"] == 99.0
    assert said.count("told ") == 4
    assert "told own result, trial 5" in said


def test_several_are_told_all_or_none(bench):
    said = bench("tell", "s.json", 1, 5, 9, 70, 2, 6, code=2)
    assert said.err.startswith("guidefbo: 9: Expected a trial of this agent")
    assert "Nothing was changed." in said.err
    assert not any(trial.records for trial in trials())


def test_a_failure_says_what_was_run(bench):
    bench("tell", "s.json", 1, "temperature=31", "--failed", "leak")
    assert trials()[0].failed == "leak"
    assert trials()[0].as_run["temperature"] == 31.0


def test_slightly_outside_is_noted_or_refused(bench):
    words = ("tell", "s.json", 1, 7, "temperature=112")
    said = bench(*words, "--outside", "refuse", code=2)
    assert "[30, 110], got 112" in said.err
    said = bench(*words)
    assert "kept as told, and the model takes temperature=112 as 110" in said.err
    said = bench("tell", "s.json", 2, 7, "temperature=120", code=2)
    assert "[30, 110], got 120" in said.err
    bench("init", "w.json", "bench.toml", "--goal", "max", "--overshoot", 0.2)
    bench("tell", "w.json", "temperature=120,time=60,catalyst=P1", 7)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["3"], "Expected a trial and its value"),
        (["3", "70", "4"], "Expected a trial and its value"),
        (["3", "a=1", "70"], "Expected a trial and its value"),
        (["3", "70", "nonsense=1"], "no parameter or outcome 'nonsense'; there are"),
        (["3", "--failed", " "], "Say why it failed"),
        (["3", "70", "--outside", "sometimes"], "--outside keep or refuse"),
        (["3", "70", "4", "65", "--std", "0.1"], "--std is of one value"),
        (["3", "4", "--failed", "x"], "either a value or --failed"),
        (["3", "70", "temperature=hot"], "Parameter temperature: Expected"),
    ],
)
def test_what_cannot_be_meant_is_refused(bench, words, says):
    before = trials()
    assert says in bench("tell", "s.json", *words, code=2).err
    assert trials() == before


def test_a_correction_says_what_it_changes(bench):
    bench("tell", "s.json", 1, 5, "temperature=100")
    said = bench("tell", "s.json", 1, 5, "temperature=101").out
    assert "corrected trial 1: temperature 100 -> 101 (the old" in said
    said = bench("tell", "s.json", 1, 6, "temperature=102").out
    assert "corrected trial 1: 5.0 -> 6.0, temperature 101 -> 102 (the old" in said


def test_a_value_that_is_not_possible_is_noted(bench):
    words = ["--goal", "max", "--outcome-bounds", "0,100"]
    bench("init", "w.json", "bench.toml", *words)
    said = bench("tell", "w.json", 1, 5, code=2).err
    assert "Expected a trial of this agent, none so far, or values by name" in said
    for value, is_noted in ((101, True), (-1, True), (100, False)):
        point = f"temperature=50,time={60 + abs(value)},catalyst=P1"
        said = bench("tell", "w.json", point, value).err
        assert (
            "is not possible, by the bounds 0 to 100; it is kept" in said
        ) is is_noted


def test_words_are_parted_the_only_way_that_fits():
    told = parted(
        ["1", "5", "a=1", "2", "6", "a=1,b=2", "7", "3", "8", "b=4", "c=1"],
        is_failure=False,
    )
    assert [(one.target, one.value, one.more) for one in told] == [
        ("1", "5", ("a=1",)),
        ("2", "6", ()),
        ("a=1,b=2", "7", ()),
        ("3", "8", ("b=4", "c=1")),
    ]
    with pytest.raises(SettingsError):
        parted([], is_failure=False)


def test_export_is_told_again_elsewhere(bench, tmp_path):
    """What is exported is a table of results for another agent."""
    bench("tell", "s.json", 1, -5, "temperature=109", 2, 7)
    bench("tell", "s.json", 3, "--failed", "=leak")
    said = bench("export", "s.json", "-o", "trials.csv").out
    assert said == "wrote trials.csv: 4 trials (goal max)\n"
    written = (tmp_path / "trials.csv").read_bytes()
    assert written.startswith(b"\xef\xbb\xbfsite,goal,trial,state,")
    printed = bench("export", "s.json").out
    assert printed.splitlines() == written.decode("utf-8-sig").splitlines()
    words = ["--results", "trials.csv", "--ignore-extra", "--skip-bad"]
    said = bench("init", "t.json", "bench.toml", "--goal", "max", *words).err
    assert "row 5 is left out: Expected a value" in said
    again = Agent.load("t.json").trials
    assert [t.value for t in again] == [-5.0, 7.0, None]
    assert again[0].as_run == trials()[0].as_run
    assert again[2].failed == "=leak"


def test_export_overwrites_no_agent(bench, tmp_path):
    before = (tmp_path / "s.json").read_bytes()
    assert "overwritten" in bench("export", "s.json", "-o", "s.json", code=2).err
    bench("init", "t.json", "bench.toml", "--goal", "max")
    assert "holds an agent" in bench("export", "s.json", "-o", "t.json", code=2).err
    assert (tmp_path / "s.json").read_bytes() == before


LABELLED = """
[parameters.temperature]
type = "float"
low = 30
high = 110
step = 0.5
unit = "degC"
description = "of the bath"

[parameters.catalyst]
type = "choice"
options = ["P1", "P2"]
"""


def test_names_and_units_stand_everywhere(call, tmp_path, monkeypatch):
    (tmp_path / "bench.toml").write_text(LABELLED)
    words = ["--goal", "max", "--objective", "yield", "--unit", "%", "--site", "north"]
    said = call("init", "s.json", "bench.toml", *words).out
    assert "30 to 110 degC, in steps of 0.5 (of the bath)" in said
    assert "objective: yield [%]" in said
    asked = call("ask", "s.json", "-n", 2).out
    assert all(" degC, catalyst=P" in line for line in asked.splitlines())
    assert all((2 * t.values["temperature"]).is_integer() for t in trials())
    assert call("tell", "s.json", 1, 70).out.endswith("-> 70 %\n")
    shown = call("show", "s.json", "--trials").out
    assert "goal: max yield [%]" in shown
    assert "70 % at temperature=" in shown
    assert "\ttemperature [degC]\tcatalyst\tyield [%] (max)\t" in shown
    form = json.loads(call("show", "s.json", "--json").out)
    assert (form["objective"], form["unit"]) == ("yield", "%")
    header = call("export", "s.json", "-o", "t.csv")
    header = (tmp_path / "t.csv").read_text("utf-8-sig").splitlines()[0].split(",")
    assert "temperature [degC]" in header
    assert "asked_temperature [degC]" in header
    assert "yield [%]" in header
    # The table is read by the names it has, units and all.
    words += ["--results", "t.csv", "--ignore-extra", "--skip-bad"]
    call("init", "u.json", "bench.toml", *words)
    assert Agent.load("u.json").trials[0].value == 70.0
    figure = Agent.load("s.json").plot()
    assert figure.get_suptitle().startswith("north: max yield [%]")
    texts = [axes.get_title() for axes in figure.get_axes()]
    assert any(text.endswith(" degC") for text in texts)


def test_the_objective_has_a_name_of_its_own(call, tmp_path):
    (tmp_path / "bench.toml").write_text(LABELLED)
    words = ["--goal", "max", "--objective", "temperature"]
    said = call("init", "s.json", "bench.toml", *words, code=2).err
    assert "cannot have the name of a parameter" in said


NARROW = """\
[parameters.f]
type = "float"
low = 1000000
high = 1000001
[parameters.g]
type = "float"
low = 532.0
high = 532.0010
"""


def test_values_of_a_narrow_range_are_told_apart(call):
    Path("narrow.toml").write_text(NARROW)
    said = call("init", "n.json", "narrow.toml", "--goal", "max", "--seed", 1).out
    assert "parameter f: 1000000 to 1000001\nparameter g: 532 to 532.001" in said
    asked = call("ask", "n.json", "-n", 3).out.splitlines()
    second = asked[1].partition(": ")[2].replace(" ", "")
    assert len({line.partition(": ")[2] for line in asked}) == 3
    assert "told trial 2" in call("tell", "n.json", second, 7).out
    told = call("show", "n.json", "--trials").out
    for line in asked:
        cells = [part.partition("=")[2] for part in line.split(": ")[1].split(", ")]
        assert "\t".join(cells) in told


def test_values_that_fit_several_trials_are_refused(call):
    call("init", "line.json", "line.toml", "--goal", "max")
    agent = Agent.load("line.json")
    (name,) = agent.space.parameters
    parameter = agent.space.parameters[name]
    near = [parameter.from_unit(u) for u in (0.3, 0.3 + 1e-9)]
    for value in (near[0], near[1], near[1]):
        agent.begin({name: value})
    agent.save("line.json")
    typed = f"{name}={near[0]:.6g}"
    said = call("tell", "line.json", typed, 1, code=2).err
    assert "several open ones" in said
    assert "trials 1, 2, 3. Tell the trial by its id" in said
    # All digits say which; of two that are the same any will do.
    assert "trial 2 (done" in call("tell", "line.json", f"{name}={near[1]!r}", 1).out
    assert "trial 1 (done" in call("tell", "line.json", 1, 1).out
    assert "trial 3 (done" in call("tell", "line.json", typed, 1).out


COMMA = """\
[parameters.temp]
type = "float"
low = 20
high = 80
[parameters.solvent]
type = "choice"
options = ["water", "1,4-dioxane", "DMF"]
"""


def test_an_option_with_a_comma(call):
    Path("comma.toml").write_text(COMMA)
    call("init", "w.json", "comma.toml", "--goal", "max", "--seed", 1)
    call("ask", "w.json")
    said = call("tell", "w.json", 1, 0.3, "solvent=1,4-dioxane").out
    assert "solvent=1,4-dioxane" in said
    before = Path("w.json").read_bytes()
    said = call("tell", "w.json", "temp=30,solvent=1,4-dioxane", 0.3, code=2).err
    assert "in double quotes together with its name" in said
    assert """'...,"solvent=1,4-dioxane"'.""" in said
    assert Path("w.json").read_bytes() == before
    said = call("tell", "w.json", 'temp=30,"solvent=1,4-dioxane"', 0.3).out
    assert "temp=30, solvent=1,4-dioxane -> 0.3" in said
    said = call("tell", "w.json", 1, 0.3, "solvent=1,4-dioxane,temp=31", code=2).err
    assert "in double quotes" in said
    assert """'temp=30,"solvent=1,4-dioxane"'""" in call("tell", "--help").out
    # Where no option has one there is nothing to say.
    call("init", "line.json", "line.toml", "--goal", "max")
    assert "quotes" not in call("tell", "line.json", "x=1,2", 1, code=2).err


@pytest.mark.parametrize("words", [["time=90", "time=91"], ["time=90", "time=90"]])
def test_a_name_given_twice_is_refused(bench, words):
    before = Path("s.json").read_bytes()
    said = bench("tell", "s.json", 1, 0.3, *words, code=2).err
    assert f"each name once behind a value, got {words[0]} and {words[1]}" in said
    assert Path("s.json").read_bytes() == before


def test_a_table_without_a_limited_outcome_is_taken_with_a_word(call):
    limit = ["--outcome", "impurity <= 2"]
    call("init", "line.json", "line.toml", "--goal", "max", *limit)
    Path("r.csv").write_text("x,value,failed\n0.1,1,\n0.2,,broke\n0.3,2,\n")
    said = call("tell", "line.json", "--csv", "r.csv")
    assert "told 3 results" in said.out
    words = (
        "2 of 2 results count as keeping no limit until impurity is told too, in a "
        "column of the table or as in: tell 1 1.0 impurity=..."
    )
    assert " ".join(said.err.split()).count(words) == 1
    new = ["init", "new.json", "line.toml", "--goal", "max"]
    said = call(*new, *limit, "--results", "r.csv")
    assert " ".join(said.err.split()).count(words) == 1
    Path("r.csv").write_text("x,value,impurity\n0.4,1,1\n0.5,2,\n")
    said = call("tell", "line.json", "--csv", "r.csv").err
    assert "1 of 2 results count" in said
    assert "tell 5 2.0 impurity=..." in " ".join(said.split())
    Path("r.csv").write_text("x,value,impurity\n0.6,1,1\n0.7,2,3\n")
    assert call("tell", "line.json", "--csv", "r.csv").err == ""
