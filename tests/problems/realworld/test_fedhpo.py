import csv
import pickle
import sys
import zipfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from guidefbo.core.errors import DataError, SettingsError
from guidefbo.core.streams import Streams
from guidefbo.problems.library import find_problem
from guidefbo.problems.realworld import fedhpo_table
from guidefbo.problems.realworld.fedhpo import fedhpo
from guidefbo.problems.realworld.fedhpo_official import ARCHIVE, TRUST
from guidefbo.problems.realworld.fedhpo_table import COLUMNS, GRAPHS, read_trained

SHIPPED = Path(fedhpo_table.__file__).with_name("fedhpo_table.csv")


def shipped_rows():
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def small_table():
    """Return rows of a small grid whose accuracies can be worked out by hand."""
    rows = []
    for graph, seed, p, lr, step, wd in product(
        GRAPHS, (1, 2), (0.0, 0.5), (0.01, 0.1, 1.0), (1, 4), (0.0, 0.1)
    ):
        score = 0.1 * GRAPHS.index(graph) + 0.2 * p + 0.05 * np.log10(lr) + 0.3
        score += 0.01 * step - 0.5 * wd + 0.002 * (seed == 2)
        rows.append([graph, seed, p, lr, step, wd, score, score / 2])
    return rows


def of_pubmed(rows):
    """Return the rows of PubMed with four local steps."""
    return [row for row in rows if (row[0], row[4]) == ("pubmed", 4)]


def write(path, rows, columns=COLUMNS):
    lines = ["# a comment", ",".join(columns)]
    path.write_text("\n".join(lines + [",".join(map(str, row)) for row in rows]))
    return path


def test_scores_between_levels_by_hand(tmp_path):
    trained = read_trained(write(tmp_path / "t.csv", small_table()))
    cora, pubmed = trained["cora"], trained["pubmed"]
    assert cora.seeds == (1, 2)
    at = {"dropout": 0.0, "lr": 0.01, "step": 1, "wd": 0.0}
    # 0.3 - 0.1 + 0.01, and half of the second seed's 0.002.
    assert cora.validation(at) == pytest.approx(0.211)
    assert cora.test(at) == pytest.approx(0.1055)
    assert pubmed.validation(at) == pytest.approx(0.411)
    # The scores are linear in dropout and in the logarithm of the rate.
    between = at | {"dropout": 0.125, "lr": 10**-0.5}
    assert cora.validation(between) == pytest.approx(0.211 + 0.025 + 0.075)
    assert cora.validation(at | {"step": 4, "wd": 0.1}) == pytest.approx(0.191)
    assert cora.validation.best() == pytest.approx(0.3 + 0.1 + 0.04 + 0.001)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda rows: rows.pop(), "wrong"),
        (lambda rows: rows.__setitem__(5, rows[4]), "wrong"),
        (lambda rows: rows[3].__setitem__(6, 1.2), "from 0 to 1"),
        (lambda rows: rows[3].__setitem__(6, float("nan")), "from 0 to 1"),
        (lambda rows: rows[3].__setitem__(6, "high"), "high"),
        (lambda rows: rows[0].__setitem__(0, "reddit"), "reddit"),
        (lambda rows: rows.clear(), "two dropouts"),
        (
            lambda rows: [
                r.__setitem__(4, 8) for r in rows if (r[0], r[4]) == ("pubmed", 4)
            ],
            "local steps",
        ),
    ],
)
def test_tables_with_gaps_or_other_numbers_are_refused(tmp_path, spoil, complaint):
    rows = small_table()
    spoil(rows)
    with pytest.raises(DataError, match=complaint):
        read_trained(write(tmp_path / "t.csv", rows))


def test_tables_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        read_trained(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="decode"):
        read_trained(tmp_path / "bytes.csv")
    columns = [name.replace("val_acc", "score") for name in COLUMNS]
    path = write(tmp_path / "t.csv", small_table(), columns)
    with pytest.raises(DataError, match="val_acc"):
        read_trained(path)


def test_the_problem_as_it_ships():
    tasks = find_problem("fedhpo").tasks(0)
    assert tasks.names == GRAPHS
    assert (tasks.goal, tasks.noise) == ("max", 1e-4)
    assert (tasks.num_initial, tasks.num_rounds) == (30, 50)
    assert tasks.settings == {"num_paths": 300, "sampler": "exact"}
    assert "regenerated" in tasks.source
    assert "not the official" in tasks.source
    parameters = tasks.space.parameters
    assert list(parameters) == ["dropout", "lr", "step", "wd"]
    assert (parameters["dropout"].low, parameters["dropout"].high) == (0.0, 0.5)
    assert (parameters["lr"].low, parameters["lr"].high) == (0.01, 1.0)
    assert parameters["lr"].log
    assert set(parameters["step"].options) <= set(range(1, 9))
    assert parameters["wd"].options == (0.0, 0.001, 0.01, 0.1)


def test_trained_settings_have_their_mean_and_the_best_is_the_optimum():
    tasks = fedhpo()
    rows = shipped_rows()
    for graph, function, test, best in zip(
        tasks.names, tasks.functions, tasks.held_out, tasks.optima, strict=True
    ):
        cells = {}
        for row in rows:
            if row["graph"] == graph:
                key = tuple(
                    float(row[name]) for name in ("dropout", "lr", "step", "wd")
                )
                scores = float(row["val_acc"]), float(row["test_acc"])
                cells.setdefault(key, []).append(scores)
        for (p, lr, step, wd), scores in cells.items():
            values = {"dropout": p, "lr": lr, "step": int(step), "wd": wd}
            assert function(values) == pytest.approx(np.mean(scores, axis=0)[0])
            assert test(values) == pytest.approx(np.mean(scores, axis=0)[1])
        assert best == pytest.approx(max(np.mean(s, axis=0)[0] for s in cells.values()))
        # Networks that learned: all three graphs are known to be easy.
        assert best > 0.7


def test_no_setting_is_above_the_optimum():
    tasks = fedhpo(seed=3)
    rng = Streams(0).at("anywhere")
    for x in tasks.space.domain.snap(rng.random((200, tasks.space.dim))):
        values = tasks.space.from_unit(x)
        for function, best in zip(tasks.functions, tasks.optima, strict=True):
            assert 0.0 <= function(values) <= best


def test_the_table_says_where_it_is_from():
    comments = [
        line for line in SHIPPED.read_text().splitlines() if line.startswith("#")
    ]
    text = " ".join(comments)
    for word in ("Regenerated", "NOT the official", "seeds", "minutes", "sha256"):
        assert word in text
    seconds = sum(float(row["seconds"]) for row in shipped_rows())
    assert f"{seconds / 60:.0f} minutes" in text


# The official archive, played by small forests.


def forest(inputs=6):
    """Return stumps that tell only one thing: whether the last input is large."""
    x = Streams(0).at("forest").random((60, inputs))
    x *= [0.5, 1, 8, 0.1, 1, 499][-inputs:]
    y = 0.2 + 0.6 * (x[:, -1] > 250)
    return RandomForestRegressor(3, max_depth=1, bootstrap=False, random_state=0).fit(
        x, y
    )


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Write an archive with these members into the folder of local copies."""
    monkeypatch.setenv("GUIDEFBO_DATA", str(tmp_path))
    monkeypatch.delenv(TRUST, raising=False)
    (tmp_path / "fedhpo").mkdir()
    (tmp_path / "fedhpo" / "gcn_avg_space.json").write_text("{}")

    def archive(members):
        with zipfile.ZipFile(tmp_path / "fedhpo" / ARCHIVE, "w") as out:
            for name, model in members.items():
                out.writestr(
                    name, model if isinstance(model, bytes) else pickle.dumps(model)
                )

    return archive


def members(model, prefix="surrogate_model/gcn"):
    return {
        f"{prefix}/{graph}/avg/surrogate_model_{k}.pkl": model
        for graph in GRAPHS
        for k in range(2)
    }


class Trap:
    """Leaves a file where it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_no_pickle_is_opened_without_trust(archive, tmp_path):
    opened = tmp_path / "opened"
    archive(members(Trap(opened)))
    assert "regenerated" in fedhpo().source
    assert "regenerated" in fedhpo(trust_pickle=False).source
    assert not opened.exists()
    # The trap works: only trust kept it shut.
    with pytest.warns(UserWarning, match="run any program"), pytest.raises(DataError):
        fedhpo(trust_pickle=True)
    assert opened.exists()


def test_the_official_archive(archive, monkeypatch):
    # A prediction of 0.8 shows that the round is the last column, as in training.
    # Other algorithms in the archive are none of our business.
    other = {"surrogate_model/gcn/pubmed/prox/surrogate_model_0.pkl": b""}
    archive(members(forest()) | other)
    with pytest.warns(UserWarning, match="trust"):
        tasks = fedhpo(trust_pickle=True)
    assert "official" in tasks.source
    assert "regenerated" not in tasks.source
    assert tasks.optima is None
    assert tasks.space.parameters["step"].options == tuple(range(1, 9))
    values = {"dropout": 0.1, "lr": 0.5, "step": 8, "wd": 0.01}
    assert [f(values) for f in tasks.functions] == pytest.approx([0.8] * 3)
    monkeypatch.setenv(TRUST, "1")
    with pytest.warns(UserWarning, match="trust"):
        assert "official" in fedhpo().source
    assert "regenerated" in fedhpo(trust_pickle=False).source
    monkeypatch.setenv(TRUST, "no")
    assert "regenerated" in fedhpo().source


def test_forests_are_averaged(archive):
    models = members(forest())
    for name in models:
        if name.endswith("_1.pkl"):
            low = forest()
            low.estimators_ = low.estimators_[:1]
            low.estimators_[0].tree_.value[:] = 0.4
            models[name] = low
    archive(models)
    with pytest.warns(UserWarning, match="trust"):
        tasks = fedhpo(trust_pickle=True)
    values = {"dropout": 0.1, "lr": 0.5, "step": 8, "wd": 0.01}
    assert tasks.functions[1](values) == pytest.approx((0.8 + 0.4) / 2)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (members(forest(inputs=5)), "6 inputs, got a RandomForestRegressor with 5"),
        (members({"a": "dict"}), "6 inputs, got a dict"),
        (members(b"no pickle"), "cannot be opened"),
        ({}, "0 files cora"),
        (
            {f"gcn/cora/avg/surrogate_model_{k}.pkl": b"" for k in range(21)},
            "21 files cora",
        ),
    ],
)
def test_other_archives_are_refused(archive, content, complaint):
    archive(content)
    with (
        pytest.warns(UserWarning, match="trust"),
        pytest.raises(DataError, match=complaint),
    ):
        fedhpo(trust_pickle=True)


def test_an_archive_that_is_missing_or_damaged(archive, tmp_path):
    with pytest.raises(DataError, match=ARCHIVE):
        fedhpo(trust_pickle=True)
    (tmp_path / "fedhpo" / ARCHIVE).write_bytes(b"PK")
    with (
        pytest.warns(UserWarning, match="trust"),
        pytest.raises(DataError, match="not a zip"),
    ):
        fedhpo(trust_pickle=True)


def test_without_scikit_learn_the_extra_is_named(archive, monkeypatch):
    archive(members(forest()))
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(SettingsError, match=r"guidefbo\[tasks\]"):
        fedhpo(trust_pickle=True)
