"""KEY.npz: the evaluations of a run, whole and checked."""

import io
import json
import shutil
import zipfile

import numpy as np
import pytest
from tests.experiments.tiny import NUM_RUNS, records, write_study

import guidefbo as gf
from guidefbo.core.errors import DataError
from guidefbo.experiments import evaluations_file
from guidefbo.experiments.evaluations_file import RunEvaluations, read_evaluations
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import load_study

SPEC = {"num_agents": 2, "num_initial": 3, "num_rounds": 1}


def arrays(**changes):
    stream = np.random.default_rng(0)
    return {
        "queries": stream.random((2, 4, 5)),
        "observations": stream.standard_normal((2, 4)),
        "values": stream.standard_normal((2, 4)),
        "chosen": np.array([[0, 2], [3, 1]]),
    } | changes


WEIGHTS = {
    "weight.others": np.array([[0.25, np.nan]]),
    "weight.none": np.array([[0.75, 1.0]]),
}


def write(path, given):
    """Write arrays as anybody would."""
    np.savez_compressed(path, **given)
    return path


def test_what_is_written_is_read(tmp_path):
    file = tmp_path / "a.npz"
    RunEvaluations.of(arrays()).write(file)
    found = read_evaluations(file, SPEC)
    for name, array in arrays().items():
        np.testing.assert_array_equal(getattr(found, name), array)
        # Anybody's NumPy opens it, and needs no pickle for it.
        with np.load(file, allow_pickle=False) as opened:
            np.testing.assert_array_equal(opened[name], array)
    first = file.read_bytes()
    RunEvaluations.of(arrays()).write(file)
    assert file.read_bytes() == first
    read_evaluations(write(tmp_path / "b.npz", arrays()), SPEC)


def test_weights_of_models_are_written_and_read(tmp_path):
    """And a file of former days, or of a method without any, has none."""
    file = tmp_path / "a.npz"
    RunEvaluations.of(arrays()).write(file)
    assert read_evaluations(file, SPEC).weights == {}
    RunEvaluations.of(arrays(**WEIGHTS)).write(file)
    found = read_evaluations(file, SPEC)
    assert list(found.weights) == ["others", "none"]
    np.testing.assert_array_equal(found.weights["others"], WEIGHTS["weight.others"])
    assert list(found.arrays) == list(arrays(**WEIGHTS))
    with np.load(file, allow_pickle=False) as opened:
        np.testing.assert_array_equal(opened["weight.none"], [[0.75, 1.0]])


@pytest.mark.parametrize(
    "change",
    [
        {"weight.others": np.array([[1.1, 0.5]])},
        {"weight.others": np.array([[-0.1, 0.5]])},
        {"weight.others": np.array([[np.inf, 0.5]])},
        {"weight.others": np.array([[0.5], [0.5]])},
        {"weight.others": np.array([[0, 1]])},
        {"weight.a b": np.array([[0.5, 0.5]])},
        {"weight.": np.array([[0.5, 0.5]])},
        {f"weight.m{k}": np.array([[0.5, 0.5]]) for k in range(65)},
    ],
)
def test_weights_that_no_run_can_have_are_refused(tmp_path, change):
    with pytest.raises(DataError):
        read_evaluations(write(tmp_path / "a.npz", arrays(**change)), SPEC)


def test_a_file_that_is_cut_off_is_refused_whatever_its_length(tmp_path):
    file = tmp_path / "a.npz"
    RunEvaluations.of(arrays()).write(file)
    whole = file.read_bytes()
    for length in range(0, len(whole), 97):
        file.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"a\.npz holds no evaluations"):
            read_evaluations(file, SPEC)


def test_a_file_that_is_damaged_is_refused_or_the_same(tmp_path):
    file = tmp_path / "a.npz"
    RunEvaluations.of(arrays()).write(file)
    whole = file.read_bytes()
    for place in range(0, len(whole), 41):
        spoiled = bytearray(whole)
        spoiled[place] ^= 0xFF
        file.write_bytes(spoiled)
        try:
            found = read_evaluations(file, SPEC)
        except DataError:
            continue
        # What no checksum covers: dates, rights.
        for name, array in arrays().items():
            np.testing.assert_array_equal(getattr(found, name), array)


@pytest.mark.parametrize(
    "change",
    [
        {"queries": np.zeros((2, 4))},
        {"queries": np.zeros((3, 4, 5))},
        {"queries": np.zeros((2, 4, 5), dtype=np.float32)},
        {"queries": np.full((2, 4, 5), 1.1)},
        {"queries": np.asfortranarray(np.zeros((2, 4, 5)))},
        {"observations": np.zeros((2, 5))},
        {"observations": np.full((2, 4), np.nan)},
        {"values": np.full((2, 4), np.inf)},
        {"values": np.array([[{"a": 1}] * 4] * 2, dtype=object)},
        {"chosen": np.array([[0, 3], [3, 1]])},
        {"chosen": np.array([[-1, 2], [3, 1]])},
        {"chosen": np.zeros((2, 2))},
    ],
)
def test_what_no_run_can_have_is_refused(tmp_path, change):
    with pytest.raises(DataError):
        read_evaluations(write(tmp_path / "a.npz", arrays(**change)), SPEC)


@pytest.mark.parametrize("name", list(arrays()))
def test_a_missing_array_is_refused(tmp_path, name):
    given = arrays()
    del given[name]
    with pytest.raises(DataError, match="no evaluations"):
        read_evaluations(write(tmp_path / "a.npz", given), SPEC)


@pytest.mark.parametrize(
    "spec", [{}, SPEC | {"num_agents": "2"}, SPEC | {"num_rounds": -9}]
)
def test_a_run_of_unknown_size_is_refused(tmp_path, spec):
    file = write(tmp_path / "a.npz", arrays())
    with pytest.raises(DataError, match="does not say its size"):
        read_evaluations(file, spec)


def bomb(path, shape, data=b""):
    """Write a file whose head claims an array of some shape."""
    head = io.BytesIO()
    form = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, form)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("queries.npy", head.getvalue() + data)
    return path


def test_an_array_larger_than_any_run_is_not_unfolded(tmp_path, monkeypatch):
    huge = SPEC | {"num_agents": 10**6, "num_initial": 10**6}
    file = bomb(tmp_path / "a.npz", (10**6, 10**6 + 1, 10**6))
    with pytest.raises(DataError, match="has shape"):
        read_evaluations(file, huge)
    # It claims little and holds much: no more than it claims is unfolded.
    file = bomb(tmp_path / "b.npz", (2, 4, 5), bytes(100 << 20))
    with pytest.raises(DataError, match="has 321 bytes, expected 320"):
        read_evaluations(file, SPEC)
    monkeypatch.setattr(evaluations_file, "MAX_FILE", 1000)
    with pytest.raises(DataError, match="more than 1000 bytes"):
        read_evaluations(file, SPEC)


# Studies.


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    study = load_study(str(write_study(folder, rounds=2)))
    run_study(study, folder / "out", jobs=1)
    return study, folder / "out"


def test_a_study_keeps_what_the_run_did(finished):
    out = finished[1]
    results = read_study(out)
    for row in results.rows[::5]:
        found = read_evaluations(out / "runs" / f"{row.key}.npz", row.spec)
        given = dict(row.spec)
        trace = gf.simulate(given.pop("problem"), **given)
        for name, array in trace.evaluations.items():
            np.testing.assert_array_equal(getattr(found, name), array)
        form = json.loads((out / "runs" / f"{row.key}.json").read_text())
        np.testing.assert_allclose(form["best_value"], trace.best_value)
        assert form["maximum"] == trace.maximum
        assert form["space"]["parameters"].keys() == {"x1", "x2"}
        # The record has the scalars, the other file the arrays.
        assert not form.keys() & {"queries", "observations", "values", "chosen"}


def test_a_folder_is_taken_over_whole(finished, tmp_path):
    study, out = finished
    tally = run_study(study, tmp_path / "new", known=[out], jobs=1)
    assert (tally.num_before, tally.num_finished) == (NUM_RUNS, 0)
    assert records(tmp_path / "new") == records(out)


def test_a_pack_has_no_evaluations(finished, tmp_path):
    study, out = finished
    pack = tmp_path / "p.json.gz"
    pack.write_bytes(pack_study(read_study(out)))
    run_study(study, tmp_path / "new", known=[pack], jobs=1)
    assert not list((tmp_path / "new" / "runs").glob("*.npz"))
    assert len(read_study(tmp_path / "new").outcomes) == NUM_RUNS


def test_evaluations_of_other_code_go_with_their_record(
    finished, tmp_path, monkeypatch
):
    study, out = finished[0], tmp_path / "out"
    shutil.copytree(finished[1], out)
    monkeypatch.setattr(gf, "__version__", "0.9.9")
    run_study(study, out, jobs=1, redo=True)
    names = [path.stem for path in (out / "runs").glob("*.json")]
    assert sorted(p.stem for p in (out / "runs").glob("*.npz")) == sorted(names)
    assert len(names) == NUM_RUNS
