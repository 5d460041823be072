"""Activity: halves, fresh models that can be asked for again, bad files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.real_data import real_folder

from guidefbo.core.errors import DataError
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import find_problem
from guidefbo.problems.realworld.activity import activity, split_in_halves
from guidefbo.problems.realworld.har import read_har
from guidefbo.simulation.simulate import simulate

SUBJECTS = {"train": (3, 7), "test": (5,)}
EACH = 21
VALUES = {"batch_size": 20, "l2": 1e-3, "learning_rate": 0.03}


def part(name: str) -> dict[str, np.ndarray]:
    """The three files of one part: the activities differ in a few features."""
    subjects = np.repeat(SUBJECTS[name], EACH)
    rng = np.random.default_rng(len(name))
    activities = rng.permutation(np.arange(subjects.size) % 6)
    features = rng.uniform(-0.5, 0.5, size=(subjects.size, 561))
    features[np.arange(subjects.size), activities] += 0.4
    features[:, 560] = -1.0
    return {"X": features, "y": activities + 1, "subject": subjects}


def write(folder: Path, name: str, files: dict[str, np.ndarray]) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    for kind, values in files.items():
        number = "%16.7e" if kind == "X" else "%d"
        np.savetxt(folder / name / f"{kind}_{name}.txt", values, number, newline="\r\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUIDEFBO_DATA", str(tmp_path))
    for name in SUBJECTS:
        write(tmp_path / "har", name, part(name))
    return tmp_path / "har"


def test_a_value_is_the_accuracy_of_a_model_with_weights(folder: Path) -> None:
    for subject, function in zip((3, 5, 7), activity(4).functions, strict=True):
        function: Any
        rows = function.rows
        n = rows.num_training
        W, orders = function.start(20, 1e-3, 0.03)
        assert orders.shape == (100, n)
        X, Y = rows.features, rows.targets.T
        for order in orders:
            for batch in np.split(order, range(20, n, 20)):
                P = np.exp(X[batch] @ W)
                P /= P.sum(axis=1, keepdims=True)
                W = W - 0.03 * (X[batch].T @ (P - Y[batch]) / len(batch) + 1e-3 * W)
        expected = np.mean(np.argmax(X[n:] @ W, axis=1) == function.classes)
        assert function(VALUES) == expected
        assert function.subject == subject


def test_both_halves_are_the_subject_s_own_windows(folder: Path) -> None:
    """Every window of the subject is in one half, with its class."""
    files = {name: part(name) for name in SUBJECTS}
    for function, name, first in zip(
        activity().functions, ("train", "test", "train"), (0, 0, EACH), strict=True
    ):
        function: Any
        mine = slice(first, first + EACH)
        y = files[name]["y"][mine] - 1
        found = np.concatenate([function.rows.targets.argmax(axis=0), function.classes])
        np.testing.assert_array_equal(np.bincount(found), np.bincount(y))
        X = function.rows.features
        assert X.shape == (EACH, 562)
        np.testing.assert_array_equal(X[:, 560], 0.0)  # never changes
        # Standardised features are an increasing image of the raw ones.
        raw = files[name]["X"][mine, 100]
        order = np.argsort(X[:, 100])
        np.testing.assert_array_equal(found[order], y[np.argsort(raw)])


def test_a_configuration_has_one_value_and_a_seed_another_split(folder: Path) -> None:
    one, again, other = (activity(seed).functions for seed in (0, 0, 1))
    assert [f(VALUES) for f in one] == [f(VALUES) for f in again]
    a, b, c = (f[0] for f in (one, again, other))
    for x, y in zip(a.start(20, 0.1, 0.05), b.start(20, 0.1, 0.05), strict=True):
        np.testing.assert_array_equal(x, y)
    assert not np.array_equal(a.rows.features, c.rows.features)
    for changed in ((21, 0.1, 0.05), (20, 0.11, 0.05), (20, 0.1, 0.051)):
        assert not np.array_equal(a.start(*changed)[0], a.start(20, 0.1, 0.05)[0])
    # The last bits of a value are not part of the address.
    np.testing.assert_array_equal(
        a.start(20, 0.1 * (1 + 1e-14), 0.05)[0], a.start(20, 0.1, 0.05)[0]
    )


def test_initial_weights_fill_their_range_and_orders_are_orders(folder: Path) -> None:
    function: Any = activity().functions[1]
    weights, orders = function.start(20, 0.1, 0.05)
    bound = 561**-0.5
    assert weights.shape == (562, 6)
    assert bound * 0.99 < np.abs(weights).max() <= bound
    # A mean of 3372 uniform numbers has a standard deviation of bound / 100.6.
    assert abs(weights.mean()) < bound / 20
    n = function.rows.num_training
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(range(n), (100, 1)))
    assert len({tuple(order) for order in orders}) == 100


def test_another_subject_s_windows_change_nobody_else(folder: Path) -> None:
    before = [f(VALUES) for f in activity().functions]
    files = part("test")
    write(folder, "test", {**files, "X": -files["X"]})
    read_har.cache_clear()
    after = [f(VALUES) for f in activity().functions]
    assert [after[0], after[2]] == [before[0], before[2]]


def test_the_space_and_the_settings_are_those_of_the_paper(folder: Path) -> None:
    tasks = find_problem("activity").tasks(0)
    low, high = (tasks.space.from_unit(np.full(3, u)) for u in (0.0, 1.0))
    assert low == pytest.approx({"batch_size": 20, "l2": 1e-6, "learning_rate": 1e-2})
    assert high == pytest.approx({"batch_size": 60, "l2": 1.0, "learning_rate": 0.1})
    assert list(tasks.names) == ["subject-3", "subject-5", "subject-7"]
    assert (tasks.num_initial, tasks.num_rounds, tasks.noise) == (30, 50, 1e-4)
    assert set(tasks.settings) <= set(find_method("guide-ucb").run_settings)


def test_a_run_reports_the_accuracy(folder: Path) -> None:
    trace = simulate(
        "activity", num_agents=2, num_initial=3, num_rounds=1, method="ucb", seed=2
    )
    tasks = activity(2)
    for n in range(2):
        values = [
            tasks.functions[n](tasks.space.from_unit(u)) for u in trace.queries[n]
        ]
        assert trace.best_value[-1, n] == pytest.approx(max(values), abs=1e-12)


@given(st.lists(st.integers(0, 5), min_size=2, max_size=60), st.integers(0, 9))
def test_halves_have_the_same_share_of_every_class(
    classes: list[int], seed: int
) -> None:
    given = np.array(classes)
    first, second = split_in_halves(given, np.random.default_rng(seed))
    assert sorted([*first, *second]) == list(range(given.size))
    assert abs(first.size - second.size) <= 1
    difference = np.bincount(given[first], minlength=6) - np.bincount(
        given[second], minlength=6
    )
    assert np.abs(difference).max() <= 1


def test_halves_are_drawn_at_random() -> None:
    """Of 40 rows of one class each is in the first half in about half of all draws."""
    draws = [
        split_in_halves(np.zeros(40, int), np.random.default_rng(seed))[0]
        for seed in range(200)
    ]
    counts = np.bincount(np.concatenate(draws), minlength=40)
    # Five standard deviations of a binomial count of 200 draws.
    assert np.abs(counts - 100).max() < 5 * np.sqrt(200 * 0.25)


def broken(kind: str, change: Any) -> dict[str, np.ndarray]:
    files = part("test")
    return {**files, kind: change(files[kind])}


BAD = {
    "a feature is missing": broken("X", lambda X: X[:, 1:]),
    "a feature is too large": broken("X", lambda X: X * 10),
    "a feature is no number": broken("X", lambda X: X * np.nan),
    "a window is missing": broken("X", lambda X: X[1:]),
    "an activity is missing": broken("y", lambda y: y[1:]),
    "an activity is zero": broken("y", lambda y: y - 1),
    "a subject is too high": broken("subject", lambda s: s + 30),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_a_sentence(folder: Path, name: str) -> None:
    write(folder, "test", BAD[name])
    with pytest.raises(DataError, match="guidefbo data fetch har"):
        read_har(folder)


@pytest.mark.parametrize(
    "text", ["", "1\n\n", "one\n", "1e400\n", "1.5\n", "9" * 30, "1\n2 3\n", "é\n"]
)
def test_a_damaged_file_is_refused_with_a_sentence(folder: Path, text: str) -> None:
    (folder / "test" / "y_test.txt").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="guidefbo data fetch har"):
        read_har(folder)


def test_a_missing_or_huge_file_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guidefbo.problems.realworld.har.MAX_BYTES", 1000)
    with pytest.raises(DataError, match="at most 1000 bytes"):
        read_har(folder)
    (folder / "train" / "X_train.txt").unlink()
    with pytest.raises(DataError, match="must be a text file"):
        read_har(folder)


def test_a_subject_with_one_window_is_refused(folder: Path) -> None:
    files = part("test")
    files["subject"][0] = 9
    write(folder, "test", files)
    with pytest.raises(DataError, match="Subject 9"):
        activity()


@pytest.mark.slow
def test_real_subjects_are_recognised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nearly saturated: 0.92 to 1 for a subject, whatever the configuration."""
    real_folder("har", "uci_har_original_files.tar.xz", monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    functions = activity().functions
    assert len(functions) == 30
    sizes = [f.rows.features.shape[0] for f in functions]
    assert (sum(sizes), min(sizes), max(sizes)) == (10_299, 281, 409)
    values = [f(VALUES) for f in functions]
    assert min(values) > 0.9
    assert 0.97 < np.mean(values) < 0.995
