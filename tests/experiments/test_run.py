"""Studies run for real: in processes, interrupted, killed, on a full disk."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.experiments.tiny import NUM_RUNS, call, records, start, write_study

from guidefbo.core.errors import SettingsError
from guidefbo.experiments.commit import code_commit
from guidefbo.experiments.results import pack_study, read_study
from guidefbo.experiments.run import make_plan, run_study
from guidefbo.experiments.study import load_study
from guidefbo.experiments.study_json import Row
from guidefbo.experiments.workers import run_rows

TWO_SEEDS = 2 * NUM_RUNS // 3
LONG = 15
"""Rounds of runs that last long enough to be interrupted: a fifth of a second each, ten
of them after the signal, which needs a hundredth."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The records of a study that nothing happened to, in one process."""
    folder = tmp_path_factory.mktemp("whole")
    out = folder / "out"
    tally = run_study(load_study(str(write_study(folder))), out, jobs=1)
    assert (tally.num_before, tally.num_finished, tally.failures) == (0, NUM_RUNS, {})
    return out


def test_nothing_is_run_twice_and_a_lost_record_is_run_again(whole, tmp_path):
    study, out = load_study(str(write_study(tmp_path))), tmp_path / "out"
    shutil.copytree(whole, out)
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    lost, cut = sorted(path for path in before if path.suffix == ".json")[:2]
    lost.unlink()
    cut.write_text(cut.read_text()[:100])
    tally = run_study(study, out, jobs=1)
    assert (tally.num_before, tally.num_finished) == (NUM_RUNS - 2, 2)
    after = {path: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    assert after.keys() == before.keys()
    again = {p.with_suffix(end) for p in (lost, cut) for end in (".json", ".npz")}
    assert {path for path in before if after[path] != before[path]} == again
    assert records(out) == records(whole)


def test_what_was_finished_since_the_plan_was_made_is_not_run_again(whole, tmp_path):
    study, out = load_study(str(write_study(tmp_path))), tmp_path / "out"
    plan = make_plan(study, out)
    assert len(plan.missing) == NUM_RUNS
    shutil.copytree(whole, out)
    lost = min(path for path in (out / "runs").iterdir() if path.suffix == ".json")
    lost.unlink()
    tally = run_study(study, out, plan=plan, jobs=1)
    assert (tally.num_before, tally.num_finished) == (NUM_RUNS - 1, 1)


def test_two_processes_write_the_records_of_one(whole, tmp_path):
    path = write_study(tmp_path)
    done = call("run", path, "--jobs", 2, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert f"{NUM_RUNS} runs added" in done.stderr
    assert records(tmp_path / "out") == records(whole)


def test_a_pack_counts_as_done(whole, tmp_path):
    study, out = load_study(str(write_study(tmp_path))), tmp_path / "out"
    pack = tmp_path / "tiny.json.gz"
    pack.write_bytes(pack_study(read_study(whole)))
    assert make_plan(study, out, known=[pack]).missing == ()
    tally = run_study(study, out, known=[pack], jobs=1)
    assert (tally.num_before, tally.num_finished) == (NUM_RUNS, 0)
    environments = [o.environment for o in read_study(pack).outcomes.values()]
    assert {e["commit"] for e in environments} == {code_commit()}
    widened = make_plan(study, out, repetitions=4)
    assert (widened.num_runs, len(widened.missing)) == (16, 4)


def wait_for_records(out, number, process):
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        if len(list((out / "runs").glob("*-*.json"))) >= number:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("no record in time")


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_whole_records_and_the_rest_is_run_later(tmp_path, jobs):
    path, out = write_study(tmp_path, rounds=LONG), tmp_path / "out"
    process = start("run", path, "--jobs", jobs, "--out", out)
    wait_for_records(out, 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "same command goes on" in said.replace("\n", " ")
    assert "Traceback" not in said
    results = read_study(out)
    assert 2 <= len(results.outcomes) < NUM_RUNS
    names = {p.name for p in (out / "runs").iterdir()}
    wanted = {f"{key}.{end}" for key in results.outcomes for end in ("json", "npz")}
    # Evaluations are written first: one may be there of a run that is not finished.
    assert wanted <= names
    assert all(name.endswith(".npz") for name in names - wanted)
    assert len(names - wanted) <= 1
    # Of two seeds out of three: that the rest is run needs no more.
    study = load_study(str(path))
    plan = make_plan(study, out, repetitions=2)
    tally = run_study(study, out, jobs=1, repetitions=2)
    assert tally.num_before == len(plan.finished) > 0
    assert tally.num_finished == TWO_SEEDS - tally.num_before > 0


def test_kill_minus_nine_loses_only_what_was_under_way(tmp_path):
    path, out = write_study(tmp_path, rounds=LONG), tmp_path / "out"
    process = start("run", path, "--jobs", 2, "--out", out)
    wait_for_records(out, 3, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    kept = records(out)
    assert 3 <= len(kept) < NUM_RUNS
    before = make_plan(load_study(str(path)), out, repetitions=2).finished
    again = call("run", path, "--jobs", 1, "--out", out, "--repetitions", 2)
    assert again.returncode == 0, again.stderr
    assert f"{len(before)} were there" in again.stderr
    assert f"{TWO_SEEDS - len(before)} runs added" in again.stderr
    finished = records(out)
    assert len(finished) == len(kept) + TWO_SEEDS - len(before)
    assert kept.items() <= finished.items()


def test_a_killed_worker_costs_no_run(tmp_path):
    path, out = write_study(tmp_path, rounds=LONG), tmp_path / "out"
    asked = ["--repetitions", 2]
    process = start("run", path, "--jobs", 2, "--out", out, *asked)
    wait_for_records(out, 2, process)
    victims = workers_of(process.pid)
    assert victims
    os.kill(victims[-1], signal.SIGKILL)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert f"{TWO_SEEDS} runs added" in said
    assert len(records(out)) == TWO_SEEDS


def workers_of(pid):
    """Return the children of a process that run rows, oldest first."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    commands = {int(c): Path(f"/proc/{c}/cmdline").read_text() for c in children}
    return [
        c for c, words in commands.items() if "loky" in words and "track" not in words
    ]


def test_a_second_process_is_kept_out_of_the_folder(tmp_path):
    path, out = write_study(tmp_path, rounds=LONG), tmp_path / "out"
    # So many that the first is not done before the second has begun, however slow.
    many = ["--repetitions", 100, "--out", out]
    process = start("run", path, "--jobs", 1, *many)
    wait_for_records(out, 1, process)
    second = call("run", path, *many)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert second.returncode == 2
    assert "Another process is running the study" in second.stderr


def test_a_failed_run_is_recorded_and_the_rest_goes_on(tmp_path):
    study = load_study(str(write_study(tmp_path)))
    good = make_plan(study, tmp_path).rows[:2]
    bad = Row(key="bad", spec={**good[0].spec, "problem": "nowhere"})
    records = dict(run_rows([good[0], bad, good[1]], "run", jobs=2, backend="local"))
    assert records.keys() == {good[0].key, "bad", good[1].key}
    assert records["bad"]["format"] == "guidefbo-failure"
    assert "There is no problem 'nowhere'" in records["bad"]["error"]
    assert "Traceback" in records["bad"]["traceback"]
    assert all(records[row.key]["format"] == "guidefbo-run" for row in good)


def can_mount():
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    tool = shutil.which("unshare")
    return bool(tool) and subprocess.run(probe, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a small disk")
def test_a_full_disk_stops_the_study_with_a_sentence(tmp_path):
    path, out = write_study(tmp_path), tmp_path / "disk"
    out.mkdir()
    # Room for the description and a few records, in a mount only this shell sees.
    script = (
        f"mount -t tmpfs -o size=48k none {out} && "
        f"{sys.executable} -m guidefbo study run {path} --jobs 1 --out {out}/study; "
        f"code=$?; ls -a {out}/study/runs; exit $code"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 2, done.stderr
    said = done.stderr.replace("\n", " ")
    assert "No space left" in said
    assert "make room and run the same command again" in said
    names = done.stdout.split()[2:]
    assert names
    assert all(name.endswith((".json", ".npz")) and name[0] != "." for name in names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs must be"),
        ({"backend": "slurm"}, "local, dask, ray"),
        ({"address": "tcp://127.0.0.1:1"}, "belongs to a cluster"),
        ({"repetitions": 0}, "at least 1"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(tmp_path, options, message):
    study = load_study(str(write_study(tmp_path)))
    with pytest.raises(SettingsError, match=message):
        run_study(study, tmp_path / "out", **options)


def test_similarity_is_measured_without_a_run(tmp_path):
    path = tmp_path / "alike.toml"
    path.write_text(
        'measure = "similarity"\nrepetitions = 2\n[[grid]]\n'
        'problem = "sphere"\nlevel = [1, 2]\ndim = 3\nnum_agents = 4\n'
    )
    out = tmp_path / "out"
    run_study(load_study(str(path)), out, jobs=1)
    results = read_study(out)
    by_level = {1: [], 2: []}
    for row in results.rows:
        by_level[row.spec["level"]].append(results.outcomes[row.key].similarity)
    assert by_level[1] == [1.0, 1.0]
    assert all(0.0 < value < 1.0 for value in by_level[2])
