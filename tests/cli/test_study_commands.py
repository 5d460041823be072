"""`guidefbo study`: what it prints, and its sentences for mistakes."""

import json
import shutil

import pytest
from tests.experiments.tiny import write_study
from typer.testing import CliRunner

import guidefbo
from guidefbo.cli.app import app


def invoke(*words):
    return CliRunner().invoke(app, ["study", *map(str, words)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A tiny study that ran, with its TOML file."""
    folder = tmp_path_factory.mktemp("finished")
    path, out = write_study(folder, rounds=2), folder / "out"
    done = invoke("run", path, "--repetitions", 2, "--jobs", 1, "--out", out)
    assert done.exit_code == 0, done.output
    assert f"guidefbo study report {out}" in done.output
    # No terminal: two lines at once, before the first run ends.
    first, second = done.stderr.splitlines()[:2]
    assert first.endswith(": looking at what is there")
    assert ": 0 of 8 runs, 0 failed, " in second
    return path, out


def test_list_names_the_studies():
    done = invoke("list")
    assert done.exit_code == 0
    names = [line.split()[0] for line in done.output.splitlines()]
    assert {"main", "offcentre", "ablation", "quick"} <= set(names)


def test_plan_counts_what_is_done_and_what_is_not(finished):
    path, out = finished
    done = invoke("plan", path, "--out", out)
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.output.splitlines()]
    said = {words[0]: words[1] for words in lines[1:]}
    assert (said["runs"], said["done"], said["to"]) == ("12", "8", "do")
    assert "to do     4" in done.output
    assert "2 problems, 2 methods, 3 seeds" in done.output


def test_a_change_is_in_every_run_and_in_the_report(finished, tmp_path):
    path, out = finished[0], tmp_path / "out"
    words = ["--change", "num_rounds=1", "--change", "settings.num_paths=5,6"]
    narrowed = [*words, "--where", "problem=sphere", "--repetitions", 1]
    done = invoke("plan", path, *narrowed, "--out", out)
    assert "changed   num_rounds=1, num_paths=5,6 in every run" in done.output
    assert "runs      3 (2 methods)" in done.output
    done = invoke("run", path, *narrowed, "--jobs", 1, "--out", out)
    assert done.exit_code == 0, done.output
    specs = [json.loads(p.read_text())["spec"] for p in (out / "runs").glob("*.json")]
    assert {spec["num_rounds"] for spec in specs} == {1}
    told = sorted((spec["method"], spec["settings"].get("num_paths")) for spec in specs)
    assert told == [("guide-ucb", 5), ("guide-ucb", 6), ("ucb", None)]
    assert invoke("report", out, "--out", tmp_path / "report").exit_code == 0
    text = (tmp_path / "report" / "report.md").read_text()
    assert (
        "study run tiny.toml --where problem=sphere --change num_rounds=1 --change "
        f"num_paths=5,6 --repetitions 1 --out {out}\nguidefbo study report {out}\n"
    ) in text


def test_plan_says_which_settings_have_no_effect(finished):
    done = invoke("plan", finished[0])
    said = [line.strip() for line in done.output.splitlines() if "unused" in line]
    end = "by ucb: one run for all its values"
    assert said == [f"unused    {n} {end}" for n in ("num_candidates", "num_paths")]


def test_plan_of_a_fresh_study_says_where_its_estimate_is_from():
    done = invoke("plan", "main", "--out", "nowhere-yet", "--jobs", 4)
    assert "4320 (12 problems, 3 levels, 12 methods, 10 seeds)" in done.output
    assert "by a short run on this machine" in done.output.replace("\n", " ")


def test_a_report_and_a_pack_are_made(finished, tmp_path):
    _, out = finished
    report = tmp_path / "report"
    done = invoke("report", out, "--out", report)
    assert done.exit_code == 0, done.output
    text = (report / "report.md").read_text()
    assert text.startswith("#")
    assert f"study run tiny.toml --repetitions 2 --out {out}\n" in text
    assert "<html" in (report / "report.html").read_text()
    pack = tmp_path / "tiny.json.gz"
    done = invoke("pack", out, pack)
    assert done.exit_code == 0, done.output
    assert f"{pack.stat().st_size} bytes" in done.output
    again = tmp_path / "again"
    assert invoke("report", pack, "--out", again).exit_code == 0
    one, other = (sorted(p.name for p in d.rglob("*.csv")) for d in (report, again))
    assert one == other


def test_results_of_other_code_are_named_and_made_again(
    finished, tmp_path, monkeypatch
):
    path, out = finished[0], tmp_path / "out"
    shutil.copytree(finished[1], out)
    asked = [path, "--repetitions", 2, "--out", out]
    now = f"8 runs were made by other code (guidefbo {guidefbo.__version__})"
    monkeypatch.setattr(guidefbo, "__version__", "0.9.9")
    said = invoke("plan", *asked).output
    assert f"  other     {now}: kept; --redo makes them again" in said
    done = invoke("run", *asked, "--jobs", 1)
    assert done.exit_code == 0
    said = " ".join(done.output.split())
    assert f"{now}: kept, and marked in the report. Make them again with" in said
    assert "0 runs added, 8 were there" in said
    done = invoke("plan", *asked, "--redo")
    assert "to do     8" in done.output
    assert f"{now}: to be made again" in done.output
    done = invoke("run", *asked, "--redo", "--jobs", 1)
    assert "8 runs added, 0 were there" in " ".join(done.output.split())
    assert "other code" not in done.output
    assert "other code" not in invoke("plan", *asked).output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "mian"], "Did you mean 'main'"),
        (["plan", "main", "--where", "method=ubc"], "No run of the study has"),
        (["plan", "main", "--repetitions", "0"], "at least 1"),
        (["plan", "main", "--change", "num_round=3"], "Did you mean 'num_rounds'"),
        (["run", "main", "--change", "level=9"], "level must be 1, 2 or 3"),
        (["plan", "main", "--jobs", "0"], "--jobs"),
        (["report", "nowhere"], "there is no folder nowhere"),
        (["export", "nowhere", "study.json"], "FILE.csv, got study.json"),
        (["report", "nowhere", "--out", "r"], "there is no folder nowhere"),
        (["pack", "nowhere", "x.json.gz"], "there is no folder nowhere"),
        (["run", "main", "--backend", "slurm", "--out", "r"], "local, dask, ray"),
    ],
)
def test_a_mistake_is_one_sentence(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in done.output.replace("\n", " ")
    assert "Traceback" not in done.output
