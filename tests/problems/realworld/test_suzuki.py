"""The emulated reactions: files, values, noise and optima."""

from pathlib import Path

import numpy as np
import pytest
from tests.real_data import real_folder

from guidefbo.core.errors import DataError
from guidefbo.core.streams import Streams
from guidefbo.problems.emulator import fit_emulator, groups_of
from guidefbo.problems.realworld.suzuki import (
    CATALYSTS,
    Reaction,
    reaction_space,
    read_reaction,
    suzuki,
)

HEAD = ["NAME", "catalyst", "t_res", "temperature", "catalyst_loading", "ton", "yld"]
SPACE = reaction_space()
FILES = [f"reizman_suzuki_case_{number}.csv" for number in range(1, 5)]


def write(path: Path, *rows: list[object], head: list[str] = HEAD) -> Path:
    lines = [head, ["TYPE", *["DATA"] * (len(head) - 1)], *rows]
    path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n")
    return path


def surface(catalyst: int, time: float, temperature: float, loading: float) -> float:
    """A yield known everywhere: best with P1-L3 at 90 C and the largest loading."""
    best = 80.0 - 8.0 * abs(catalyst - 2)
    heat = 40.0 * ((temperature - 90.0) / 80.0) ** 2
    return best - heat - 10.0 * np.log(2.5 / loading) + 0.0 * time


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of 120 experiments each on that surface, without noise."""
    folder = tmp_path_factory.mktemp("data") / "suzuki"
    folder.mkdir()
    for number, name in enumerate(FILES):
        stream = Streams(number).at("experiments")
        rows = []
        for n in range(120):
            catalyst = n % 8
            time = 60.0 * 10.0 ** stream.random()
            heat, loading = stream.uniform(30, 110), stream.uniform(0.5, 2.5)
            measured = surface(catalyst, time, heat, loading)
            rows.append([n, CATALYSTS[catalyst], time, heat, loading, 0, measured])
        write(folder / name, *rows)
    return folder


@pytest.fixture(scope="module")
def reaction(made: Path) -> Reaction:
    X, y = read_reaction(made / FILES[0], SPACE)
    return Reaction(SPACE, fit_emulator(X, y, groups_of(SPACE)))


def test_an_experiment_is_read_entry_by_entry(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [0, "P1-L4", 600, 70, 0.5, 9, 43.5])
    X, y = read_reaction(path, SPACE)
    assert y.tolist() == [43.5]
    assert SPACE.from_unit(X[0]) == {
        "catalyst": "P1-L4",
        "time": 600.0,
        "temperature": 70.0,
        "loading": 0.5,
    }


def test_a_loading_just_beyond_the_range_is_taken_as_its_end(tmp_path: Path) -> None:
    rows = [[0, "P1-L4", 600, 70, loading, 9, 43.5] for loading in (0.489, 2.516)]
    X, _ = read_reaction(write(tmp_path / "a.csv", *rows), SPACE)
    assert X[:, SPACE.places["loading"]].ravel().tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0, "P3-L1", 600, 70, 1, 9, 43], "P3-L1"),
        ([0, "P1-L1", 60, 70, 1, 9, 101], "yield from 0 to 100"),
        ([0, "P1-L1", 60, 70, 1, 9, "nan"], "yield from 0 to 100"),
        ([0, "P1-L1", 60, "hot", 1, 9, 50], "no number"),
        ([0, "P1-L1", 60, 130, 1, 9, 50], "temperature is 130"),
        ([0, "P1-L1", "nan", 70, 1, 9, 50], "time is nan"),
        ([0, "P1-L1", 60], "too short"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, row: list[object], words: str) -> None:
    with pytest.raises(DataError, match=words) as refused:
        read_reaction(write(tmp_path / "a.csv", row), SPACE)
    assert "guidefbo data fetch suzuki" in str(refused.value)


def test_files_of_another_form_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(DataError, match="No such file"):
        read_reaction(path, SPACE)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="columns"):
        read_reaction(path, SPACE)
    with pytest.raises(DataError, match=r"columns \['yld'\]"):
        read_reaction(write(path, head=HEAD[:-1]), SPACE)
    with pytest.raises(DataError, match="no experiment"):
        read_reaction(write(path), SPACE)
    path.write_bytes(b"\xff" * 10)
    with pytest.raises(DataError, match="decode"):
        read_reaction(path, SPACE)
    path.write_bytes(b"," * 200_000)
    with pytest.raises(DataError, match="more than 100000 bytes"):
        read_reaction(path, SPACE)


def test_the_emulator_follows_a_known_surface(reaction: Reaction) -> None:
    values = {"catalyst": "P1-L5", "time": 100.0, "temperature": 60.0, "loading": 1.2}
    assert reaction.value(values) == pytest.approx(surface(4, 100, 60, 1.2), abs=1.0)


def test_the_optimum_of_a_known_surface(reaction: Reaction) -> None:
    best = SPACE.from_unit(reaction.optimum())
    assert best["catalyst"] == "P1-L3"
    assert best["temperature"] == pytest.approx(90.0, abs=4.0)
    assert best["loading"] == pytest.approx(2.5, rel=0.02)
    assert reaction.value(best) == pytest.approx(80.0, abs=1.0)


def test_noise_has_the_size_that_the_emulator_found(reaction: Reaction) -> None:
    noisy = fit_emulator(
        reaction.emulator.X,
        np.clip(
            reaction.emulator.y + 5.0 * Streams(0).at("noise").normal(size=120), 0, 100
        ),
        groups_of(SPACE),
    )
    measured = Reaction(SPACE, noisy)
    # The scatter of a standard deviation estimated from 120 values is 1/√240.
    assert measured.noise_std == pytest.approx(5.0, rel=5.0 / np.sqrt(240))
    values = {"catalyst": "P1-L5", "time": 100.0, "temperature": 60.0, "loading": 1.2}
    stream = Streams(1).at("observer")
    seen = np.array([measured.observe(values, stream) for _ in range(400)])
    std = measured.noise_std
    assert np.mean(seen) == pytest.approx(measured.value(values), abs=5 * std / 20)
    assert np.std(seen) == pytest.approx(std, rel=5 / np.sqrt(800))


def test_yields_stay_between_0_and_100(reaction: Reaction) -> None:
    high = fit_emulator(
        reaction.emulator.X, 4.0 * reaction.emulator.y - 180.0, groups_of(SPACE)
    )
    beyond = Reaction(SPACE, high)
    X = np.array([SPACE.to_unit(SPACE.from_unit(x)) for x in reaction.emulator.X])
    raw, kept = high.predict(X), beyond.at(X)
    assert raw.min() < 0.0 < 100.0 < raw.max()
    assert (kept.min(), kept.max()) == (0.0, 100.0)
    inside = (raw > 0.0) & (raw < 100.0)
    assert np.array_equal(kept[inside], raw[inside])


def test_the_problem_on_generated_files(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUIDEFBO_DATA", str(made.parent))
    tasks = suzuki()
    assert tasks.names == ("case-1", "case-2", "case-3", "case-4")
    assert tasks.optima == pytest.approx([80.0] * 4, abs=1.5)


def test_real_reactions(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = real_folder("suzuki", FILES[0], monkeypatch)
    tasks = suzuki()
    assert tasks.optima is not None
    stream = Streams(0).at("search")
    for number, name in enumerate(FILES):
        X, y = read_reaction(folder / name, SPACE)
        assert len(y) in (96, 97)
        emulator = fit_emulator(X, y, groups_of(SPACE))
        reaction = Reaction(SPACE, emulator)
        # What the sentence on the source says, and what repeated experiments show.
        error = emulator.cross_validated_error().rmse
        assert error == pytest.approx((10.6, 8.0, 10.4, 13.6)[number], abs=0.1)
        assert reaction.noise_std == pytest.approx(repeat_std(X, y), abs=1.1)
        # Nothing better at 16 000 points, faces of the box among them.
        numbers = stream.uniform(-0.2, 1.2, (2000, 3)).clip(0.0, 1.0)
        for n in range(8):
            block = np.zeros((len(numbers), 8))
            block[:, n] = 1.0
            found = reaction.at(np.hstack([block, numbers])).max()
            assert found <= tasks.optima[number] + 1e-6


def repeat_std(X: np.ndarray, y: np.ndarray) -> float:
    """Pooled standard deviation of experiments that were repeated."""
    _, same = np.unique(X, axis=0, return_inverse=True)
    groups = [y[same.reshape(-1) == n] for n in range(same.max() + 1)]
    repeated = [group for group in groups if len(group) > 1]
    squares = sum(float(np.sum((g - g.mean()) ** 2)) for g in repeated)
    return np.sqrt(squares / sum(len(g) - 1 for g in repeated))
