"""The table of a neural network's settings: look-ups, noise, optima, bad files."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.real_data import real_folder

from guidefbo.core.errors import DataError
from guidefbo.core.streams import Streams
from guidefbo.problems.realworld import hpobench_mlp as module
from guidefbo.problems.realworld.hpobench_mlp import (
    FILE,
    LEVELS,
    SITES,
    hpobench_mlp,
    read_tables,
)

SHAPE = (10, 10, 3, 10, 10, 5)
SETTING = {"alpha": 9, "batch_size": 1, "depth": 2, "learning_rate": 4, "width": 7}


def tables() -> dict[str, np.ndarray]:
    """Numbers that say where they stand, so that swapped axes are seen."""
    grid = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) / np.prod(SHAPE)
    return {site: grid / (n + 1) for n, site in enumerate(SITES)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "hpobench_mlp"
    place.mkdir()
    np.savez(place / FILE, **tables())
    monkeypatch.setenv("GUIDEFBO_DATA", str(tmp_path))
    return place


def test_a_value_is_the_mean_of_the_five_runs_at_its_place(folder: Path) -> None:
    tasks = hpobench_mlp()
    for function, table in zip(tasks.functions, tables().values(), strict=True):
        assert function(dict(SETTING)) == pytest.approx(
            np.mean(table[9, 1, 2, 4, 7]), rel=1e-12
        )


def test_every_point_of_the_space_has_its_own_entry(folder: Path) -> None:
    tasks = hpobench_mlp()
    assert tuple(tasks.space.parameters) == tuple(LEVELS)
    corners = [dict.fromkeys(LEVELS, 0), {name: n - 1 for name, n in LEVELS.items()}]
    low, high = (tasks.functions[0](corner) for corner in corners)
    flat = tables()["car"].reshape(-1, 5).mean(axis=1)
    assert (low, high) == pytest.approx((flat.min(), flat.max()), rel=1e-12)


def test_an_observation_is_one_of_the_five_runs_and_each_comes_up(folder: Path) -> None:
    observe = hpobench_mlp().observers
    assert observe is not None
    stream = Streams(0).at("observer")
    seen = [observe[3](dict(SETTING), stream) for _ in range(2000)]
    runs = tables()["australian"][9, 1, 2, 4, 7]
    values, counts = np.unique(seen, return_counts=True)
    assert np.array_equal(values, runs)
    # Each is binomial(2000, 1/5) with a standard deviation of 18.
    assert np.all(np.abs(counts - 400) < 5 * 18)


def test_the_optimum_is_the_best_mean_not_the_best_run(folder: Path) -> None:
    changed = tables()
    changed["car"][4, 4, 1, 4, 4, 0] = 1.0
    np.savez(folder / FILE, **changed)
    tasks = hpobench_mlp()
    assert tasks.optima is not None
    assert tasks.optima[0] == pytest.approx(np.mean(changed["car"][9, 9, 2, 9, 9]))
    assert tasks.optima[0] < 1.0


def test_runs_do_not_differ_in_their_tables(folder: Path) -> None:
    one, other = hpobench_mlp(0), hpobench_mlp(7)
    assert one.optima == other.optima
    assert one.functions[2](dict(SETTING)) == other.functions[2](dict(SETTING))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.pop("kc1"), "kc1"),
        (lambda t: t.update(car=t["car"][:9]), "shape"),
        (lambda t: t.update(car=t["car"].astype(np.float32)), "float32"),
        (lambda t: t.update(car=np.asfortranarray(t["car"])), "C order"),
        (lambda t: t["car"].__setitem__((0,) * 6, np.nan), "no accuracies"),
        (lambda t: t["car"].__setitem__((0,) * 6, 1.5), "no accuracies"),
    ],
)
def test_a_file_of_another_form_is_refused(folder: Path, change, words: str) -> None:
    changed = tables()
    change(changed)
    np.savez(folder / FILE, **changed)
    with pytest.raises(DataError, match=words) as refused:
        read_tables(folder)
    assert "guidefbo data fetch hpobench_mlp" in str(refused.value)


def test_objects_are_never_unpickled(folder: Path) -> None:
    changed: dict[str, np.ndarray] = {**tables(), "car": np.array([{}], dtype=object)}
    np.savez(folder / FILE, **changed)
    with pytest.raises(DataError, match="object"):
        read_tables(folder)


def test_a_header_that_claims_too_much_makes_no_room_for_it(folder: Path) -> None:
    header = io.BytesIO()
    claimed = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(header, claimed)
    with zipfile.ZipFile(folder / FILE, "w") as archive:
        archive.writestr("car.npy", header.getvalue())
    with pytest.raises(DataError, match="1000000000000"):
        read_tables(folder)


def test_a_truncated_file_is_refused(folder: Path) -> None:
    path = folder / FILE
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DataError, match="zip"):
        read_tables(folder)


def test_damaged_bytes_inside_are_refused(folder: Path) -> None:
    data = bytearray((folder / FILE).read_bytes())
    data[2000:2100] = bytes(100)
    (folder / FILE).write_bytes(bytes(data))
    with pytest.raises(DataError):
        read_tables(folder)


def test_too_large_a_file_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(DataError, match="more than 1000 bytes"):
        read_tables(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=FILE):
        read_tables(tmp_path)


def test_the_real_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = real_folder("hpobench_mlp", FILE, monkeypatch)
    tasks = hpobench_mlp()
    assert tasks.num_agents == 8
    assert tasks.optima is not None
    with np.load(folder / FILE, allow_pickle=False) as archive:
        for n, site in enumerate(tasks.names):
            means = archive[site].mean(axis=-1)
            place = np.unravel_index(means.argmax(), means.shape)
            best = dict(zip(LEVELS, map(int, place), strict=True))
            assert tasks.optima[n] == tasks.functions[n](best) == means.max()
            # Levels increase: too large a learning rate is worse than a middle one.
            rates = means.mean(axis=(0, 1, 2, 4))
            assert rates[9] < rates[4]
