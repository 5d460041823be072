"""Every published table says what code it measured, and none claims to be newer."""

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import guidefbo
from guidefbo.experiments import commit
from guidefbo.experiments.change import change_study
from guidefbo.experiments.commit import STAMP, code_commit, stamp
from guidefbo.experiments.keys import base_of
from guidefbo.experiments.plan import plan_rows
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.run import make_plan
from guidefbo.experiments.shipped import shipped_folder
from guidefbo.experiments.study import parse_study
from guidefbo.methods.plugins import Plugin, load_plugin
from guidefbo.reports.markdown import to_markdown
from guidefbo.reports.report import compose

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "stale_results.py"
PACKS = sorted((ROOT / "docs" / "results").glob("*/runs.json.gz"))


@pytest.fixture(scope="module")
def stale():
    spec = importlib.util.spec_from_file_location("stale_results", SCRIPT)
    sys.modules["stale_results"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def history(stale):
    try:
        stale.require_history()
    except stale.NoHistory as error:
        pytest.skip(str(error))


def test_every_table_says_what_it_measures(stale):
    assert set(stale.tables()) == set(stale.MEASURED)
    for path in {path for paths in stale.MEASURED.values() for path in paths}:
        assert (ROOT / "src" / "guidefbo" / path).exists(), path


def test_every_table_carries_a_commit(stale):
    without = [name for name in stale.tables() if not stale.read(name).stamps]
    assert not without


def test_the_list_is_that_of_the_tables_and_the_code(stale, history):
    assert stale.LIST.read_text() == stale.render(), (
        "docs/results/age.md says of a table that it is current and it is not, or "
        "the other way round: python scripts/stale_results.py --write"
    )


@pytest.fixture(params=PACKS, ids=lambda path: path.parent.name)
def pack(request):
    return request.param


def test_a_published_report_is_what_its_pack_says(pack):
    """To the letter: guidefbo study report PACK --out FOLDER."""
    results = read_study(pack)
    written = (pack.parent / "report.md").read_text(encoding="utf-8")
    assert to_markdown(results.title, compose([results])) == written


def test_a_published_pack_is_as_it_would_be_packed(pack):
    results = read_study(pack)
    again, stored = (
        json.loads(gzip.decompress(data))
        for data in (pack_study(results), pack.read_bytes())
    )
    assert again == stored
    named = {row.spec["method"] for row in results.rows if "method" in row.spec}
    assert results.methods.keys() == named
    assert not results.missing


def study_of(results):
    """Return the study as it was written, with the plugins that lie beside it."""
    for name in results.definition.get("plugins", ()):
        load_plugin(Plugin.read(shipped_folder() / name))
    return parse_study(dict(results.definition))


def test_a_published_pack_says_how_to_run_it_again(pack):
    results = read_study(pack)
    study = study_of(results)
    asked = {
        (base_of(row.key), row.variant, row.group)
        for call in results.calls
        for row in plan_rows(
            change_study(study, call.change),
            repetitions=call.repetitions,
            where=call.where,
        )
    }
    assert asked == {(base_of(r.key), r.variant, r.group) for r in results.rows}


def test_a_published_pack_can_be_gone_on_from(pack, tmp_path):
    """Packs of former days have no code in their keys; its version they have."""
    results = read_study(pack)
    study = study_of(results)
    call = results.calls[0]
    plan = make_plan(
        change_study(study, call.change),
        tmp_path,
        repetitions=call.repetitions,
        where=call.where,
        known=[pack],
    )
    assert plan.missing == ()
    assert not results.other_code
    # What a plugin adds to the code follows a comma.
    told = {outcome.code.partition(",")[0] for outcome in plan.done.values()}
    versions = {o.environment.get("guidefbo") for o in results.outcomes.values()}
    assert told == {f"guidefbo {v}" if v else "unknown code" for v in versions}
    is_now = versions == {guidefbo.__version__}
    # A plugin may have changed since: its runs are kept, and told apart.
    own = {row.key for row in plan.rows if row.code.keys() == {"guidefbo"}}
    assert len(plan.other_code.keys() & own) == (0 if is_now else len(own))


def test_a_stamp_is_read_as_it_is_written(stale):
    lines = STAMP.findall(f"# Table\n\n{stamp()}\n\n{stamp('b' * 10, 'a' * 10)}\n")
    assert list(stale.named_in(lines)) == [code_commit(), "a" * 10, "b" * 10]
    text = "Committed at commit 0b04634; the commit it was made at was not kept."
    assert list(stale.named_in(STAMP.findall(text))) == ["0b04634"]
    assert STAMP.findall("It was made at commit 0b04634.") == []


@pytest.fixture
def small(stale, tmp_path, monkeypatch):
    """A checkout with one table and one file it measures; returns its git."""

    def git(*words):
        name = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        command = ["git", *name, "-c", "commit.gpgsign=false", *words]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    (tmp_path / "docs").mkdir()
    package = tmp_path / "src" / "guidefbo"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "core.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text("")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    monkeypatch.setattr(stale, "ROOT", tmp_path)
    monkeypatch.setattr(stale, "RESULTS", tmp_path / "docs")
    monkeypatch.setattr(stale, "MEASURED", {"t.md": ("core.py",)})
    monkeypatch.setattr(commit, "PACKAGE", package)
    code_commit.cache_clear()
    yield git
    code_commit.cache_clear()


def test_a_table_is_older_once_its_code_has_changed(stale, small, tmp_path):
    table, code = tmp_path / "docs" / "t.md", tmp_path / "src/guidefbo/core.py"
    first = small("rev-parse", "--short=10", "HEAD")
    assert stamp() == f"Made at commit {first}."
    table.write_text(f"# T\n\n{stamp()}\n")
    assert stale.read("t.md").state == stale.CURRENT
    (tmp_path / "other.py").write_text("y = 1\n")
    assert stale.read("t.md").state == stale.CURRENT
    code.write_text("x = 2\n")
    assert stale.read("t.md").state == stale.OLDER
    small("commit", "-qam", "two")
    assert stale.read("t.md").state == stale.OLDER
    assert f"| made at {first} | core.py | older than the code |" in stale.render()
    # A part made anew does not make the whole current.
    code_commit.cache_clear()
    table.write_text(f"# T\n\n{stamp(first, code_commit())}\n")
    assert stale.read("t.md").state == stale.OLDER
    table.write_text(f"# T\n\n{stamp()}\n")
    assert stale.read("t.md").state == stale.CURRENT
    table.write_text("# T\n\nMade at commit 0123456789.\n")
    assert stale.read("t.md").state == stale.LOST


def test_a_study_names_the_commits_of_its_runs(stale, small, tmp_path):
    folder = tmp_path / "docs" / "s"
    folder.mkdir()
    stale.MEASURED["s"] = ("core.py",)
    (folder / "report.md").write_text("# S\n\nMade with guidefbo 0.1.0 (3 runs).\n")
    assert stale.read("s").stamps == ()
    (folder / "commit.md").write_text("Committed at commit 0123456; no more is known.")
    assert (stale.read("s").stamps, stale.read("s").is_made) == (("0123456",), False)
    (folder / "report.md").write_text(
        f"# S\n\nMade with guidefbo 0.1.0, commit {code_commit()} (3 runs); "
        "guidefbo 0.1.0, commit 0123456789-dirty (1 runs).\n"
    )
    assert stale.read("s").stamps == (code_commit(), "0123456789-dirty")
    assert stale.read("s").state == stale.LOST


def test_a_changed_file_makes_the_commit_dirty(small, tmp_path):
    (tmp_path / "docs" / "t.md").write_text("a document\n")
    small("add", ".")
    assert not code_commit().endswith("-dirty")
    code_commit.cache_clear()
    (tmp_path / "other.py").write_text("y = 1\n")
    assert code_commit().endswith("-dirty")


def test_outside_of_a_checkout_the_commit_is_unknown(small, tmp_path, monkeypatch):
    """Also where the package only lies inside somebody else's."""
    inside = tmp_path / "venv" / "guidefbo"
    inside.mkdir(parents=True)
    (inside / "__init__.py").write_text("")
    monkeypatch.setattr(commit, "PACKAGE", inside)
    assert code_commit() == "unknown"
    code_commit.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code_commit() == "unknown"


def test_the_command_prints_the_list(stale, history):
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == stale.LIST.read_text().strip()
