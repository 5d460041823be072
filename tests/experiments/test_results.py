"""The files of a study: whole or no result."""

import gzip
import json
from dataclasses import asdict

import numpy as np
import pytest

from guidefbo.core.errors import DataError
from guidefbo.experiments.change import change_study
from guidefbo.experiments.notes import note_on
from guidefbo.experiments.plan import plan_rows
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.store import Store, known_outcomes
from guidefbo.experiments.study import parse_study
from guidefbo.experiments.study_json import Call, MethodNote

STUDY = parse_study(
    {
        "name": "s",
        "title": "T",
        "repetitions": 2,
        "sections": ["regret"],
        "grid": [{"problem": "sphere", "level": 1, "method": ["ucb", "ts"]}],
    }
)
ROWS = plan_rows(STUDY)
CALL = Call(where=(), repetitions=2)


def record(row, curve=(3.0, 2.0, 1.0)):
    return {
        "format": "guidefbo-run",
        "version": 1,
        "key": row.key,
        "spec": dict(row.spec),
        "mean_simple_regret": list(curve),
        "scalars": {"up_per_agent_round": 22},
        "seconds": {"total": 1.25, "fit": 1.0},
    }


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "s")
    with store.held():
        store.describe(STUDY, ROWS, CALL)
    return store


def path(store, row):
    return store.folder / "runs" / f"{row.key}.json"


def test_a_saved_record_is_an_outcome(store):
    assert store.save(ROWS[0].key, record(ROWS[0]))
    results = read_study(store.folder)
    assert (results.name, results.title, results.sections) == ("s", "T", ("regret",))
    assert results.rows == ROWS
    outcome = results.outcomes[ROWS[0].key]
    np.testing.assert_array_equal(outcome.curve, [3.0, 2.0, 1.0])
    assert outcome.final == 1.0
    assert outcome.seconds == {"total": 1.25, "fit": 1.0}
    assert len(results.missing) == 3


def test_half_a_file_is_no_outcome_whatever_its_length(store):
    row = ROWS[0]
    text = json.dumps(record(row))
    for length in range(0, len(text), 7):
        path(store, row).write_text(text[:length])
        assert store.done(ROWS) == {}
    path(store, row).write_text(text)
    assert row.key in store.done(ROWS)


@pytest.mark.parametrize(
    "change",
    [
        {"mean_simple_regret": None},
        {"mean_simple_regret": []},
        {"mean_simple_regret": [1.0, None]},
        {"mean_simple_regret": [1.0, "2"]},
        {"mean_simple_regret": [True]},
        {"format": "other"},
        {"version": 2},
        {"key": "another"},
        {"spec": None},
        {"spec": {}},
    ],
)
def test_a_malformed_record_is_no_outcome(store, change):
    path(store, ROWS[0]).write_text(json.dumps(record(ROWS[0]) | change))
    assert store.done(ROWS) == {}


def test_a_nan_in_a_record_is_no_outcome(store):
    form = record(ROWS[0], curve=(1.0, float("nan")))
    path(store, ROWS[0]).write_text(json.dumps(form))
    assert store.done(ROWS) == {}


def test_the_record_of_another_run_is_no_outcome(store):
    other = record(ROWS[0]) | {"spec": dict(ROWS[1].spec), "key": ROWS[0].key}
    path(store, ROWS[0]).write_text(json.dumps(other))
    assert store.done(ROWS) == {}


def test_a_failure_is_recorded_and_gone_after_success(store):
    row = ROWS[0]
    failure = {"format": "guidefbo-failure", "version": 1, "error": "E: boom"}
    assert not store.save(row.key, failure)
    assert read_study(store.folder).failures == {row.key: "E: boom"}
    assert store.save(row.key, record(row))
    results = read_study(store.folder)
    assert results.failures == {}
    assert row.key in results.outcomes


def test_a_pack_says_what_the_folder_says(store, tmp_path):
    for row in ROWS[:3]:
        store.save(row.key, record(row))
    folder = read_study(store.folder)
    file = tmp_path / "s.json.gz"
    file.write_bytes(pack_study(folder))
    assert pack_study(folder) == pack_study(read_study(file))
    packed = read_study(file)
    assert packed.rows == folder.rows
    assert packed.outcomes.keys() == folder.outcomes.keys()
    for key, outcome in packed.outcomes.items():
        np.testing.assert_array_equal(outcome.curve, folder.outcomes[key].curve)


def test_notes_on_methods_are_kept(store, tmp_path):
    """What a report needs to know stands in the files, and no registry is asked."""
    folder = read_study(store.folder)
    assert folder.methods == {name: note_on(name) for name in ("ucb", "ts")}
    file = tmp_path / "s.json.gz"
    file.write_bytes(pack_study(folder))
    assert read_study(file).methods == folder.methods
    # A later call adds its own and keeps what is there.
    form = json.loads((store.folder / "study.json").read_text())
    mine = dict(form["methods"]["ucb"], colour="green", settings={"beta": 7.0})
    form["methods"] |= {"gone": mine}
    (store.folder / "study.json").write_text(json.dumps(form))
    store.describe(STUDY, ROWS, CALL)
    assert read_study(store.folder).methods == {
        **folder.methods,
        "gone": MethodNote(
            **{**asdict(note_on("ucb")), "colour": "green", "settings": {"beta": 7.0}}
        ),
    }


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        (None, {}),
        ([], {}),
        ({"a": 3, "b": {"strategy": "s"}, "c": {"strategy": 1, "rule": "r"}}, {}),
        (
            {
                "a": {
                    "strategy": "s",
                    "rule": "r",
                    "is_plain": 1,
                    "alone": [],
                    "more": 2,
                }
            },
            {"a": MethodNote(strategy="s", rule="r")},
        ),
    ],
    ids=["none", "a-list", "malformed", "half"],
)
def test_malformed_notes_are_left_out(store, listed, kept):
    form = json.loads((store.folder / "study.json").read_text())
    (store.folder / "study.json").write_text(json.dumps(form | {"methods": listed}))
    assert read_study(store.folder).methods == kept


def test_runs_of_a_pack_are_taken_over(store, tmp_path):
    for row in ROWS[:3]:
        store.save(row.key, record(row))
    other = Store(tmp_path / "other")
    with other.held():
        other.describe(STUDY, ROWS, CALL)
        known = known_outcomes(read_study(store.folder), ROWS)
        assert other.adopt(known, ROWS) == 3
        assert other.adopt(known, ROWS) == 0
    assert other.done(ROWS).keys() == {row.key for row in ROWS[:3]}


def test_a_pack_replaces_a_record_that_is_cut_off(store, tmp_path):
    for row in ROWS[:2]:
        store.save(row.key, record(row))
    whole = known_outcomes(read_study(store.folder), ROWS)
    path(store, ROWS[0]).write_text("{")
    assert store.adopt(whole, ROWS) == 1
    assert ROWS[0].key in store.done(ROWS)


def test_a_similarity_is_no_result_of_a_run(store):
    form = record(ROWS[0]) | {"format": "guidefbo-similarity", "similarity": 0.5}
    path(store, ROWS[0]).write_text(json.dumps(form))
    assert store.done(ROWS) == {}


def test_a_row_with_a_strange_seed_is_kept(store):
    form = json.loads((store.folder / "study.json").read_text())
    form["rows"][0]["spec"]["seed"] = [10**9]
    (store.folder / "study.json").write_text(json.dumps(form))
    store.describe(STUDY, ROWS, CALL)
    assert len(read_study(store.folder).rows) == len(ROWS)


def call_of(*where, repetitions=2):
    """Return the rows a call asks for, and the call."""
    rows = plan_rows(STUDY, where=where, repetitions=repetitions)
    return rows, Call(where=where, repetitions=repetitions)


def test_a_call_that_changed_the_runs_says_so(tmp_path):
    store = Store(tmp_path / "s")
    changed = change_study(STUDY, ["num_rounds=2"])
    call = Call(where=(), repetitions=2, change=changed.changes)
    with store.held():
        store.describe(changed, plan_rows(changed), call)
        # As written, in the same folder: both calls are needed, and both are kept.
        store.describe(STUDY, ROWS, CALL)
    results = read_study(store.folder)
    assert results.calls == (call, CALL)
    assert len(results.rows) == 2 * len(ROWS)
    assert results.definition == STUDY.definition
    file = tmp_path / "s.json.gz"
    file.write_bytes(pack_study(results))
    assert read_study(file).calls == results.calls


def test_calls_are_kept_as_long_as_each_asks_for_more(tmp_path):
    store = Store(tmp_path / "s")
    first, second = call_of("method=ucb", repetitions=1), call_of("method=ts")
    with store.held():
        for rows, call in (first, second, first):
            store.describe(STUDY, rows, call)
        results = read_study(store.folder)
        assert results.calls == (first[1], second[1])
        file = tmp_path / "s.json.gz"
        file.write_bytes(pack_study(results))
        assert read_study(file).calls == results.calls
        # Whoever asks for all of it makes the rest superfluous.
        store.describe(STUDY, ROWS, CALL)
        assert read_study(store.folder).calls == (CALL,)


@pytest.mark.parametrize(
    "change",
    [
        {"calls": None},
        {"calls": [3]},
        {"calls": [{"where": [], "repetitions": 2, "change": "level=1"}]},
        {"definition": {}},
    ],
)
def test_calls_that_are_not_known_are_not_guessed(store, change):
    form = json.loads((store.folder / "study.json").read_text())
    (store.folder / "study.json").write_text(json.dumps(form | change))
    rows, call = call_of("method=ucb", repetitions=1)
    store.describe(STUDY, rows, call)
    results = read_study(store.folder)
    assert (len(results.rows), results.calls) == (len(ROWS), ())


def test_a_folder_of_another_study_is_refused(store):
    other = parse_study({"name": "other", "grid": [{"problem": "sphere"}]})
    with pytest.raises(DataError, match="holds the study 's'"):
        store.describe(other, plan_rows(other), CALL)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        gzip.compress(b"[]"),
        gzip.compress(b"{}"),
        gzip.compress(b'{"format": "guidefbo-pack", "study": {}, "runs": {}}'),
        gzip.compress(json.dumps({"format": "guidefbo-pack"}).encode())[:20],
    ],
    # Names of their own: gzip writes the time, and workers are not of one second.
    ids=["nothing", "no-gzip", "a-list", "no-fields", "empty", "cut-short"],
)
def test_what_is_no_pack_is_refused(tmp_path, content):
    file = tmp_path / "p.json.gz"
    file.write_bytes(content)
    with pytest.raises(DataError):
        read_study(file)


def test_a_row_cannot_point_out_of_the_folder(store):
    form = json.loads((store.folder / "study.json").read_text())
    form["rows"][0]["key"] = "../../etc/passwd"
    (store.folder / "study.json").write_text(json.dumps(form))
    with pytest.raises(DataError, match="without key"):
        read_study(store.folder)


def test_an_absent_study_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no"):
        read_study(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"study\.json"):
        read_study(tmp_path)
