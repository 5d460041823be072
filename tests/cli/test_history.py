"""Tables of earlier results as other people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.test_site_commands import call as call
from tests.strategies import printable

from guidefbo import Agent, Choice, Float, Space
from guidefbo.cli.table import Reading, tell_rows
from guidefbo.site.table import csv_of

ODD = ["'-A", "-A", "''-A", "B  2", "B 2", " lead", "lead", " '=x", "' =x", "", " "]
HEADER = "run;T [C];tau;cat;yield;by"
TABLE = f"""{HEADER}
1;40;100;P1;12.5;me
2;300;100;P1;12.5;me
3;50;one;P2;13;you
4;60;300;P9;14;me

5;70;400;P2;;me
6;80;500;P2;15;me
"""
COLUMNS = [
    word
    for pair in ("temperature=T [C]", "time=tau", "catalyst=cat", "value=yield")
    for word in ("--column", pair)
]
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
options = ["P1", "P2", "+P3"]
"""


@pytest.fixture
def history(call, tmp_path):
    (tmp_path / "bench.toml").write_text(SPACE)
    (tmp_path / "old.csv").write_text(TABLE)
    call("init", "s.json", "bench.toml", "--goal", "max")
    return call


def test_all_bad_rows_are_named_at_once(history):
    said = history(
        "tell", "s.json", "--csv", "old.csv", *COLUMNS, "--ignore-extra", code=2
    ).err
    assert "old.csv: 4 of 6 rows cannot be used. Nothing was changed" in said
    for words in (
        "row 3: Parameter temperature: Expected a number in [30, 110], got 300",
        "row 4: Parameter time: Expected the value as a number",
        "row 5: Parameter catalyst: Expected one of P1, P2, +P3, got 'P9'",
        "row 7: Expected a value, or a reason in the column failed",
    ):
        assert words in said
    assert Agent.load("s.json").trials == ()


@pytest.mark.parametrize("command", ["tell", "init"])
def test_the_good_rows_are_told_and_the_others_named(history, command):
    words = {
        "tell": ["tell", "s.json", "--csv"],
        "init": ["init", "t.json", "bench.toml", "--goal", "max", "--results"],
    }[command]
    said = history(*words, "old.csv", *COLUMNS, "--ignore-extra", "--skip-bad")
    assert said.err.count("is left out:") == 4
    trials = Agent.load("s.json" if command == "tell" else "t.json").trials
    assert [trial.value for trial in trials] == [12.5, 15.0]
    assert trials[1].values == {"temperature": 80.0, "time": 500.0, "catalyst": "P2"}
    assert all(trial.origin == "own" for trial in trials)


def test_a_table_told_before_adds_its_new_rows(history, tmp_path):
    words = ["tell", "s.json", "--csv", "old.csv", *COLUMNS]
    words += ["--ignore-extra", "--skip-bad"]
    history(*words)
    (tmp_path / "old.csv").write_text(TABLE + "7;90;80;P1;16;me\n")
    assert "told before, as trial 2" in history(*words).err
    assert [t.value for t in Agent.load("s.json").trials] == [12.5, 15.0, 16.0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (COLUMNS, "Say --ignore-extra to leave the others out"),
        (["--ignore-extra"], "missing ['temperature', 'time', 'catalyst', 'value']"),
        ([*COLUMNS, "--column", "std=sd", "--ignore-extra"], "missing ['sd']"),
        (["--column", "heat=T [C]"], "Expected columns for temperature, time"),
        (["--column", "value"], "--column NAME=COLUMN"),
        ([*COLUMNS, "--column", "value=by"], "each name once"),
    ],
)
def test_columns_that_cannot_be_found_are_refused(history, words, says):
    said = history("tell", "s.json", "--csv", "old.csv", *words, code=2).err
    assert says in said
    assert Agent.load("s.json").trials == ()


def test_a_column_serves_one_name_only(history):
    words = ["--column", "temperature=T [C]", "--column", "time=T [C]"]
    words += ["--column", "catalyst=cat", "--column", "value=T [C]", "--ignore-extra"]
    said = history("tell", "s.json", "--csv", "old.csv", *words, code=2).err
    assert "got 'T [C]' of old.csv for temperature, time, value" in said
    assert Agent.load("s.json").trials == ()


def test_rows_slightly_outside_are_noted_by_number(history, tmp_path):
    text = "temperature,time,catalyst,value\n29,100,P1,1\n40,100,'+P3,2\n"
    (tmp_path / "new.csv").write_text(text)
    said = history("tell", "s.json", "--csv", "new.csv")
    assert "new.csv, row 2: outside the bounds; kept as told" in said.err
    assert [t.as_run["catalyst"] for t in Agent.load("s.json").trials] == ["P1", "+P3"]
    said = history("tell", "s.json", "--csv", "new.csv", "--outside", "refuse", code=2)
    assert "new.csv: 2 of 2 rows" in said.err


def test_nothing_good_is_nothing_told(history, tmp_path):
    (tmp_path / "new.csv").write_text("temperature,time,catalyst,value\n1,1,P1,1\n")
    said = history("tell", "s.json", "--csv", "new.csv", "--skip-bad", code=2)
    assert "row 2 is left out" in said.err
    assert "got none of the rows below it can be used, so that nothing" in said.err


def test_columns_of_another_name_are_told_apart_by_any_sign(history, tmp_path):
    (tmp_path / "new.csv").write_text("T;t;Kat;Ausbeute\n40;100;P1;1\n")
    said = history("tell", "s.json", "--csv", "new.csv", code=2).err
    assert "unknown ['T', 't', 'Kat', 'Ausbeute']" in said


def export_read_back(options, folder):
    """The options of a new agent that is told the export of another one's results."""
    space = Space(**{"+x": Float(0, 1), "'drug": Choice(*options)})
    agent, again = (Agent(space, goal="max", method="ucb") for _ in range(2))
    for k, option in enumerate(options):
        agent.tell({"+x": 0.5, "'drug": option}, float(k))
    path = folder / "trials.csv"
    path.write_text(csv_of(agent, has_predictions=False), "utf-8-sig", newline="")
    told = tell_rows(again, path, Reading(ignores_extra=True), print)
    return [trial.values["'drug"] for trial in told]


def test_odd_options_survive_export_and_import(tmp_path):
    assert export_read_back(ODD, tmp_path) == ODD


@given(
    options=st.lists(
        st.text(printable, max_size=8) | st.text("'=+-@ a\",;", max_size=5),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_any_options_survive_export_and_import(options, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    assert export_read_back(options, folder) == options


def test_a_table_by_hand_needs_no_apostrophe_before_another(history, tmp_path):
    space = "[parameters.drug]\ntype = 'choice'\noptions = [\"'tis\", '-A']\n"
    (tmp_path / "two.toml").write_text(space)
    history("init", "h.json", "two.toml", "--goal", "max")
    (tmp_path / "h.csv").write_text("drug,value\n 'tis,1\n '-A,2\n-A,3\n")
    history("tell", "h.json", "--csv", "h.csv")
    values = [trial.values["drug"] for trial in Agent.load("h.json").trials]
    assert values == ["'tis", "-A", "-A"]
