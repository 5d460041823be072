"""Every evaluation of a study in one table."""

import csv
import json
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from tests.experiments.test_plugins import plugin_of
from tests.experiments.tiny import write_study
from typer.testing import CliRunner

import guidefbo as gf
from guidefbo.cli.app import app
from guidefbo.core.errors import DataError
from guidefbo.experiments import study_table
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import load_study, parse_study

TASKS = """
import guidefbo as gf

SPACE = gf.Space(
    dose=gf.Float(0.1, 10, log=True), days=gf.Int(1, 9), drug=gf.Choice("-a", "b")
)

def cure(seed=0):
    return gf.Tasks(
        SPACE,
        [lambda v, c=c: abs(v["days"] - c) + v["dose"] for c in (2, 7)],
        goal="min",
        names=["north", "south"],
        noise=0.1,
        optima=[0.1, 0.1],
        metric="pain",
    )
"""
SIZE = {"num_initial": 4, "num_rounds": 2, "num_agents": 2}


@pytest.fixture(autouse=True)
def no_pandas(monkeypatch):
    """Whether it is installed or not, a frame is a dictionary of columns."""
    monkeypatch.setattr(study_table, "find_spec", lambda name: None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study of a synthetic problem and one of one's own."""
    folder = tmp_path_factory.mktemp("finished")
    path = plugin_of(folder, TASKS, "tasks.py")
    form = {
        "name": "both",
        "repetitions": 2,
        "common": SIZE,
        "grid": [
            {"problem": "sphere", "dim": 2, "level": 1, "method": ["ucb", "nei"]},
            {"problem": f"{path}:cure", "method": "ucb", "settings": {"beta": [2, 4]}},
        ],
    }
    run_study(parse_study(form), folder / "out", jobs=1)
    return folder / "out"


@pytest.fixture(scope="module")
def frame(finished):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_table, "find_spec", lambda name: None)
        return gf.read_study(finished).to_frame()


def of_run(frame, row, agent=None):
    """Return the part of a frame that is about a run, or an agent of it."""
    chosen = frame["run"] == row.key
    if agent is not None:
        chosen &= frame["agent"] == agent
    return {name: column[chosen] for name, column in frame.items()}


def test_a_row_for_each_run_agent_and_evaluation(finished, frame):
    rows = read_study(finished).rows
    assert len(rows) == 8
    assert {len(column) for column in frame.values()} == {8 * 2 * 6}
    for row in rows:
        for agent in range(2):
            part = of_run(frame, row, agent)
            assert part["evaluation"].tolist() == [0, 1, 2, 3, 4, 5]
            assert part["round"].tolist() == [0, 0, 0, 0, 1, 2]
            for name in ("problem", "method", "seed", "num_rounds"):
                assert set(part[name]) == {row.spec[name]}
    assert set(frame["is_honest"]) == {True}
    assert set(frame["is_other_code"]) == {False}
    files = {path.stem for path in (finished / "runs").glob("*.json")}
    assert set(frame["run"]) == files


def test_sites_that_exchange_in_every_round_say_so(finished, frame):
    """A run record leaves it out."""
    rows = read_study(finished).rows
    assert {row.spec.get("exchange_interval") for row in rows} == {None}
    assert set(frame["exchange_interval"]) == {1}


def test_a_frame_says_what_the_run_says(finished, frame):
    for row in read_study(finished).rows:
        given = dict(row.spec)
        trace = gf.simulate(given.pop("problem"), **given)
        part = of_run(frame, row)
        flat = trace.values.ravel()
        np.testing.assert_array_equal(part["value"], flat)
        np.testing.assert_array_equal(part["observation"], trace.observations.ravel())
        points = trace.queries.reshape(-1, trace.queries.shape[2])
        for k, x in enumerate(points):
            for name, value in trace.space.from_unit(x).items():
                assert part[f"query.{name}"][k] == value
        # At the end of the design and of every round.
        for agent in range(2):
            at = of_run(frame, row, agent)
            np.testing.assert_array_equal(at["best"][3:], trace.best_value[:, agent])
            inferred = trace.values[agent, trace.chosen[:, agent]]
            np.testing.assert_array_equal(at["inferred"][3:], inferred)
            assert np.isnan(at["inferred"][:3].astype(float)).all()
        ends = part["simple_regret"].reshape(2, 6)[:, 3:]
        np.testing.assert_allclose(ends.mean(axis=0), trace.mean_simple_regret)


def test_regrets_of_a_site_by_hand(finished, frame):
    """Pain, of which less is better; the best of each site is 0.1."""
    (row, *_) = [r for r in read_study(finished).rows if r.spec["problem"] != "sphere"]
    part = of_run(frame, row, agent=1)
    assert set(part["site"]) == {"south"}
    values = part["value"]
    days, dose = part["query.days"].astype(float), part["query.dose"].astype(float)
    np.testing.assert_allclose(values, abs(days - 7) + dose)
    assert set(part["query.drug"]) <= {"-a", "b"}
    best = np.minimum.accumulate(values)
    np.testing.assert_array_equal(part["best"], best)
    np.testing.assert_allclose(part["simple_regret"], best - 0.1)
    np.testing.assert_allclose(
        part["cumulative_regret"][3:], [0.0, *np.cumsum(values[4:] - 0.1)]
    )
    np.testing.assert_allclose(part["inference_regret"], part["inferred"] - 0.1)
    assert (part["inference_regret"][3:] >= part["simple_regret"][3:]).all()
    # It has one reference only.
    assert np.isnan(part["simple_regret_inbox"]).all()


def test_both_references_where_both_are_known(finished, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    results = read_study(out)
    row = results.rows[0]
    path = out / "runs" / f"{row.key}.json"
    form = json.loads(path.read_text())
    path.write_text(json.dumps(form | {"optima": [-1.0, -2.0]}))
    frame = gf.read_study(out).to_frame()
    for agent, optimum in ((0, -1.0), (1, -2.0)):
        part = of_run(frame, row, agent)
        assert form["maximum"] == 0.0
        np.testing.assert_allclose(part["simple_regret"], -part["best"])
        np.testing.assert_allclose(part["simple_regret_inbox"], optimum - part["best"])
        np.testing.assert_allclose(
            part["inference_regret_inbox"], optimum - part["inferred"]
        )
        gaps = np.cumsum(optimum - part["value"][4:])
        np.testing.assert_allclose(part["cumulative_regret_inbox"][3:], [0.0, *gaps])


def test_columns_of_what_differs(frame):
    own = frame["problem"] != "sphere"
    # Parameters of the one are none of the other, and so are levels.
    assert np.isnan(frame["query.x1"][own]).all()
    assert not np.isnan(frame["query.x1"][~own]).any()
    assert set(frame["query.drug"][~own]) == {None}
    assert np.isnan(frame["level"][own]).all()
    assert set(frame["level"][~own]) == {1}
    # A setting at its default is that default; a method without it has none.
    beta, method = frame["settings.beta"], frame["method"]
    assert set(beta[own]) == {2.0, 4.0}
    assert set(beta[~own & (method == "ucb")]) == {4.0}
    assert np.isnan(beta[method == "nei"]).all()
    assert "settings.num_raw" not in frame


def test_weights_of_models(tmp_path):
    """Of the round's query; a method that compares no models has none."""
    form = {
        "name": "weights",
        "repetitions": 1,
        "common": SIZE | {"problem": "sphere", "dim": 2, "level": 1},
        "grid": [
            {"method": ["ucb", "shape-ucb"]},
            {"method": "shape-ucb", "settings": {"trust": "own"}},
        ],
    }
    run_study(parse_study(form), tmp_path / "out", jobs=1)
    study = gf.read_study(tmp_path / "out")
    frame = study.to_frame()
    names = [name for name in frame if name.startswith("weight.")]
    assert sorted(names) == ["weight.none", "weight.others", "weight.own"]
    plain, shape, own = study.results.rows
    trace = gf.simulate(
        "sphere", **{k: v for k, v in shape.spec.items() if k != "problem"}
    )
    assert trace.weights.keys() == {"others", "own", "none"}
    for name, weights in trace.weights.items():
        assert np.isnan(of_run(frame, plain)[f"weight.{name}"].astype(float)).all()
        for agent in range(2):
            part = of_run(frame, shape, agent)[f"weight.{name}"].astype(float)
            assert np.isnan(part[:4]).all()
            np.testing.assert_array_equal(part[4:], weights[:, agent])
    ours = of_run(frame, shape)
    total = sum(ours[name].astype(float) for name in names)
    assert total[~np.isnan(total)] == pytest.approx(np.ones(4))
    alone = of_run(frame, own)
    assert np.isnan(alone["weight.others"].astype(float)).all()
    assert not np.isnan(alone["weight.own"].astype(float)[4:6]).any()
    study.to_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {row["weight.others"] for row in rows if row["method"] == "ucb"} == {""}


def test_run_by_run_is_all_of_it(finished, frame):
    pieces = list(gf.read_study(finished).runs())
    assert len(pieces) == 8
    for name, column in frame.items():
        joined = [value for piece in pieces for value in piece[name].tolist()]
        whole = column.tolist()
        assert [v for v in joined if v is not None and v == v] == [
            v for v in whole if v is not None and v == v
        ]


def test_a_csv_file_is_the_same_table(finished, frame, tmp_path):
    file = tmp_path / "all.csv"
    done = CliRunner().invoke(app, ["study", "export", str(finished), str(file)])
    assert done.exit_code == 0, done.output
    assert "96 rows" in done.output
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == 96
    assert list(rows[0]) == list(frame)
    for name in ("value", "observation", "simple_regret", "inferred", "query.x1"):
        cells = [float(row[name]) if row[name] else np.nan for row in rows]
        np.testing.assert_array_equal(cells, frame[name].astype(float))
    assert [row["site"] for row in rows] == [s or "" for s in frame["site"]]
    # No cell that a spreadsheet would compute.
    assert {row["query.drug"] for row in rows} == {"", "'-a", "b"}


def test_memory_does_not_grow_with_the_study(finished, tmp_path, monkeypatch):
    """One run's evaluations are held at a time."""
    table = gf.read_study(finished)
    assert table.columns
    held, most = [], []

    def watched(run):
        held.append(run)
        most.append(len(held))
        found = rows_of(run)
        held.clear()
        return found

    rows_of = study_table.rows_of
    monkeypatch.setattr(study_table, "rows_of", watched)
    assert table.to_csv(tmp_path / "a.csv") == 96
    assert most == [1] * 8


def test_where_pandas_is_there_it_is_a_data_frame(finished, monkeypatch):
    made = SimpleNamespace(DataFrame=lambda columns: ("frame", list(columns)))
    monkeypatch.setitem(sys.modules, "pandas", made)
    monkeypatch.setattr(study_table, "find_spec", lambda name: made)
    study = gf.read_study(finished)
    assert study.to_frame() == ("frame", list(study.columns))


def test_runs_without_evaluations_have_a_row_for_each_round(finished, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    for file in (out / "runs").glob("*.npz"):
        file.unlink()
    study = gf.read_study(out)
    assert study.without_evaluations == ()
    frame = study.to_frame()
    assert len(frame["round"]) == 8 * 2 * 3
    assert not [name for name in frame if name.startswith("query.")]
    row = study.results.rows[0]
    form = json.loads((out / "runs" / f"{row.key}.json").read_text())
    part = of_run(frame, row, agent=1)
    assert part["round"].tolist() == [0, 1, 2]
    assert part["best"].tolist() == [best[1] for best in form["best_value"]]
    np.testing.assert_allclose(part["simple_regret"], -part["best"])
    for name in ("value", "observation", "inferred", "cumulative_regret"):
        assert np.isnan(part[name]).all()


def test_a_pack_has_no_rows(finished, tmp_path):
    pack = tmp_path / "p.json.gz"
    pack.write_bytes(pack_study(read_study(finished)))
    study = gf.read_study(pack)
    assert len(study.without_evaluations) == 8
    assert len(study.to_frame()["round"]) == 0
    words = ["study", "export", str(pack), str(tmp_path / "a.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "in a study's folder, not in its pack" in " ".join(done.output.split())
    assert not (tmp_path / "a.csv").exists()


def test_runs_that_are_left_out_are_counted(finished, tmp_path):
    study = load_study(str(write_study(tmp_path, rounds=1)))
    run_study(study, tmp_path / "one", jobs=1, repetitions=1)
    pack = tmp_path / "p.json.gz"
    pack.write_bytes(pack_study(read_study(tmp_path / "one")))
    run_study(study, tmp_path / "two", jobs=1, repetitions=2, known=[pack])
    words = ["study", "export", str(tmp_path / "two"), str(tmp_path / "a.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert "4 of 8 finished runs are left out" in " ".join(done.output.split())


def test_a_damaged_file_is_named_and_nothing_is_written(finished, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    spoiled = sorted((out / "runs").glob("*.npz"))[3]
    spoiled.write_bytes(spoiled.read_bytes()[:200])
    with pytest.raises(DataError, match=spoiled.name):
        gf.read_study(out).to_frame()
    file = tmp_path / "a.csv"
    file.write_text("as it was")
    done = CliRunner().invoke(app, ["study", "export", str(out), str(file)])
    assert done.exit_code == 2
    assert "holds no evaluations" in " ".join(done.output.split())
    assert file.read_text() == "as it was"
    assert not list(tmp_path.glob(".a.csv*"))


@pytest.mark.parametrize(
    "change", [{"level": [1, 2]}, {"level": {}}, {"settings": 3}, {"seed": 10**40}]
)
def test_what_a_row_says_is_not_trusted(finished, tmp_path, change):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    form = json.loads((out / "study.json").read_text())
    key = form["rows"][0]["key"]
    form["rows"][0]["spec"] |= change
    (out / "study.json").write_text(json.dumps(form))
    path = out / "runs" / f"{key}.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"spec": record["spec"] | change}))
    assert gf.read_study(out).to_csv(tmp_path / "a.csv") == 96


@pytest.mark.parametrize(
    "change",
    [
        {"space": None},
        {"space": {"parameters": {"x": {"type": "float", "low": 0, "high": 1}}}},
        {"sites": ["one"]},
        {"sites": 3},
        {"optima": [1.0]},
        {"optima": "many"},
        {"maximum": "much"},
        {"num_honest": None},
        {"metric": [1]},
    ],
)
def test_what_a_record_says_is_not_trusted(finished, tmp_path, change):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    row = read_study(out).rows[0]
    path = out / "runs" / f"{row.key}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    frame = gf.read_study(out).to_frame()
    assert len(of_run(frame, row)["round"]) == 12
    if "space" in change:
        # Without its space a query is a point of the unit cube.
        points = of_run(frame, row)["query.x0"].astype(float)
        assert ((points >= 0) & (points <= 1)).all()
