"""Results of other code: told apart, kept, and made again when asked for."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.test_plugins import (  # noqa: F401
    FILE,
    PLUGIN,
    own,
    plugin_of,
    with_installed,
)
from tests.experiments.tiny import NUM_RUNS, records, write_study

import guidefbo as gf
from guidefbo.core.errors import SettingsError
from guidefbo.experiments.fingerprint import NO_FILE, Codes
from guidefbo.experiments.keys import (
    base_of,
    code_text,
    is_same_code,
    run_key,
    spec_key,
    with_code,
)
from guidefbo.experiments.plan import plan_rows
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.run import make_plan, run_study
from guidefbo.experiments.study import load_study, parse_study
from guidefbo.experiments.study_table import read_study as read_table
from guidefbo.methods.plugins import Plugin, load_plugin
from guidefbo.problems.realworld import fedhpo_table
from guidefbo.problems.realworld.fedhpo_official import TRUST

HERE = {"guidefbo": gf.__version__}
SPEC = {"problem": "sphere", "level": 1, "method": "ucb", "seed": 0, "settings": {}}
TASKS = """
import guidefbo as gf

def bowls(seed=0):
    space = gf.Space(x=gf.Float(0, 2), kind=gf.Choice("a", "b"))
    return gf.Tasks(
        space,
        [lambda v, c=c: (v["x"] - c) ** 2 for c in (0.5, 1.0)],
        goal="min",
        noise=0.01,
        metric="loss",
        num_initial=4,
        num_rounds=2,
    )
"""


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# Keys.

code_tables = st.dictionaries(st.text(min_size=1), st.text(), min_size=1, max_size=3)


@given(code_tables)
def test_a_key_without_its_code_is_that_of_the_run(code):
    assert base_of(run_key(SPEC, code)) == spec_key(SPEC) == base_of(spec_key(SPEC))
    assert with_code(spec_key(SPEC), code) == run_key(SPEC, code)
    assert run_key(SPEC, {}) == spec_key(SPEC)


@given(code_tables, code_tables)
def test_other_code_is_another_key(one, other):
    assert (run_key(SPEC, one) == run_key(SPEC, other)) is (one == other)
    assert is_same_code(one, other) is (one == other)


def test_a_file_is_what_is_in_it_and_not_its_name():
    one, other = HERE | {"a.py": "ab" * 32}, HERE | {"b.py": "ab" * 32}
    assert run_key(SPEC, one) == run_key(SPEC, other)
    assert is_same_code(one, other)
    assert not is_same_code(one, HERE | {"a.py": "ba" * 32})


@pytest.mark.parametrize("name", ["../a/b c.py:mine", "A" * 300, "é", "-", "my_rule"])
def test_a_key_is_the_name_of_a_file(name):
    for spec in (SPEC | {"problem": name}, SPEC | {"method": name}):
        key = run_key(spec, HERE)
        assert key.replace("-", "").isalnum()
        assert len(key) < 150
        assert base_of(key) == spec_key(spec)


# What code is.


def code_of(problem="sphere", method="ucb"):
    return Codes().of({"problem": problem, "method": method})


def test_the_package_is_its_version():
    for problem in ("ackley", "suzuki"):
        for method in ("ucb", "guide-ts", "fmtbo"):
            assert code_of(problem, method) == HERE
    assert Codes().of({"problem": "sphere"}) == HERE


def test_two_sources_of_a_problem_are_two_codes(monkeypatch):
    monkeypatch.delenv(TRUST, raising=False)
    regenerated = code_of("fedhpo")
    text = (Path(fedhpo_table.__file__).parent / fedhpo_table.TABLE).read_bytes()
    digest_of_text = hashlib.sha256(text).hexdigest()
    assert regenerated == HERE | {fedhpo_table.TABLE: digest_of_text}
    monkeypatch.setenv(TRUST, "1")
    assert code_of("fedhpo") == HERE | {"FedHPO-Bench": "official surrogate"}


def test_a_plugin_is_its_file():
    load_plugin(PLUGIN)
    mine = HERE | {"plugin.py": digest(FILE)}
    for problem, method in (
        ("bowl", "ucb"),
        ("sphere", "bold"),
        ("sphere", "relay-ucb"),
        ("bowl", "relay-bold"),
    ):
        assert code_of(problem, method) == mine
    # What the plugin has no part in is as it was.
    assert code_of("sphere", "guide-ucb") == HERE


def test_two_files_of_one_name_are_two(tmp_path):
    text = PLUGIN.source.replace('"relay"', '"echo"').replace('"bold"', '"brave"')
    (tmp_path / "plugin.py").write_text(text.replace('"bowl"', '"cup"'))
    load_plugin(PLUGIN)
    load_plugin(Plugin.read(tmp_path / "plugin.py"))
    assert code_of("cup", "relay-ucb") == HERE | {
        "plugin.py": digest(tmp_path / "plugin.py"),
        "plugin.py'": digest(FILE),
    }


def test_a_problem_in_a_file_is_that_file(tmp_path):
    path = plugin_of(tmp_path, TASKS, "tasks.py")
    name = f"{path}:bowls"
    assert code_of(name) == HERE | {"tasks.py": digest(path)}
    former = code_of(name)
    path.write_text(TASKS.replace("0.5", "0.6"))
    assert code_of(name) == HERE | {"tasks.py": digest(path)} != former


def test_packages_that_a_file_names_are_part_of_its_code(tmp_path):
    named = 'PACKAGES = ["numpy", "no-such-package"]\n'
    found = {"numpy": np.__version__, "no-such-package": "not installed"}
    path = plugin_of(tmp_path, named + TASKS, "tasks.py")
    assert code_of(f"{path}:bowls") == HERE | {"tasks.py": digest(path)} | found
    mine = plugin_of(tmp_path, named + PLUGIN.source)
    load_plugin(Plugin.read(mine))
    assert code_of("sphere", "bold") == HERE | {"mine.py": digest(mine)} | found
    path.write_text("PACKAGES = 'numpy'\n" + TASKS)
    with pytest.raises(SettingsError, match="must be a list of names of"):
        code_of(f"{path}:bowls")


def test_an_installed_record_is_its_package(tmp_path):
    code = (
        "__import__('guidefbo.experiments.fingerprint', fromlist='x').Codes()"
        ".of({'problem': 'bowl', 'method': 'relay-bold'})"
    )
    assert with_installed(tmp_path, code) == [HERE | {"ownfbo": "1.0"}, []]


def test_a_record_entered_by_hand_is_the_file_it_is_defined_in(
    own,  # noqa: F811
    tmp_path,
    monkeypatch,
):
    path = plugin_of(tmp_path, PLUGIN.source, "byhand.py")
    monkeypatch.syspath_prepend(tmp_path)
    import byhand

    try:
        for name in ("RELAY", "BOLD", "BOWL"):
            gf.register(getattr(byhand, name))
        assert code_of("bowl", "relay-bold") == HERE | {"byhand.py": digest(path)}
    finally:
        del sys.modules["byhand"]
    # Defined by nobody's file, as in a notebook.
    shutil.rmtree(tmp_path)
    assert code_of("sphere", "bold") == HERE | {"bold": NO_FILE}


def test_code_is_told_in_short():
    load_plugin(PLUGIN)
    told = code_text(code_of("bowl"))
    assert told == f"guidefbo {gf.__version__}, plugin.py {digest(FILE)[:12]}"
    assert code_text({}) == "unknown code"


# Studies.


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished study, and what it says."""
    folder = tmp_path_factory.mktemp("whole")
    run_study(load_study(str(write_study(folder, rounds=1))), folder / "out", jobs=1)
    return folder / "out"


@pytest.fixture
def study(whole, tmp_path):
    """The same study with a folder that holds a copy of the results."""
    shutil.copytree(whole, tmp_path / "out")
    return load_study(str(write_study(tmp_path, rounds=1))), tmp_path / "out"


def at_version(monkeypatch, version):
    monkeypatch.setattr(gf, "__version__", version)


def test_a_record_says_what_code_made_it(whole):
    results = read_study(whole)
    for row in results.rows:
        form = json.loads((whole / "runs" / f"{row.key}.json").read_text())
        assert form["code"] == HERE
        assert row.key == run_key(row.spec, HERE)
    assert {o.code for o in results.outcomes.values()} == {code_text(HERE)}
    assert results.code == HERE
    assert results.other_code == {}


def test_results_of_another_version_are_kept_and_told_apart(study, monkeypatch):
    described, out = study
    before = records(out)
    at_version(monkeypatch, "0.9.9")
    plan = make_plan(described, out)
    assert plan.missing == ()
    assert len(plan.other_code) == NUM_RUNS
    tally = run_study(described, out, jobs=1, repetitions=4)
    assert (tally.num_before, tally.num_finished) == (NUM_RUNS, 4)
    assert before.items() <= records(out).items()
    results = read_study(out)
    assert len(results.outcomes) == len(results.rows) == NUM_RUNS + 4
    told = {row.key: results.outcomes[row.key].code for row in results.rows}
    mine = {key for key, code in told.items() if code == "guidefbo 0.9.9"}
    assert len(mine) == 4
    assert results.other_code == {k: c for k, c in told.items() if k not in mine}
    assert set(results.other_code.values()) == {code_text(HERE)}
    # A pack says the same, and so does a folder that goes on from it.
    pack = out.parent / "p.json.gz"
    pack.write_bytes(pack_study(results))
    packed = read_study(pack)
    assert packed.other_code == results.other_code
    assert pack_study(packed) == pack_study(results)
    other = out.parent / "other"
    run_study(described, other, known=[pack], jobs=1, repetitions=4)
    assert read_study(other).other_code == results.other_code


def test_the_rest_of_a_study_that_is_partly_newer_is_of_other_code(study, monkeypatch):
    """Also the rows that the newest call did not ask for."""
    described, out = study
    at_version(monkeypatch, "0.9.9")
    run_study(described, out, jobs=1, repetitions=4, where=["seed=3", "method=ucb"])
    results = read_study(out)
    assert len(results.rows) == NUM_RUNS + 2
    assert len(results.other_code) == NUM_RUNS


def test_a_pack_of_the_right_code_takes_the_place_of_other_code(study, monkeypatch):
    described, out = study
    at_version(monkeypatch, "0.9.9")
    newer = out.parent / "newer"
    run_study(described, newer, jobs=1, repetitions=1)
    tally = run_study(described, out, known=[newer], jobs=1)
    assert (tally.num_before, tally.num_finished) == (NUM_RUNS, 0)
    results = read_study(out)
    assert len(results.other_code) == NUM_RUNS - 4
    assert len(records(out)) == NUM_RUNS
    # And never the other way round.
    at_version(monkeypatch, HERE["guidefbo"])
    run_study(described, out, known=[newer], jobs=1)
    codes = [o.code for o in read_study(out).outcomes.values()]
    assert codes.count("guidefbo 0.9.9") == 4


def as_in_former_days(folder, version):
    """Rename the records and rows of a study to keys without code."""
    form = json.loads((folder / "study.json").read_text())
    form.pop("code")
    for row in form["rows"]:
        path = folder / "runs" / f"{row['key']}.json"
        row["key"] = base_of(row["key"])
        record = json.loads(path.read_text()) | {"key": row["key"]}
        del record["code"]
        if version is None:
            del record["environment"]
        else:
            record["environment"]["guidefbo"] = version
        path.unlink()
        (folder / "runs" / f"{row['key']}.json").write_text(json.dumps(record))
    (folder / "study.json").write_text(json.dumps(form))


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (gf.__version__, f"guidefbo {gf.__version__}"),
        ("0.0.9", "guidefbo 0.0.9"),
        (None, "unknown code"),
    ],
)
@pytest.mark.parametrize("is_pack", [False, True])
def test_results_of_former_days_go_by_their_version(study, version, code, is_pack):
    described, out = study
    as_in_former_days(out, version)
    former = read_study(out)
    assert len(former.outcomes) == NUM_RUNS
    assert former.other_code == {}
    known = []
    if is_pack:
        pack = out.parent / "old.json.gz"
        pack.write_bytes(pack_study(former))
        known, out = [pack], out.parent / "new"
    plan = make_plan(described, out, known=known)
    expected = 0 if version == gf.__version__ else NUM_RUNS
    assert (plan.missing, len(plan.other_code)) == ((), expected)
    run_study(described, out, known=known, jobs=1)
    results = read_study(out)
    assert {o.code for o in results.outcomes.values()} == {code}
    assert len(results.other_code) == expected


def own_study(path):
    return parse_study(
        {
            "name": "mine",
            "repetitions": 2,
            "grid": [{"problem": ["sphere", f"{path}:bowls"], "method": "ucb"}],
            "common": {"num_rounds": 1, "num_agents": 2, "num_initial": 4},
        }
    )


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_changed_problem_makes_its_results_those_of_other_code(tmp_path, jobs):
    path = plugin_of(tmp_path, TASKS, "tasks.py")
    out = tmp_path / "out"
    run_study(own_study(path), out, jobs=jobs)
    results = read_study(out)
    assert (len(results.outcomes), results.other_code) == (4, {})
    path.write_text(TASKS.replace("0.5", "0.6"))
    plan = make_plan(own_study(path), out)
    assert plan.missing == ()
    about = {base_of(row.key): row.spec["problem"] for row in plan.rows}
    assert {about[base_of(k)] for k in plan.other_code} == {f"{path}:bowls"}
    # A table names the records that are there, not those that the new code would make.
    named = set(read_table(out).to_frame()["run"])
    assert named == {file.stem for file in (out / "runs").glob("*.json")}
    # As before: these are the results of now again.
    path.write_text(TASKS)
    assert make_plan(own_study(path), out).other_code == {}


def test_redo_makes_again_what_is_of_other_code(study, monkeypatch):
    described, out = study
    before = records(out)
    at_version(monkeypatch, "0.9.9")
    plan = make_plan(described, out, where=["method=ucb"], redo=True)
    assert len(plan.missing) == len(plan.rows) == NUM_RUNS / 2
    assert plan.seconds > 0.0 == make_plan(described, out).seconds
    tally = run_study(described, out, jobs=1, where=["method=ucb"], redo=True)
    assert (tally.num_before, tally.num_finished) == (0, NUM_RUNS / 2)
    results = read_study(out)
    assert len(results.other_code) == NUM_RUNS / 2
    about = {row.key: row.spec["method"] for row in results.rows}
    assert {about[key] for key in results.other_code} == {"guide-ucb"}
    # One record a run: the former ones of the same runs are gone.
    after = records(out)
    assert len(after) == NUM_RUNS
    assert len(before.keys() & after.keys()) == NUM_RUNS / 2
    # What is as asked for is not made twice.
    tally = run_study(described, out, jobs=1, redo=True)
    assert (tally.num_before, tally.num_finished) == (NUM_RUNS / 2, NUM_RUNS / 2)
    assert read_study(out).other_code == {}


def test_a_result_stays_until_its_successor_is_there(study, monkeypatch):
    described, out = study
    at_version(monkeypatch, "0.9.9")

    class Enough(Exception):
        pass

    def stop(event):
        if event.num_done == 3:
            raise Enough

    with pytest.raises(Enough):
        run_study(described, out, jobs=1, redo=True, report=stop)
    results = read_study(out)
    assert len(results.outcomes) == NUM_RUNS
    assert len(results.other_code) == NUM_RUNS - 3
    tally = run_study(described, out, jobs=1, redo=True)
    assert (tally.num_before, tally.num_finished) == (3, NUM_RUNS - 3)


def test_a_result_stays_where_its_successor_fails(tmp_path):
    path = plugin_of(tmp_path, TASKS, "tasks.py")
    out = tmp_path / "out"
    run_study(own_study(path), out, jobs=1)
    path.write_text(TASKS.replace('(v["x"] - c)', "(1 / 0 + c)"))
    tally = run_study(own_study(path), out, jobs=1, redo=True)
    assert len(tally.failures) == 2
    results = read_study(out)
    assert (len(results.outcomes), len(results.other_code)) == (4, 2)
    # The next call tries again, as with every failure, also without being told to.
    path.write_text(TASKS)
    assert make_plan(own_study(path), out).other_code == {}


def test_a_file_that_changes_while_a_study_runs_changes_nothing(tmp_path):
    path = plugin_of(tmp_path, TASKS, "tasks.py")
    study, out = own_study(path), tmp_path / "out"

    def spoil(event):
        path.write_text("not even Python")

    tally = run_study(study, out, jobs=1, report=spoil)
    assert tally.failures == {}
    path.write_text(TASKS)
    assert make_plan(study, out).other_code == {}
    run_study(study, tmp_path / "again", jobs=1)
    assert records(tmp_path / "again") == records(out)


def test_plan_and_rows_agree(whole, tmp_path):
    study = load_study(str(write_study(tmp_path, rounds=1)))
    assert all(row.code == HERE for row in plan_rows(study))
    assert {row.key for row in plan_rows(study)} == read_study(whole).outcomes.keys()
