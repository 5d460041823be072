"""All trials as a table: for programs, and for spreadsheets that compute nothing."""

import csv
import json
from importlib.util import find_spec
from io import StringIO

import numpy as np
import pytest
from tests.site.sites import handed, make, packet, told

from guidefbo import Agent, Bool, Choice, Float, Int, Space
from guidefbo.core.table_text import as_written
from guidefbo.site.table import columns_of, csv_of

SPACE = Space(
    **{"+x": Float(0, 1), "value": Int(1, 40), "drug": Choice("=1+1", 2.5, "b")},
    warm=Bool(),
)


def rows_of(text):
    return list(csv.DictReader(StringIO(text, newline="")))


def test_a_row_for_every_trial():
    agent = told(SPACE, 4, method="ucb")
    agent.tell(agent.ask(), failed="@pump broke")
    agent.tell(2, 0.25, std=0.1, values={"+x": 0.125})
    agent.ask()
    columns = columns_of(agent)
    assert columns["trial"] == [1, 2, 3, 4, 5, 6]
    assert columns["state"] == [*["done"] * 4, "failed", "pending"]
    assert columns["origin"] == [*["design"] * 3, *["model"] * 3]
    assert columns["corrections"] == [0, 1, 0, 0, 0, 0]
    assert columns["+x"][1] == 0.125
    assert columns["asked_+x"][1] == agent.trials[1].values["+x"]
    assert columns["parameter_value"] == [t.as_run["value"] for t in agent.trials]
    assert columns["value"] == [t.value for t in agent.trials]
    assert columns["site"] == ["site-0"] * 6
    assert all(time.endswith("+00:00") for time in columns["asked_at"])
    assert [time is None for time in columns["told_at"]] == [False] * 5 + [True]


def test_predictions_are_those_of_the_model():
    agent = told("mixed", 6, goal="min", method="ucb")
    columns = columns_of(agent)
    best = agent.best()
    k = best.trial.id - 1
    assert columns["predicted_mean"][k] == best.mean
    assert columns["predicted_std"][k] == best.std
    assert columns["predicted_mean"][k] == min(columns["predicted_mean"])
    # What it expected when it asked, and nothing where it did not ask.
    assert [m is None for m in columns["expected_mean"]] == [True] * 3 + [False] * 3
    earlier = told("mixed", 5, goal="min", method="ucb")
    x = agent.space.to_unit(agent.trials[5].values)
    assert columns["expected_mean"][5] == pytest.approx(
        -earlier.fitted.units.to_site(earlier.fitted.posterior.predict(x[None])[0])[0]
    )
    assert columns["expected_std"][5] > columns["predicted_std"][5]


def test_guidance_that_was_held_is_told():
    agent = told("box", 4)
    agent.receive(handed(agent, packet(2), round=7, num_uploads=5))
    trial = agent.ask()
    assert trial.guided
    columns = columns_of(agent)
    assert columns["guided"][-1] is True
    assert columns["packet_round"][-2:] == [None, 7]
    assert columns["packet_uploads"][-1] == 5


def test_text_is_read_back_and_nothing_in_it_is_a_formula():
    agent = told(SPACE, 4, method="ucb")
    agent.tell({"+x": 0.1, "value": 3, "drug": "=1+1", "warm": True}, -0.1)
    agent.tell(agent.ask(), failed='=HYPERLINK("http://a","b")\tand more')
    text = csv_of(agent)
    rows = rows_of(text)
    for name, column in columns_of(agent).items():
        for cell, value in zip(
            [row["'+x" if name == "+x" else name] for row in rows], column, strict=True
        ):
            if isinstance(value, float):
                assert float(cell) == value
            else:
                plain = "" if value is None else str(value)
                lower = plain.lower() if isinstance(value, bool) else plain
                assert as_written(cell) == lower
    for row in csv.reader(StringIO(text, newline="")):
        for cell in row:
            is_text = cell[:1] in tuple("=+-@\t\r")
            # Numbers may be negative; nothing else begins like a formula.
            assert not is_text or float(cell) < 0.0


def test_an_agent_without_trials_has_a_header_only():
    agent = make("line")
    assert csv_of(agent).count("\n") == 1
    assert len(agent.to_frame()["trial"]) == 0


def test_frame_has_numbers_where_there_are_numbers():
    agent = told("mixed", 4, method="ucb")
    agent.ask()
    frame = agent.to_frame()
    assert np.asarray(frame["value"]).dtype == np.float64
    assert np.isnan(np.asarray(frame["value"])[-1])
    assert np.asarray(frame["n"]).dtype == np.int64
    assert np.asarray(frame["warm"]).dtype == np.bool_
    assert list(frame["drug"]) == [t.as_run["drug"] for t in agent.trials]
    assert list(frame["told_at"])[-1] == ""


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
def test_pandas_reads_the_export_back(tmp_path):
    import pandas

    agent = told("mixed", 5, method="ucb")
    agent.ask()
    (tmp_path / "t.csv").write_bytes(csv_of(agent).encode("utf-8-sig"))
    read, frame = pandas.read_csv(tmp_path / "t.csv"), agent.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(read.columns) == list(frame.columns)
    for name in ("trial", "x", "n", "warm", "value", "predicted_mean", "asked_x"):
        assert read[name].equals(frame[name]), name


def test_times_and_bases_are_kept_and_checked(tmp_path):
    agent = told("box", 4)
    agent.receive(handed(agent, packet(2)))
    agent.ask()
    path = tmp_path / "a.json"
    agent.save(path)
    again = Agent.load(path)
    assert again.trials == agent.trials
    assert [t.asked_at for t in again.trials] == [t.asked_at for t in agent.trials]
    assert again.trials[-1].basis == agent.trials[-1].basis
    form = json.loads(path.read_text())
    for name, wrong in (
        ("asked_at", "yesterday"),
        ("asked_at", 7),
        ("basis", {"mean": "1", "std": 1, "num_uploads": 1, "round": 1, "alone": None}),
        ("basis", {"mean": 1, "std": -1, "num_uploads": 1, "round": 1, "alone": None}),
        ("basis", {"mean": 1, "std": 1, "num_uploads": 1, "round": 1, "alone": {}}),
        ("basis", {"mean": 1}),
    ):
        form["trials"][-1] = {**form["trials"][-1], name: wrong}
        (tmp_path / "b.json").write_text(json.dumps(form))
        with pytest.raises(ValueError, match="damaged"):
            Agent.load(tmp_path / "b.json")
