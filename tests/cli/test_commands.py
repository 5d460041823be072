"""The command line as people meet it: exit codes, sentences, files."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import guidefbo
from guidefbo.cli.app import app, main
from guidefbo.methods.registry import method_names
from guidefbo.problems.library import PROBLEMS, REALWORLD

COMMAND = [sys.executable, "-c", "from guidefbo.cli.app import main; main()"]
"""What the installed script `guidefbo` does."""
SMALL = ["--dim", "2", "--agents", "2", "--init", "4", "--rounds", "1"]
LONG = ["--dim", "10", "--agents", "16", "--init", "30", "--rounds", "5000"]
"""Would take many minutes: a refusal within seconds was made before the run."""


def guidefbo_run(*arguments, **options):
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


def guidefbo_here(monkeypatch, capsys, *arguments):
    """Call the command in this process; return its exit code and what it said."""
    monkeypatch.setattr(sys, "argv", ["guidefbo", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def words(text):
    """Return the text on one line, whatever the width it was wrapped at."""
    return " ".join(text.split())


# Listings, without a process of their own


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_problems_are_listed_one_per_line():
    lines = invoke("problems").stdout.splitlines()
    assert len(lines) == 12 + 6
    assert [line.split()[0] for line in lines] == [*PROBLEMS, *REALWORLD]
    assert all(len(line.split()) > 3 for line in lines)


def test_methods_are_listed_one_per_line():
    lines = invoke("methods").stdout.splitlines()
    assert len(lines) == 38
    assert [line.split()[0] for line in lines] == list(method_names())


def test_settings_are_listed_with_defaults_and_choices():
    text = invoke("methods", "--settings").stdout
    assert "beta=4.0" in text
    assert "packet_size=5" in text
    assert "(dpgmm, single-gaussian)" in text


def test_version():
    done = guidefbo_run("--version")
    assert done.returncode == 0
    assert done.stdout.strip() == f"guidefbo {guidefbo.__version__}"


@pytest.mark.parametrize(
    ("arguments", "teaches"),
    [
        (["--help"], ["run", "problems", "methods", "Start with"]),
        (
            ["run", "--help"],
            ["--method", "--level", "identical", "--set", "KEY=VALUE", "--out", "seed"],
        ),
        (["problems", "--help"], ["one line each"]),
        (["methods", "--help"], ["--settings"]),
    ],
)
def test_help_teaches(arguments, teaches):
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, arguments)
    assert result.exit_code == 0
    for word in teaches:
        assert word in result.stdout


def test_command_without_arguments_shows_help():
    done = guidefbo_run()
    assert "problems" in done.stdout + done.stderr
    assert done.returncode in (0, 2)


# Runs


def test_small_run_writes_a_valid_record(tmp_path):
    out, plot = tmp_path / "run.json", tmp_path / "run.svg"
    done = guidefbo_run(
        "run", "sphere", *SMALL, "--seed", 3, "--set", "beta=2", "--set",
        "belief=single-gaussian", "--out", out, "--plot", plot,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(out.read_text())
    assert record["format"] == "guidefbo-run"
    assert record["spec"] == {
        "problem": "sphere",
        "dim": 2,
        "level": 2,
        "common_shift": 0.0,
        "noise": 0.1,
        "noise_units": "scaled",
        "method": "guide-ucb",
        "num_agents": 2,
        "num_initial": 4,
        "num_rounds": 1,
        "seed": 3,
        "settings": {"beta": 2, "belief": "single-gaussian"},
    }
    assert len(record["mean_simple_regret"]) == 2
    assert f"{record['mean_simple_regret'][1]:.4f}" in done.stdout
    assert "<svg" in plot.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.json", "run.svg"]
    again = guidefbo.simulate(
        "sphere", dim=2, num_agents=2, num_initial=4, num_rounds=1, seed=3,
        settings=record["spec"]["settings"],
    )  # fmt: skip
    assert again.to_record()["best_value"] == record["best_value"]


def test_path_is_repeated_as_it_was_given(tmp_path):
    """Brackets are no markup, and a long path is not broken over lines."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    out = folder / "run[b].json"
    done = guidefbo_run("run", "sphere", *SMALL, "--method", "ucb", "--out", out)
    assert out.is_file()
    assert f"Wrote {out}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["akley"], ["no problem 'akley'", "'ackley'"]),
        (["--method", "guide-ubc"], ["no method 'guide-ubc'", "'guide-ucb'"]),
        (["--level", "4"], ["level must be 1, 2 or 3, got 4"]),
        (["--rounds", "-1"], ["num_rounds", "at least 0, got -1"]),
        (["--exchange-interval", "0"], ["exchange_interval", "at least 1, got 0"]),
        (["--init", "0"], ["num_initial", "at least 1, got 0"]),
        (["--agents", "0"], ["num_agents", "at least 1, got 0"]),
        (["--seed", "-1"], ["seed", "at least 0, got -1"]),
        (["--dim", "0"], ["dim", "at least 1, got 0"]),
        (["--noise", "nan"], ["noise must be", "got nan"]),
        (["--noise", "-1"], ["noise must be", "got -1"]),
        (["--noise-units", "furlongs"], ["'scaled' or 'raw'", "'furlongs'"]),
        (["--common-shift", "0.9"], ["common_shift", "0.5, got 0.9"]),
        (["--set", "nonsense"], ["key=value, got 'nonsense'"]),
        (["--set", "beta=abc"], ["beta must be a finite number", "'abc'"]),
        (["--set", "beta=nan"], ["beta must be a finite number", "nan"]),
        (["--set", "beta=1" + "0" * 400], ["beta must be"]),
        (["--set", "bogus=1"], ["no setting of guide-ucb 'bogus'"]),
        (
            ["--set", "num_path=1"],
            ["guide-ucb 'num_path'", "'num_paths'"],
        ),
        (["--set", "belief=none"], ["belief must be one of dpgmm"]),
        (["--rounds", "many"], ["--rounds", "int"]),
        (["--bogus"], ["--bogus"]),
        (["ackley", "levy"], ["levy"]),
        (["--plot", "run.docx"], ["ending", "png", "'run.docx'"]),
        (["--plot", "run"], ["ending", "'run'"]),
        (["--out", "absent/run.json"], ["folder absent does not exist"]),
        (["--out", "."], ["exists and is no file"]),
        (["--out", "x" * 300], ["too long"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_refusals(tmp_path, monkeypatch, capsys, arguments, says):
    """Two is the code of a wrong call; the sentence goes to stderr."""
    monkeypatch.chdir(tmp_path)
    size = LONG if "--rounds" not in arguments else SMALL[:-2]
    began = time.perf_counter()
    code, _, err = guidefbo_here(monkeypatch, capsys, "run", *size, *arguments)
    assert time.perf_counter() - began < 20.0
    assert code == 2
    for word in says:
        assert word in words(err), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["run", "akley"], "ackley"),
        (["run", "--rounds", "many"], "--rounds"),
        (["rum"], "rum"),
        (["--bogus"], "--bogus"),
    ],
)
def test_refusals_of_a_real_process(arguments, word):
    done = guidefbo_run(*arguments)
    assert done.returncode == 2
    assert word in done.stderr


def test_unwritable_output_is_found_before_the_run(tmp_path):
    """A folder nobody may write to, not even root: one below a file."""
    (tmp_path / "file").write_text("")
    began = time.perf_counter()
    done = guidefbo_run("run", *LONG, "--out", tmp_path / "file" / "run.json")
    assert time.perf_counter() - began < 20.0
    assert done.returncode == 2
    assert "Create it first" in words(done.stderr)


def test_existing_record_survives_a_refused_run(tmp_path, monkeypatch, capsys):
    out = tmp_path / "run.json"
    out.write_text("old")
    guidefbo_here(monkeypatch, capsys, "run", "akley", "--out", out)
    assert out.read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="signals are posix")
def test_interrupt_ends_with_130_and_leaves_nothing(tmp_path):
    out = tmp_path / "run.json"
    # The imports come first, so that the signal meets the run and not the loading.
    code = "import guidefbo.cli.run; print('ready', flush=True); "
    code += "from guidefbo.cli.app import main; main()"
    arguments = ["run", *LONG, "--method", "ucb", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "interrupted" in stderr
    assert "Traceback" not in stdout + stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes are posix")
def test_closed_pipe_is_no_traceback():
    done = subprocess.run(
        f"{sys.executable} -c 'from guidefbo.cli.app import main; main()' "
        "methods --settings | true",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
